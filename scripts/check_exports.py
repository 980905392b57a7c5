#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a library of ours: what it exports and which libraries it needs.

check_exports.py LIBRARY SYMBOL...: the exported symbols must be exactly those named, and the
needed libraries parts of the C library. Also: no text relocations, executable stack or RPATH.
"""
import re
import subprocess
import sys

NEEDED = re.compile(r"^(libc|libm|libpthread|libdl|ld-linux-[a-z0-9-]+)\.so\.\d+$")


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], check=True, capture_output=True,
                          text=True).stdout


def exported(library):
    """Names of the dynamic symbols that the library defines for others."""
    names = set()
    for line in readelf("--dyn-syms", library).splitlines():
        fields = line.split()
        # Num: Value Size Type Bind Vis Ndx Name
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6] != "UND":
            names.add(fields[7].split("@")[0])
    return names


def check(library, wanted):
    problems = []
    found = exported(library)
    problems += [f"exports '{name}', which is not in its list" for name in sorted(found - wanted)]
    problems += [f"does not export '{name}'" for name in sorted(wanted - found)]
    dynamic = readelf("-d", library)
    for name in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
        if not NEEDED.match(name):
            problems.append(f"needs '{name}'")
    for tag in ("RPATH", "RUNPATH", "TEXTREL"):
        if re.search(rf"\b{tag}\b", dynamic):
            problems.append(f"has {tag}")
    if re.search(r"GNU_STACK.* RWE ", readelf("-l", library)):
        problems.append("has an executable stack")
    return problems


def main():
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} LIBRARY SYMBOL...")
    library, wanted = sys.argv[1], set(sys.argv[2:])
    problems = check(library, wanted)
    for problem in problems:
        print(f"{library}: {problem}")
    print(f"exports: {library}: {len(wanted)} symbols expected, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
