# SPDX-License-Identifier: MIT
"""Cases of gather, scatter and generator ops: Gather, GatherElements, GatherNd, BatchPermutation,
ScatterElements, ScatterNd, NonZero, OneHot, ConstantOfShape, Shape.

Oracles: loops over the definitions, and numpy's take and argwhere.
"""
import itertools

import numpy as np

import qcase as q
from movement import ACT, changed, elements, moved, source

INDEX_TYPES = ("i32", "u32")


def indices(f, shape, dim, dtype="i32", kind="input", name="indices"):
    """Random indices; signed ones count from the end half of the time."""
    array = f.rng.integers(0, dim, shape)
    if dtype in ("i32", "f32"):
        array = np.where(f.rng.integers(0, 2, shape), array, array - dim)
    if dtype == "f32":
        array = array.astype(np.float32)
    return q.Tensor(name, array, dtype, kind=kind)


def gather_cases(f):
    plans = [(shape, idx, axis) for shape, idx in (((5,), (3,)), ((4, 3), (2,)), ((4, 3), (2, 2)),
                                                   ((2, 5, 3), (4,)), ((2, 5, 3), (1, 2, 1)),
                                                   ((3, 1, 2, 4), (3,)), ((2, 1, 2, 2, 2), (2, 3)))
             for axis in range(len(shape))]
    for (shape, idx, axis), dtype in itertools.product(plans, ACT + ("i32", "i64", "u32", "b8")):
        for index_type in INDEX_TYPES if dtype in ("f32", "uq8") else ("i32",):
            x = source(f, shape, dtype, "table")
            i = indices(f, idx, shape[axis], index_type, "static" if f.rng.integers(2) else "input")
            f.add("Gather", [x, i], [moved(x, x.codes.take(i.codes, axis))],
                  {"axis": ("i32", axis)})
    for dtype in ("uq8", "sq8", "uq16"):
        for kind in ("input", "static"):  # a constant table is converted once, else the result is
            x = source(f, (6, 4), dtype, "table", kind)
            i = indices(f, (3,), 6)
            f.add("Gather", [x, i], [changed(f, x.real.take(i.codes, 0), dtype)],
                  {"axis": ("i32", 0)}, name="Gather_requantized")
    x = source(f, (6, 4), "sq8", "table")
    i = indices(f, (3,), 6)
    f.add("Gather", [x, i], [changed(f, x.real.take(i.codes, 0), "uq8")], {"axis": ("i32", 0)},
          name="Gather_sq8_to_uq8")
    i = indices(f, (2, 3), 6, "f32")
    f.add("Gather", [x, i], [moved(x, x.codes.take(i.codes.astype(int), 0))], {"axis": ("i32", 0)},
          name="Gather_float_indices")
    i = q.Tensor("indices", np.array([5, 0]), "u32")  # u32 given for the axis
    f.add("Gather", [x, i], [moved(x, x.codes.take(i.codes, 0))], {"axis": ("u32", 0)},
          name="Gather_u32_axis")
    x, i = source(f, (50, 300), "f32", "table"), indices(f, (400,), 50)
    f.add("Gather", [x, i], [moved(x, x.codes.take(i.codes, 0))], {"axis": ("i32", 0)},
          name="Gather_large")
    weights = f.rng.normal(size=(6, 4))
    for axis in (0, 1):
        x = q.Tensor("table", weights, "sq8", q.fit_axis(weights, axis), "static")
        i = indices(f, (3,), 6)
        f.add("Gather", [x, i], [changed(f, x.real.take(i.codes, 0), "sq8")], {"axis": ("i32", 0)},
              name="Gather_per_axis")


def gather_elements(x, idx, axis):
    y = np.zeros(idx.shape, x.dtype)
    for at in np.ndindex(*idx.shape):
        place = list(at)
        place[axis] = idx[at]
        y[at] = x[tuple(place)]
    return y


def gather_elements_cases(f):
    plans = (((5,), (7,)), ((4, 3), (4, 3)), ((4, 3), (2, 2)), ((2, 3, 4), (1, 3, 2)),
             ((2, 3, 2, 4), (2, 1, 2, 3)), ((2, 1, 3, 2, 2), (1, 1, 2, 2, 1)))
    for (shape, idx), dtype in itertools.product(plans,
                                                 ("f32", "f16", "uq8", "uq16", "i32", "i64")):
        for axis, index_type in itertools.product(range(len(shape)), INDEX_TYPES):
            x = source(f, shape, dtype)
            i = indices(f, idx, shape[axis], index_type, "static" if f.rng.integers(2) else "input")
            params = {"axis": ("u32", axis)} if axis or f.rng.integers(2) else {}
            f.add("GatherElements", [x, i], [moved(x, gather_elements(x.codes, i.codes, axis))],
                  params)
    for dtype in ("uq8", "uq16"):
        x, i = source(f, (4, 3), dtype), indices(f, (6, 3), 4)
        f.add("GatherElements", [x, i], [changed(f, gather_elements(x.real, i.codes, 0), dtype)],
              name="GatherElements_requantized")


