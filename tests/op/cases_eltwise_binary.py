# SPDX-License-Identifier: MIT
"""Element-wise ops on two operands: arithmetic, comparison, logic, Prelu; single and combined.

Oracles: float64 and int64 numpy with its own broadcasting. Comparisons of fixed-point tensors
compare real values and write the codes 0 and 1; logical ops look at codes.
"""
import numpy as np

import qcase as q

SHAPES = (
    ((1,), (1,)), ((17,), (17,)), ((3, 5), (3, 5)), ((2, 3, 5, 4), (2, 3, 5, 4)),
    ((4, 7), ()), ((), (4, 7)), ((4, 7), (1,)), ((1, 1, 1), (2, 5)), ((6, 9), (9,)),
    ((9,), (6, 9)), ((6, 9), (6, 1)), ((6, 1), (1, 9)), ((5, 1, 3), (4, 1)), ((2, 3, 4), (3, 1)),
    ((2, 1, 4, 1), (1, 3, 1, 5)), ((3, 4, 1, 6), (4, 5, 1)), ((1, 2, 1, 3, 1), (2, 2, 3, 3, 2)),
    ((2, 1, 2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2, 1, 2)), ((2, 1, 1, 1, 1, 1, 1, 3), (3,)),
    ((33, 65), (65,)), ((7, 129), (7, 1)),
)
FEW = SHAPES[3:4] + SHAPES[5:6] + SHAPES[12:14]


def floor_mod(a, b):
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


def int_divide(a, b):
    """Toward zero, and 0 for a zero divisor; exact for 32-bit values."""
    return np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b))).astype(np.int64)


def int_floor_divide(a, b):
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))


def int_fmod(a, b):
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def int_power(a, b):
    """Big integers, one by one; the caller wraps."""
    def one(x, y):
        x, y = int(x), int(y)
        if y >= 0:
            return pow(x, y, 1 << 32)
        return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)
    return np.vectorize(one, otypes=[np.int64])(a, b)


def wrap(x, dtype):
    """Low bits, as the type reads them."""
    bits = q.DTYPES[dtype][1]
    x = np.asarray(x, np.int64) & ((1 << bits) - 1)
    if dtype.startswith("i"):
        x = np.where(x >= 1 << (bits - 1), x - (1 << bits), x)
    return x


def power(a, b):
    """An exponent is a float: codes of scale 2/255 hold 2, not 2.0000001."""
    return np.power(a, np.float64(np.float32(b)))


def squared_difference(a, b):
    return (a - b) ** 2


# single op: (operation of ElementWiseBinary, formula on reals, formula on integers, types)
REALS = "f32 f16 uq8 sq8 uq16"
ARITHMETIC = {
    "Add": (0, np.add, np.add, REALS + " sq16 i32"),
    "Subtract": (18, np.subtract, np.subtract, REALS + " i32"),
    "Multiply": (13, np.multiply, np.multiply, REALS + " sq16 i32 u32"),
    "Divide": (2, np.divide, int_divide, REALS + " i32"),
    "FloorDiv": (4, lambda a, b: np.floor(a / b), int_floor_divide, REALS + " sq16 i32"),
    "Fmod": (5, np.fmod, int_fmod, "f32"),
    "Mod": (12, None, floor_mod, "i16 i32"),
    "Maximum": (10, np.maximum, np.maximum, REALS + " i32"),
    "Minimum": (11, np.minimum, np.minimum, REALS + " i32"),
    "Power": (16, power, int_power, REALS + " i32"),
    "SquaredDifference": (17, squared_difference, squared_difference, REALS + " sq16 i32"),
}
COMBINED = set("f32 f16 uq8 sq8 uq16 sq16 i32 u8 u32".split())
COMPARE = {
    "Equal": (3, np.equal, "uq8 sq8 i32 u8 b8"), "NotEqual": (14, np.not_equal, "uq8 sq8 u8 b8"),
    "Greater": (6, np.greater, "uq8 sq8 u8 b8"), "Less": (8, np.less, "uq8 sq8 i32 u8 b8"),
    "GreaterEqual": (7, np.greater_equal, "uq8 sq8 u8 b8"),
    "LessEqual": (9, np.less_equal, "uq8 sq8 u8 b8"),
}
LOGICAL = {"And": (1, np.logical_and), "Or": (15, np.logical_or), "Xor": (19, np.logical_xor)}


