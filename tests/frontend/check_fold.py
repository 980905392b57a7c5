# SPDX-License-Identifier: MIT
"""Compares the folder of the ONNX importer with its oracles: check_fold.py RUN_FOLD.

Every case also runs with each of its allocations failing in turn. Prints the failures and, last,
`N passed, M failed`.
"""
import sys

import fold_case
import fold_cases_axes
import fold_cases_elementwise
import fold_cases_errors
import fold_cases_onnx
import fold_cases_quant
import fold_cases_shape

GROUPS = [fold_cases_elementwise, fold_cases_shape, fold_cases_axes, fold_cases_quant,
          fold_cases_errors, fold_cases_onnx]
LEAST = 2500  # a generator that yields nothing must not look like success


def main():
    runner = list(filter(None, sys.argv[1].split(";")))
    passed, failed = 0, 0
    for group in GROUPS:
        cases = list(group.cases())
        for case, answer in zip(cases, fold_case.run(runner, cases, "--no-memory")):
            wrong = fold_case.compare(case, answer)
            passed += not wrong
            failed += bool(wrong)
            if wrong:
                print(f"{case.name} (opset {case.opset}): {wrong}")
    if passed + failed < LEAST:
        print(f"only {passed + failed} cases, expected {LEAST} and more")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
