#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every kernel row that this machine can run was proved at least once.

    check_rows.py ROWS.tsv...     as check_proof.py has them written

Reference rows are what the others are compared with; those alone need not occur.
"""
import collections
import sys

EXCUSED = {
    "binary_f64_avx2": "no graph adds numbers in double",
    "binary_f64_avx512": "no graph adds numbers in double",
    # In graphs of fp16 with quantized tensors beside; tests/kernel/test_eltwise.c proves them.
    "reduce_rows_f64_avx2": "no case reduces numbers in double",
    "reduce_rows_f64_avx512": "no case reduces numbers in double",
    "reduce_columns_f64_avx2": "no case reduces numbers in double",
    "reduce_columns_f64_avx512": "no case reduces numbers in double",
}


def main():
    calls = collections.Counter()
    for path in sys.argv[1:]:
        for line in open(path):
            family, row, runs_here, n = line.split("\t")
            if runs_here == "1":
                calls[family, row] += int(n)
    idle = [f"{family}: {row}" for (family, row), n in sorted(calls.items())
            if n == 0 and not row.endswith("_ref") and row not in EXCUSED]
    late = [row for (_, row), n in calls.items() if n and row in EXCUSED]
    fast = sum(not row.endswith("_ref") for _, row in calls)
    print(f"{len(calls)} rows, {fast} of them fast ones, {sum(calls.values())} proofs")
    print("".join(f"never proved: {text}\n" for text in idle)
          + "".join(f"excused, but proved: {row}\n" for row in late), end="")
    sys.exit(1 if idle or late or not calls else 0)


if __name__ == "__main__":
    main()
