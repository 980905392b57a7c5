# SPDX-License-Identifier: MIT
"""Models whose declared shapes are not those that their values have, made from a seed.

A plain one has a node whose result's shape depends on data, which is left to the host, and nodes
behind it that the provider takes; what is declared for the values between them is changed. A
context one is compiled from a small network, and what its file declares is changed afterwards. Each
comes with feeds and with the model that tells what is right: the same nodes, nothing declared.
"""
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I64 = np.float32, np.int64
ELEMENTS = 1 << 22  # of a declared tensor, where its size is meant to be believed
node = helper.make_node


@dataclass
class Case:
    """A model, what to feed it, and where the right answers come from."""
    kind: str
    model: onnx.ModelProto
    truth: onnx.ModelProto  # nothing is declared that could be wrong
    feeds: list
    differs: bool  # declared and real shapes
    options: dict
    names: dict = field(default_factory=dict)  # of the model's values in `truth`, where they differ
    files: dict = field(default_factory=dict)  # beside the model


def info(name, dtype, shape):
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def whole(nodes, inputs, outputs, constants=(), values=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs,
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants],
                              value_info=values)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


# --- shapes

def overstated(r, s):
    i = r.integers(len(s)) if s else 0
    most = max(2, ELEMENTS // max(1, int(np.prod(s))))
    return [int(d * r.integers(2, min(most, 1 << 20) + 1)) if k == i else d
            for k, d in enumerate(s)] or [int(r.integers(2, ELEMENTS))]


def understated(r, s):
    i = r.integers(len(s)) if s else 0
    return [int(r.integers(0, max(1, d))) if k == i else d for k, d in enumerate(s)]


def longer(r, s):
    at = r.integers(len(s) + 1)
    return [*s[:at], int(r.choice([1, 1, 2, 0])), *s[at:]]


def shorter(r, s):
    at = r.integers(len(s)) if s else 0
    return [*s[:at], *s[at + 1:]]


def permuted(r, s):
    return [s[i] for i in r.permutation(len(s))]


def joined(r, s):
    return [int(np.prod(s))]


def opened(r, s):
    return [f"d{i}" if r.random() < 0.5 else d + int(r.integers(0, 2)) for i, d in enumerate(s)]


SHAPES = [overstated, overstated, understated, longer, shorter, permuted, joined, opened,
          lambda r, s: [], lambda r, s: [1], lambda r, s: [0] * len(s),
          lambda r, s: [int(r.choice([2**31, 2**31 - 1, 2**32, 2**40, 2**62]))] + list(s)[1:],
          lambda r, s: [int(r.integers(1, 9)) for _ in range(r.integers(0, 11))]]
SAME = [lambda r, s: list(s), lambda r, s: [f"d{i}" for i in range(len(s))], lambda r, s: None]


def other_shape(r, s):
    """What is declared for a value of shape s: mostly something else."""
    ways = SHAPES if r.random() < 0.85 else SAME
    return ways[r.integers(len(ways))](r, list(s))


def is_other(declared, real):
    """Does the declaration say something that is not so?"""
    return declared is not None and (len(declared) != len(real) or any(
        not isinstance(d, str) and d != n for d, n in zip(declared, real)))


# --- plain models

def numbers(r, shape, dtype=F):
    """Small whole numbers, so that half precision keeps them."""
    return r.integers(-4, 5, shape).astype(dtype)


def mask(r, n):
    return r.random(n) < r.choice([0.2, 0.5, 0.9])


# Nodes that the provider leaves to the host. Each gives (nodes, inputs as name: values of a feed,
# type of the result); the result is called "a". Called again, it makes values for the next feed.

def _compress(r, p):
    shape = p["shape"]
    axis = p["axis"] % len(shape)
    return ([node("Compress", ["x", "c"], ["a"], "data", axis=axis)],
            {"x": numbers(r, shape), "c": mask(r, shape[axis])}, F)


def _compress_flat(r, p):
    n = int(np.prod(p["shape"]))
    return ([node("Compress", ["x", "c"], ["a"], "data")],
            {"x": numbers(r, p["shape"]), "c": mask(r, n)}, F)


def _nonzero(r, p):
    return [node("NonZero", ["x"], ["a"], "data")], {"x": numbers(r, p["shape"])}, I64


def _window(r, p):
    op = ("BlackmanWindow", "HannWindow", "HammingWindow")[p["axis"] % 3]
    return [node(op, ["n"], ["a"], "data")], {"n": np.array(r.integers(1, 40), I64)}, F


def _range(r, p):
    return ([node("Range", ["f", "t", "s"], ["a"], "data")],
            {"f": np.array(0, F), "t": np.array(r.integers(1, 30), F), "s": np.array(1, F)}, F)


def _reduce(r, p):
    op = ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceMin")[p["axis"] % 4]
    rank = len(p["shape"])
    return ([node(op, ["x", "axes"], ["a"], "data", keepdims=p["flag"])],
            {"x": numbers(r, p["shape"]), "axes": r.permutation(rank)[:1].astype(I64)}, F)


def _expand(r, p):
    return ([node("Expand", ["x", "s"], ["a"], "data")],
            {"x": numbers(r, [1]), "s": r.integers(1, 6, len(p["shape"]))}, F)


def _reshape(r, p):
    return ([node("Reshape", ["x", "s"], ["a"], "data")],
            {"x": numbers(r, p["shape"]), "s": r.permutation(p["shape"]).astype(I64)}, F)


def _slice(r, p):
    return ([node("Slice", ["x", "b", "e"], ["a"], "data")],
            {"x": numbers(r, p["shape"]), "b": np.array([0], I64),
             "e": r.integers(0, p["shape"][0] + 1, 1)}, F)


def _tile(r, p):
    return ([node("Tile", ["x", "m"], ["a"], "data")],
            {"x": numbers(r, p["shape"]), "m": r.integers(1, 4, len(p["shape"]))}, F)


def _fill(r, p):
    return ([node("ConstantOfShape", ["s"], ["a"], "data",
                  value=numpy_helper.from_array(np.ones(1, F)))],
            {"s": r.integers(1, 6, len(p["shape"]))}, F)


def _pad(r, p):
    return ([node("Pad", ["x", "p"], ["a"], "data")],
            {"x": numbers(r, p["shape"]), "p": r.integers(0, 3, 2 * len(p["shape"]))}, F)


def _topk(r, p):
    return ([node("TopK", ["x", "k"], ["a", "unread"], "data", axis=0)],
            {"x": numbers(r, p["shape"]), "k": r.integers(1, p["shape"][0] + 1, 1)}, F)


def _squeeze(r, p):
    shape = [1, *p["shape"], 1]
    return ([node("Squeeze", ["x", "axes"], ["a"], "data")],
            {"x": numbers(r, shape), "axes": np.array([r.choice([0, len(shape) - 1])], I64)}, F)


def _unique(r, p):
    return [node("Unique", ["x"], ["a"], "data")], {"x": numbers(r, p["shape"])}, F


def _nms(r, p):
    boxes = np.sort(r.random((1, 6, 4)), axis=2).astype(F)
    return ([node("NonMaxSuppression", ["b", "s", "m", "t"], ["a"], "data")],
            {"b": boxes, "s": r.random((1, 1, 6)).astype(F), "m": np.array([6], I64),
             "t": np.array([0.3], F)}, I64)


def _if(r, p):
    then = helper.make_graph([node("Relu", ["x"], ["u"])], "then", [],
                             [helper.make_tensor_value_info("u", 1, None)])
    other = helper.make_graph([node("Flatten", ["x"], ["v"], axis=0)], "other", [],
                              [helper.make_tensor_value_info("v", 1, None)])
    return ([node("If", ["c"], ["a"], "data", then_branch=then, else_branch=other)],
            {"x": numbers(r, p["shape"]), "c": np.array(r.random() < 0.5)}, F)


def _loop(r, p):
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("Identity", ["v"], ["w"]),
         node("Relu", ["v"], ["row"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []),
         helper.make_tensor_value_info("v", 1, None)],
        [helper.make_tensor_value_info("d", 9, []), helper.make_tensor_value_info("w", 1, None),
         helper.make_tensor_value_info("row", 1, None)])
    return ([node("Loop", ["n", "", "x"], ["last", "a"], "data", body=body)],
            {"n": np.array(r.integers(1, 7), I64), "x": numbers(r, p["shape"])}, F)


