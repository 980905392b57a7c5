#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is every op tested with everything the CPU table promises?

    check_coverage.py ops.tsv support.tsv cases.qc...

Reads the indices of the case files (format: qcase.py) and compares what the cases use with the op
facts and the published CPU support: every op, every (operand, type) pair that the CPU rows list,
every parameter and every enumerator must occur in a case that expects results. Prints what is
missing and fails; EXCUSED lists what is tested elsewhere, with the reason.
"""
import re
import sys
from collections import defaultdict

EXCUSED = {
    ("If", ""): "has no operands of its own: tests/api/test_branches.c",
    ("Buffer", "buffer_padding"): "only its default is accepted",
    ("Convert", "dynamic_input_data"): "refused: a buffer keeps its type",
    ("Convert", "dynamic_output_data"): "refused: a buffer keeps its type",
    **{("Lstm", f"{gate}_gate_qscale"): "accepted without effect"
       for gate in ("input", "forget", "cell", "output")},
    ("Lstm", "hidden_state_qscale"): "accepted without effect",
    ("Lstm", "hidden_state_offset"): "accepted without effect",
}


def index_lines(path):
    with open(path, "rb") as f:
        size = int(f.readline().split()[2])
        return f.read(size).decode().splitlines()


def types_by_code():
    """{'232': 'f32', ...}: the case format writes the API's codes in hexadecimal."""
    codes = {}
    for cls, prefix in ((0, "i"), (1, "u"), (2, "f"), (3, "sq"), (4, "uq"), (5, "b")):
        for bits in (4, 8, 16, 32, 64):
            codes[f"{cls:x}{bits:02d}".lstrip("0") or "0"] = f"{prefix}{bits}"
    codes["226"], codes["608"] = "bf16", "str"
    return codes


def read_cases(paths):
    """What the cases that expect results use: {op: set of words}."""
    codes, used, count = types_by_code(), defaultdict(set), defaultdict(int)
    for path in paths:
        tensors, nodes, good = [], [], True

        def finish():
            for op, ins, outs, params in nodes if good else []:
                count[op] += 1
                for word, names in (("in", ins), ("out", outs)):
                    for i, t in enumerate(names):
                        if t.isdigit():
                            used[op].add(f"{word}[{i}]={tensors[int(t)]}")
                used[op].update(params)

        for line in index_lines(path):
            words = line.split(" ")
            if words[0] == "case":
                finish()
                tensors, nodes, good = [], [], True
            elif words[0] == "tensor":
                code = words[3].lower().lstrip("0")
                tensors.append("null" if words[2] == "null" else codes.get(code, code))
            elif words[0] == "node":
                split = lambda text: [] if text == "-" else text.split(",")
                nodes.append((words[1], split(words[4]), split(words[5]), set()))
            elif words[0] == "scalar":
                nodes[-1][3].update((words[1], f"{words[1]}={words[3]}"))
            elif words[0] == "tparam":
                nodes[-1][3].add(words[1])
            elif words[0] == "fail":
                good = False
        finish()
    return used, count


def rows(path):
    return [line.rstrip("\n").split("\t") for line in open(path) if not line.startswith("#")]


def wanted(ops, support):
    """(op, word) pairs that must be used."""
    for row in rows(ops):
        for param in filter(None, row[4].split(" ; ") if len(row) > 4 else []):
            name, _, _, _, _, default, enums = (param.split(":") + [""] * 7)[:7]
            yield row[0], name
            for value in re.findall(r"=(\d+)", enums):
                if value != default:  # a case without the parameter has the default
                    yield row[0], f"{name}={value}"
    for row in rows(support):
        if row[1] != "CPU" or row[3] != "yes":
            continue
        for operand, types in re.findall(r"((?:in|out)\[\d+\])=([a-z0-9|]+)", row[4]):
            for name in types.split("|"):
                yield row[0], f"{operand}={name}"


def main():
    used, count = read_cases(sys.argv[3:])
    names = [row[0] for row in rows(sys.argv[1])]
    missing = [f"{op}: no case" for op in names if not count[op] and (op, "") not in EXCUSED]
    pairs = set(wanted(sys.argv[1], sys.argv[2]))
    for op, word in sorted(pairs):
        if count[op] and word not in used[op] and (op, word) not in EXCUSED:
            missing.append(f"{op}: {word}")
    print("\n".join(missing))
    print(f"coverage: {len(names)} ops, {sum(count.values())} nodes in cases with results, "
          f"{len(pairs)} facts, {len(missing)} not covered, {len(EXCUSED)} excused")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
