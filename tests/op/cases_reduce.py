# SPDX-License-Identifier: MIT
"""Reductions, moments, arg ops, running sums and TopK.

Oracles: float64 and int64 numpy; TopK sorts (value, index) pairs with Python's own sort.
"""
import itertools

import numpy as np

import qcase as q

REALS = "f32 f16 uq8 sq8 uq16"
SHAPES = ((7,), (1,), (3, 5), (2, 3, 4), (2, 1, 3, 5), (2, 3, 1, 2, 3), (2, 1, 2, 2, 1, 2, 2, 3))
OPS = {
    "ReduceMax": (np.max, REALS), "ReduceMin": (np.min, REALS), "ReduceMean": (np.mean, REALS),
    "ReduceSum": (np.sum, REALS + " i32"), "ReduceProd": (np.prod, "f32 f16"),
    "ReduceSumSquare": (lambda x, axis, keepdims: np.sum(x * x, axis=axis, keepdims=keepdims),
                        "f32 i32"),
}


def subsets(rank):
    for n in range(1, rank + 1):
        yield from itertools.combinations(range(rank), n)


def data(f, dtype, shape):
    if dtype in ("i32", "u32"):
        return f.rng.integers(0 if dtype == "u32" else -100, 100, shape)
    return f.rng.normal(0, 2, shape)


def wrap32(x):
    x = np.asarray(x, np.int64) & 0xFFFFFFFF
    return np.where(x >= 1 << 31, x - (1 << 32), x)


def reduced(op, x, axes, keep):
    y = np.asarray(OPS[op][0](x, axis=tuple(axes), keepdims=keep))
    if y.ndim == 0 and op != "ReduceSumSquare":
        y = y.reshape(1)
    return wrap32(y) if x.dtype.kind == "i" else y


def reduce_cases(f):
    for op, (_, types) in OPS.items():
        for dtype in types.split():
            for shape in SHAPES:
                lists = list(subsets(len(shape)))
                if len(lists) > 7:
                    lists = [lists[i] for i in sorted(f.rng.choice(len(lists), 6, False))]
                for axes in lists:
                    keep = bool(f.rng.integers(2))
                    order = list(f.rng.permutation(axes))
                    x = q.Tensor("x", data(f, dtype, shape), dtype)
                    params = {"axes": ("u32", order)}
                    if keep or f.rng.integers(2):
                        params["keep_dims"] = ("b8", keep)
                    y = q.Tensor("y", reduced(op, x.real, axes, keep), dtype,
                                 tol=q.ulp(0.51) if dtype == "f16" else None)
                    f.add(op, [x], [y], params)