PRODUCERS = [_compress, _compress_flat, _nonzero, _window, _range, _reduce, _reduce, _expand,
             _reshape, _slice, _tile, _fill, _pad, _topk, _squeeze, _unique, _nms, _if, _loop]


# Nodes behind it, which take any shape: (op, further inputs, attributes).

def readers(dtype):
    two, minus = np.full(1, 2, dtype), np.array([-1], I64)
    found = [("Add", [two], {}), ("Mul", [two], {}), ("Neg", [], {}), ("Abs", [], {}),
             ("Identity", [], {}), ("Flatten", [], {"axis": 0}), ("Reshape", [minus], {}),
             ("Transpose", [], {}), ("Gather", [np.array([0], I64)], {"axis": 0}),
             ("Slice", [np.array([0], I64), np.array([1], I64)], {}),
             ("Unsqueeze", [np.array([0], I64)], {}), ("Concat", ["self"], {"axis": 0}),
             ("Shape", [], {}), ("Size", [], {}), ("Sub", [two], {}), ("Max", [two], {}),
             ("Cast", [], {"to": TensorProto.INT32}),
             ("Expand", [np.array([1], I64)], {}), ("Tile", ["rank"], {})]
    floats = [("Relu", [], {}), ("Softmax", [], {"axis": -1}), ("Sigmoid", [], {}),
              ("ReduceMean", [np.array([0], I64)], {}), ("ReduceSum", [np.array([-1], I64)], {}),
              ("Clip", [np.array(-1, F), np.array(1, F)], {}), ("MatMul", ["columns"], {}),
              ("Where", ["where"], {}), ("CumSum", [np.array(0, I64)], {})]
    return found + (floats if dtype == F else [])