def tuples(f, shape, dims, dtype, kind="input"):
    columns = [indices(f, shape, d, dtype).array for d in dims]
    return q.Tensor("indices", np.stack(columns, -1), dtype, kind=kind)


def gather_nd(x, idx, batch):
    lead = idx.shape[:-1]
    y = np.zeros(lead + x.shape[batch + idx.shape[-1]:], x.dtype)
    for at in np.ndindex(*lead):
        y[at] = x[at[:batch] + tuple(idx[at])]
    return y


def gather_nd_cases(f):
    plans = (((5,), (3,), 1, 0), ((4, 3), (2,), 1, 0), ((4, 3), (2, 2), 2, 0), ((4, 3), (), 1, 0),
             ((4, 3), (), 2, 0), ((2, 3, 4), (5,), 2, 0), ((2, 3, 4), (2, 2), 1, 1),
             ((2, 3, 4), (2, 5), 2, 1), ((2, 3, 4), (2, 3), 1, 2), ((2, 3, 2, 2), (2, 1), 2, 1))
    types = ACT + ("i8", "i32", "i64", "u8")
    for (shape, idx, count, batch), dtype in itertools.product(plans, types):
        for index_type in INDEX_TYPES:
            x = source(f, shape, dtype, "table")
            i = tuples(f, idx, shape[batch:batch + count], index_type,
                       "static" if f.rng.integers(2) else "input")
            params = {"batch_dims": ("u32", batch)} if batch else {}
            f.add("GatherNd", [x, i], [moved(x, gather_nd(x.codes, i.codes, batch))], params)
    for dtype in ("uq8", "sq8", "uq16"):
        x, i = source(f, (4, 3), dtype, "table"), tuples(f, (6,), (4,), "i32")
        f.add("GatherNd", [x, i], [changed(f, gather_nd(x.real, i.codes, 0), dtype)],
              name="GatherNd_requantized")


def batch_permutation_cases(f):
    for shape, index_type in itertools.product(((5,), (4, 3), (3, 2, 2), (1, 2)), INDEX_TYPES):
        for count in range(1, shape[0] + 1):
            order = f.rng.permutation(shape[0] + 2)[:count]  # two of them are out of range
            if index_type == "i32":
                order = np.where(order > shape[0], -1, order)
            x, i = source(f, shape, "f32"), q.Tensor("indices", order, index_type)
            y = np.zeros((count,) + shape[1:], np.float32)
            inside = [k for k in order if 0 <= k < shape[0]]
            y[:len(inside)] = x.codes[inside]
            f.add("BatchPermutation", [x, i], [moved(x, y)])


REDUCTIONS = {0: lambda a, b: b, 1: np.add, 2: np.multiply, 3: np.maximum}


def scatter_elements(x, idx, updates, axis, reduction):
    y = x.copy()
    for at in np.ndindex(*idx.shape):
        place = list(at)
        place[axis] = idx[at]
        y[tuple(place)] = REDUCTIONS[reduction](y[tuple(place)], updates[at])
    return y


def scatter_nd(x, idx, updates, reduction):
    y = x.copy()
    for at in np.ndindex(*idx.shape[:-1]):
        y[tuple(idx[at])] = REDUCTIONS[reduction](y[tuple(idx[at])], updates[at])
    return y


def small(f, shape, dtype, name, enc=None):
    """Values whose sums and products stay inside the type."""
    if dtype in ("f32", "f16") or q.is_fixed(dtype):
        return q.Tensor(name, f.rng.uniform(-2, 2, shape), dtype, enc)
    return q.Tensor(name, f.rng.integers(0, 4, shape), dtype)


