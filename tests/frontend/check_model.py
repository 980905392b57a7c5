# SPDX-License-Identifier: MIT
"""Compares the ONNX reader with the onnx package: check_model.py DUMP_MODEL FOLDER.

Every model of FOLDER/good (written by make_models.py) is turned into the JSON form of dump_model.c
from onnx's own objects and compared with what dump_model prints.
"""
import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

BITS = {TensorProto.FLOAT: 32, TensorProto.DOUBLE: 64, TensorProto.FLOAT16: 16,
        TensorProto.BFLOAT16: 16, TensorProto.COMPLEX64: 64}
for _type in TensorProto.DataType.values():
    _name = TensorProto.DataType.Name(_type)
    for _prefix in ("UINT", "INT"):
        if _name.startswith(_prefix) and _name[len(_prefix):].isdigit():
            BITS[_type] = int(_name[len(_prefix):])
BITS.update({getattr(TensorProto, n): b for n, b in (
    ("BOOL", 8), ("FLOAT8E4M3FN", 8), ("FLOAT8E4M3FNUZ", 8), ("FLOAT8E5M2", 8),
    ("FLOAT8E5M2FNUZ", 8), ("FLOAT4E2M1", 4), ("FLOAT8E8M0", 8)) if hasattr(TensorProto, n)})
LISTS = {AttributeProto.FLOATS, AttributeProto.INTS, AttributeProto.STRINGS}
# Field of an attribute by type; types that the reader does not keep have none.
VALUE = {AttributeProto.FLOAT: "f", AttributeProto.INT: "i", AttributeProto.STRING: "s",
         AttributeProto.TENSOR: "t", AttributeProto.GRAPH: "g", AttributeProto.FLOATS: "floats",
         AttributeProto.INTS: "ints", AttributeProto.STRINGS: "strings"}


def text(value):
    return (value if isinstance(value, bytes) else value.encode()).hex()


def bits_of(value):
    return struct.pack("<f", value).hex()


def packed(array, bits):
    """Bytes as ONNX stores them: types of less than a byte low bits first."""
    if bits >= 8:
        return array.tobytes()
    codes = [int(v) & (2**bits - 1) for v in array.reshape(-1).view(np.uint8)]
    per = 8 // bits
    return bytes(sum(v << (bits * i) for i, v in enumerate(codes[at:at + per]))
                 for at in range(0, len(codes), per))


def dump_tensor(tensor):
    bits = BITS.get(tensor.data_type, 0)
    data = packed(numpy_helper.to_array(tensor), bits) if bits else b""
    return {"type": tensor.data_type, "dims": list(tensor.dims), "data": data.hex(),
            "name": text(tensor.name)}


def kind(attr):
    """Old files do not say it: the field that is set tells."""
    if attr.type:
        return attr.type
    for type_ in (AttributeProto.FLOATS, AttributeProto.INTS, AttributeProto.STRINGS):
        if len(getattr(attr, VALUE[type_])):
            return type_
    return next(type_ for type_ in (AttributeProto.TENSOR, AttributeProto.GRAPH,
                                    AttributeProto.STRING, AttributeProto.FLOAT,
                                    AttributeProto.INT) if attr.HasField(VALUE[type_]))


def dump_attr(attr):
    type_ = kind(attr)
    entry = {"name": text(attr.name), "type": type_, "ref": text(attr.ref_attr_name)}
    value = getattr(attr, VALUE[type_]) if type_ in VALUE else None
    convert = {AttributeProto.FLOAT: bits_of, AttributeProto.FLOATS: bits_of,
               AttributeProto.INT: int, AttributeProto.INTS: int, AttributeProto.STRING: text,
               AttributeProto.STRINGS: text, AttributeProto.TENSOR: dump_tensor,
               AttributeProto.GRAPH: dump_graph}.get(type_)
    if attr.ref_attr_name or convert is None:
        entry["value"] = None
    else:
        entry["value"] = [convert(v) for v in value] if type_ in LISTS else convert(value)
    return entry


def dump_nodes(nodes):
    return [{"in": [text(n) for n in node.input], "out": [text(n) for n in node.output],
             "attrs": [dump_attr(a) for a in node.attribute],
             "name": text(node.name or f"{node.op_type[:64]}_{i}"), "op": text(node.op_type),
             "domain": text("" if node.domain == "ai.onnx" else node.domain)}
            for i, node in enumerate(nodes)]


def dump_dim(dim):
    if dim.HasField("dim_param"):
        return text(dim.dim_param)
    return max(dim.dim_value, -1) if dim.HasField("dim_value") else -1


def dump_info(info):
    tensor = info.type.tensor_type if info.type.HasField("tensor_type") else None
    return {"type": tensor.elem_type if tensor is not None else 0, "name": text(info.name),
            "dims": [dump_dim(d) for d in tensor.shape.dim]
            if tensor is not None and tensor.HasField("shape") else None}


def dump_graph(graph):
    return {"name": text(graph.name), "constants": [dump_tensor(t) for t in graph.initializer],
            "inputs": [dump_info(v) for v in graph.input],
            "outputs": [dump_info(v) for v in graph.output],
            "infos": [dump_info(v) for v in graph.value_info], "nodes": dump_nodes(graph.node)}


def dump_model(path):
    model = onnx.load(path, load_external_data=False)
    for tensor in [*model.graph.initializer,
                   *(a.t for n in model.graph.node for a in n.attribute)]:
        if tensor.data_location == TensorProto.EXTERNAL:
            load_external(tensor, path.parent)
    return {
        "ir_version": model.ir_version, "producer": text(model.producer_name),
        "opsets": [[text("" if o.domain == "ai.onnx" else o.domain), o.version]
                   for o in model.opset_import],
        "functions": [{"in": [text(n) for n in f.input], "out": [text(n) for n in f.output],
                       "attrs": [text(n) for n in f.attribute],
                       "defaults": [dump_attr(a) for a in f.attribute_proto],
                       "name": text(f.name), "domain": text(f.domain),
                       "nodes": dump_nodes(f.node)} for f in model.functions],
        "graph": dump_graph(model.graph)}


def load_external(tensor, folder):
    """By hand: onnx refuses links and wants a length that fits."""
    entries = {e.key: e.value for e in tensor.external_data}
    bits = BITS[tensor.data_type] * int(np.prod(tensor.dims, dtype=np.int64))
    start = int(entries.get("offset", 0))
    tensor.raw_data = (folder / entries["location"]).read_bytes()[start:start + (bits + 7) // 8]
    tensor.data_location = TensorProto.DEFAULT


def difference(ours, theirs, at="model"):
    """Where two dumps differ first; '' when they do not."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return next(filter(None, (difference(ours[k], theirs[k], f"{at}.{k}") for k in ours)), "")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return next(filter(None, (difference(a, b, f"{at}[{i}]")
                                  for i, (a, b) in enumerate(zip(ours, theirs)))), "")
    return "" if ours == theirs else f"{at}: {str(ours)[:200]}, expected {str(theirs)[:200]}"


def main():
    runner, folder = list(filter(None, sys.argv[1].split(";"))), Path(sys.argv[2])
    paths = sorted((folder / "good").rglob("*.onnx"))
    failed = 0
    for path in paths:
        done = subprocess.run([*runner, str(path)], capture_output=True, text=True)
        wrong = (done.stderr[-500:] or f"exit {done.returncode}" if done.returncode
                 else difference(json.loads(done.stdout), dump_model(path)))
        failed += bool(wrong)
        if wrong:
            print(f"{path.name}: {wrong}")
    if len(paths) < 60:
        print(f"only {len(paths)} models")
        failed += 1
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
