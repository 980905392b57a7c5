# SPDX-License-Identifier: MIT
"""Types and ranks that the original HTP library accepts beyond its published table.

Oracle: numpy, in float64 or exact integers. Signed 16-bit activations are in cases_signed16.py;
src/backend/htp/extended.def lists all. check_htp.py and half_cases.py run them on the HTP.
"""
import numpy as np

import qcase as q
from cases_eltwise_unary import gelu, sigmoid

FIVE = (2, 3, 2, 4, 9)


def integers(f, name, dtype, shape):
    lo, hi = (0 if dtype[0] == "u" else -100), 120
    values = f.rng.integers(lo, hi, shape)
    info = np.iinfo(q.DTYPES[dtype][3])
    values.flat[:2] = info.min, info.max
    return q.Tensor(name, values, dtype)


def integer_cases(f):
    for dtype in ("i8", "i16", "i32", "u8", "u16", "u32"):
        for shapes in (((3, 40), (3, 40)), ((2, 3, 17), (17,))):
            a, b = integers(f, "a", dtype, shapes[0]), integers(f, "b", dtype, shapes[1])
            for number, own, compute in ((10, "ElementWiseMaximum", np.maximum),
                                         (11, "ElementWiseMinimum", np.minimum)):
                y = q.Tensor("y", compute(a.codes, b.codes), dtype)
                f.add(own, [a, b], [y], name=f"{own}_{dtype}_{len(shapes[0])}")
                f.add("ElementWiseBinary", [a, b],
                      [q.Tensor("y", compute(a.codes, b.codes), dtype)],
                      {"operation": ("u32", number)}, name=f"{own}_binary_{dtype}_{len(shapes[0])}")
        x = integers(f, "x", dtype, (5, 33))
        f.add("ReluMinMax", [x], [q.Tensor("y", np.clip(x.codes, 3, 77), dtype)],
              {"min_value": ("f32", 3.0), "max_value": ("f32", 77.0)}, name=f"ReluMinMax_{dtype}")


def index_cases(f):
    x = q.Tensor("x", f.rng.integers(0, 2, (6, 7)), "b8")
    rows = q.Tensor("i", np.array([5, 0, 5, 2]), "i32", kind="static")
    f.add("Gather", [x, rows], [q.Tensor("y", x.codes[[5, 0, 5, 2]], "b8")], {"axis": ("i32", 0)},
          name="Gather_b8")
    for shape, axis in (((5,), 1), ((3, 4), 0), ((3, 4), 2)):
        at = q.Tensor("i", f.rng.integers(0, 6, shape), "i32")
        want = np.moveaxis(np.where(np.eye(6, dtype=bool)[at.codes], 2 ** 31 - 1, -7), -1, axis)
        f.add("OneHot", [at], [q.Tensor("y", want, "i32")],
              {"depth": ("u32", 6), "axis": ("u32", axis), "on_value": ("i32", 2 ** 31 - 1),
               "off_value": ("i32", -7)}, name=f"OneHot_i32_{len(shape)}_{axis}")
    x = q.Tensor("x", f.rng.integers(-2 ** 31, 2 ** 31, (4, 6)), "i32")
    at = q.Tensor("i", np.stack([f.rng.permutation(4) for _ in range(6)], 1)[:2], "i32")
    new = q.Tensor("u", f.rng.integers(-9, 9, (2, 6)), "i32")
    want = x.codes.copy()
    np.put_along_axis(want, at.codes, new.codes, 0)
    f.add("ScatterElements", [x, at, new], [q.Tensor("y", want, "i32")],
          {"axis": ("u32", 0), "reduction": ("u32", 0)}, name="ScatterElements_i32_none")
    at = q.Tensor("i", f.rng.integers(0, 4, (3, 6)), "i32")  # some indices repeat
    for dtype, enc in (("uq8", q.scale_offset(0.05, -90)), ("u8", None)):
        x = q.Tensor("x", f.rng.integers(0, 256, (4, 6)), dtype, enc)
        new = q.Tensor("u", f.rng.integers(0, 256, (3, 6)), dtype, enc)
        want = x.codes.copy()
        np.maximum.at(want, (at.codes, np.arange(6)[None].repeat(3, 0)), new.codes)
        f.add("ScatterElements", [x, at, new], [q.Tensor("y", want, dtype, enc)],
              {"axis": ("u32", 0), "reduction": ("u32", 3)}, name=f"ScatterElements_{dtype}_max")


