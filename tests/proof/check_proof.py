#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs op cases on a library that proves every step before it executes it (run_proof.c).

    check_proof.py ROWS.tsv LIBRARY SOC "RUNNER..." CASES.qc...

Only proofs are judged here: whether a case has the right result is the business of the op tests,
and many cases were written for another backend. SOC 0: the CPU library. ROWS.tsv is written.
Prints one line for each proof that failed, and how many cases were run.
"""
import os
import re
import subprocess
import sys
from pathlib import Path


def main():
    rows, library, soc, runner, *files = sys.argv[1:]
    Path(rows).unlink(missing_ok=True)
    chip = ["--soc", soc, "--allow-unsupported"] if soc != "0" else []
    failures, ran = [], 0
    for path in files:
        done = subprocess.run([*filter(None, runner.split(";")), library, path, *chip],
                              capture_output=True, text=True, errors="replace",
                              env={**os.environ, "QUERN_PROOF_ROWS": rows})
        said = done.stdout + done.stderr
        failures += [f"{Path(path).stem}: {line}" for line in said.splitlines()
                     if line.startswith(("proof: ", "an access outside"))]
        tally = re.search(r"^(\d+) passed, (\d+) failed", done.stdout, re.M)
        if not tally:
            failures.append(f"{Path(path).stem}: it ended with status {done.returncode}")
        else:
            ran += int(tally[1]) + int(tally[2])
    print("\n".join(failures[:40]))
    print(f"{ran} cases, {len(failures)} proofs failed")
    sys.exit(1 if failures or not ran else 0)


if __name__ == "__main__":
    main()
