# SPDX-License-Identifier: MIT
"""Writes ONNX models for the tests of the reader: make_models.py FOLDER.

FOLDER/good holds models that must be read, FOLDER/bad models that must be refused; bad/expect.tsv
says for each of those which words the message must have.
"""
import os
import random
import sys
from pathlib import Path

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

TYPES = [t for t in TensorProto.DataType.values() if t not in (TensorProto.UNDEFINED,
                                                               TensorProto.STRING)]


def field(number, payload):
    """A field on the wire: an integer as varint, bytes with their length."""
    def varint(v):
        out = b""
        while v > 127:
            out, v = out + bytes([v & 127 | 128]), v >> 7
        return out + bytes([v])
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload % 2**64)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def raw_model(graph, ir=8):
    """A model around the bytes of a graph."""
    return field(1, ir) + field(8, field(2, 17)) + field(7, graph)


def model_of(nodes, constants=(), inputs=(), outputs=(), infos=(), ir=8, opsets=None, **more):
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(constants),
                              value_info=list(infos))
    model = helper.make_model(graph, opset_imports=opsets or [helper.make_opsetid("", 17)], **more)
    model.ir_version = ir
    return model


def tensor(name, dtype, shape, raw):
    """Any type: codes for what numpy does not know by itself."""
    count = int(np.prod(shape, dtype=np.int64))
    rng = random.Random(f"{name}{dtype}{shape}")
    np_type = np.dtype(helper.tensor_dtype_to_np_dtype(dtype))
    if np_type.kind in "fc" and dtype != TensorProto.COMPLEX64:
        values = np.array([rng.uniform(-9, 9) for _ in range(count)]).astype(np_type)
    elif np_type.kind == "c":
        values = np.array([complex(rng.random(), rng.random()) for _ in range(count)], np_type)
    elif np_type.kind == "u":
        values = np.array([rng.randrange(2**(8 * np_type.itemsize)) for _ in range(count)], np_type)
    elif np_type.kind == "i":
        half = 2**(8 * np_type.itemsize - 1)
        values = np.array([rng.randrange(-half, half) for _ in range(count)], np_type)
    else:
        values = np.array([rng.randrange(2) for _ in range(count)]).astype(np_type)
    made = numpy_helper.from_array(values.reshape(shape), name)
    if not raw:
        made = helper.make_tensor(name, dtype, shape, values.reshape(-1))
    return made


def tensors():
    for raw in (True, False):
        for shape in ((5,), (), (0, 3), (2, 3, 1)):
            made = []
            for dtype in TYPES:
                try:
                    made.append(tensor(f"t{dtype}", dtype, shape, raw))
                except (TypeError, ValueError, KeyError):  # a type that this onnx cannot make
                    continue
            name = f"tensors_{'raw' if raw else 'typed'}_{'x'.join(map(str, shape)) or 'scalar'}"
            yield name, model_of([], made)
    strings = helper.make_tensor("s", TensorProto.STRING, [2], [b"a", b"bc"])
    yield "tensors_string", model_of([], [strings])
    unpacked = raw_model(field(5, field(1, 2) + field(1, 1) + field(2, 7) + field(8, b"loose")
                               + field(7, 5) + field(7, -6)))
    yield "tensors_unpacked", unpacked
    packed = raw_model(field(5, field(1, bytes([2, 1])) + field(2, 6) + field(8, b"packed")
                             + field(5, bytes([5, 0x80, 0x01]))))
    yield "tensors_packed", packed


