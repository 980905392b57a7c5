#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the comments of include/QNN/QnnOpDef.h say what tests/ir/op_semantics.def says.

Prints each op whose comment differs, and the comment that it should have.
"""
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = ROOT / "tests" / "ir" / "op_semantics.def"
HEADER = ROOT / "include" / "QNN" / "QnnOpDef.h"


def main():
    header, bad = HEADER.read_text(), 0
    rows = re.findall(r'^SEMANTICS\((\w+), "([^"]*)", "([^"]*)"\)$', ROWS.read_text(), re.M)
    for op, shapes, meaning in rows:
        found = re.search(r'((?:^// [^\n]*\n)+)#define QNN_OP_\w+ "%s"' % op, header, re.M)
        if not found:  # an op without a macro
            continue
        text = f"{shapes}. {meaning}".replace("`", "'")
        comment = re.sub(r"\s*\n// ", " ", found.group(1)).strip()
        if not comment.endswith(" " + text):
            bad += 1
            print(f"{HEADER.name}: the comment of {op} should end with:", file=sys.stderr)
            print(textwrap.fill(text, 100, initial_indent="// ", subsequent_indent="// ",
                                break_on_hyphens=False), file=sys.stderr)
    print(f"{len(rows)} ops, {bad} comments differ")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