def reduce_edge_cases(f):
    top = 2 ** 31 - 1
    x = q.Tensor("x", np.array([[top, top], [top, -5], [-top - 1, -1]]), "i32")
    for op in ("ReduceSum", "ReduceSumSquare"):
        f.add(op, [x], [q.Tensor("y", reduced(op, x.real, [1], False), "i32")],
              {"axes": ("u32", [1])}, name=f"{op}_i32_wraps")
    x = q.Tensor("x", np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, -np.inf], [-1.0, -2.0, -0.5]]))
    with np.errstate(invalid="ignore"):
        for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd"):
            f.add(op, [x], [q.Tensor("y", reduced(op, x.real, [1], False))], {"axes": ("u32", [1])},
                  name=f"{op}_special")
    for value, dtype in ((np.array(3.0), "f32"), (np.array(-7), "i32")):
        t = q.Tensor("x", value, dtype)
        f.add("ReduceSumSquare", [t], [q.Tensor("y", t.real * t.real, dtype)],
              {"axes": ("u32", [0])}, name=f"ReduceSumSquare_{dtype}_0d")
    x = q.Tensor("x", f.rng.normal(size=(2, 3)))
    f.add("ReduceSumSquare", [x], [q.Tensor("y", np.sum(x.real ** 2))], {"axes": ("u32", [0, 1])},
          name="ReduceSumSquare_all_0d")
    f.add("ReduceSumSquare", [x], [q.Tensor("y", np.sum(x.real ** 2).reshape(1))],
          {"axes": ("u32", [0, 1])}, name="ReduceSumSquare_all_1d")
    # long sums: the error must not grow with the length
    x = q.Tensor("x", f.rng.normal(1e4, 1, (3, 20000)))
    for op in ("ReduceSum", "ReduceMean"):
        f.add(op, [x], [q.Tensor("y", reduced(op, x.real, [1], False), tol=q.ulp(0.51))],
              {"axes": ("u32", [1])}, name=f"{op}_long")
    for shape, axes in (((4, 7, 7, 130), [1, 2]), ((300, 200), [0]), ((300, 200), [1]),
                        ((2, 40, 3, 70), [1, 3]), ((2, 40, 3, 70), [0, 2]), ((65, 33, 17), [1])):
        for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum"):
            for dtype in ("f32", "uq8"):
                x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                f.add(op, [x], [q.Tensor("y", reduced(op, x.real, axes, False), dtype)],
                      {"axes": ("u32", axes)}, name=f"{op}_{dtype}_large")
    x = q.Tensor("x", f.rng.normal(size=(2, 3, 4)), dims=(5, 3, 6), dynamic=(1, 0, 1))
    for keep, dims, dynamic in ((True, (5, 1, 6), (1, 0, 1)), (False, (5, 6), (1, 1))):
        y = q.Tensor("y", x.real.mean(axis=1, keepdims=keep), dims=dims, dynamic=dynamic)
        f.add("ReduceMean", [x], [y], {"axes": ("u32", [1]), "keep_dims": ("b8", keep)},
              name="ReduceMean_dynamic")


def moments_cases(f):
    for shape in SHAPES:
        for axes in list(subsets(len(shape)))[:12]:
            for keep in (False, True):
                x = q.Tensor("x", f.rng.normal(3, 2, shape))
                signed = [int(a) - len(shape) if f.rng.integers(2) else int(a) for a in axes]
                mean = np.asarray(x.real.mean(axis=axes, keepdims=keep))
                variance = np.asarray(x.real.var(axis=axes, keepdims=keep))
                f.add("Moments", [x], [q.Tensor("m", mean), q.Tensor("v", variance)],
                      {"axes": ("i32", signed), "keep_dims": ("b8", keep)})
    x = q.Tensor("x", f.rng.normal(1e6, 1, (4, 1000)))
    f.add("Moments", [x], [q.Tensor("m", x.real.mean(1)), q.Tensor("v", x.real.var(1))],
          {"axes": ("i32", [1]), "keep_dims": ("b8", False)}, name="Moments_far_from_0")


def arg_cases(f):
    for op, find in (("Argmax", np.argmax), ("Argmin", np.argmin)):
        for dtype in REALS.split() + ["i32", "u32"]:
            for shape in SHAPES:
                for axis in range(len(shape)):
                    x = q.Tensor("x", np.round(data(f, dtype, shape)), dtype)  # ties occur
                    keep = bool(f.rng.integers(2))
                    y = find(x.codes.astype(np.float64), axis=axis)
                    y = np.expand_dims(y, axis) if keep else y
                    drawn = int(f.rng.integers(4))
                    first = shape is SHAPES[0] and axis == 0  # i32 in any case: the HTP's type
                    out = ["i32", "u32", "f32", "f16"][0 if first else drawn]
                    f.add(op, [x], [q.Tensor("y", np.asarray(y), out, tol=q.exact())],
                          {"axis": ("u32", axis), "keep_dims": ("b8", keep)},
                          name=f"{op}_{dtype}_{out}")
    x = q.Tensor("x", np.array([[1, np.nan, 5, np.nan], [np.inf, -np.inf, np.inf, 0]]))
    for op, want in (("Argmax", [1, 0]), ("Argmin", [0, 1])):
        f.add(op, [x], [q.Tensor("y", want, "i32")], {"axis": ("u32", 1)}, name=f"{op}_special")
    x = q.Tensor("x", f.rng.normal(size=(1, 30, 1000)))
    f.add("Argmax", [x], [q.Tensor("y", np.argmax(x.real, 2), "u32")], {"axis": ("u32", 2)},
          name="Argmax_large")
    x = q.Tensor("x", np.array([3.0, 9.0, 1.0]))
    f.add("Argmax", [x], [q.Tensor("y", np.array([1]), "i32")], {"axis": ("u32", 0)},
          name="Argmax_1d_to_1d")


