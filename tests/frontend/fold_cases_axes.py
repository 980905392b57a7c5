# SPDX-License-Identifier: MIT
"""Ops along axes and by index: gathering, scattering, reductions, sorting, products."""
import numpy as np

from fold_case import ALL, BOOL, F32, F64, FLOATS, I4, INTS, PASS, Case, is_float
from fold_cases_elementwise import values

I64, I32 = np.dtype("int64"), np.dtype("int32")


def ints(*list_):
    return np.array(list_, I64)


def gathers(rng):
    for dtype in ALL:
        x = values(rng, dtype, (3, 4, 5))
        index = np.array([[0, -1], [3, -4]], I32)
        yield Case(f"Gather {dtype}", "Gather", [x, index], [np.take(x, index % 4, axis=1)], axis=1)
        at = rng.integers(-3, 3, (2, 4, 5))
        yield Case(f"GatherElements {dtype}", "GatherElements", [x, at],
                   [np.take_along_axis(x, at % 3, axis=0)], axis=0)
        tuples = ints([0, -1], [2, 3], [-3, 0])
        yield Case(f"GatherND {dtype}", "GatherND", [x, tuples], [x[tuples[:, 0], tuples[:, 1]]])
        new = values(rng, dtype, (3, 5))
        y = x.copy()
        y[tuples[:, 0], tuples[:, 1]] = new
        yield Case(f"ScatterND {dtype}", "ScatterND", [x, tuples, new], [y])
        at, new = ints([[0, -1]], [[2, 1]]).transpose(0, 2, 1), values(rng, dtype, (2, 2, 1))
        y = x.copy()
        np.put_along_axis(y[:2, :, :1], at % 4, new, axis=1)
        yield Case(f"ScatterElements {dtype}", "ScatterElements", [x, at, new], [y], axis=1)
    x = values(rng, F32, (3, 4, 5))
    yield Case("Gather scalar index", "Gather", [x, np.array(-1, I64)], [x[:, :, -1]], axis=-1)
    yield Case("Gather of indices 0", "Gather", [x, np.zeros((0, 2), I64)])
    yield Case("Gather too deep", "Gather", [x, np.zeros((1,) * 7, I64)], PASS)
    yield Case("Scatter", "Scatter", [x, ints([[1]]), np.full((1, 1, 1), 9, F32)], [np.where(
        np.arange(60).reshape(3, 4, 5) == 20, F32.type(9), x)], opset=9)
    for batch in (1, 2):
        index = rng.integers(-2, 2, (3, 4, 1))
        yield Case(f"GatherND batch {batch}", "GatherND", [x, index], batch_dims=batch, opset=13)
    yield Case("GatherND whole tuples", "GatherND", [x, ints([0, 1, 2])], [x[0, 1, 2].reshape(1)])
    for dtype in FLOATS + INTS:
        x = values(rng, dtype, (4, 3), False)
        with np.errstate(all="ignore"):
            x = (x % 7).astype(dtype) if not is_float(dtype) else x
        at, new = ints([0, 1, 1], [3, 1, 0]), x[:2].copy()
        for how in ("add", "mul", "min", "max"):
            yield Case(f"ScatterElements {how} {dtype}", "ScatterElements", [x, at, new], opset=18,
                       ulps=2, reduction=how)
            yield Case(f"ScatterND {how} {dtype}", "ScatterND", [x, ints([1], [3]), new], opset=18,
                       ulps=2, reduction=how)
    for dtype in FLOATS + INTS + [BOOL, I4]:
        x = values(rng, dtype, (3, 4))
        x[1] = 0
        yield Case(f"NonZero {dtype}", "NonZero", [x], [np.array(np.nonzero(x.astype(F64)), I64)])
    yield Case("NonZero scalar", "NonZero", [np.array(3, F32)], [np.zeros((0, 1), I64)])
    yield Case("NonZero nothing", "NonZero", [np.zeros((2, 3), F32)], [np.zeros((2, 0), I64)])


