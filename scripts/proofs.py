#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which tests prove a requirement: those that use the public API alone.

A proof is written <file>:<test>, the file below tests/. proofs.py ROOT PROOF... says what is wrong.

A test in C proves something if it is there, is run, and its file is public: neither the file nor a
header of tests/ that it includes includes a header of src/ or names something of it. A test in
Python opens libraries and programs.
"""
import re
import sys
from functools import lru_cache
from pathlib import Path

INSIDE = re.compile(r"\b(?:(?:qrn|qd|qc|qe|ox|et|qt)_|(?:QRN|QD)_(?!TESTS_))\w*")


@lru_cache(maxsize=None)
def code_of(path):
    """A source without comments and texts, and what it includes."""
    text = path.read_text()
    included = re.findall(r'^\s*#\s*include\s+["<]([^">]+)', text, re.M)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S), included


def inside(root, path, seen):
    """What of src/ a file of tests/ uses, itself or by its headers; None: it is public."""
    if path.resolve() in seen:
        return None
    seen.add(path.resolve())
    text, included = code_of(path)
    where = f" in {path.resolve().relative_to(root.resolve())}"
    used = INSIDE.search(text)
    if used:
        return f"'{used[0]}'" + where
    for name in included:
        if (path.parent / name).is_file():
            found = inside(root, path.parent / name, seen)
        else:
            found = f"'{name}'" + where if (root / "src" / name).is_file() else None
        if found:
            return found
    return None


def problem(root, proof, public=True):
    """What is wrong with a proof; None: nothing. public: it must not know anything of src/."""
    file, _, test = proof.partition(":")
    path = root / "tests" / file
    if not path.is_file():
        return f"{proof}: there is no file tests/{file}"
    if path.suffix == ".py":
        there = re.search(rf"^def {test}\(", path.read_text(), re.M)
    else: # defined, and in a list of tests
        there = len(re.findall(rf"\b{test}\b", code_of(path)[0])) > 1
    if not there:
        return f"{proof}: there is no such test, or it is not run"
    used = inside(root, path, set()) if public and path.suffix != ".py" else None
    return f"{proof}: is not public, it uses {used}" if used else None


def main():
    problems = [problem(Path(sys.argv[1]), proof) for proof in sys.argv[2:]]
    print(*filter(None, problems), sep="\n")
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
