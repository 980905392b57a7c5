# SPDX-License-Identifier: MIT
"""A Llama of two layers as ONNX: RMS norms, rotated halves, grouped attention with states."""
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

LAYERS, WIDTH, HEADS, KV, DEPTH, VOCAB, HIDDEN = 2, 64, 4, 2, 16, 96, 128


def weights(seed=7):
    r = np.random.default_rng(seed)
    make = lambda *s: (r.standard_normal(s) / np.sqrt(s[0])).astype(np.float32)
    w = {"embed": r.standard_normal((VOCAB, WIDTH)).astype(np.float32),
         "head": make(WIDTH, VOCAB), "norm": 1 + 0.1 * make(WIDTH)}
    for i in range(LAYERS):
        w |= {f"{i}.q": make(WIDTH, HEADS * DEPTH), f"{i}.k": make(WIDTH, KV * DEPTH),
              f"{i}.v": make(WIDTH, KV * DEPTH), f"{i}.o": make(HEADS * DEPTH, WIDTH),
              f"{i}.gate": make(WIDTH, HIDDEN), f"{i}.up": make(WIDTH, HIDDEN),
              f"{i}.down": make(HIDDEN, WIDTH), f"{i}.norm1": 1 + 0.1 * make(WIDTH),
              f"{i}.norm2": 1 + 0.1 * make(WIDTH)}
    w["embed"][:, 5] *= 40  # one channel of the residual stream is far larger than the others
    return w


class Graph:
    def __init__(self):
        self.nodes, self.constants, self.n = [], {}, 0

    def op(self, kind, *inputs, out=None, **attrs):
        self.n += 1
        out = out or f"{kind}_{self.n}"
        self.nodes.append(h.make_node(kind, list(inputs), [out], name=f"n{self.n}", **attrs))
        return out

    def const(self, value, dtype=np.float32):
        self.n += 1
        self.constants[f"c{self.n}"] = np.asarray(value, dtype)
        return f"c{self.n}"

    def ints(self, *values):
        return self.const(values, np.int64)


def _norm(g, x, gamma):
    mean = g.op("ReduceMean", g.op("Pow", x, g.const(2)), axes=[-1])
    root = g.op("Sqrt", g.op("Add", mean, g.const(1e-5)))
    return g.op("Mul", g.op("Mul", x, g.op("Div", g.const(1), root)), gamma)


def _rotate(g, x):
    low = g.op("Slice", x, g.ints(0), g.ints(DEPTH // 2), g.ints(3))
    high = g.op("Slice", x, g.ints(DEPTH // 2), g.ints(DEPTH), g.ints(3))
    turned = g.op("Concat", g.op("Neg", high), low, axis=3)
    return g.op("Mul", x, "cos"), g.op("Mul", turned, "sin")


def _layer(g, i, x, t, past):
    y = _norm(g, x, f"{i}.norm1")
    heads = lambda name, n: g.op("Transpose", g.op("Reshape", g.op("MatMul", y, f"{i}.{name}"),
                                                   g.ints(1, t, n, DEPTH)), perm=[0, 2, 1, 3])
    q = g.op("Add", *_rotate(g, heads("q", HEADS)))
    k = g.op("Add", *_rotate(g, heads("k", KV)), out=f"new_k_{i}")
    v = heads("v", KV)
    v = g.op("Identity", v, out=f"new_v_{i}")
    if past:
        k = g.op("Concat", f"past_k_{i}", k, axis=2)
        v = g.op("Concat", f"past_v_{i}", v, axis=2)
    group = HEADS // KV
    q = g.op("Reshape", q, g.ints(1, KV, group * t, DEPTH))
    s = g.op("Div", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), g.const(4))
    s = g.op("Reshape", s, g.ints(1, KV, group, t, past + t))
    s = g.op("Add", s, "mask", out=f"masked_{i}")
    p = g.op("Reshape", g.op("Softmax", s, axis=-1), g.ints(1, KV, group * t, past + t))
    a = g.op("Reshape", g.op("MatMul", p, v), g.ints(1, HEADS, t, DEPTH))
    a = g.op("Reshape", g.op("Transpose", a, perm=[0, 2, 1, 3]), g.ints(1, t, HEADS * DEPTH))
    x = g.op("Add", x, g.op("MatMul", a, f"{i}.o"))
    y = _norm(g, x, f"{i}.norm2")
    gate = g.op("MatMul", y, f"{i}.gate")
    gate = g.op("Mul", gate, g.op("Sigmoid", gate))
    return g.op("Add", x, g.op("MatMul", g.op("Mul", gate, g.op("MatMul", y, f"{i}.up")),
                               f"{i}.down"))


def save(path, t, past=0, layers=LAYERS, last=False):
    """A graph for t tokens behind `past` others; last: an input chooses the token of the logits."""
    g = Graph()
    x = g.op("Gather", "embed", "ids")
    for i in range(layers):
        x = _layer(g, i, x, t, past)
    x = g.op("Gather", x, "last", axis=1) if last else x
    g.op("MatMul", _norm(g, x, "norm"), "head", out="logits")
    info = h.make_tensor_value_info
    inputs = [info("ids", T.INT32, [1, t]), info("cos", T.FLOAT, [1, 1, t, DEPTH]),
              info("sin", T.FLOAT, [1, 1, t, DEPTH]), info("mask", T.FLOAT, [1, 1, 1, t, past + t])]
    states = [f"{c}_{i}" for i in range(layers) for c in "kv"]
    if past:
        inputs += [info(f"past_{s}", T.FLOAT, [1, KV, past, DEPTH]) for s in states]
    inputs += [info("last", T.INT32, [1])] if last else []
    outputs = [info("logits", T.FLOAT, [1, 1 if last else t, VOCAB])]
    outputs += [info(f"new_{s}", T.FLOAT, [1, KV, t, DEPTH]) for s in states]
    constants = {**{k: v for k, v in weights().items() if k[0] not in "0123456789"
                    or int(k.split(".")[0]) < layers}, **g.constants}
    graph = h.make_graph(g.nodes, "llama", inputs, outputs,
                         [numpy_helper.from_array(v, k) for k, v in constants.items()])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
    return path


def rope(t, first=0):
    p = np.arange(first, first + t)[:, None] / 1e4 ** (np.arange(0, DEPTH, 2) / DEPTH)
    p = np.concatenate([p, p], -1)[None, None]
    return np.cos(p).astype(np.float32), np.sin(p).astype(np.float32)


def mask(t, past=0, valid=0):
    m = np.full((1, 1, 1, t, past + t), -1e4, np.float32)
    m[..., :valid] = 0
    for i in range(t):
        m[..., i, past:past + i + 1] = 0
    return m


def sample(t, seed):
    ids = np.random.default_rng(seed).integers(0, VOCAB, (1, t)).astype(np.int32)
    cos, sin = rope(t)
    return {"ids": ids, "cos": cos, "sin": sin, "mask": mask(t)}


def calibration(path, t, n):
    """n samples in one file: token ids are stacked, the rest is the same in all."""
    one = sample(t, 0)
    np.savez(path, **{**one, "ids": np.concatenate([sample(t, s)["ids"] for s in range(n)])})
    return path