def add_reader(r, nodes, constants, x, y, dtype, shape):
    """One node more; the type of its result, or None where its shapes are not for others."""
    op, more, attributes = (c := readers(dtype))[r.integers(len(c))]
    inputs = [x]
    for k, v in enumerate(more):
        if isinstance(v, str) and v == "self":
            inputs.append(x)
            continue
        if isinstance(v, str):
            v = {"columns": lambda: numbers(r, [shape[-1] if shape else 1, 3]),
                 "rank": lambda: np.ones(len(shape), I64),
                 "where": lambda: np.zeros(1, F)}[v]()
        constants.append((f"{y}_{k}", v))
        inputs.append(f"{y}_{k}")
    if op == "Where":
        nodes.append(node("Greater", [x, inputs[1]], [f"{y}_m"], f"{y}_m"))
        inputs = [f"{y}_m", x, inputs[1]]
    nodes.append(node(op, inputs, [y], y, **attributes))
    return {"Shape": None, "Size": None, "Cast": np.int32}.get(op, dtype)


def unknown_outputs(names):
    return [helper.make_empty_tensor_value_info(n) for n in names]


def plain(r, values):
    """values(model, feeds): for each feed {name: array} of the outputs, by the host's kernels."""
    make = PRODUCERS[r.integers(len(PRODUCERS))]
    p = {"shape": r.integers(1, 6, r.integers(1, 5)).tolist(), "axis": int(r.integers(12)),
         "flag": int(r.integers(2))}
    nodes, first, dtype = make(r, p)
    feeds = [first] + [make(r, p)[1] for _ in range(2)]
    inputs = [info(k, v.dtype, list(v.shape)) for k, v in first.items()]
    constants, x, kinds = [], "a", {"a": dtype}
    for i in range(r.integers(1, 4)):
        shape = values(whole(nodes, inputs, unknown_outputs([x]), constants), feeds[:1])[0][x].shape
        dtype = add_reader(r, nodes, constants, x, f"v{i}", dtype, shape)
        x, kinds[f"v{i}"] = f"v{i}", dtype or I64
        if dtype != kinds["a"]:
            break
    outputs = unknown_outputs([x, "a"] if r.random() < 0.3 else [x])
    truth = whole(nodes, inputs, outputs, constants)
    real = values(whole(nodes, inputs, unknown_outputs(kinds), constants), feeds)
    model, differs = declared(r, truth, kinds, real)
    backend = {"backend_type": "cpu"} if r.random() < 0.4 else {"backend_type": "htp",
                                                                "soc_model": "SM8650"}
    return Case(make.__name__[1:], model, truth, feeds, differs, backend)