def is_int(dtype):
    return q.dtype_class(dtype) == "int"


def operands(f, op, dtype, shapes):
    """Two arrays that suit the op: divisors away from 0, bases of powers positive."""
    a_shape, b_shape = shapes
    rng = f.rng
    if is_int(dtype):
        small = op == "Power"
        low = 0 if dtype.startswith("u") else (-5 if small else -1000)
        a = rng.integers(low, 6 if small else 200, a_shape)
        b = rng.integers(low, 6 if small else 9, b_shape)
        return np.asarray(a), np.asarray(b)
    a, b = np.asarray(rng.normal(0, 3, a_shape)), np.asarray(rng.normal(0, 2, b_shape))
    if op in ("Divide", "FloorDiv", "Fmod"):
        b = np.copysign(np.abs(b) + 0.5, b)
    if op == "Power":
        a, b = np.abs(a) % 3 + 0.25, np.clip(b, -2, 2)
    return a, b


def result(op, dtype, a, b):
    _, real, integer, _ = ARITHMETIC[op]
    if is_int(dtype):
        return wrap(integer(a.real, b.real), dtype)
    with np.errstate(all="ignore"):
        return real(a.real, b.real)


def tolerance(op, dtype):
    if dtype == "f32":  # the squared difference is rounded twice
        return q.ulp({"Power": 1, "SquaredDifference": 3}.get(op, 0.51))
    return q.ulp(0.51) if dtype == "f16" else None


def add_pair(f, op, a, b, y, code):
    """The case as a single op and, where that one takes the types, as ElementWiseBinary."""
    f.add("ElementWise" + op, [a, b], [y])
    if {a.dtype, b.dtype, y.dtype} <= COMBINED:
        z = q.Tensor("y", y.array, y.dtype, y.enc, tol=y.tol)
        f.add("ElementWiseBinary", [a, b], [z], {"operation": ("u32", code)},
              name=f"Binary{op}_{a.dtype}")


def arithmetic_cases(f):
    for op, (code, _, _, types) in ARITHMETIC.items():
        for dtype in types.split():
            for shapes in SHAPES if dtype in ("f32", "uq8", "i32") else FEW:
                x, z = operands(f, op, dtype, shapes)
                a, b = q.Tensor("a", x, dtype), q.Tensor("b", z, dtype)
                if op in ("Divide", "FloorDiv", "Power") and q.is_fixed(dtype):
                    # an encoding without 0 keeps divisors and bases away from it
                    b = q.Tensor("b", z, dtype, q.fit(z, dtype)) if op == "Power" else \
                        away_from_zero("b", z, dtype)
                    a = away_from_zero("a", x, dtype) if op == "Power" else a
                y = q.Tensor("y", result(op, dtype, a, b), dtype, tol=tolerance(op, dtype))
                add_pair(f, op, a, b, y, code)


def away_from_zero(name, values, dtype):
    """Moves codes that stand for 0 by one step."""
    t = q.Tensor(name, values, dtype)
    codes = t.codes
    zero = -int(t.enc.offset[0])
    low, _ = q.code_range(dtype)
    codes = np.where(codes == zero, zero + 1 if zero == low else zero - 1, codes)
    if name == "a":  # bases of powers: positive
        codes = np.maximum(codes, zero + 1)
    return q.Tensor(name, codes, dtype, t.enc)


