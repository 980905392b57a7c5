# SPDX-License-Identifier: MIT
"""A Llama of two layers with random weights, as prefill and decode graphs, with room for adapters.

Inputs: ids [1,T]; cos, sin [1,1,T,hd]; mask [1,1,1,T,P+T]; past_k_i, past_v_i [1,kv,P,hd].
Outputs: logits [1,T,vocab]; new_k_i, new_v_i [1,kv,T,hd].
"""
import numpy as np
from onnx import TensorProto as T, helper as h

from harness import model

LAYERS, WIDE, HEADS, KV, HD, INNER, VOCAB, RANK = 2, 64, 4, 2, 16, 96, 80, 4
SHAPES = {"q": (WIDE, HEADS * HD), "k": (WIDE, KV * HD), "v": (WIDE, KV * HD),
          "o": (HEADS * HD, WIDE), "gate": (WIDE, INNER), "up": (WIDE, INNER),
          "down": (INNER, WIDE)}
ADAPTED = ("q", "v", "down")


def weights(seed=0):
    rng = np.random.default_rng(seed)
    w = {"embedding": rng.normal(size=(VOCAB, WIDE)), "head": rng.normal(size=(WIDE, VOCAB)) / 4}
    for i in range(LAYERS):
        for name, shape in SHAPES.items():
            w[f"{name}_{i}"] = rng.normal(size=shape) / np.sqrt(shape[0])
        w[f"norm_a_{i}"], w[f"norm_b_{i}"] = 1 + rng.normal(size=(2, WIDE)) / 8
    return {k: v.astype(np.float32) for k, v in w.items()}


def adapter(seed, rank=RANK):
    """Low-rank matrices; without a seed those that change nothing."""
    rng = np.random.default_rng(seed)
    a = {}
    for i in range(LAYERS):
        for name in ADAPTED:
            rows, columns = SHAPES[name]
            a[f"lora_a_{name}_{i}"] = rng.normal(size=(rows, rank)) / np.sqrt(rows)
            a[f"lora_b_{name}_{i}"] = rng.normal(size=(rank, columns)) / 2 * (seed is not None)
    return {k: v.astype(np.float32) for k, v in a.items()}


def merged(w, a):
    """The weights that have the adapter inside."""
    return {k: v + a[f"lora_a_{k}"] @ a[f"lora_b_{k}"] if f"lora_a_{k}" in a else v
            for k, v in w.items()}