def declared(r, truth, kinds, real):
    """The model with declarations for its values; whether one of them is not so."""
    m, differs = onnx.ModelProto.FromString(truth.SerializeToString()), False
    for name, dtype in kinds.items():
        if name != "a" and r.random() < 0.6:
            continue
        if name != "a" and r.random() < 0.1:
            dtype = [F, np.float16, np.int32, I64][r.integers(4)]
        shape = other_shape(r, real[0][name].shape)
        differs |= any(is_other(shape, found[name].shape) for found in real)
        said = info(name, dtype, shape)
        at = [i for i, o in enumerate(m.graph.output) if o.name == name]
        if at:
            m.graph.output[at[0]].CopyFrom(said)
        else:
            m.graph.value_info.append(said)
    return m, differs


# --- context models

def _unary(op, shape, dtype=F):
    return whole([node(op, ["x"], ["y"], "n")], [info("x", dtype, shape)],
                 [info("y", dtype, shape)])


def bases():
    """[(name, plain model)]: what is compiled once."""
    pair = whole([node("Add", ["x", "w"], ["y"]), node("Mul", ["x", "w"], ["z"])],
                 [info("x", F, [3, 4]), info("w", F, [3, 4])],
                 [info("y", F, [3, 4]), info("z", F, [3, 4])])
    mixed = whole([node("Gather", ["x", "i"], ["y"], axis=0), node("Add", ["i", "i"], ["d"])],
                  [info("x", F, [5, 3]), info("i", I64, [2])],
                  [info("y", F, [2, 3]), info("d", I64, [2])])
    codes = whole([node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                   node("DequantizeLinear", ["q", "s", "z"], ["f"]), node("Relu", ["f"], ["y"])],
                  [info("x", F, [2, 3])], [info("y", F, [2, 3])],
                  [("s", F(0.5)), ("z", np.uint8(128))])
    truth = whole([node("Greater", ["x", "w"], ["y"])], [info("x", F, [7]), info("w", F, [7])],
                  [info("y", bool, [7])])
    product = whole([node("MatMul", ["x", "c"], ["y"])], [info("x", F, [4, 6])],
                    [info("y", F, [4, 5])], [("c", np.eye(6, 5, dtype=F))])
    two = whole([node("Relu", ["x"], ["m"]), node("Relu", ["w"], ["n"]),
                 node("Concat", ["m", "n"], ["y"], axis=0)],
                [info("x", F, [2, 2]), info("w", F, [3, 2])], [info("y", F, [5, 2])])
    count = whole([node("Add", ["x", "x"], ["y"])], [info("x", np.int32, [5])],
                  [info("y", np.int32, [5])])
    return [("large", _unary("Relu", [1 << 18])), ("row", _unary("Relu", [9])),
            ("scalar", _unary("Neg", [])), ("cube", _unary("Abs", [2, 3, 4, 5])),
            ("half", _unary("Relu", [6], np.float16)), ("count", count),
            ("pair", pair), ("mixed", mixed), ("codes", codes), ("truth", truth),
            ("product", product), ("two", two)]


TYPES = [F, np.float16, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32,
         I64, np.uint64, bool]


def kind_of(value):
    return helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)