def mixed_cases(f):
    """Operands of different real types, static operands, one tensor used twice, wide codes."""
    for left, right, out in (("uq16", "uq8", "uq16"), ("uq8", "sq8", "uq8"), ("f32", "f16", "f32"),
                             ("uq8", "f32", "uq16"), ("sq16", "sq16", "sq8")):
        for op in ("Add", "Multiply"):
            a = q.Tensor("a", f.rng.normal(size=(3, 8)), left)
            b = q.Tensor("b", f.rng.normal(size=(8,)), right, kind="static")
            value = ARITHMETIC[op][1](a.real, b.real)
            f.add("ElementWise" + op, [a, b], [q.Tensor("y", value, out)],
                  name=f"{op}_{left}_{right}_{out}")
    for exponent in ("i32", "sq16", "uq8", "f32"):
        for base in ("f32", "uq8", "uq16"):
            a = q.Tensor("a", f.rng.uniform(0.2, 2, (4, 5)), base)
            array = np.array([2]) if exponent == "i32" else np.array([1.5])
            b = q.Tensor("b", array, exponent, kind="static")
            f.add("ElementWisePower", [a, b], [q.Tensor("y", power(a.real, b.real), base)],
                  name=f"Power_{base}_{exponent}")
    for dtype, top in (("uq8", 255), ("uq16", 65535)):
        for exponent in (2, 3):  # whole, with a scale that is not: also of negative numbers
            a = q.Tensor("a", f.rng.normal(size=(4, 5)), dtype)
            b = q.Tensor("b", np.array([top]), dtype, q.scale_offset(exponent / top),
                         kind="static")
            f.add("ElementWisePower", [a, b], [q.Tensor("y", a.real ** exponent, dtype)],
                  name=f"Power_{dtype}_negative_{exponent}")
    a = q.Tensor("a", f.rng.normal(size=(2, 9)), "f32")
    f.add("ElementWiseMultiply", [a, a], [q.Tensor("y", a.real ** 2, tol=q.ulp(0.51))])


def constant_cases(f):
    """One operand is a constant of one element: 8-bit tensors become tables."""
    for op in ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "SquaredDifference",
               "Power", "FloorDiv"):
        for dtype in ("uq8", "sq8", "f32", "uq16", "f16"):
            for scalar_first in (False, True):
                x, z = operands(f, op, dtype, ((5, 7), (1,)))
                a = q.Tensor("a", x, dtype)
                b = q.Tensor("b", np.abs(z) + 0.5, dtype, kind="static")
                if scalar_first:
                    if op == "Power" or op in ("Divide", "FloorDiv"):
                        a = q.Tensor("a", np.abs(x) + 0.5, dtype)
                    if q.is_fixed(dtype) and op in ("Divide", "FloorDiv"):
                        a = away_from_zero("b", np.abs(x) + 0.5, dtype)
                    a, b = b, a
                y = result(op, dtype, a, b)
                f.add("ElementWise" + op, [a, b],
                      [q.Tensor("y", y, dtype, tol=tolerance(op, dtype))],
                      name=f"{op}_{dtype}_constant")
    for dtype in ("f32", "uq8", "sq8", "uq16", "f16", "i32"):
        x = f.rng.integers(-9, 9, (3, 6)) if dtype == "i32" else f.rng.normal(size=(3, 6))
        a = q.Tensor("a", x, dtype)
        two = q.Tensor("b", np.array([2]) if dtype == "i32" else np.array([2.0]), dtype
                       if not q.is_fixed(dtype) else "f32", kind="static")
        f.add("ElementWisePower", [a, two], [q.Tensor("y", a.real ** 2, dtype)],
              name=f"Power_{dtype}_square")


