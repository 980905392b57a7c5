#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Graphs of several nodes that a backend may do as one: attention in the forms that exporters
write, depthwise convolutions with a 1x1 convolution behind them, slices of one value, also of a
transposed one."""
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


def cached(f, kv, group, rows, past, depth, mask="add", turned=False, repeated=False, kept=False):
    """A cache and new keys and values joined, in groups of heads: as rows of one matrix, or with
    keys and values repeated. `turned`: keys are cached by column. `kept`: what is joined is an
    output, too."""
    nodes, keys = [], past + rows

    def add(pair):
        nodes.append(pair[1])
        return pair[0]

    def join(name, shape, axis):
        new = list(shape)
        new[axis] = rows
        parts = [q.Tensor(f"past_{name}", f.rng.normal(size=shape), "f32"),
                 q.Tensor(f"new_{name}", f.rng.normal(size=new), "f32")]
        y = q.Tensor(f"all_{name}", np.concatenate([t.real for t in parts], axis), "f32",
                     kind="input" if kept else "native")
        nodes.append(q.Node("Concat", parts, [y], {"axis": ("u32", axis)}))
        return y

    def repeat(x, name):
        x = add(reshape(x, (kv, 1, *x.real.shape[1:]), name + "1"))
        y = native(name + "2", np.repeat(x.real, group, 1))
        nodes.append(q.Node("Tile", [x], [y], {"multiples": ("u32", [1, group, 1, 1])}))
        return add(reshape(y, (kv * group, *x.real.shape[2:]), name + "3"))
    # small ones: a GPU may keep queries and keys in fp16, and scores take over their errors
    query = q.Tensor("q", 0.25 * f.rng.normal(size=(kv * group, rows, depth)), "f32")
    k = join("k", (kv, depth, past) if turned else (kv, past, depth), 2 if turned else 1)
    v = join("v", (kv, past, depth), 1)
    k = k if turned else add(transpose(k, [0, 2, 1], "kt"))
    if repeated:
        k, v, x = repeat(k, "k"), repeat(v, "v"), query
    else:
        x = add(reshape(query, (kv, group * rows, depth), "q1"))
    s = add(product(x, k, "scores"))
    c = number("root", depth ** 0.5)
    y = native("scaled", s.real / c.real)
    nodes.append(q.Node("ElementWiseDivide", [s, c], [y]))
    s = add(reshape(y, (kv, group, rows, keys), "four"))
    hidden = np.arange(keys) > past + np.arange(rows)[:, None]
    hidden[:, past // 2:past] = True
    m = q.Tensor("mask", np.where(hidden, -1e4 if mask == "add" else -np.inf, 0.0)[None, None],
                 "f32")
    y = native("masked", s.real + m.real)
    nodes.append(q.Node("ElementWiseAdd", [s, m], [y]))
    p = native("p", softmax(y.real))
    nodes.append(q.Node("Softmax", [y], [p]))
    p = add(reshape(p, (*x.real.shape[:2], keys), "p3"))
    o = add(reshape(add(product(p, v, "o")), (kv * group, rows, depth), "o3"))
    want = q.Tensor("y", o.real.transpose(1, 0, 2), "f32")
    nodes.append(q.Node("Transpose", [o], [want], {"perm": ("u32", [1, 0, 2])}))
    f.build(nodes, name=f"Attention_cached_{kv}x{group}x{rows}_{past}_{depth}_{mask}"
            f"{'_turned' if turned else ''}{'_repeated' if repeated else ''}"
            f"{'_kept' if kept else ''}")


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


def depthwise(x, w, stride, pad):
    n, height, width, channels = x.shape
    kernel = w.shape[0]
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows = (height + 2 * pad - kernel) // stride + 1
    cols = (width + 2 * pad - kernel) // stride + 1
    y = np.zeros((n, rows, cols, channels))
    for i in range(kernel):
        for j in range(kernel):
            y += w[i, j, 0] * padded[:, i:i + (rows - 1) * stride + 1:stride,
                                     j:j + (cols - 1) * stride + 1:stride]
    return y


def separable(f, shape, cols, kernel=3, stride=1, bias=True, clamp=True, pad=1):
    """The first of them may have no results of its own."""
    channels = shape[3]
    x = q.Tensor("x", f.rng.normal(size=shape), "f32")
    w = q.Tensor("w", f.rng.normal(size=(kernel, kernel, 1, channels)), "f32", kind="static")
    v = q.Tensor("v", f.rng.normal(size=(1, 1, channels, cols)) / np.sqrt(channels), "f32",
                 kind="static")
    b = q.Tensor("b", f.rng.normal(size=channels), "f32", kind="static")
    d = depthwise(x.real, w.real, stride, pad) + (b.real if bias else 0)
    conv = {"stride": ("u32", [stride, stride]), "pad_amount": ("u32", [[pad, pad], [pad, pad]])}
    rows = native("rows", d)
    nodes = [q.Node("DepthWiseConv2d", [x, w] + ([b] if bias else []), [rows], conv)]
    if clamp:
        rows = native("clamped", np.clip(d, 0, 6))
        nodes.append(q.Node("ReluMinMax", [nodes[0].outputs[0]], [rows],
                            {"min_value": ("f32", 0.0), "max_value": ("f32", 6.0)}))
    y = q.Tensor("y", rows.real @ v.real[0, 0], "f32")
    nodes.append(q.Node("Conv2d", [rows, v], [y],
                        {"stride": ("u32", [1, 1]), "pad_amount": ("u32", [[0, 0], [0, 0]])}))
    f.build(nodes, name=f"Separable_{'x'.join(map(str, shape))}_{cols}_{kernel}x{kernel}s{stride}"
                        f"{'_bias' if bias else ''}{'_clamp' if clamp else ''}_pad{pad}")


def planes(f, shape, cols, kernel=3, stride=2):
    """A picture in planes, transposed before the first convolution."""
    x = q.Tensor("x", f.rng.normal(size=shape), "f32")
    w = q.Tensor("w", f.rng.normal(size=(kernel, kernel, shape[1], cols)), "f32", kind="static")
    t, node = transpose(x, [0, 2, 3, 1], "cells")
    pad = kernel // 2
    parts = [depthwise(t.real, w.real[:, :, None, :, j], stride, pad).sum(axis=-1)
             for j in range(cols)]
    y = q.Tensor("y", np.stack(parts, axis=-1), "f32")
    conv = {"stride": ("u32", [stride, stride]), "pad_amount": ("u32", [[pad, pad], [pad, pad]])}
    f.build([node, q.Node("Conv2d", [t, w], [y], conv)],
            name=f"Planes_{'x'.join(map(str, shape))}_{cols}_{kernel}x{kernel}s{stride}")


def sliced(f, dtype, perm, ranges, relu_of=None, kept=False):
    """Several slices of a transposed value; one of them may be followed by Relu, and the transposed
    value itself may be an output."""
    shape = (6, 8, 4)
    values = f.rng.integers(-99, 99, shape) if dtype == "i32" else f.rng.normal(size=shape)
    x = q.Tensor("x", values, dtype)
    t = q.Tensor("t", x.array.transpose(perm), dtype, kind="input" if kept else "native")
    nodes = [q.Node("Transpose", [x], [t], {"perm": ("u32", perm)})]
    for i, rows in enumerate(ranges):
        part = t.array[tuple(slice(b, e if e >= 0 else None, s) for b, e, s in rows)]
        y = q.Tensor(f"y{i}", part, dtype, kind="native" if i == relu_of else "input")
        nodes.append(q.Node("StridedSlice", [t], [y], {"ranges": ("i32", rows)}))
        if i == relu_of:
            z = q.Tensor(f"z{i}", np.maximum(part, 0), dtype)
            nodes.append(q.Node("Relu", [y], [z]))
    f.build(nodes, name=f"slices_{dtype}_{''.join(map(str, perm))}_{len(ranges)}"
            f"{'_relu' if relu_of is not None else ''}{'_kept' if kept else ''}")


def slice_cases(f):
    for dtype in ("f32", "f16", "i32"):
        for perm in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
            dims = [(6, 8, 4)[d] for d in perm]
            full = [[0, n, 1] for n in dims]
            rows = [[[i, i + 1, 1], *full[1:]] for i in range(min(dims[0], 6))]
            strided = [[*full[:2], [0, dims[2], 2]], [*full[:2], [1, dims[2], 2]],
                       [full[0], [dims[1] - 1, -1, -1], full[2]]]
            if dtype == "i32":
                sliced(f, dtype, perm, rows[:2])
                continue
            sliced(f, dtype, perm, rows)
            sliced(f, dtype, perm, strided)
            sliced(f, dtype, perm, rows[:3], relu_of=1)
            sliced(f, dtype, perm, rows[:2], kept=True)


def cases(f):
    planes(f, (1, 3, 96, 96), 16)
    planes(f, (2, 3, 64, 70), 24, kernel=7)
    planes(f, (1, 1, 50, 47), 5, stride=1)
    separable(f, (1, 14, 14, 32), 16)
    separable(f, (1, 9, 7, 40), 24, stride=2)
    separable(f, (2, 7, 7, 168), 70, bias=False)
    separable(f, (1, 7, 7, 960), 40, clamp=False)
    separable(f, (3, 5, 8, 8), 5, pad=0)
    separable(f, (1, 6, 6, 12), 9)           # channels that are not read in vectors of 8
    separable(f, (1, 11, 10, 16), 33, kernel=5, pad=2)
    slice_cases(f)
    for heads, rows, keys, depth in ((1, 5, 7, 8), (3, 17, 33, 16), (2, 40, 50, 64),
                                     (2, 1, 19, 128)):
        for mask in (False, True):
            separate(f, heads, rows, keys, depth, mask, mask, 0.25)
            separate(f, heads, rows, keys, depth, mask, not mask, None)
    for kv, group, rows, past, depth in ((3, 3, 1, 200, 64), (1, 4, 2, 31, 24), (2, 1, 1, 64, 16),
                                         (2, 3, 9, 70, 40), (1, 8, 40, 33, 32)):
        for turned in (False, True):
            cached(f, kv, group, rows, past, depth, turned=turned)
            cached(f, kv, group, rows, past, depth, turned=turned, repeated=True)
    cached(f, 3, 3, 1, 200, 64, mask="infinite")
    cached(f, 2, 2, 20, 90, 16, mask="infinite")
    cached(f, 2, 3, 1, 50, 16, kept=True)
    for tokens, heads, depth in ((9, 2, 8), (37, 3, 32), (50, 4, 64)):
        packed(f, tokens, heads, depth)


if __name__ == "__main__":
    q.run(cases)