class Graph:
    def __init__(self, w, a, tokens, past):
        self.w, self.a, self.t, self.past = w, a or {}, tokens, past
        self.nodes, self.constants = [], {**w, **self.a}

    def op(self, kind, *inputs, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(h.make_node(kind, list(inputs), [out], name=out, **attributes))
        return out

    def ints(self, *values):
        name = "i" + "_".join(map(str, values)).replace("-", "m")
        self.constants[name] = np.array(values, np.int64)
        return name

    def real(self, value):
        name = f"r{value}"
        self.constants[name] = np.float32(value)
        return name

    def linear(self, x, name):
        y = self.op("MatMul", x, name)
        if f"lora_a_{name}" not in self.a:
            return y
        low = self.op("MatMul", x, f"lora_a_{name}")
        return self.op("Add", y, self.op("MatMul", low, f"lora_b_{name}"))

    def norm(self, x, name):
        mean = self.op("ReduceMean", self.op("Mul", x, x), axes=[-1])
        return self.op("Mul", self.op("Div", x, self.op("Sqrt", self.op(
            "Add", mean, self.real(1e-5)))), name)

    def heads(self, x, name, n):
        y = self.op("Reshape", self.linear(x, name), self.ints(1, self.t, n, HD))
        return self.op("Transpose", y, perm=[0, 2, 1, 3])

    def turn(self, x):
        first = self.op("Slice", x, self.ints(0), self.ints(HD // 2), self.ints(3))
        second = self.op("Slice", x, self.ints(HD // 2), self.ints(HD), self.ints(3))
        turned = self.op("Concat", self.op("Neg", second), first, axis=3)
        return self.op("Add", self.op("Mul", x, "cos"), self.op("Mul", turned, "sin"))

    def attention(self, x, i):
        t, group = self.t, HEADS // KV
        q = self.turn(self.heads(x, f"q_{i}", HEADS))
        k, v = self.turn(self.heads(x, f"k_{i}", KV)), self.heads(x, f"v_{i}", KV)
        self.nodes += [h.make_node("Identity", [k], [f"new_k_{i}"]),
                       h.make_node("Identity", [v], [f"new_v_{i}"])]
        if self.past:
            k = self.op("Concat", f"past_k_{i}", k, axis=2)
            v = self.op("Concat", f"past_v_{i}", v, axis=2)
        s = self.op("MatMul", self.op("Reshape", q, self.ints(1, KV, group * t, HD)),
                    self.op("Transpose", k, perm=[0, 1, 3, 2]))
        s = self.op("Mul", s, self.real(HD ** -0.5))
        s = self.op("Reshape", s, self.ints(1, KV, group, t, self.past + t))
        s = self.op("Softmax", self.op("Add", s, "mask"), axis=-1)
        s = self.op("Reshape", s, self.ints(1, KV, group * t, self.past + t))
        y = self.op("Reshape", self.op("MatMul", s, v), self.ints(1, HEADS, t, HD))
        y = self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]),
                    self.ints(1, t, HEADS * HD))
        return self.linear(y, f"o_{i}")

    def layer(self, x, i):
        x = self.op("Add", x, self.attention(self.norm(x, f"norm_a_{i}"), i))
        y = self.norm(x, f"norm_b_{i}")
        gate = self.linear(y, f"gate_{i}")
        gate = self.op("Mul", gate, self.op("Sigmoid", gate))
        y = self.op("Mul", gate, self.linear(y, f"up_{i}"))
        return self.op("Add", x, self.linear(y, f"down_{i}"))


def graph(path, w, a=None, tokens=1, past=0):
    g = Graph(w, a, tokens, past)
    x = g.op("Gather", "embedding", "ids")
    for i in range(LAYERS):
        x = g.layer(x, i)
    g.nodes.append(h.make_node("MatMul", [x, "head"], ["logits"]))
    inputs = {"ids": (T.INT32, [1, tokens]), "cos": (T.FLOAT, [1, 1, tokens, HD]),
              "sin": (T.FLOAT, [1, 1, tokens, HD]),
              "mask": (T.FLOAT, [1, 1, 1, tokens, past + tokens])}
    outputs = {"logits": (T.FLOAT, [1, tokens, VOCAB])}
    for i in range(LAYERS):
        for c in "kv":
            if past:
                inputs[f"past_{c}_{i}"] = (T.FLOAT, [1, KV, past, HD])
            outputs[f"new_{c}_{i}"] = (T.FLOAT, [1, KV, tokens, HD])
    return model(path, g.nodes, inputs, outputs, g.constants)


def feeds(tokens, past, first, ids, rng):
    """Inputs at position `first`; a random past."""
    angle = np.arange(first, first + tokens)[:, None] / 1e4 ** (np.arange(0, HD, 2) / HD)
    angle = np.concatenate([angle, angle], 1)[None, None]
    mask = np.full((1, 1, 1, tokens, past + tokens), -1e4)
    mask[..., :first] = 0
    for i in range(tokens):
        mask[..., i, past:past + i + 1] = 0
    f = {"ids": np.array([ids], np.int32), "cos": np.cos(angle), "sin": np.sin(angle),
         "mask": mask}
    for i in range(LAYERS if past else 0):
        for c in "kv":
            f[f"past_{c}_{i}"] = rng.normal(size=(1, KV, past, HD))
    return {k: v if v.dtype == np.int32 else v.astype(np.float32) for k, v in f.items()}