def running_sum(x, axis, exclusive, reverse):
    if reverse:
        x = np.flip(x, axis)
    y = np.cumsum(x, axis)
    if exclusive:
        y = y - x if x.dtype.kind == "i" else np.concatenate(
            [np.zeros_like(np.take(y, [0], axis)),
             np.take(y, range(y.shape[axis] - 1), axis)], axis)
    return np.flip(y, axis) if reverse else y


def cumsum_cases(f):
    for dtype in "f32 f16 uq8 uq16 i32".split():
        for shape in SHAPES:
            for axis in range(len(shape)):
                for exclusive, reverse in itertools.product((False, True), repeat=2):
                    x = q.Tensor("x", data(f, dtype, shape), dtype)
                    y = running_sum(x.real, axis, exclusive, reverse)
                    params = {"axis": ("u32", axis)}
                    if exclusive:
                        params["exclusive"] = ("b8", True)
                    if reverse or f.rng.integers(2):
                        params["reverse"] = ("b8", reverse)
                    f.add("CumulativeSum", [x], [q.Tensor("y", y, dtype)], params)
    x = q.Tensor("x", [1, 2, 3], "i32")
    for exclusive, reverse, want in ((0, 0, [1, 3, 6]), (1, 0, [0, 1, 3]), (0, 1, [6, 5, 3]),
                                     (1, 1, [5, 3, 0])):
        f.add("CumulativeSum", [x], [q.Tensor("y", want, "i32")],
              {"axis": ("u32", 0), "exclusive": ("b8", exclusive), "reverse": ("b8", reverse)},
              name="CumulativeSum_definition")
    top = 2 ** 31 - 1
    x = q.Tensor("x", [top, 1, top], "i32")
    f.add("CumulativeSum", [x], [q.Tensor("y", [top, -top - 1, -1], "i32")], {"axis": ("u32", 0)},
          name="CumulativeSum_wraps")


def top_k(f, x, k, largest):
    """Values and indices; of equal values the larger index comes first, on the HTP the lower."""
    sign = 1 if getattr(f, "low_ties", False) else -1
    rows = x.reshape(-1, x.shape[-1])
    picks = [sorted(range(rows.shape[1]),
                    key=lambda i, row=row: (-row[i] if largest else row[i], sign * i))[:k]
             for row in rows]
    index = np.array(picks, np.int64).reshape(x.shape[:-1] + (k,))
    return np.take_along_axis(x, index, -1), index


