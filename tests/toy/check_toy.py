#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the op cases on the toy backend, whose only code is an interpreter of compiled graphs.

    check_toy.py LIBRARY "RUNNER..." CASES.qc...

Every case passes but those with dynamic dimensions, which the backend refuses by name.
"""
import subprocess
import sys

REFUSED = "dynamic dimensions are not supported"


def main():
    library, runner, *files = sys.argv[1:]
    passed = refused = 0
    wrong = []
    for path in files:
        done = subprocess.run([*filter(None, runner.split(";")), library, path, "--verbose"],
                              capture_output=True, text=True)
        if done.returncode not in (0, 1):
            wrong.append(f"{path}: exit status {done.returncode}: {done.stderr.strip()}")
        for line in done.stdout.splitlines():
            passed += line.startswith("PASS ")
            refused += line.startswith("FAIL ") and REFUSED in line
            if line.startswith("FAIL ") and REFUSED not in line:
                wrong.append(line)
    print("\n".join(wrong[:20]))
    print(f"toy backend: {passed} passed, {refused} refused, {len(wrong)} wrong")
    return 0 if passed > 20000 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