def edge_cases(f):
    inf, nan = np.inf, np.nan
    x = np.array([inf, -inf, nan, 0.0, -0.0, 1e-40, 3e38, -3e38, 1.0], np.float32)
    a, b = q.Tensor("a", x[:, None]), q.Tensor("b", x[None, :])
    with np.errstate(all="ignore"):
        for op in ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "Fmod",
                   "SquaredDifference", "Power"):
            _, real, _, _ = ARITHMETIC[op]
            y = real(a.real, b.real)
            if op == "SquaredDifference":  # rounded after each step
                y = (a.real - b.real).astype(np.float32)
                y = (y * y).astype(np.float64)
            f.add("ElementWise" + op, [a, b], [q.Tensor("y", y, tol=q.ulp(1))],
                  name=f"{op}_special")
        for op, (_, compare, _) in COMPARE.items():
            f.add("ElementWise" + op, [a, b],
                  [q.Tensor("y", compare(a.real, b.real), "b8")], name=f"{op}_special")
    top = 2 ** 31 - 1
    x = np.array([0, 1, -1, 2, top, -top - 1, top - 1, 12345, -99])
    a, b = q.Tensor("a", x[:, None], "i32"), q.Tensor("b", x[None, :], "i32")
    for op in ("Add", "Subtract", "Multiply", "Divide", "FloorDiv", "Mod", "SquaredDifference",
               "Maximum", "Minimum"):
        value = ARITHMETIC[op][2](a.real, b.real)
        f.add("ElementWise" + op, [a, b], [q.Tensor("y", wrap(value, "i32"), "i32")],
              name=f"{op}_i32_limits")
    small = q.Tensor("b", np.arange(-3, 6)[None, :], "i32")
    f.add("ElementWisePower", [a, small],
          [q.Tensor("y", wrap(int_power(a.real, small.real), "i32"), "i32")],
          name="Power_i32_limits")
    wide = q.Tensor("a", np.array([0, 1, 2 ** 32 - 1, 65536])[:, None], "u32")
    other = q.Tensor("b", np.array([0, 1, 2 ** 32 - 1, 65537])[None, :], "u32")
    product = (wide.real.astype(object) * other.real.astype(object)) % (1 << 32)
    f.add("ElementWiseMultiply", [wide, other],
          [q.Tensor("y", product.astype(np.int64), "u32")], name="Multiply_u32_limits")
    # saturation of fixed point
    a = q.Tensor("a", np.array([0, 255, 128, 1]), "uq8", q.scale_offset(0.1, -100))
    for op in ("Add", "Multiply", "Subtract"):
        value = ARITHMETIC[op][1](a.real[:, None], a.real[None, :])
        f.add("ElementWise" + op,
              [q.Tensor("a", a.array[:, None], "uq8", a.enc), a],
              [q.Tensor("y", value, "uq8", q.scale_offset(0.05, -10))], name=f"{op}_uq8_saturates")


def compare_operands(f, dtype, shapes):
    """Values from a small set, so that equal ones occur; encodings of powers of two are exact."""
    pair = []
    for name, shape, scale, offset in (("a", shapes[0], 0.25, -8), ("b", shapes[1], 0.5, -4)):
        enc = None
        values = f.rng.integers(-3, 4, shape)
        if q.is_fixed(dtype):
            signed = dtype.startswith("sq")
            enc = q.scale_offset(scale, 0 if signed else offset)
            values = values.astype(float)
            values = values if signed else np.clip(values, scale * offset, None)
        elif dtype == "b8":
            values = values > 0
        elif not is_int(dtype):
            values = values.astype(float)
        pair.append(q.Tensor(name, values, dtype, enc))
    return pair


def compare_cases(f):
    for op, (code, compare, outs) in COMPARE.items():
        for dtype in "f32 f16 uq8 sq8 uq16 sq16 i32 b8".split():
            for i, shapes in enumerate(SHAPES if dtype == "f32" else FEW):
                a, b = compare_operands(f, dtype, shapes)
                truth = np.asarray(compare(a.real, b.real)).astype(np.int64)
                for out in outs.split() if i % 4 == 0 or dtype != "f32" else ["b8"]:
                    enc = q.scale_offset(0.125, -3) if q.is_fixed(out) else None
                    y = q.Tensor("y", truth, out, enc, tol=q.exact())
                    f.add("ElementWise" + op, [a, b], [y], name=f"{op}_{dtype}_{out}")
                y = q.Tensor("y", truth, "b8")
                f.add("ElementWiseBinary", [a, b], [y], {"operation": ("u32", code)},
                      name=f"Binary{op}_{dtype}")
    a, b = q.Tensor("a", [1, 2, 2 ** 32 - 1], "u32"), q.Tensor("b", [2, 2, 3], "u32")
    f.add("ElementWiseBinary", [a, b], [q.Tensor("y", [0, 0, 1], "b8")], {"operation": ("u32", 6)},
          name="BinaryGreater_u32")