def shape_of(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


def redeclare(r, m, feed):
    """Other shapes and types for some inputs and outputs."""
    differs, ports = False, [*m.graph.input, *m.graph.output]
    for k in r.permutation(len(ports))[:r.integers(1, 3)]:
        value, real = ports[k], shape_of(ports[k])
        shape = other_shape(r, real)
        dtype = kind_of(value) if r.random() < 0.8 else TYPES[r.integers(len(TYPES))]
        differs |= is_other(shape, real) or dtype != kind_of(value)
        value.CopyFrom(info(value.name, dtype, shape))
        if value.name in feed and r.random() < 0.7:  # what the host takes for such an input
            size = [d if not isinstance(d, str) else int(r.integers(1, 9)) for d in
                    (real if shape is None else shape)]
            if np.prod(size, dtype=float) <= ELEMENTS:
                feed[value.name] = numbers(r, size, dtype)
    return differs


def leave_open(r, m, feed):
    """Inputs that may have any size for the host, and one of another size."""
    for value in [*m.graph.input, *m.graph.output]:
        real = shape_of(value)
        value.CopyFrom(info(value.name, kind_of(value),
                            None if r.random() < 0.3 else [f"d{i}" for i in range(len(real))]))
    k = list(feed)[r.integers(len(feed))]
    size = [d if isinstance(d, int) else 1 for d in other_shape(r, feed[k].shape) or []]
    if np.prod(size, dtype=float) > ELEMENTS or list(feed[k].shape) == size:
        return False
    feed[k] = numbers(r, size, feed[k].dtype)
    return True


def rename(r, m, feed):
    """Values under other names, told by the attribute for it, or not."""
    n, names = m.graph.node[0], {}
    values = [*m.graph.input, *m.graph.output]
    fresh = r.permutation([v.name for v in values]) if r.random() < 0.5 else [
        f"{v.name}_new" for v in values]
    names = {str(b): v.name for v, b in zip(values, fresh)}
    back = {v: k for k, v in names.items()}
    for lists in (n.input, n.output):
        lists[:] = [back.get(k, k) for k in lists]
    for v in values:
        v.name = back[v.name]
    if r.random() < 0.8:
        n.attribute.append(helper.make_attribute(
            "io_name_overrides", "".join(f"{k}={v};" for k, v in names.items())))
    feed.update({back.get(k, k): feed.pop(k) for k in list(feed)})
    return names


def cut(r, m, feed):
    """A node before it that changes the shape of what it reads."""
    n = m.graph.node[0]
    (value,) = [i for i in m.graph.input if i.name == n.input[0]]
    if not shape_of(value):
        return False
    m.graph.node.insert(0, node("Compress", [value.name, "mask"], ["shorter"], "cut", axis=0))
    n.input[0] = "shorter"
    n.attribute.append(helper.make_attribute("io_name_overrides", f"shorter={value.name};"))
    said = shape_of(value) if r.random() < 0.6 else other_shape(r, shape_of(value))
    m.graph.value_info.append(info("shorter", kind_of(value), said))
    m.graph.input.append(info("mask", bool, [shape_of(value)[0]]))
    feed["mask"] = mask(r, shape_of(value)[0]) if r.random() < 0.8 else np.ones(
        shape_of(value)[0], bool)
    return not feed["mask"].all()


def lose(r, m, feed):
    """One input or output less."""
    n = m.graph.node[0]
    lists = (n.input, m.graph.input) if r.random() < 0.5 else (n.output, m.graph.output)
    name = lists[0][r.integers(len(lists[0]))]
    lists[0].remove(name)
    for value in list(lists[1]):
        if value.name == name:
            lists[1].remove(value)
    feed.pop(name, None)


def context(r, name, base, compiled, binary):
    """compiled: the context model of `base`, whose binary is embedded or goes beside it."""
    m = onnx.ModelProto.FromString(compiled)
    truth = onnx.ModelProto.FromString(base.SerializeToString())
    feed = {i.name: numbers(r, shape_of(i), kind_of(i)) if i.name != "i"
            else r.integers(0, 5, shape_of(i)) for i in truth.graph.input}
    case = Case(f"context {name}", m, truth, [feed], False, {"backend_type": "htp",
                                                             "soc_model": "SM8650"})
    way = r.random()
    if way < 0.15:
        case.differs = cut(r, m, feed)
    elif way < 0.25:
        lose(r, m, feed)
        case.differs = True
    elif way < 0.45:
        case.differs = leave_open(r, m, feed)
    if 0.15 <= way < 0.25 or way >= 0.45:
        case.differs |= redeclare(r, m, feed)
    if way > 0.85:
        case.names = rename(r, m, feed)
    (n,) = [k for k in m.graph.node if k.op_type == "EPContext"]
    if r.random() < 0.5:
        case.files = {"b.bin": binary}
        for a in list(n.attribute):
            if a.name in ("embed_mode", "ep_cache_context"):
                n.attribute.remove(a)
        n.attribute.extend([helper.make_attribute("embed_mode", 0),
                            helper.make_attribute("ep_cache_context", b"b.bin")])
    return case
