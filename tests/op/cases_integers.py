# SPDX-License-Identifier: MIT
"""Plain integers of every width, in the ops where clients send them: arithmetic, comparison,
choice, limits, transpose, reduction, pooling, shapes.

Oracles: Python's integers, then the low bits that the type keeps.
"""
import numpy as np

import qcase as q
from cases_eltwise_binary import ARITHMETIC, COMPARE, int_divide
from cases_eltwise_binary import wrap as narrow_wrap

TYPES = ("i8", "i16", "i64", "u8", "u16", "u32")  # i32 is in every group
WHOLE = 1 << 40  # of 64-bit numbers: what float64 holds exactly, squared


def wrap(x, dtype):
    return x if dtype == "i64" else narrow_wrap(x, dtype)


def limits(dtype):
    bits = q.DTYPES[dtype][1]
    if bits == 64:
        return -WHOLE, WHOLE
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "i" else (0, (1 << bits) - 1)


def numbers(f, dtype, shape):
    """Over the whole range, with both ends in it."""
    low, high = limits(dtype)
    x = f.rng.integers(low, high + 1, shape)
    x.flat[0], x.flat[-1] = low, high
    return x


def binary_cases(f):
    for dtype in TYPES:
        a = q.Tensor("a", numbers(f, dtype, (4, 1, 5)), dtype)
        b = q.Tensor("b", numbers(f, dtype, (3, 5)), dtype)
        small = q.Tensor("b", f.rng.integers(1, 9, (3, 5)), dtype)
        for op in ("Add", "Subtract", "Divide", "FloorDiv", "Mod", "Maximum", "Minimum"):
            other = small if op in ("Divide", "FloorDiv", "Mod") else b
            want = ARITHMETIC[op][2](a.array.astype(np.int64), other.array.astype(np.int64))
            y = q.Tensor("y", wrap(want, dtype), dtype)
            f.add("ElementWise" + op, [a, other], [y])
            f.add("ElementWiseBinary", [a, other], [q.Tensor("y", y.array, dtype)],
                  {"operation": ("u32", ARITHMETIC[op][0])}, name=f"Binary{op}_{dtype}")
        factor = q.Tensor("a", f.rng.integers(0, 200, (2, 5)) % (limits(dtype)[1] + 1), dtype)
        product = factor.array.astype(np.int64) * b.array[:1]
        f.add("ElementWiseMultiply", [factor, q.Tensor("b", b.array[:1], dtype)],
              [q.Tensor("y", wrap(product, dtype), dtype)])
        for op, (_, compare, _) in COMPARE.items():
            other = q.Tensor("b", np.where(f.rng.random((4, 3, 5)) < 0.3, a.array, b.array), dtype)
            f.add("ElementWise" + op, [a, other],
                  [q.Tensor("y", compare(a.array, other.array), "b8")])


def chain_cases(f):
    """Results between two ops keep their low bits, also where one kernel does both."""
    for dtype in (*TYPES, "i32"):
        x = numbers(f, dtype, (3, 7))
        a = q.Tensor("a", x, dtype)
        b = q.Tensor("b", np.full((3, 7), min(limits(dtype)[1], 1 << 31) - 1), dtype, kind="static")
        two = q.Tensor("two", np.array([2]), dtype, kind="static")
        total = wrap(x + b.array, dtype)
        middle = q.Tensor("m", total, dtype, kind="native")
        y = q.Tensor("y", wrap(int_divide(total, 2), dtype), dtype)
        f.build([q.Node("ElementWiseAdd", [a, b], [middle]),
                 q.Node("ElementWiseDivide", [middle, two], [y])],
                name=f"AddDivide_{dtype}")
        wide = q.Tensor("a", np.array([-300, -129, -1, 0, 127, 128, 255, 256, 70000]), "i32")
        narrow = wrap(wide.array, dtype)
        middle = q.Tensor("m", narrow, dtype, kind="native")
        f.build([q.Node("Cast", [wide], [middle]),
                 q.Node("ElementWiseLess", [middle, two], [q.Tensor("y", narrow < 2, "b8")])],
                name=f"CastLess_{dtype}")


def other_cases(f):
    for dtype in TYPES:
        x = q.Tensor("x", numbers(f, dtype, (2, 3, 5)), dtype)
        z = q.Tensor("z", numbers(f, dtype, (2, 3, 5)), dtype)
        cond = q.Tensor("c", f.rng.integers(0, 2, (2, 3, 5)), "b8")
        f.add("ElementWiseSelect", [cond, x, z],
              [q.Tensor("y", np.where(cond.array, x.array, z.array), dtype)])
        f.add("Transpose", [x], [q.Tensor("y", x.array.transpose(2, 0, 1), dtype)],
              {"perm": ("u32", [2, 0, 1])})
        for op, fold in (("ReduceMax", np.max), ("ReduceMin", np.min)):
            f.add(op, [x], [q.Tensor("y", fold(x.array, axis=1), dtype)], {"axes": ("u32", [1])})
    truth = q.Tensor("x", f.rng.integers(0, 2, (4, 6)), "b8")
    for op, fold in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        f.add(op, [truth], [q.Tensor("y", fold(truth.array, axis=1), "b8")], {"axes": ("u32", [1])})
    for dtype in ("i8", "i16", "u8", "u16"):
        x = q.Tensor("x", numbers(f, dtype, (4, 9)), dtype)
        f.add("ReluMinMax", [x], [q.Tensor("y", np.clip(x.array, 3, 100), dtype)],
              {"min_value": ("f32", 3.0), "max_value": ("f32", 100.0)})
    for dtype in ("i8", "u8"):
        x = q.Tensor("x", numbers(f, dtype, (1, 4, 6, 3)), dtype)
        want = x.array.reshape(1, 2, 2, 3, 2, 3).max(axis=(2, 4))
        f.add("PoolMax2d", [x], [q.Tensor("y", want, dtype)],
              {"filter_size": ("u32", [2, 2]), "stride": ("u32", [2, 2]),
               "pad_amount": ("u32", [[0, 0], [0, 0]])})


def shape_cases(f):
    for source in ("f32", "f16", "i16", "u16", "b8"):
        for dtype in ("u32", "i32", "i64"):
            x = q.Tensor("x", f.rng.integers(0, 2, (2, 3, 5, 1)) + 0.0
                         if source[0] == "f" else f.rng.integers(0, 2, (2, 3, 5, 1)), source)
            f.add("Shape", [x], [q.Tensor("y", np.array([3, 5]), dtype)],
                  {"start": ("u32", 1), "end": ("u32", 3)}, name=f"Shape_{source}_{dtype}")
    at = q.Tensor("x", np.array([2, 0, 1]), "i32")
    f.add("OneHot", [at], [q.Tensor("y", np.where(np.eye(3)[[2, 0, 1]], 7, -3), "i32")],
          {"depth": ("u32", 3), "on_value": ("i32", 7), "off_value": ("i32", -3)},
          name="OneHot_i32_values")


def cases(f):
    binary_cases(f)
    chain_cases(f)
    other_cases(f)
    shape_cases(f)


if __name__ == "__main__":
    q.run(cases)