def topk_cases(f):
    for dtype in REALS.split() + ["i32"]:
        for shape in ((1,), (9,), (3, 5), (2, 3, 17), (2, 1, 2, 33)):
            n = shape[-1]
            for k in sorted({1, min(2, n), n // 2 or 1, max(1, n - 1), n}):
                for largest in (True, False):
                    coarse = np.round(data(f, dtype, shape)) if k % 2 else data(f, dtype, shape)
                    x = q.Tensor("x", coarse.astype(int) if dtype == "i32" else coarse, dtype)
                    values, index = top_k(f, x.real, k, largest)
                    params = {"k": ("u32", k)}
                    if not largest or k % 3:
                        params["largest"] = ("b8", largest)
                    kind = "u32" if f.rng.integers(2) else "i32"
                    f.add("TopK", [x], [q.Tensor("v", values, dtype, x.enc),
                                        q.Tensor("i", index, kind)], params)
    x = q.Tensor("x", np.array([1.0, np.nan, 3.0, np.inf, -np.inf]))
    f.add("TopK", [x], [q.Tensor("v", np.array([np.nan, np.inf, 3.0])),
                        q.Tensor("i", [1, 3, 2], "i32")], {"k": ("u32", 3)}, name="TopK_special")
    x = q.Tensor("x", f.rng.normal(size=(20, 2000)))
    values, index = top_k(f, x.real, 50, True)
    f.add("TopK", [x], [q.Tensor("v", values, tol=q.ulp(0)), q.Tensor("i", index, "u32")],
          {"k": ("u32", 50)}, name="TopK_large")


def error_cases(f):
    x = q.Tensor("x", np.zeros((2, 3)))
    i = q.Tensor("i", np.zeros((2, 3), int), "i32")

    def out(dims, dtype="f32", name="y"):
        return q.Tensor(name, None, dtype, dims=dims)

    def refuse(op, t, outs, params, name):
        f.add(op, [t], outs, params, name=f"{op}_{name}", error=q.error())

    for op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
               "ReduceSumSquare"):
        refuse(op, x, [out((2,))], {}, "no_axes")
        refuse(op, x, [out((2,))], {"axes": ("u32", [2])}, "axis_too_large")
        refuse(op, x, [out((2,))], {"axes": ("u32", [1, 1])}, "axis_twice")
        refuse(op, x, [out((3,))], {"axes": ("u32", [1])}, "wrong_shape")
        refuse(op, x, [out((2,))], {"axes": ("u32", [1]), "keep_dims": ("b8", True)}, "kept")
        refuse(op, x, [out((2,))], {"axes": ("u32", 1)}, "scalar_axes")
    refuse("ReduceSum", x, [out((2,), "i32")], {"axes": ("u32", [1])}, "integer_output")
    refuse("ReduceMean", i, [out((2,), "i32")], {"axes": ("u32", [1])}, "of_integers")
    for axes, dims in (([2], (2,)), ([-3], (2,)), ([1, -1], (2,)), ([0], (2,))):
        refuse("Moments", x, [out(dims, name="m"), out(dims, name="v")],
               {"axes": ("i32", axes), "keep_dims": ("b8", False)}, "axes")
    for op in ("Argmax", "Argmin"):
        refuse(op, x, [out((2,), "i32")], {"axis": ("u32", 2)}, "axis")
        refuse(op, x, [out((2,), "i32")], {}, "no_axis")
        refuse(op, x, [out((3,), "i32")], {"axis": ("u32", 1)}, "shape")
        refuse(op, x, [out((2,), "i32")], {"axis": ("u32", 1), "keep_dims": ("b8", True)}, "kept")
    refuse("CumulativeSum", x, [out((2, 3))], {"axis": ("u32", 2)}, "axis")
    refuse("CumulativeSum", x, [out((2, 3))], {}, "no_axis")
    refuse("CumulativeSum", x, [out((3, 2))], {"axis": ("u32", 0)}, "shape")
    refuse("CumulativeSum", x, [out((2, 3), "i32")], {"axis": ("u32", 0)}, "integer_output")
    for k, dims, name in ((0, (2, 1), "k_0"), (4, (2, 4), "k_too_large"), (2, (2, 3), "shape")):
        refuse("TopK", x, [out(dims, name="v"), out(dims, "i32", "i")], {"k": ("u32", k)}, name)
    refuse("TopK", x, [out((2, 2), "i32", "v"), out((2, 2), "i32", "i")], {"k": ("u32", 2)},
           "integer_values")
    refuse("TopK", x, [out((2, 2), name="v"), out((2, 2), name="i")], {"k": ("u32", 2)},
           "float_indices")


def cases(f):
    reduce_cases(f)
    reduce_edge_cases(f)
    moments_cases(f)
    arg_cases(f)
    cumsum_cases(f)
    topk_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
