#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The twelve networks of latency.tsv without their weights: networks.zip.

They are torchvision's, written by torch.onnx.export (opset 17, eval mode, 224x224 pixels; FCN
520x520 with an ArgMax over its result). Large weights are external data in one file of zeros, which
is made when the networks are unpacked; names and comments are gone.

  networks.py OUT.zip MODEL.onnx...    takes the weights out of models and packs them
"""
import os
import pathlib
import sys
import zipfile

ZEROS = "zeros"
LARGE = 256  # bytes; smaller constants may be shapes and limits
PACKED = pathlib.Path(__file__).resolve().parent / "networks.zip"


def unpack(folder, packed=PACKED):
    """{name: path} of the networks, below a folder."""
    folder = pathlib.Path(folder)
    with zipfile.ZipFile(packed) as z:
        z.extractall(folder)
        most = int(z.comment)
    with open(folder / ZEROS, "wb") as f:
        os.truncate(f.fileno(), most)  # takes no room on the disk
    return {path.stem: path for path in sorted(folder.glob("*.onnx"))}


def strip(path):
    """A model without weights, and the size of the largest one."""
    import onnx
    m = onnx.load(path, load_external_data=False)
    names, most = {}, 0
    short = lambda name: names.setdefault(name, f"{len(names):x}") if name else ""
    for holder in (m, m.graph, *m.graph.node):
        holder.ClearField("doc_string")
        del holder.metadata_props[:]
    del m.graph.value_info[:]
    for value in (*m.graph.input, *m.graph.initializer, *m.graph.output):
        value.name = short(value.name)
        value.ClearField("doc_string")
    for node in m.graph.node:
        node.ClearField("name")
        for names_of in (node.input, node.output):
            names_of[:] = [short(name) for name in names_of]
    for t in m.graph.initializer:
        n = 4
        for d in t.dims:
            n *= d
        if t.data_type != onnx.TensorProto.FLOAT or n <= LARGE:
            continue
        for field in ("raw_data", "float_data", "external_data"):
            t.ClearField(field)
        t.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", ZEROS), ("length", str(n))):
            t.external_data.add(key=key, value=value)
        most = max(most, n)
    return m.SerializeToString(), most


def main():
    out, *paths = sys.argv[1:]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        most = 0
        for path in sorted(paths):
            data, n = strip(path)
            z.writestr(zipfile.ZipInfo(os.path.basename(path)), data, zipfile.ZIP_DEFLATED)
            most = max(most, n)
        z.comment = str(most).encode()


if __name__ == "__main__":
    main()