def scatter_case(f, op, x, i, u, reduction, compute, params, name):
    if reduction:
        params["reduction"] = ("u32", reduction)
    if reduction == 0 and u.enc is x.enc:
        f.add(op, [x, i, u], [moved(x, compute(x.codes, u.codes))], params, name=name)
        return
    y = compute(x.real, u.real)
    if q.dtype_class(x.dtype) in ("int", "bool"):
        store = q.DTYPES[x.dtype][3]
        y = (y != 0) if x.dtype == "b8" else y.astype(store)  # keeps the low bits
    enc = q.fit(y, x.dtype) if q.is_fixed(x.dtype) else None
    f.add(op, [x, i, u], [q.Tensor("y", y, x.dtype, enc)], params, name=name)


def scatter_elements_cases(f):
    plans = (((5,), (7,)), ((4, 3), (4, 3)), ((4, 3), (2, 2)), ((2, 3, 4), (1, 3, 2)),
             ((2, 3, 2, 2), (2, 1, 2, 2)))
    types = ("f32", "f16", "uq8", "uq16", "i32", "u8", "u16")
    for (shape, idx), dtype, reduction in itertools.product(plans, types, range(4)):
        for axis in range(len(shape)):
            x = small(f, shape, dtype, "x")
            i = indices(f, idx, shape[axis], INDEX_TYPES[int(f.rng.integers(2))],
                        "static" if f.rng.integers(2) else "input")
            u = small(f, idx, dtype, "updates", x.enc)
            params = {"axis": ("u32", axis)} if axis or f.rng.integers(2) else {}
            scatter_case(f, "ScatterElements", x, i, u, reduction,
                         lambda a, b: scatter_elements(a, i.codes, b, axis, reduction), params,
                         f"ScatterElements_{dtype}_{reduction}")
    for dtype in ("uq8", "uq16"):  # updates with an encoding of their own
        x, i = small(f, (4, 3), dtype, "x"), indices(f, (2, 3), 4)
        u = small(f, (2, 3), dtype, "updates")
        scatter_case(f, "ScatterElements", x, i, u, 0,
                     lambda a, b: scatter_elements(a, i.codes, b, 0, 0), {},
                     "ScatterElements_requantized")
    x, i = q.Tensor("x", np.array([np.nan, 1, 2], np.float32)), q.Tensor("i", np.arange(3), "i32")
    u = q.Tensor("u", np.array([1, np.nan, 3], np.float32))
    f.add("ScatterElements", [x, i, u], [q.Tensor("y", np.array([np.nan, np.nan, 3]))],
          {"reduction": ("u32", 3)}, name="ScatterElements_max_of_nan")
    for reduction in (1, 2):  # integers wrap around
        x, i = q.Tensor("x", np.array([200, 100]), "u8"), q.Tensor("i", np.array([0, 0, 1]), "i32")
        u = q.Tensor("u", np.array([100, 3, 7]), "u8")
        y = {1: [303 % 256, 107], 2: [60000 % 256, 700 % 256]}[reduction]
        f.add("ScatterElements", [x, i, u], [q.Tensor("y", np.array(y), "u8")],
              {"reduction": ("u32", reduction)}, name="ScatterElements_wraps")


def scatter_nd_cases(f):
    plans = (((5,), (3,), 1), ((4, 3), (2,), 1), ((4, 3), (2, 2), 2), ((4, 3), (), 1),
             ((2, 3, 4), (5,), 2), ((2, 3, 4), (2,), 3), ((2, 3, 2, 2), (2, 1), 2))
    types = ("f32", "f16", "uq8", "uq16", "i8", "i32", "i64", "u8", "u32", "b8")
    for (shape, idx, count), dtype, reduction in itertools.product(plans, types, range(3)):
        x = small(f, shape, dtype, "x")
        i = tuples(f, idx, shape[:count], INDEX_TYPES[int(f.rng.integers(2))],
                   "static" if f.rng.integers(2) else "input")
        u = small(f, idx + shape[count:], dtype, "updates", x.enc)
        scatter_case(f, "ScatterNd", x, i, u, reduction,
                     lambda a, b: scatter_nd(a, i.codes, b, reduction), {},
                     f"ScatterNd_{dtype}_{reduction}")
    x, u = small(f, (4, 3), "uq8", "x"), small(f, (2, 3), "uq8", "updates")
    i = q.Tensor("indices", np.array([[3.0], [1.0]]), "uq8", q.scale_offset(0.5, -10))
    scatter_case(f, "ScatterNd", x, i, u, 0,
                 lambda a, b: scatter_nd(a, np.array([[3], [1]]), b, 0), {},
                 "ScatterNd_quantized_indices")
    x = q.Tensor("x", np.array([2 ** 62, 5]), "i64")
    u = q.Tensor("u", np.array([2 ** 62, 2]), "i64")
    i = q.Tensor("indices", np.array([[0], [1]]), "i32")
    f.add("ScatterNd", [x, i, u], [q.Tensor("y", np.array([-2 ** 63, 7]), "i64")],
          {"reduction": ("u32", 1)}, name="ScatterNd_wraps")


