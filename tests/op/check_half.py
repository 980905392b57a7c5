#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs half-precision cases on the HTP library and checks that they cover its support table.

    check_half.py CASES.qc SUPPORT.tsv|"" LIBRARY SOC RUNNER...

Cases that the device refuses are skipped (they were written for another backend), so a pass of
the rest alone would prove little: every operand type of every fp16 row must occur in a case that
passed. Without a table that is not checked.
"""
import re
import subprocess
import sys

from check_coverage import index_lines, rows, types_by_code

# Types of the fp16 rows that no case here can have, and why.
EXCUSED = {
    **{(op, "in[1]=sq8"): "weights of another type: tests/htp/test_htp_half.c"
       for op in ("Conv2d", "DepthWiseConv2d", "FullyConnected", "MatMul")},
    **{("Convert", f"out[0]=uq{bits}"): "results are codes: tests/htp/test_htp_half.c"
       for bits in (8, 16)},
    **{("Lstm", f"in[{i}]=f16"): "listed, but must be absent" for i in range(12, 16)},
    ("Lstm", "in[24]=b8"): "listed, but only a constant 0 is taken",
    ("Reshape", "in[1]=i32"): "listed, but must be absent",
}


def types_of_cases(path):
    """{case name: (op, {"in[0]=f32", ..})}"""
    codes, cases, name, tensors = types_by_code(), {}, None, []
    for words in (line.split(" ") for line in index_lines(path)):
        if words[0] == "case":
            name, tensors = words[1], []
        elif words[0] == "tensor":
            tensors.append(codes.get(words[3].lower().lstrip("0"), "?"))
        elif words[0] == "node":
            used = {f"{side}[{i}]={tensors[int(t)]}" for side, list_ in
                    (("in", words[4]), ("out", words[5]))
                    for i, t in enumerate(list_.split(",")) if t.isdigit()}
            cases[name] = (words[1], used)
    return cases


def promised(support):
    for row in rows(support):
        if row[1] == "HTP" and row[2] == "fp16" and row[3] == "yes":
            for operand, types in re.findall(r"((?:in|out)\[\d+\])=([a-z0-9|]+)", row[4]):
                for name in types.split("|"):
                    yield row[0], f"{operand}={name}"


def main():
    cases, support, library, soc, *runner = sys.argv[1:]
    done = subprocess.run([*runner, library, cases, "--verbose", "--allow-unsupported", "--soc",
                           soc], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    print("\n".join(line for line in lines if line.startswith("FAIL")))
    print("\n".join(lines[-1:]), done.stderr)
    known = types_of_cases(cases)
    proved = set()
    for line in lines:
        if line.startswith("PASS "):
            op, used = known[line[5:]]
            proved.update((op, word) for word in used)
    wanted = set(promised(support)) if support else set()
    missing = sorted(wanted - proved - set(EXCUSED)) if support else []
    print("\n".join(f"not covered: {op} {word}" for op, word in missing))
    print(f"{len({op for op, _ in wanted})} ops, {len(wanted)} operand types, "
          f"{len(missing)} not covered, {len(EXCUSED)} excused")
    return 1 if done.returncode or missing else 0


if __name__ == "__main__":
    sys.exit(main())
