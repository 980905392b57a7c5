# SPDX-License-Identifier: MIT
"""Dynamic dimensions of the movement ops: graphs are made for the largest dimensions and executed
with smaller ones, several times.

Oracles: numpy on the current shapes.
"""
import itertools

import numpy as np

import qcase as q
from movement import elements, encoding

TYPES = ("f32", "uq8", "i32")


class Plan:
    """Inputs and outputs of one op that vary together: each round has arrays of other shapes."""

    def __init__(self, f, dtype, requantize=False):
        self.f, self.dtype = f, dtype
        self.enc = encoding(f, dtype)
        self.out_enc = q.scale_offset(0.07, -100) if requantize else self.enc
        self.inputs, self.outputs = {}, {}

    def input(self, name, dims, dynamic, shapes):
        tensor = q.Tensor(name, None, self.dtype, self.enc, dims=dims, dynamic=dynamic)
        self.inputs[tensor] = [elements(self.f, s, self.dtype) for s in shapes]
        return tensor

    def integers(self, name, dims, dynamic, arrays, dtype="i32"):
        tensor = q.Tensor(name, None, dtype, dims=dims, dynamic=dynamic)
        self.inputs[tensor] = [np.asarray(a) for a in arrays]
        return tensor

    def output(self, name, dims, dynamic, compute):
        """compute(arrays of all inputs of a round) gives the wanted array."""
        tol = q.exact() if self.out_enc is self.enc else None
        tensor = q.Tensor(name, None, self.dtype, self.out_enc, dims=dims, dynamic=dynamic, tol=tol)
        self.outputs[tensor] = compute
        return tensor

    def rounds(self):
        count = len(next(iter(self.inputs.values())))
        result = []
        for k in range(count):
            feeds = {t.name: arrays[k] for t, arrays in self.inputs.items()}
            wants = {}
            for t, compute in self.outputs.items():
                y = compute(*feeds.values())
                if self.out_enc is not self.enc:
                    y = self.enc.scale[0] * (y + float(self.enc.offset[0]))
                wants[t.name] = y
            result.append((feeds, wants))
        return result

    def add(self, op, params=None, more_inputs=(), name=None):
        self.f.add(op, list(self.inputs) + list(more_inputs), list(self.outputs), params,
                   rounds=self.rounds(), name=name or f"{op}_{self.dtype}_dynamic")


def variants(f, *lists):
    """Every combination of the lists with a new plan of each type."""
    for choice in itertools.product(*lists):
        for dtype in TYPES:
            yield *choice, Plan(f, dtype)
        yield *choice, Plan(f, "uq8", requantize=True)


def transpose_cases(f):
    shapes = ((4, 3, 5), (1, 3, 2), (2, 3, 5), (4, 3, 1))
    for perm, p in variants(f, itertools.permutations(range(3))):
        free = (1, 0, 1)
        p.input("x", (4, 3, 5), free, shapes)
        p.output("y", [(4, 3, 5)[k] for k in perm], [free[k] for k in perm],
                 lambda a: a.transpose(perm))
        p.add("Transpose", {"perm": ("u32", perm)})


def concat_cases(f):
    for axis, p in variants(f, range(2)):
        a = [(3, 4), (1, 4), (2, 1), (3, 2)]
        b = [(s[0], 2 + k % 2) if axis else (1 + k % 2, s[1]) for k, s in enumerate(a)]
        p.input("a", (3, 4), (1, 1), a)
        p.input("b", (3, 4), (1, 1), b)
        p.output("y", (3, 8) if axis else (6, 4), (1, 1), lambda *x: np.concatenate(x, axis))
        p.add("Concat", {"axis": ("u32", axis)})


def gather_cases(f):
    for axis, p in variants(f, range(2)):
        shapes = ((5, 3), (2, 3), (1, 2), (5, 1))
        p.input("table", (5, 3), (1, 1), shapes)
        counts = (4, 1, 2, 3)
        p.integers("indices", (4,), (1,),
                   [f.rng.integers(-s[axis], s[axis], n) for s, n in zip(shapes, counts)])
        p.output("y", (5, 4) if axis else (4, 3), (1, 1), lambda t, i: t.take(i, axis))
        p.add("Gather", {"axis": ("i32", axis)})
    p = Plan(f, "f32")  # in range of the largest dimensions only
    x = p.input("table", (5, 3), (1, 0), [(2, 3)])
    i = p.integers("indices", (2,), (0,), [[1, 4]])
    y = q.Tensor("y", None, "f32", dims=(2, 3), dynamic=(0, 0))
    x.array, i.array = p.inputs[x][0], p.inputs[i][0]
    f.add("Gather", [x, i], [y], {"axis": ("i32", 0)}, name="Gather_dynamic_out_of_range",
          error=q.error(None, "execute"))