def nonzero_cases(f):
    types = ("f32", "uq8", "i8", "i32", "i64", "u32", "b8")
    for shape, dtype in itertools.product(((5,), (3, 4), (1, 1), (2, 3, 2), (2, 1, 3, 2)), types):
        for share in (0.0, 0.4, 1.0):
            keep = f.rng.random(shape) < share
            enc = q.scale_offset(0.1, -7) if dtype == "uq8" else None
            zero = 7 if enc else 0
            values = elements(f, shape, dtype)
            values = np.where(values == zero, 1, values)
            x = q.Tensor("x", np.where(keep, values, zero).astype(values.dtype), dtype, enc)
            found, count = np.argwhere(keep), int(np.prod(shape))
            for out in INDEX_TYPES:
                f.add("NonZero", [x], [q.Tensor("y", found, out, dims=(count, len(shape)))])
            # Between nodes all rows are there, those left over are -1.
            rows = np.full((count, len(shape)), -1)
            rows[:len(found)] = found
            middle = q.Tensor("m", None, "i32", kind="native", dims=(count, len(shape)))
            f.build([q.Node("NonZero", [x], [middle]),
                     q.Node("Transpose", [middle], [q.Tensor("y", rows.T, "i32")],
                            {"perm": ("u32", (1, 0))})], name=f"NonZero_{dtype}_inside")
    x = q.Tensor("x", np.array([0.0, -0.0, np.nan, 1e-45, -np.inf], np.float32))
    f.add("NonZero", [x], [q.Tensor("y", np.array([[2], [3], [4]]), "i32", dims=(5, 1))],
          name="NonZero_special")
    f.add("NonZero", [x], [q.Tensor("y", None, "i32", dims=(2, 1))], name="NonZero_too_many",
          error=q.error(None, "execute"))


def one_hot(idx, depth, axis, on, off):
    hot = np.stack([idx == d for d in range(depth)], axis)
    return np.where(hot, on, off)


def one_hot_cases(f):
    for shape, index_type in itertools.product(((4,), (2, 3), (1, 1), (2, 3, 2)), INDEX_TYPES):
        for axis, depth in itertools.product(range(len(shape) + 1), (1, 5)):
            idx = f.rng.integers(0 if index_type == "u32" else -1, depth + 1, shape)
            i = q.Tensor("indices", idx, index_type)
            params = {"depth": ("u32", depth)}
            if axis < len(shape):
                params["axis"] = ("u32", axis)
            for dtype in ("f32", "i32"):
                f.add("OneHot", [i], [q.Tensor("y", one_hot(idx, depth, axis, 1, 0), dtype)],
                      params, name=f"OneHot_{dtype}")
            for dtype in ("uq8", "sq8", "uq16"):
                enc = q.scale_offset(0.05, -20)
                f.add("OneHot", [i], [q.Tensor("y", one_hot(idx, depth, axis, 1., 0.), dtype, enc)],
                      params, name=f"OneHot_{dtype}")
                values = {"on_value": ("f32", 2.25), "off_value": ("f32", -0.5)}
                f.add("OneHot", [i], [q.Tensor("y", one_hot(idx, depth, axis, 2.25, -.5), dtype,
                                               enc)], {**params, **values}, name=f"OneHot_{dtype}")
                codes = {"on_value": (dtype, 100), "off_value": (dtype, 3)}
                f.add("OneHot", [i], [q.Tensor("y", one_hot(idx, depth, axis, 100, 3), dtype, enc,
                                               tol=q.exact())], {**params, **codes},
                      name=f"OneHot_{dtype}_codes")
            y = one_hot(idx, depth, axis, np.float32(0.9), np.float32(-3))
            f.add("OneHot", [i], [q.Tensor("y", y)],
                  {**params, "on_value": ("f32", 0.9), "off_value": ("f32", -3)})


