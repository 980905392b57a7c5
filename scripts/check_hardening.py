#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks how libraries and programs of ours were built.

check_hardening.py [--no-calls] FILE...: full RELRO (all addresses bound at start, then read-only),
position-independent programs, no executable stack, no writable code, a stack protector, and calls
of the C library that check sizes. --no-calls: the files are too small to have the last two.
"""
import re
import subprocess
import sys


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], check=True, capture_output=True,
                          text=True).stdout


def check(path, calls):
    header, segments = readelf("-h", path), readelf("-l", path)
    dynamic, symbols = readelf("-d", path), readelf("--dyn-syms", path)
    flags = " ".join(re.findall(r"\(FLAGS(?:_1)?\)\s+(.*)", dynamic))
    rules = [("is not position-independent", "DYN (" in header),
             ("has no RELRO segment", "GNU_RELRO" in segments),
             ("binds addresses lazily", re.search(r"\bBIND_NOW\b|\bNOW\b", flags)),
             ("has an executable stack", re.search(r"GNU_STACK.* RW  ?0x", segments)),
             ("has a segment that is writable and executable", not re.search(r" RWE ", segments)),
             ("has text relocations", "TEXTREL" not in dynamic),
             ("has no stack protector", not calls or "__stack_chk_fail" in symbols),
             ("has no calls that check sizes", not calls or re.search(r" __\w+_chk@", symbols))]
    return [problem for problem, good in rules if not good]


def main():
    files = [a for a in sys.argv[1:] if a != "--no-calls"]
    if not files:
        sys.exit(f"usage: {sys.argv[0]} [--no-calls] FILE...")
    problems = [f"{path}: {problem}" for path in files
                for problem in check(path, "--no-calls" not in sys.argv)]
    print("\n".join(problems + [f"hardening: {len(files)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
