#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the cases of all groups on the HTP library and checks that they cover its support table.

    check_htp.py SUPPORT.tsv LIBRARY SOC "RUNNER..." CASES.qc...

Cases that the device refuses are skipped (most were written for another backend), so every
operand type of every int8, int16 and other row must occur in a case that passed. Cases with floats
belong to check_half.py.
"""
import re
import subprocess
import sys

from check_coverage import rows
from check_half import types_of_cases

# Types that no case can have, and why.
EXCUSED = {
    ("Reshape", "in[1]=i32"): "listed, but must be absent",
    **{(op, word): "the HTP backend takes no sparse tensors"
       for op, words in (("CreateSparse", "in[0]=u32 in[1]=uq8 out[0]=uq8"),
                         ("GetSparseIndices", "in[0]=uq8 out[0]=u32"),
                         ("GetSparseValues", "in[0]=uq8 out[0]=uq8"),
                         ("SparseToDense", "in[0]=uq8 out[0]=uq8"))
       for word in words.split()},
}
# What the log says when a graph is refused before its nodes are validated.
REFUSED = ("dynamic dimensions are not supported", "sparse tensors are not supported",
           "op not supported by HTP")
# Of equal values the HTP takes the one with the lowest index first (HTP-NUM-10), the CPU the last.
OTHER_ORDER = "(op TopK, seed 1): output 'i'"


def promised(support):
    """(op, configuration, operand=type)"""
    for row in rows(support):
        if row[1] == "HTP" and row[3] == "yes" and row[2] != "fp16":
            for operand, types in re.findall(r"((?:in|out)\[\d+\])=([a-z0-9|]+)", row[4]):
                for name in types.split("|"):
                    yield row[0], row[2], f"{operand}={name}"


def has_float(words):
    return any(re.search(r"=(f|bf)\d", w) for w in words)


def main():
    support, library, soc, runner, *files = sys.argv[1:]
    proved, failed, passed = set(), 0, 0
    for path in files:
        known = types_of_cases(path)
        done = subprocess.run([*filter(None, runner.split(";")), library, path, "--verbose",
                               "--allow-unsupported", "--soc", soc],
                              capture_output=True, text=True)
        for line in done.stdout.splitlines():
            op, used = known.get(line.split(" ")[1], (None, set())) if " " in line else (None, ())
            if line.startswith("PASS ") and op:
                proved.update((op, word) for word in used)
                passed += 1
            elif line.startswith("FAIL ") and op and not has_float(used) \
                    and not any(text in line for text in (*REFUSED, OTHER_ORDER)):
                print(line)
                failed += 1
    wanted = set(promised(support))
    missing = sorted(w for w in wanted if (w[0], w[2]) not in proved
                     and (w[0], w[2]) not in EXCUSED)
    print("\n".join(f"not covered: {' '.join(w)}" for w in missing))
    print(f"{passed} cases passed, {failed} failed; {len({w[0] for w in wanted})} ops, "
          f"{len(wanted)} operand types, {len(missing)} not covered, {len(EXCUSED)} excused")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
