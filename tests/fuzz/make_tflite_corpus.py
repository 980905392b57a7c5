# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_tflite: make_tflite_corpus.py FOLDER (tests/fuzz/corpus/tflite).

One small model of each kind of op that check_tflite.py runs, the types of activations by turns,
and a model with a DISPATCH_OP. Needs the `flatbuffers` package.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "frontend"))
from flatbuffers import flexbuffers  # noqa: E402
from tflite_cases import cases  # noqa: E402
from tflite_writer import Graph  # noqa: E402

LARGEST, MOST = 3200, 48
ALWAYS = {"net", "sparse_weights", "dynamic_batch"}


def dispatch():
    """A model that LiteRT might have compiled, for a context binary that a test puts behind it
    and whose place and size it puts in the place of these numbers."""
    g = Graph()
    options = flexbuffers.Dumps({"bytecode_offset": 0x7f000001, "bytecode_size": 0x7f000002,
                                "name": "graph"})
    g.output(g.op("DISPATCH_OP", [g.input("x", [1, 4])], g.tensor([1, 4]), custom=bytes(options)))
    return g.bytes()


def chosen():
    groups = {}
    for name, model, _ in cases():
        if len(model) <= LARGEST:
            groups.setdefault(name.split("/")[0], []).append((name, model))
    names = sorted(set(groups) - ALWAYS)
    step = max(1, len(names) // MOST)
    for i, name in enumerate(sorted(ALWAYS) + names[::step]):
        yield groups[name][i % len(groups[name])]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dispatch.tflite").write_bytes(dispatch())
    for name, model in chosen():
        (folder / f"{name.replace('/', '_')}.tflite").write_bytes(model)


if __name__ == "__main__":
    main()