def slice_cases(f):
    shapes = ((6, 5), (4, 5), (1, 2), (3, 4))
    plans = ((((1, 2, 1), (0, 5, 2)), {"begin_mask": 1, "end_mask": 1},
              (slice(None), slice(0, 5, 2))),
             (((0, 6, 2), (0, 5, 1)), {}, (slice(0, 6, 2), slice(0, 5))),
             (((0, 0, -1), (0, 0, -1)), {"begin_mask": 3, "end_mask": 3},
              (slice(None, None, -1), slice(None, None, -1))),
             (((0, 6, 1), (1, 2, 1)), {"shrink_axes": 2}, (slice(0, 6), 1)))
    for (ranges, masks, index), p in variants(f, plans):
        p.input("x", (6, 5), (1, 1), shapes)
        whole = np.zeros((6, 5))[index]
        p.output("y", whole.shape, (1,) * whole.ndim, lambda a, at=index: a[at])
        p.add("StridedSlice", {"ranges": ("i32", ranges),
                               **{k: ("u32", v) for k, v in masks.items()}})


def dims_cases(f):
    shapes = ((4, 3), (1, 3), (2, 1), (4, 1))
    for axis, p in variants(f, range(3)):
        p.input("x", (4, 3), (1, 1), shapes)
        dims, free = [4, 3], [1, 1]
        dims.insert(axis, 1)
        free.insert(axis, 0)
        p.output("y", dims, free, lambda a: np.expand_dims(a, axis))
        p.add("ExpandDims", {"axis": ("u32", axis)})
    for params, p in variants(f, ({}, {"axes": ("u32", (1,))})):
        if p.dtype == "i32":
            continue
        p.input("x", (4, 1, 3), (1, 0, 1), [(a, 1, b) for a, b in shapes])
        p.output("y", (4, 3), (1, 1), lambda a: a[:, 0])
        p.add("Squeeze", params)