def logical_cases(f):
    for op, (code, formula) in LOGICAL.items():
        for dtype in ("b8", "uq8", "sq8", "u8"):
            if dtype == "u8" and op == "Xor":
                continue
            for shapes in SHAPES[:14]:
                enc = q.scale_offset(0.5, -7) if q.is_fixed(dtype) else None
                a = q.Tensor("a", f.rng.integers(0, 3, shapes[0]), dtype, enc)
                b = q.Tensor("b", f.rng.integers(0, 3, shapes[1]), dtype, enc)
                truth = np.asarray(formula(a.codes, b.codes)).astype(np.int64)
                y = q.Tensor("y", truth, dtype, enc, tol=q.exact())
                f.add("ElementWise" + op, [a, b], [y])
                f.add("ElementWiseBinary", [a, b],
                      [q.Tensor("y", truth, dtype, enc, tol=q.exact())],
                      {"operation": ("u32", code)}, name=f"Binary{op}_{dtype}")


def prelu(x, alpha):
    return np.where(x >= 0, x, alpha * x)


def prelu_cases(f):
    for dtype in "f32 f16 uq8 sq8 uq16 sq16".split():
        for x_shape, alpha_shape in (((7,), (1,)), ((7,), (7,)), ((2, 3, 4, 5), (5,)),
                                     ((2, 3, 4, 5), (3, 1, 5)), ((2, 3, 4, 5), (2, 3, 4, 5)),
                                     ((4, 33), (1, 1)), ((3, 2, 5), (2, 1))):
            for kind in ("input", "static"):
                x = q.Tensor("x", f.rng.normal(size=x_shape), dtype)
                alpha = q.Tensor("alpha", f.rng.uniform(-0.5, 1, alpha_shape), dtype, kind=kind)
                f.add("Prelu", [x, alpha], [q.Tensor("y", prelu(x.real, alpha.real), dtype)])
        for x_shape in ((2, 5, 1, 3), (2, 6, 4)):  # one slope for each index of dimension 1
            x = q.Tensor("x", f.rng.normal(size=x_shape), dtype)
            alpha = q.Tensor("alpha", f.rng.uniform(-0.5, 1, x_shape[1]), dtype, kind="static")
            slopes = alpha.real.reshape(-1, *[1] * (len(x_shape) - 2))
            f.add("Prelu", [x, alpha], [q.Tensor("y", prelu(x.real, slopes), dtype)],
                  name=f"Prelu_by_channel_{dtype}")


def large_and_dynamic_cases(f):
    """Enough elements for several tasks; dimensions that are known at execution only."""
    for a_shape, b_shape in (((40, 1000), (40, 1000)), ((40, 1000), (1000,)),
                             ((300, 130), (300, 1)), ((2, 1, 150, 64), (2, 4, 1, 64))):
        for op in ("Add", "Divide", "Maximum"):
            a = q.Tensor("a", f.rng.normal(size=a_shape))
            b = q.Tensor("b", f.rng.uniform(1, 2, b_shape))
            f.add("ElementWise" + op, [a, b],
                  [q.Tensor("y", ARITHMETIC[op][1](a.real, b.real), tol=q.ulp(0.51))],
                  name=f"{op}_large")
    x = q.Tensor("a", f.rng.normal(size=(200, 200)), "uq8")
    y = q.Tensor("b", f.rng.normal(size=(200,)), "uq8")
    f.add("ElementWiseMultiply", [x, y], [q.Tensor("y", x.real * y.real, "uq8")],
          name="Multiply_uq8_large")
    for dtype in ("f32", "uq8", "i32"):
        for op in ("Add", "Subtract", "Multiply", "Divide"):
            values, other = operands(f, op, dtype, ((2, 3, 4), (4,)))
            other = np.where(other == 0, 1, other)
            a = q.Tensor("a", values, dtype, dims=(5, 3, 4), dynamic=(1, 0, 0))
            b = q.Tensor("b", other, dtype)
            if op == "Divide" and dtype == "uq8":
                b = away_from_zero("b", other, dtype)
            value = result(op, dtype, a, b)
            y = q.Tensor("y", value, dtype, dims=(5, 3, 4), dynamic=(1, 0, 0),
                         tol=tolerance(op, dtype))
            f.add("ElementWise" + op, [a, b], [y], name=f"{op}_{dtype}_dynamic")