def attributes():
    graph = helper.make_graph([helper.make_node("Neg", ["a"], ["b"])], "inner", [],
                              [helper.make_tensor_value_info("b", 1, [2])])
    values = helper.make_tensor("v", TensorProto.FLOAT, [3], [1, 2, 3])
    node = helper.make_node(
        "Op", ["x", "", "y"], ["", "z"], name="every type", domain="some.domain", zero=0.0,
        minus=-0.0, nan=float("nan"), one=1, least=-2**63, most=2**63 - 1, text="t\u00e4xt",
        bytes_=b"a\0b\xff", tensor=values, graph=graph, floats=[0.0, 1.5, -1e30],
        ints=[0, -1, 2**62], strings=["a", "", "c"], tensors=[values, values],
        graphs=[graph, graph])
    for kind in (AttributeProto.FLOATS, AttributeProto.INTS, AttributeProto.STRINGS):
        node.attribute.append(AttributeProto(name=f"empty{kind}", type=kind))
    node.attribute.append(AttributeProto(name="left out", type=AttributeProto.STRING))
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", 7, [3], [0, 2, 4]), [9])
    node.attribute.append(helper.make_attribute("sparse", sparse))
    node.attribute.append(helper.make_attribute(
        "type", helper.make_tensor_type_proto(TensorProto.FLOAT, [1])))
    yield "attributes", model_of([node])
    old = helper.make_node("Old", ["x"], ["y"], zero=0.0, none=0, f=2.5, i=3, s="s", t=values,
                           g=graph, fs=[1.0], is_=[1, 2], ss=["a"])
    for attr in old.attribute:
        attr.ClearField("type")
    yield "attributes_without_types", model_of([old], ir=1)
    packed = field(5, field(1, b"ints") + field(8, bytes([1, 2, 0x80, 0x01])) + field(20, 7))
    floats = field(5, field(1, b"floats") + field(7, np.float32([1, 2]).tobytes()) + field(20, 6))
    yield "attributes_packed", raw_model(field(1, field(4, b"Op") + packed + floats))
    mixed = field(5, field(1, b"m") + field(20, 8) + field(7, np.float32([1, 2, 3]).tobytes())
                  + field(9, b"one") + field(8, 4) + field(9, b"two"))
    yield "attributes_mixed", raw_model(field(1, field(4, b"Op") + mixed))


def nested(depth):
    graph = helper.make_graph([], "deepest", [], [])
    for level in range(depth):
        graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=graph)],
                                  f"level{level}", [], [])
    model = helper.make_model(graph)
    model.ir_version = 8
    return model


def nested_bytes(depth):
    """Deeper than the protobuf library itself goes."""
    graph = b""
    for _ in range(depth):
        graph = field(1, field(4, b"If") + field(5, field(1, b"b") + field(6, graph)
                                                 + field(20, 5)))
    return raw_model(graph)


def values():
    info = helper.make_tensor_value_info
    odd = info("odd", 1, [None, 3])
    odd.type.tensor_type.shape.dim[1].Clear()
    negative = info("negative", 1, [-7])
    sequence = helper.make_tensor_sequence_value_info("sequence", 1, [2])
    untyped = info("untyped", 1, [1])
    untyped.ClearField("type")
    optional = helper.make_value_info("optional", helper.make_optional_type_proto(
        helper.make_tensor_type_proto(1, [2])))
    listed = [info("plain", 1, [1, 2, 3]), info("symbols", 7, ["batch", 4, "len gth"]),
              info("scalar", 10, []), info("no shape", 16, None), odd, negative, sequence, untyped,
              optional, info("big", 2, [2**40, 0])]
    yield "values", model_of([helper.make_node("A", ["plain"], ["o"])], inputs=listed[:4],
                             outputs=listed[4:6], infos=listed)


def functions():
    node = helper.make_node("Clip", ["x", "lo"], ["y"])
    attr = AttributeProto(name="max", ref_attr_name="limit", type=AttributeProto.FLOAT)
    node.attribute.append(attr)
    made = helper.make_function("my", "Bounded", ["x", "lo"], ["y"], [node],
                                [helper.make_opsetid("", 17)], ["limit"],
                                [helper.make_attribute("soft", 0.5)])
    other = helper.make_function("my", "Empty", [], [], [], [helper.make_opsetid("", 17)])
    yield "functions", model_of(
        [helper.make_node("Bounded", ["a", ""], ["b"], domain="my", limit=2.0)],
        opsets=[helper.make_opsetid("ai.onnx", 18), helper.make_opsetid("my", 1),
                helper.make_opsetid("com.microsoft", 1)], functions=[made, other],
        producer_name="a producer")


