# SPDX-License-Identifier: MIT
"""Writes the corpus of fuzz_dlc: make_dlc_corpus.py FOLDER (tests/fuzz/corpus/dlc)."""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from dlc_file import topology, write  # noqa: E402


def tensor(i, name, kind, dtype, dims, **more):
    return {"id": i, "name": name, "type": kind, "data_type": dtype, "dims": dims, **more}


def plain():
    tensors = [tensor(1, "x", "APP_WRITE", "FLOAT_32", [2, 3], dynamic=[1, 0], optional=True),
               tensor(2, "p", "STATIC", "UINT_32", [2], data=[0, 8]),
               tensor(3, "y", "APP_READ", "FLOAT_32", [3, 2])]
    params = [{"name": "perm", "tensor": 2}, {"name": "s", "data_type": "STRING", "value": "a"},
              {"name": "f", "data_type": "FLOAT_32", "bits": "3ff0000000000000", "value": 1},
              {"name": "i", "data_type": "INT_32", "value": -7},
              {"name": "u", "data_type": "UINT_64", "value": 2 ** 64 - 1}]
    node = {"name": "t", "package": "qti.aisw", "type": "Transpose", "inputs": [1, 0],
            "outputs": [3], "params": params}
    return [("model.topology", 2, topology([{"name": "g", "tensors": tensors, "nodes": [node]}])),
            ("model.weights", 4, struct.pack("<II", 1, 0))]


def encodings():
    common = {"form": 0, "bits": 8, "twice_shift": 0}
    axis = {**common, "kind": "AXIS", "axis": 0, "count": 2, "scales": [0, 8], "offsets": [8, 8]}
    block = {**common, "kind": "BLOCK", "block": [1, 2], "count": 4, "scales": [0, 16],
             "real_offsets": [0, 16],
             "expansion": {"axis": 0, "blocks": 2, "factor_bits": 4, "storage_bits": 8,
                           "scales": [0, 8], "offsets": [8, 8], "factors": [0, 4]}}
    whole = {**common, "kind": "TENSOR", "scale_bits": "3f000000", "scale": .5, "offset": -3}
    tensors = [tensor(i + 2, f"w{i}", "STATIC", "SFIXED_POINT_8", [2, 4], data=[64 * i, 8],
                      encoding=e, updateable=True) for i, e in enumerate((axis, block, whole))]
    shared = [tensor(1, "state", "APP_READWRITE", "INT_32", [1])]
    graph = {"name": "g", "tensors": tensors, "nodes": []}
    return [("model.topology", 2, topology([graph], shared)),
            ("model.encodings", 5, struct.pack("<4f", .5, .25, 1, 2)),
            ("model.weights", 4, bytes(range(136)))]


def other():
    return [("htp.cache", 7, b"QUERNCTX"), ("notes", 17, b"")]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (plain, encodings, other):
        (folder / f"{make.__name__}.dlc").write_bytes(write(make()))