def error_cases(f):
    def refuse(op, ins, out, name, params=None):
        tensors = [q.Tensor("ab"[i], np.zeros(s), t) if t[0] == "f" else
                   q.Tensor("ab"[i], np.zeros(s, int), t) for i, (s, t) in enumerate(ins)]
        f.add(op, tensors, [q.Tensor("y", None, out[1], dims=out[0])], params or {},
              name=name, error=q.error())

    refuse("ElementWiseAdd", [((2, 3), "f32"), ((2,), "f32")], ((2, 3), "f32"), "Add_no_broadcast")
    refuse("ElementWiseAdd", [((2, 3), "f32"), ((3,), "f32")], ((3,), "f32"), "Add_wrong_output")
    refuse("ElementWiseAdd", [((2,), "f32"), ((2,), "i32")], ((2,), "f32"), "Add_real_and_integer")
    refuse("ElementWiseAdd", [((2,), "f32"), ((2,), "f32")], ((2,), "i32"), "Add_integer_output")
    refuse("ElementWiseMod", [((2,), "f32"), ((2,), "f32")], ((2,), "f32"), "Mod_of_floats")
    refuse("ElementWiseEqual", [((2,), "f32"), ((2,), "i32")], ((2,), "b8"), "Equal_mixed")
    refuse("ElementWiseEqual", [((2,), "f32"), ((2,), "f32")], ((2,), "f32"), "Equal_float_output")
    refuse("ElementWiseAnd", [((2,), "f32"), ((2,), "f32")], ((2,), "b8"), "And_of_floats")
    for name, ins, out, code in (
            ("Mod_of_floats", "f32", "f32", 12), ("And_of_floats", "f32", "b8", 1),
            ("Less_float_output", "f32", "f32", 8), ("Add_bool_output", "f32", "b8", 0),
            ("unknown_operation", "f32", "f32", 20)):
        refuse("ElementWiseBinary", [((2,), ins), ((2,), ins)], ((2,), out), "Binary_" + name,
               {"operation": ("u32", code)})
    refuse("ElementWiseBinary", [((2,), "f32")] * 2, ((2,), "f32"), "Binary_no_operation")
    refuse("Prelu", [((2, 3), "f32"), ((2,), "f32")], ((2, 3), "f32"), "Prelu_no_broadcast")
    refuse("Prelu", [((3,), "f32"), ((2, 3), "f32")], ((2, 3), "f32"), "Prelu_grows")
    for name, enc in (("axis", q.axis(0, [0.1, 0.2, 0.3])), ("narrow", q.bw(4, 0.1))):
        slopes = q.Tensor("alpha", f.rng.uniform(0, 0.5, 3), "sq8", enc=enc, kind="static")
        x = q.Tensor("x", f.rng.normal(size=(2, 3, 4)), "sq8")
        f.add("Prelu", [x, slopes], [q.Tensor("y", x.real, "sq8")],
              name=f"Prelu_by_channel_{name}", error=q.error())
    refuse("ElementWiseAdd", [((2,), "f32")], ((2,), "f32"), "Add_one_operand")


def cases(f):
    arithmetic_cases(f)
    mixed_cases(f)
    constant_cases(f)
    edge_cases(f)
    compare_cases(f)
    logical_cases(f)
    prelu_cases(f)
    large_and_dynamic_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