def names():
    nodes = [helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Add", ["c", ""], ["d"]),
             helper.make_node("Named", [], [], name="n"), helper.make_node("X" * 200, [], []),
             helper.make_node("Std", [], [], domain="ai.onnx"), helper.make_node("", [], [])]
    model = model_of(nodes, [helper.make_tensor("", 1, [1], [1.0])], ir=3,
                     inputs=[helper.make_tensor_value_info("", 1, [1])])
    model.doc_string = "ignored"
    model.model_version = 77
    helper.set_model_props(model, {"key": "value"})
    yield "names", model


def random_models():
    for seed in range(40):
        rng = random.Random(seed)

        def some(make, most=4, rng=rng):
            return [make() for _ in range(rng.randrange(most))]

        def name(rng=rng):
            return "".join(rng.choice("abc/.:_1\u00fc") for _ in range(rng.randrange(9)))

        def attr(rng=rng, some=some, name=name):
            value = rng.choice([
                lambda: rng.randrange(-2**63, 2**63), lambda: np.float32(rng.gauss(0, 1)).item(),
                name, lambda: [rng.randrange(300) for _ in range(1 + rng.randrange(4))],
                lambda: [float(rng.randrange(9)) for _ in range(1 + rng.randrange(4))],
                lambda: [name() for _ in range(1 + rng.randrange(3))],
                lambda: tensor(name(), rng.choice([1, 2, 7, 9, 10, 16, 22]),
                               [rng.randrange(4) for _ in range(rng.randrange(4))],
                               rng.random() < 0.5)])()
            return helper.make_attribute(name(), value)

        taken = set()

        def node(rng=rng, some=some, name=name, attr=attr, taken=taken):
            made = helper.make_node(name(), some(name), some(name), name=name(), domain=name())
            for i, output in enumerate(made.output):  # ONNX forbids a value that is made twice
                if output and output in taken:
                    made.output[i] = f"{output}{len(taken)}!"
                taken.add(made.output[i])
            made.attribute.extend(some(attr))
            return made

        constants = some(lambda rng=rng, name=name: tensor(
            name(), rng.choice([1, 3, 6, 11, 12, 13, 21]), [rng.randrange(5)], rng.random() < 0.5))
        taken.update(c.name for c in constants)
        yield f"random_{seed}", model_of(some(node, 8), constants, opsets=[
            helper.make_opsetid("", rng.randrange(1, 23))])


def external(name, dtype, dims, **entries):
    made = TensorProto(name=name, data_type=dtype, dims=dims,
                       data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        made.external_data.add(key=key, value=str(value))
    return made


def external_models(folder):
    data = bytes(random.Random(1).randrange(256) for _ in range(4095)) + b"\5"
    (folder / "data.bin").write_bytes(data)
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / "more.bin").write_bytes(data[::-1])
    inner = external("in an attribute", 1, [2], location="data.bin", offset=64, length=8)
    yield "external", model_of(
        [helper.make_node("Constant", [], ["c"], value=inner)],
        [external("first", 1, [4, 4], location="data.bin", offset=0, length=64),
         external("second", 7, [3], location="data.bin", offset=128, length=24),
         external("no length", 10, [5], location="data.bin", offset=256),
         external("no offset", 2, [7], location="data.bin"),
         external("unaligned", 1, [3], location="data.bin", offset=1001, length=12),
         external("last", 22, [9], location="data.bin", offset=4091, length=5),
         external("longer", 3, [4], location="data.bin", offset=0, length=4096),
         external("other file", 1, [8], location="sub/more.bin", offset=32, length=32),
         external("round about", 1, [2], location="sub/../data.bin", offset=8, length=8),
         external("nothing", 1, [0], location="data.bin", offset=0, length=0)])
    # Links to a model and its data side by side, as download caches keep them.
    cache = folder / "cache"
    (cache / "blobs").mkdir(parents=True, exist_ok=True)
    (cache / "snapshot").mkdir(exist_ok=True)
    (cache / "blobs" / "m").write_bytes(model_of([], [
        external("linked", 1, [16], location="weights", offset=0, length=64)]).SerializeToString())
    (cache / "blobs" / "w").write_bytes(data)
    for link, target in (("model.onnx", "m"), ("weights", "w")):
        if not (cache / "snapshot" / link).is_symlink():
            (cache / "snapshot" / link).symlink_to(Path("../blobs") / target)


