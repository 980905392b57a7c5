#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Graphs of several nodes that a backend may do as one: attention in the forms that exporters
write."""
import numpy as np
import qcase as q


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def native(name, array):
    return q.Tensor(name, array, "f32", kind="native")


def transpose(x, perm, name):
    y = native(name, x.real.transpose(perm))
    return y, q.Node("Transpose", [x], [y], {"perm": ("u32", perm)})


def reshape(x, shape, name):
    y = native(name, x.real.reshape(shape))
    return y, q.Node("Reshape", [x], [y])


def number(name, value):
    return q.Tensor(name, np.array([value]), "f32", kind="static")


def scaled(x, c, name):
    y = native(name, x.real * c.real)
    return y, q.Node("ElementWiseMultiply", [x, c], [y])


def product(a, b, name, turned=False):
    y = native(name, a.real @ (b.real.swapaxes(-1, -2) if turned else b.real))
    return y, q.Node("MatMul", [a, b], [y], {"transpose_in1": ("b8", turned)})


def separate(f, heads, rows, keys, depth, mask, turned, scale):
    """Queries, keys and values of their own; keys transposed by a node or by the matmul."""
    nodes = []

    def add(pair):
        nodes.append(pair[1])
        return pair[0]
    x = {n: q.Tensor(n, f.rng.normal(size=(heads, rows if n == "q" else keys, depth)), "f32")
         for n in "qkv"}
    k = x["k"] if turned else add(transpose(x["k"], [0, 2, 1], "kt"))
    s = add(product(x["q"], k, "scores", turned))
    if scale:
        s = add(scaled(s, number("scale", scale), "scaled"))
    if mask:
        m = q.Tensor("mask", np.where(f.rng.random((1, rows, keys)) < 0.3, -1e4, 0.0) *
                     (np.arange(keys) > 0), "f32")
        y = native("masked", s.real + m.real)
        nodes.append(q.Node("ElementWiseAdd", [s, m], [y]))
        s = y
    p = native("p", softmax(s.real))
    nodes.append(q.Node("Softmax", [s], [p]))
    want = q.Tensor("y", p.real @ x["v"].real, "f32")
    nodes.append(q.Node("MatMul", [p, x["v"]], [want]))
    name = f"Attention_{heads}x{rows}x{keys}x{depth}{'_mask' if mask else ''}" \
           f"{'_turned' if turned else ''}{'_scaled' if scale else ''}"
    f.build(nodes, name=name)


def packed(f, tokens, heads, depth):
    """As torch exports it: one matrix of queries, keys and values, and transposes."""
    width = heads * depth
    nodes = []

    def add(pair):
        nodes.append(pair[1])
        return pair[0]
    x = q.Tensor("qkv", f.rng.normal(size=(tokens, 3 * width)), "f32")
    t = add(reshape(x, (1, tokens, 1, 3, width), "five"))
    t = add(transpose(t, [3, 1, 2, 0, 4], "three"))
    parts = [native(f"{n}1", t.real[i:i + 1]) for i, n in enumerate("qkv")]
    nodes.append(q.Node("Split", [t], parts,
                        {"axis": ("u32", 0), "split_index": ("u32", [1, 2])}))
    by_head = []
    for n, part in zip("qkv", parts):
        r = add(reshape(part, (tokens, heads, depth), f"{n}2"))
        by_head.append(add(transpose(r, [1, 0, 2] if n != "k" else [1, 2, 0], f"{n}3")))
    half = number("half", depth ** -0.25)
    s = add(product(add(scaled(by_head[0], half, "q4")), add(scaled(by_head[1], half, "k4")), "s"))
    p = native("p", softmax(s.real))
    nodes.append(q.Node("Softmax", [s], [p]))
    o = add(product(p, by_head[2], "o"))
    want = q.Tensor("y", o.real.transpose(1, 0, 2), "f32")
    nodes.append(q.Node("Transpose", [o], [want], {"perm": ("u32", [1, 0, 2])}))
    f.build(nodes, name=f"Attention_packed_{tokens}x{heads}x{depth}")


def cases(f):
    for heads, rows, keys, depth in ((1, 5, 7, 8), (3, 17, 33, 16), (2, 40, 50, 64),
                                     (2, 1, 19, 128)):
        for mask in (False, True):
            separate(f, heads, rows, keys, depth, mask, mask, 0.25)
            separate(f, heads, rows, keys, depth, mask, not mask, None)
    for tokens, heads, depth in ((9, 2, 8), (37, 3, 32), (50, 4, 64)):
        packed(f, tokens, heads, depth)


if __name__ == "__main__":
    q.run(cases)
