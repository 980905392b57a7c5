# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_onnx_run: make_run_corpus.py FOLDER (tests/fuzz/corpus/run).

Small models of the importer's tests: for each op the smallest that shows it with a set of
attributes and a number of inputs that no smaller one has.
"""
import importlib
import re
import sys
from pathlib import Path

FRONTEND = Path(__file__).resolve().parent.parent / "frontend"
LARGEST, PER_OP = 900, 4


def shown(graph):
    """(op, domain, inputs, attributes) of every node."""
    for node in graph.node:
        names = tuple(sorted(a.name for a in node.attribute))
        yield node.op_type, node.domain, len(node.input), names
        for attribute in node.attribute:
            yield from shown(attribute.g)


def models():
    sys.path.insert(0, str(FRONTEND))
    for script in sorted(FRONTEND.glob("onnx_*.py")):
        for case in importlib.import_module(script.stem).cases():
            data = case.model.SerializeToString()
            if len(data) <= LARGEST:
                yield len(data), case.name, data, sorted(set(shown(case.model.graph)))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seen, per_op = set(), {}
    for _, name, data, parts in sorted(models(), key=lambda m: (m[0], m[1])):
        new = [p for p in parts if p not in seen and per_op.get(p[:2], 0) < PER_OP]
        if not new:
            continue
        seen.update(parts)
        for part in {p[:2] for p in new}:
            per_op[part] = per_op.get(part, 0) + 1
        (folder / f"{re.sub('[^a-zA-Z0-9_]+', '_', name)}.onnx").write_bytes(data)


if __name__ == "__main__":
    main()