def plain():
    """Models that need no other file, by name."""
    for group in (tensors, attributes, values, functions, names, random_models):
        yield from group()
    yield "nested_30", nested(30)
    constant = helper.make_tensor("w", 1, [2, 2], [1, 2, 3, 4])
    yield "small", model_of(
        [helper.make_node("MatMul", ["x", "w"], ["h"]),
         helper.make_node("If", ["c"], ["y"], then_branch=helper.make_graph(
             [helper.make_node("Relu", ["h"], ["y"])], "t",
             [], [helper.make_tensor_value_info("y", 1, None)]))],
        [constant, numpy_helper.from_array(np.arange(3, dtype=np.int64), "i")],
        inputs=[helper.make_tensor_value_info("x", 1, ["n", 2])],
        outputs=[helper.make_tensor_value_info("y", 1, None)])


def good(folder):
    """The models of good/, by name."""
    yield from plain()
    yield from external_models(folder)
    yield "zero_copy", model_of([], [
        tensor("bytes", 2, [64], True), tensor("four bits", 22, [64], True),
        *(tensor("f" * n, 1, [16], True) for n in range(1, 9)),
        external("outside", 1, [64], location="data.bin", offset=512, length=256)])


def bad(folder):
    """(name, model or bytes, words of the message)."""
    (folder / "data.bin").write_bytes(bytes(100))
    (folder.parent / "outside.bin").write_bytes(bytes(100))
    (folder / "dir").mkdir(exist_ok=True)
    if not (folder / "link.bin").is_symlink():
        (folder / "link.bin").symlink_to("../outside.bin")
    if not (folder / "pipe").exists():
        os.mkfifo(folder / "pipe")
    (folder.parent / "bad2").mkdir(exist_ok=True)
    (folder.parent / "bad2" / "x.bin").write_bytes(bytes(100))

    def ext(**entries):
        return model_of([], [external("the tensor", 1, [4], **entries)])

    def one(**more):
        made = TensorProto(name="the tensor", data_type=1, **more)
        return model_of([], [made])

    inside, where = "the model's folder", "'the tensor'"
    yield "empty", b"", "an empty file"
    yield "text", b"this is no model at all\n", "a text file"
    yield "only_ir", field(1, 8), "no graph"
    yield "no_ir", field(7, b""), "no IR version"
    yield "nested_100", nested_bytes(100), "offset", "deeper than"
    yield "up", ext(location="../outside.bin"), where, inside
    yield "up_same_prefix", ext(location="../bad2/x.bin"), where, inside
    yield "up_and_missing", ext(location="../missing.bin"), where, "missing"
    yield "absolute", ext(location=str((folder / "data.bin").resolve())), where, inside
    yield "link_out", ext(location="link.bin"), where, inside
    yield "folder", ext(location="dir"), "dir", "not a regular file"
    yield "pipe_file", ext(location="pipe"), "pipe", "not a regular file"
    yield "missing", ext(location="no.bin"), where, "missing"
    yield "no_location", ext(offset=0), where, "location"
    yield "empty_location", ext(location=""), where, inside
    yield "offset_past_end", ext(location="data.bin", offset=101), where, "offset 101"
    yield "length_past_end", ext(location="data.bin", offset=90, length=16), where, "100 bytes"
    yield "length_too_small", ext(location="data.bin", length=15), where, "needed are 16"
    yield "length_wraps", ext(location="data.bin", offset=16, length=2**64 - 8), where, "data.bin"
    yield "offset_wraps", ext(location="data.bin", offset=2**64 - 8), where, "data.bin"
    yield "offset_too_large", ext(location="data.bin", offset=2**64), "offset", "external data"
    yield "offset_negative", ext(location="data.bin", offset=-1), "offset '-1'"
    yield "offset_text", ext(location="data.bin", offset="12x"), "offset '12x'"
    yield "long_location", ext(location="a/" * 5000), where, "missing"
    yield "no_data", one(dims=[2**30]), where, "missing"
    yield "petabytes", one(dims=[2**50], raw_data=b"1234"), where, "4 bytes"
    yield "overflow", one(dims=[2**40, 2**40]), where, "out of range"
    yield "overflow_bits", one(dims=[2**60]), where, "out of range"
    yield "negative_dim", one(dims=[-1], raw_data=b"1234"), where, "out of range"
    yield "short_raw", one(dims=[2], raw_data=b"1234"), where, "4 bytes", "8"
    yield "long_raw", one(dims=[1], raw_data=b"12345678"), where, "8 bytes"
    yield "short_list", one(dims=[2], float_data=[1]), where, "4 bytes"
    yield "long_list", one(dims=[2], float_data=[1, 2, 3]), "offset", "more elements"
    yield "wrong_list", one(dims=[2], int64_data=[1, 2]), where, "0 bytes"
    yield "long_int_list", model_of([], [TensorProto(name="the tensor", data_type=7, dims=[1],
                                                     int64_data=[1, 2])]), "more elements"
    yield "rank_9", one(dims=[1] * 9, raw_data=b"1234"), where, "9 dimensions"
    yield "value_rank_9", model_of([], inputs=[helper.make_tensor_value_info(
        "v", 1, [1] * 9)]), "'v'", "dimensions"
    yield "sparse", model_of([]), "sparse"
    yield "length_in_name", raw_model(field(2, b"x")[:1] + b"\x7fabc"), "offset", "past the end"
    yield "length_of_2_exabytes", b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x1f", "past the end"
    yield "varint_without_end", b"\x08" + b"\xff" * 11, "offset", "64 bits"
    yield "varint_cut", b"\x08\xff", "cut short"
    yield "fixed_cut", b"\x0d\x01", "cut short"
    yield "wire_type_3", b"\x0b", "wire type"
    yield "field_0", b"\x00\x00", "field number"
    yield "text_as_number", field(8, field(2, b"8")), "number was expected"
    yield "tensorflow_graph", field(1, field(1, b"node")), "another kind", "tf2onnx"
    yield "number_as_text", field(7, field(2, 5)), "bytes were expected"
    yield "graph_as_number", field(7, 5), "bytes were expected"
    yield "node_as_number", raw_model(field(1, 5)), "bytes were expected"
    yield "float_as_number", raw_model(field(1, field(5, field(2, 5)))), "float was expected"
    yield "floats_odd", raw_model(field(1, field(5, field(7, b"12345")))), "broken length"
    yield "doubles_odd", raw_model(field(5, field(1, 1) + field(2, 11)
                                         + field(10, b"123456789"))), "broken length"
    yield "strings_as_numbers", raw_model(field(1, field(5, field(9, 3)))), "bytes were expected"
    yield "data_as_numbers", raw_model(field(5, field(9, 3))), "bytes were expected"
    yield "entry_as_number", raw_model(field(5, field(13, 3))), "bytes were expected"
    yield "many_empty_nodes", raw_model(field(1, b"") * 20000 + field(2, 3)), "bytes were expected"
    yield "many_empty_tensors", raw_model(field(5, b"") * 20000 + field(2, 3)), \
        "bytes were expected"


def add_sparse(model):
    made = model.graph.sparse_initializer.add()
    made.dims.append(3)
    return model


def write(folder):
    folder = Path(folder)
    for part in ("good", "bad"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    count = 0
    for name, model in good(folder / "good"):
        data = model if isinstance(model, bytes) else model.SerializeToString()
        (folder / "good" / f"{name}.onnx").write_bytes(data)
        count += 1
    lines = []
    for name, model, *words in bad(folder / "bad"):
        if name == "sparse":
            model = add_sparse(model)
        data = model if isinstance(model, bytes) else model.SerializeToString()
        (folder / "bad" / f"{name}.onnx").write_bytes(data)
        lines.append("\t".join([f"{name}.onnx", *words]))
    (folder / "bad" / "expect.tsv").write_text("\n".join(lines) + "\n")
    big = model_of([], [external("big", 1, [2**29], location="big.bin", offset=2**31 + 4096)])
    (folder / "big.onnx").write_bytes(big.SerializeToString())
    print(f"{count} models to read, {len(lines)} to refuse")


if __name__ == "__main__":
    write(sys.argv[1])
