# SPDX-License-Identifier: MIT
"""The Llama of tiny_llama.py with caches that the graph updates in place: past and present have
the same `room` positions. Forms of it:

builder   as onnxruntime-genai's builder writes it: GroupQueryAttention, an integer mask
lengths   GroupQueryAttention with its lengths as inputs
scatter   ScatterElements at cache_position, a float mask (static caches of PyTorch exporters)
"""
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

import tiny_llama as llama
from tiny_llama import DEPTH, HEADS, KV, LAYERS, VOCAB, WIDTH, Graph

FORMS = ["builder", "lengths", "scatter"]


def _grouped(g, i, parts):
    outs = [f"attended_{i}", f"present.{i}.key", f"present.{i}.value"]
    g.nodes.append(h.make_node(
        "GroupQueryAttention", [*parts, f"past_key_values.{i}.key", f"past_key_values.{i}.value",
                                "seqlens_k", "total_sequence_length", "cos_rows", "sin_rows"],
        outs, name=f"gqa_{i}", domain="com.microsoft", num_heads=HEADS, kv_num_heads=KV,
        do_rotary=1))
    return outs[0]


def _scattered(g, i, parts, t, room):
    def heads(x, n):
        return g.op("Transpose", g.op("Reshape", x, g.ints(1, t, n, DEPTH)), perm=[0, 2, 1, 3])
    q, k = (g.op("Add", *llama._rotate(g, heads(x, n))) for x, n in zip(parts, (HEADS, KV)))
    states = []
    for x, kind in ((k, "key"), (heads(parts[2], KV), "value")):
        at = g.op("Expand", g.op("Reshape", "cache_position", g.ints(1, 1, t, 1)),
                  g.ints(1, KV, t, DEPTH))
        states.append(g.op("ScatterElements", f"past_key_values.{i}.{kind}", at, x, axis=2,
                           out=f"present.{i}.{kind}"))
    q = g.op("Reshape", q, g.ints(1, KV, HEADS // KV * t, DEPTH))
    s = g.op("Div", g.op("MatMul", q, g.op("Transpose", states[0], perm=[0, 1, 3, 2])), g.const(4))
    s = g.op("Add", g.op("Reshape", s, g.ints(1, KV, HEADS // KV, t, room)), "attention_mask")
    p = g.op("Reshape", g.op("Softmax", s, axis=-1), g.ints(1, KV, HEADS // KV * t, room))
    a = g.op("Reshape", g.op("MatMul", p, states[1]), g.ints(1, HEADS, t, DEPTH))
    return g.op("Reshape", g.op("Transpose", a, perm=[0, 2, 1, 3]), g.ints(1, t, WIDTH))


def _layer(g, i, x, t, room, form):
    y = llama._norm(g, x, f"{i}.norm1")
    parts = [g.op("MatMul", y, f"{i}.{name}") for name in "qkv"]
    a = _scattered(g, i, parts, t, room) if form == "scatter" else _grouped(g, i, parts)
    x = g.op("Add", x, g.op("MatMul", a, f"{i}.o"))
    y = llama._norm(g, x, f"{i}.norm2")
    gate = g.op("MatMul", y, f"{i}.gate")
    gate = g.op("Mul", gate, g.op("Sigmoid", gate))
    return g.op("Add", x, g.op("MatMul", g.op("Mul", gate, g.op("MatMul", y, f"{i}.up")),
                               f"{i}.down"))


def _positions(g, form, t, room):
    """What comes before the layers; returns the inputs for it."""
    info = h.make_tensor_value_info
    cos, sin = (x[0, 0] for x in llama.rope(room))
    if form == "scatter":
        for name, rows in (("cos", cos), ("sin", sin)):
            g.constants[name + "_rows"] = rows
            g.op("Reshape", g.op("Gather", name + "_rows", "cache_position"),
                 g.ints(1, 1, t, DEPTH), out=name)
        return [info("cache_position", T.INT64, [t]),
                info("attention_mask", T.FLOAT, [1, 1, 1, t, room])]
    g.constants |= {"cos_rows": cos[:, :DEPTH // 2], "sin_rows": sin[:, :DEPTH // 2]}
    if form == "lengths":
        return [info("seqlens_k", T.INT32, [1, 1]), info("total_sequence_length", T.INT32, [1])]
    count = g.op("ReduceSum", "attention_mask", g.ints(1), keepdims=1)
    g.op("Cast", g.op("Sub", count, g.ints(1)), to=T.INT32, out="seqlens_k")
    g.op("Cast", g.op("Gather", g.op("Shape", "attention_mask"), g.const(1, np.int64)),
         to=T.INT32, out="total_sequence_length")
    return [info("attention_mask", T.INT64, [1, room])]


def save(path, t, room, form="builder", real=T.FLOAT):
    """real: the type of weights, caches, mask and logits."""
    g, info = Graph(), h.make_tensor_value_info
    inputs = [info("input_ids", T.INT64, [1, t]), *_positions(g, form, t, room)]
    x = g.op("Gather", "embed", "input_ids")
    for i in range(LAYERS):
        x = _layer(g, i, x, t, room, form)
    g.op("MatMul", llama._norm(g, x, "norm"), "head", out="logits")
    shape = [1, KV, room, DEPTH]
    states = [f"{i}.{kind}" for i in range(LAYERS) for kind in ("key", "value")]
    inputs += [info(f"past_key_values.{s}", T.FLOAT, shape) for s in states]
    outputs = [info("logits", T.FLOAT, [1, t, VOCAB])]
    outputs += [info(f"present.{s}", T.FLOAT, shape) for s in states]
    constants = {**llama.weights(), **g.constants}
    kind = h.tensor_dtype_to_np_dtype(real)
    constants = {k: v.astype(kind) if v.dtype == np.float32 else v for k, v in constants.items()}
    for v in [*inputs, *outputs]:
        if v.type.tensor_type.elem_type == T.FLOAT:
            v.type.tensor_type.elem_type = real
    graph = h.make_graph(g.nodes, "llama", inputs, outputs,
                         [numpy_helper.from_array(v, k) for k, v in constants.items()])
    onnx.save(h.make_model(graph, ir_version=8, opset_imports=[
        h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)]), path)
    return path