def one_hot(_):
    for dtype in FLOATS + INTS + [BOOL]:
        index = np.array([[0, 2, -1], [5, -5, 4]], I64)
        pair = np.array([0, 1] if dtype == BOOL else [2, 5], dtype)
        for axis in (-1, 0, 1, -3):
            hot = np.arange(4).reshape([-1 if d == axis % 3 else 1 for d in range(3)])
            fixed = np.where(index < -4, 99, np.where(index < 0, index + 4, index))
            fixed = np.expand_dims(fixed, axis % 3)
            yield Case(f"OneHot {dtype} {axis}", "OneHot", [index, np.array(4, I32), pair],
                       [np.where(hot == fixed, pair[1], pair[0]).astype(dtype)], opset=11,
                       axis=axis)
    yield Case("OneHot float indices", "OneHot", [np.array([1.0, 0.0], F32), np.array(3.0, F32),
                                                  np.array([0, 1], F32)])


REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()


def reduce_oracle(op, x, axes, keep):
    """In float64, or for integers exactly modulo their width."""
    x64 = x.astype(F64 if is_float(x.dtype) or op in ("L2", "LogSum", "LogSumExp", "Mean")
                   else object)
    with np.errstate(all="ignore"):
        if op == "Mean":
            y = np.trunc(np.mean(x64, axis=axes, keepdims=keep)) if not is_float(
                x.dtype) else np.mean(x64, axis=axes, keepdims=keep)
        elif op == "LogSumExp":
            y = np.log(np.sum(np.exp(x64), axis=axes, keepdims=keep))
        elif op in ("Sum", "LogSum"):
            y = np.sum(x64, axis=axes, keepdims=keep)
        elif op == "L1":
            y = np.sum(np.abs(x64), axis=axes, keepdims=keep)
        elif op in ("L2", "SumSquare"):
            y = np.sum(x64 * x64, axis=axes, keepdims=keep)
        else:
            y = {"Max": np.max, "Min": np.min, "Prod": np.prod}[op](x64, axis=axes, keepdims=keep)
        y = np.sqrt(y) if op == "L2" else np.log(y) if op == "LogSum" else y
        if is_float(x.dtype) or x64.dtype == F64:
            return np.asarray(y).astype(x.dtype)
    low, bits = np.iinfo(x.dtype).min, x.dtype.itemsize * 8
    flat = [(int(v) - low) % 2**bits + low for v in np.asarray(y).reshape(-1)]
    return np.array(flat, x.dtype).reshape(np.shape(y))


def reductions(rng):
    for op in REDUCTIONS:
        for dtype in FLOATS + [I64, I32, np.dtype("uint32"), np.dtype("uint64")]:
            x = values(rng, dtype, (2, 3, 4, 2), False)
            if op in ("LogSum", "LogSumExp", "L2", "Mean", "Prod") and not is_float(dtype):
                x = (x % 5 + 1).astype(dtype)
            x = np.abs(x) if op == "LogSum" else x
            for axes in ((1,), (0, -1), (0, 1, 2, 3)):
                for keep in (0, 1):
                    want = [reduce_oracle(op, x, axes, bool(keep))]
                    for opset in (11, 18):
                        as_input = opset == 18
                        yield Case(f"Reduce{op} {dtype} {axes} keep {keep}", f"Reduce{op}",
                                   [x, ints(*axes)] if as_input else [x], want, opset=opset,
                                   keepdims=keep, ulps=2, rtol=1e-12,
                                   **({} if as_input else {"axes": axes}))
        x = np.abs(values(rng, F32, (3, 4), False))
        whole = [reduce_oracle(op, x, (0, 1), True)]
        yield Case(f"Reduce{op} all", f"Reduce{op}", [x], whole, opset=18, rtol=1e-6)
        yield Case(f"Reduce{op} all, empty axes", f"Reduce{op}", [x, ints()], whole, opset=18,
                   rtol=1e-6)
        yield Case(f"Reduce{op} none", f"Reduce{op}", [x, ints()], [reduce_oracle(op, x, (), True)],
                   opset=18, noop_with_empty_axes=1, ulps=2)
        yield Case(f"Reduce{op} scalar", f"Reduce{op}", [np.array(2, F32)],
                   [reduce_oracle(op, np.array(2, F32), (), True)], opset=18)
    zero = np.zeros((2, 0, 3), F32)
    for op, value in (("Sum", 0), ("Prod", 1), ("Max", -np.inf), ("Min", np.inf), ("L1", 0),
                      ("L2", 0), ("LogSum", -np.inf), ("LogSumExp", -np.inf), ("SumSquare", 0),
                      ("Mean", np.nan)):
        yield Case(f"Reduce{op} of nothing", f"Reduce{op}", [zero, ints(1)],
                   [np.full((2, 1, 3), value, F32)], opset=18)
    yield Case("ReduceMax of no integers", "ReduceMax", [np.zeros((0,), I32)],
               [np.full((1,), -2**31, I32)], opset=18)
    for op in ("Max", "Min"):
        yield Case(f"Reduce{op} bool", f"Reduce{op}", [np.array([[True, False], [True, True]]),
                                                       ints(1)], opset=20)
        special = np.array([[np.nan, 1], [np.inf, -np.inf]], F32)
        yield Case(f"Reduce{op} NaN", f"Reduce{op}", [special, ints(1)], opset=18)
    huge = np.array([1000, 1000, -1000], F32)
    yield Case("ReduceLogSumExp does not overflow", "ReduceLogSumExp", [huge],
               [np.array([1000 + np.log(2)], F32)], opset=18)