def reshape_cases(f):
    shapes = ((4, 2, 3), (1, 2, 3), (3, 2, 3))
    for (p,) in variants(f):  # a single free dimension follows from the rest
        p.input("x", (4, 2, 3), (1, 0, 0), shapes)
        p.output("y", (4, 6), (1, 0), lambda a: a.reshape(-1, 6))
        p.add("Reshape", name="Reshape_dynamic_inferred")
    for kind, want, p in variants(f, ("static", "input"), ((0, 6), (-1, 6), (0, -1), (-1, 3))):
        p.input("x", (4, 2, 3), (1, 0, 0), shapes)
        rows = 8 if want == (-1, 3) else 4
        p.output("y", (rows, 24 // rows), (1, 1),
                 lambda *a: a[0].reshape([d or a[0].shape[k] for k, d in enumerate(want)]))
        if kind == "input":
            p.integers("shape", (2,), (0,), [want] * 3)
            p.add("Reshape", name="Reshape_dynamic_runtime_shape")
        else:
            p.add("Reshape", None, [q.Tensor("shape", np.array(want), "i32", kind="static")],
                  name="Reshape_dynamic_static_shape")
    p = Plan(f, "f32")  # another shape in every round
    p.input("x", (4, 6), (1, 0), ((4, 6), (2, 6), (3, 6)))
    p.integers("shape", (3,), (0,), ((2, 2, 6), (-1, 4, 1), (1, 3, 6)))
    p.output("y", (4, 4, 6), (1, 1, 1), lambda a, s: a.reshape(s))
    p.add("Reshape", name="Reshape_dynamic_other_shapes")
    for want in ((5, -1), (-1, -1), (-2, 6), (4, 7), (1, 24)):  # another count, or too large
        x = q.Tensor("x", elements(f, (4, 6), "f32"), dims=(4, 6), dynamic=(1, 0))
        y = q.Tensor("y", None, "f32", dims=(4, 6), dynamic=(1, 1))
        f.add("Reshape", [x, q.Tensor("shape", np.array(want), "i32")], [y],
              name="Reshape_dynamic_bad_shape", error=q.error(None, "execute"))


def graph_cases(f):
    """Dimensions travel through a chain of nodes."""
    for dtype in ("f32", "uq8"):
        enc = encoding(f, dtype)
        x = q.Tensor("x", None, dtype, enc, dims=(4, 3), dynamic=(1, 1))
        flipped = q.Tensor("t", None, dtype, enc, "native", dims=(3, 4), dynamic=(1, 1))
        wide = q.Tensor("w", None, dtype, enc, "native", dims=(3, 1, 4), dynamic=(1, 0, 1))
        y = q.Tensor("y", None, dtype, enc, dims=(3, 2, 4), dynamic=(1, 0, 1), tol=q.exact())
        rounds = []
        for shape in ((4, 3), (2, 3), (1, 1), (4, 2)):
            a = elements(f, shape, dtype)
            rounds.append(({"x": a}, {"y": np.stack([a.T, a.T], 1)}))
        f.build([q.Node("Transpose", [x], [flipped], {"perm": ("u32", (1, 0))}),
                 q.Node("ExpandDims", [flipped], [wide], {"axis": ("u32", 1)}),
                 q.Node("Concat", [wide, wide], [y], {"axis": ("u32", 1)})], rounds=rounds,
                name=f"Chain_{dtype}_dynamic")
    x = q.Tensor("x", None, "b8", dims=(6,))
    found = q.Tensor("f", None, "i32", kind="native", dims=(6, 1), dynamic=(1, 0))
    y = q.Tensor("y", None, "i32", dims=(1, 6), dynamic=(0, 1))
    rounds = []
    for bits in ((1, 0, 1, 1, 0, 0), (1,) * 6, (0, 0, 0, 0, 0, 1)):
        a = np.array(bits)
        rounds.append(({"x": a}, {"y": np.argwhere(a).T}))
    f.build([q.Node("NonZero", [x], [found]),
             q.Node("Transpose", [found], [y], {"perm": ("u32", (1, 0))})], rounds=rounds,
            name="NonZero_dynamic")


def undeclared_cases(f):
    """Shapes follow the inputs even when nobody said that the tensors behind them vary."""
    for dtype in ("f32", "uq8"):
        enc, other = encoding(f, dtype), None if dtype == "f32" else q.scale_offset(0.05, -90)
        x = q.Tensor("x", None, dtype, enc, dims=(4, 3), dynamic=(1, 0))
        turned = q.Tensor("t", None, dtype, other, "native", dims=(3, 4))
        y = q.Tensor("y", None, dtype, other, dims=(3, 8))
        rounds = []
        for rows in (4, 1, 3):
            a = elements(f, (rows, 3), dtype)
            real = q.Tensor("r", a, dtype, enc).real.T
            if other:
                real = q.dequantize(q.quantize(real, other, dtype), other)
            rounds.append(({"x": a}, {"y": np.concatenate([real, real], 1)}))
        f.build([q.Node("Transpose", [x], [turned], {"perm": ("u32", (1, 0))}),
                 q.Node("Concat", [turned, turned], [y])], rounds=rounds,
                name=f"Undeclared_{dtype}_dynamic")


def many_cases(f):
    parts = [q.Tensor(f"x{i}", None, dims=(2, 3), dynamic=(1, 0)) for i in range(40)]
    rounds = []
    for rows in (2, 1):
        feeds = {t.name: elements(f, (rows, 3), "f32") for t in parts}
        rounds.append((feeds, {"y": np.concatenate(list(feeds.values()))}))
    f.add("Concat", parts, [q.Tensor("y", None, dims=(80, 3), dynamic=(1, 0), tol=q.exact())],
          {"axis": ("u32", 0)}, rounds=rounds, name="Concat_many_dynamic")


def refused_cases(f):
    """Ops whose definition has no dynamic dimensions."""
    for op, params in (("Tile", {"multiples": ("u32", (1, 1))}),
                       ("ChannelShuffle", {"num_groups": ("u32", 1)}),
                       ("Pad", {"scheme": ("u32", 0), "pad_amount": ("u32", ((0, 0), (0, 0)))})):
        x = q.Tensor("x", None, dims=(4, 3), dynamic=(1, 0))
        y = q.Tensor("y", None, dims=(4, 3), dynamic=(1, 0))
        f.add(op, [x], [y], params, name=f"{op}_dynamic_refused", error=q.error(None))


def cases(f):
    transpose_cases(f)
    concat_cases(f)
    gather_cases(f)
    slice_cases(f)
    dims_cases(f)
    reshape_cases(f)
    graph_cases(f)
    undeclared_cases(f)
    many_cases(f)
    refused_cases(f)


if __name__ == "__main__":
    q.run(cases)