def function_cases(f):
    for dtype in ("uq16", "uq8"):
        for shape in ((4, 50), (80, 90)):
            enc = q.fit(np.array([-1.0, 1.0]), dtype)
            x = q.Tensor("x", f.rng.uniform(-1, 1, shape), dtype, enc)
            x.array = np.where(np.abs(x.real) > 1, 0.5, x.array)  # a rounded step may lie beyond
            real = x.real
            f.add("ElementWiseAsin", [x], [q.Tensor("y", np.arcsin(real), dtype)],
                  name=f"ElementWiseAsin_{dtype}_{shape[0]}")
            f.add("ElementWiseUnary", [x], [q.Tensor("y", np.arcsin(real), dtype)],
                  {"operation": ("u32", 1)}, name=f"ElementWiseUnary_ASIN_{dtype}_{shape[0]}")


def crossed_limits_cases(f):
    """min(max_value, max(min_value, x)) is max_value when the limits are crossed."""
    for dtype in ("f32", "uq8", "sq8", "uq16", "i32"):
        x = integers(f, "x", dtype, (4, 19)) if dtype == "i32" else \
            q.Tensor("x", f.rng.uniform(-3, 3, (4, 19)), dtype)
        y = np.full((4, 19), 1, int) if dtype == "i32" else np.full((4, 19), 1.0)
        enc = None if dtype in ("i32", "f32") else x.enc
        limits = {"min_value": ("f32", 2.0), "max_value": ("f32", 1.0)}
        f.add("ReluMinMax", [x], [q.Tensor("y", y, dtype, enc)], limits,
              name=f"ReluMinMax_crossed_{dtype}")
        if dtype != "i32":
            f.add("ElementWiseNeuron", [x], [q.Tensor("y", y, dtype, enc)],
                  {"operation": ("u32", 5), **limits}, name=f"ElementWiseNeuron_crossed_{dtype}")


def rank5_cases(f):
    for dtype in ("f32", "uq8", "sq8", "uq16"):
        x = q.Tensor("x", f.rng.uniform(0.2, 3.0, FIVE), dtype)
        b = q.Tensor("b", f.rng.uniform(0.2, 3.0, FIVE[-2:]), dtype)
        f.add("ElementWiseMaximum", [x, b], [q.Tensor("y", np.maximum(x.real, b.real), dtype)],
              name=f"ElementWiseMaximum_{dtype}_rank5")
        for op, compute in (("ElementWiseSquareRoot", np.sqrt), ("Gelu", gelu)):
            f.add(op, [x], [q.Tensor("y", compute(x.real), dtype)], name=f"{op}_{dtype}_rank5")
        for op, compute in (("ReduceSum", np.sum), ("ReduceMax", np.max)):
            f.add(op, [x], [q.Tensor("y", compute(x.real, axis=(2, 4)), dtype)],
                  {"axes": ("u32", [2, 4])}, name=f"{op}_{dtype}_rank5")
        tiled = np.tile(x.real if dtype == "f32" else x.codes, (1, 2, 3, 1, 2))
        f.add("Tile", [x], [q.Tensor("y", tiled, dtype, x.enc)],
              {"multiples": ("u32", [1, 2, 3, 1, 2])}, name=f"Tile_{dtype}_rank5")
        w = q.Tensor("w", f.rng.normal(size=(2, 1, 2, 9, 5)), dtype if dtype == "f32" else "sq8",
                     None if dtype == "f32" else q.scale_offset(1 / 32), "static")
        f.add("MatMul", [x, w], [q.Tensor("y", x.real @ w.real, dtype)],
              name=f"MatMul_{dtype}_rank5")
        slopes = q.Tensor("s", f.rng.uniform(0, 1, (9,)), dtype, kind="static")
        x = q.Tensor("x", f.rng.normal(size=FIVE), dtype)
        f.add("Prelu", [x, slopes],
              [q.Tensor("y", np.where(x.real < 0, x.real * slopes.real, x.real), dtype)],
              name=f"Prelu_{dtype}_rank5")
    x = q.Tensor("x", f.rng.normal(size=FIVE), "uq16")
    f.add("Sigmoid", [x], [q.Tensor("y", sigmoid(x.real), "uq16", q.scale_offset(1 / 60000))],
          name="Sigmoid_uq16_rank5")


def cases(f):
    integer_cases(f)
    index_cases(f)
    function_cases(f)
    crossed_limits_cases(f)
    rank5_cases(f)


if __name__ == "__main__":
    q.run(cases)