def generator_cases(f):
    values = {"f32": (0.0, -1.5, np.inf), "i8": (-128, 7), "i32": (-2 ** 31, 5), "u8": (255,),
              "u32": (2 ** 32 - 1,)}
    for shape in ((3,), (2, 3), (1, 1), (2, 1, 4), (2, 1, 1, 3, 1, 2)):
        for dtype, numbers in values.items():
            for value, kind in itertools.product(numbers, ("input", "static")):
                s = q.Tensor("shape", np.array(shape), "u32", kind=kind)
                y = np.full(shape, value)
                f.add("ConstantOfShape", [s], [q.Tensor("y", y, dtype, tol=q.exact())],
                      {"value": (dtype, value)}, name=f"ConstantOfShape_{dtype}_{kind}")
    s = q.Tensor("shape", np.array([2, 2]), "u32", kind="static")
    f.add("ConstantOfShape", [s], [q.Tensor("y", np.full((2, 2), 9), "i32")],
          {"value": ("i64", 9)}, name="ConstantOfShape_i64")
    one = q.Tensor("shape", np.array([1]), "u32", kind="static")
    f.add("ConstantOfShape", [one], [q.Tensor("y", np.float32(3))], {"value": ("f32", 3)},
          name="ConstantOfShape_rank_0")
    x = source(f, (2, 2), "f32")
    middle = q.Tensor("m", None, "f32", kind="native", dims=(2, 2))
    f.build([q.Node("ConstantOfShape", [s], [middle], {"value": ("f32", 4)}),
             q.Node("Concat", [x, middle],
                    [moved(x, np.concatenate([x.codes, np.full((2, 2), 4, np.float32)], 1))])],
            name="ConstantOfShape_then_Concat")
    for dtype, shape in itertools.product(("f32", "i8", "i32", "i64", "u8", "u32"),
                                          ((3,), (2, 3), (1, 4, 2, 5))):
        for start, end in itertools.product(range(len(shape)), range(1, len(shape) + 1)):
            if start < end:
                x = source(f, shape, dtype)
                params = {"start": ("u32", start), "end": ("u32", end)}
                if start == 0:
                    params.pop("start")
                if end == len(shape):
                    params.pop("end")
                f.add("Shape", [x], [q.Tensor("y", np.array(shape[start:end]), "u32")], params)
    x = source(f, (2, 3), "f32")
    dims = q.Tensor("dims", None, "u32", kind="native", dims=(2,))
    f.build([q.Node("Shape", [x], [dims]),
             q.Node("ConstantOfShape", [dims], [q.Tensor("y", np.full((2, 3), 8), "i32")],
                    {"value": ("i32", 8)})], name="Shape_then_ConstantOfShape")
    f.build([q.Node("Shape", [x], [dims]),
             q.Node("ConstantOfShape", [dims], [q.Tensor("y", None, "i32", dims=(3, 2))],
                    {"value": ("i32", 8)})], name="Shape_then_another_ConstantOfShape",
            error=q.error(None, "execute"))


def range_cases(f):
    """Indices that only the execution can find to be out of range."""
    x = source(f, (3, 4), "f32")
    for value in (3, -4, 2 ** 31 - 1, -2 ** 31):
        i = q.Tensor("i", np.array([0, value]), "i32")
        two = q.Tensor("i", np.array([[0, 0], [value, 1]]), "i32")
        y = q.Tensor("y", None, dims=(2, 4))
        late = q.error(None, "execute")
        f.add("Gather", [x, i], [y], {"axis": ("i32", 0)}, name="Gather_out_of_range", error=late)
        f.add("GatherElements", [x, two], [q.Tensor("y", None, dims=(2, 2))],
              name="GatherElements_out_of_range", error=late)
        f.add("GatherNd", [x, two], [q.Tensor("y", None, dims=(2,))], name="GatherNd_out_of_range",
              error=late)
        u = source(f, (2, 2), "f32", "u")
        for reduction in (0, 1):
            params = {"reduction": ("u32", reduction)}
            f.add("ScatterElements", [x, two, u], [q.Tensor("y", None, dims=(3, 4))], params,
                  name="ScatterElements_out_of_range", error=late)
            f.add("ScatterNd", [x, two, source(f, (2,), "f32", "u")],
                  [q.Tensor("y", None, dims=(3, 4))], params, name="ScatterNd_out_of_range",
                  error=late)
    i = q.Tensor("i", np.array([np.inf, 0], np.float32))
    f.add("Gather", [x, i], [q.Tensor("y", None, dims=(2, 4))], {"axis": ("i32", 0)},
          name="Gather_infinite_index", error=q.error(None, "execute"))


def cases(f):
    gather_cases(f)
    gather_elements_cases(f)
    gather_nd_cases(f)
    batch_permutation_cases(f)
    scatter_elements_cases(f)
    scatter_nd_cases(f)
    nonzero_cases(f)
    one_hot_cases(f)
    generator_cases(f)
    range_cases(f)


if __name__ == "__main__":
    q.run(cases)
