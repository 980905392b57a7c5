# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_onnx: make_corpus.py FOLDER (tests/fuzz/corpus/onnx).

Small models of the reader's tests, and models with a node of every op that the folder computes.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
import fold_case  # noqa: E402
import fold_cases_axes  # noqa: E402
import fold_cases_elementwise  # noqa: E402
import fold_cases_quant  # noqa: E402
import fold_cases_shape  # noqa: E402
import make_models  # noqa: E402

PER_MODEL, LARGEST = 6, 3000


def chosen():
    """The smallest case of each op, opset and number of inputs."""
    best = {}
    for group in (fold_cases_elementwise, fold_cases_shape, fold_cases_axes, fold_cases_quant):
        for case in group.cases():
            if isinstance(case.expected, str):
                continue
            key = case.op, case.opset, len(case.inputs)
            size = sum(x.nbytes for x in case.inputs if hasattr(x, "nbytes"))
            if key not in best or size < best[key][0] and size:
                best[key] = size, case
    return [best[key][1] for key in sorted(best, key=lambda k: (k[1], k[0], k[2]))]


def models():
    for name, model in make_models.plain():
        if not name.startswith("random_") or len(name) < 9:  # ten of those are enough
            yield name, model if isinstance(model, bytes) else model.SerializeToString()
    cases = chosen()
    for opset in sorted({case.opset for case in cases}):
        group = [case for case in cases if case.opset == opset]
        for at in range(0, len(group), PER_MODEL):
            model = fold_case.build(group[at:at + PER_MODEL], opset)
            yield f"fold_{opset}_{at // PER_MODEL}", model.SerializeToString()


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in models():
        if len(data) <= LARGEST:
            (folder / f"{name}.onnx").write_bytes(data)


if __name__ == "__main__":
    main()