def along(rng):
    for op in ("ArgMax", "ArgMin"):
        for dtype in FLOATS + INTS:
            x = values(rng, dtype, (3, 4, 2), False)
            x[:, 1] = x[:, 3]
            for axis in (0, 1, -1):
                for last in (0, 1):
                    for keep in (0, 1):
                        yield Case(f"{op} {dtype} {axis} {last} {keep}", op, [x], opset=13,
                                   axis=axis, keepdims=keep, select_last_index=last)
    for dtype in FLOATS + INTS:
        x = values(rng, dtype, (3, 4), False)
        for attrs in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}):
            for axis in (0, -1):
                yield Case(f"CumSum {dtype} {attrs} {axis}", "CumSum",
                           [x, np.array(axis, I32)], ulps=2, **attrs)
        x = values(rng, dtype, (3, 6, 2), False)
        x[:, 2] = x[:, 4]
        for largest in (0, 1):
            for axis in (0, 1, -1):
                k = 2
                order = x.astype(object) if not is_float(dtype) else x.astype(F64)
                order = np.argsort(-order if largest else order, axis=axis, kind="stable")
                order = np.take(order, range(k), axis=axis)
                yield Case(f"TopK {dtype} {largest} {axis}", "TopK", [x, ints(k)],
                           [np.take_along_axis(x, order, axis), order], n_out=2, axis=axis,
                           largest=largest)
    x = values(rng, F32, (3, 6), False)
    order = np.argsort(-x, axis=1, kind="stable")[:, :3]
    for opset, inputs, attrs in ((1, [x], {"k": 3}), (10, [x, ints(3)], {})):
        yield Case(f"TopK opset {opset}", "TopK", inputs,
                   [np.take_along_axis(x, order, 1), order], n_out=2, opset=opset, **attrs)
    yield Case("TopK values only", "TopK", [x, ints(3)], [np.take_along_axis(x, order, 1)])
    yield Case("TopK of 0", "TopK", [x, ints(0)], [np.zeros((3, 0), F32), np.zeros((3, 0), I64)],
               n_out=2)


def products(rng):
    shapes = [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)),
              ((5, 1, 2, 3), (4, 3, 2)), ((1, 2), (2, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 2))]
    for dtype in FLOATS + [I64, I32, np.dtype("uint32"), np.dtype("uint64")]:
        for a, b in shapes:
            yield Case(f"MatMul {dtype} {a} {b}", "MatMul",
                       [values(rng, dtype, a, False), values(rng, dtype, b, False)], ulps=2,
                       rtol=1e-12)
    big = np.ones((512, 512), F32)
    yield Case("MatMul too large", "MatMul", [big, big], PASS)


def cases():
    rng = np.random.default_rng(3)
    for group in (gathers, one_hot, reductions, along, products):
        yield from group(rng)
