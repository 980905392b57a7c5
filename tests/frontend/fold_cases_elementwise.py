# SPDX-License-Identifier: MIT
"""Element-wise ops: every type, broadcasting, special values, old opsets."""
import math

import numpy as np

from fold_case import (ALL, BF16, BOOL, F16, F32, F64, FLOATS, I4, INTS, SIGNED, U4, UNSIGNED, Case,
                       is_float)
from onnx import helper

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.25, np.inf, -np.inf, np.nan, 1e-40,
           6e-8, 100.0, -1e4, 3e38]
SHAPES = [((2, 3), (2, 3)), ((2, 3, 4), (3, 1)), ((), (5,)), ((4,), ()), ((), ()), ((0, 3), (1, 3)),
          ((2, 1, 2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2, 1, 3)), ((1,), (1, 0, 2))]


def values(rng, dtype, shape, special=True):
    """Random numbers of a type with its extremes among them."""
    count = int(np.prod(shape, dtype=np.int64))
    with np.errstate(all="ignore"):
        if is_float(dtype):
            x = rng.normal(0, 3, count)
            if special and count > len(SPECIAL):
                x[:len(SPECIAL)] = SPECIAL
        elif dtype == BOOL:
            x = rng.integers(0, 2, count)
        elif dtype in (I4, U4):
            x = rng.integers(*((-8, 8) if dtype == I4 else (0, 16)), count)
        else:
            info = np.iinfo(dtype)
            x = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
            small = rng.integers(-5 if info.min else 0, 6, count).astype(dtype)
            x = np.where(rng.integers(0, 2, count) > 0, x, small)
            if count > 3:
                x[:4] = [info.min, info.max, 0, 1]
        return x.astype(dtype).reshape(shape)


def unary(rng):
    for op in ("Sqrt Reciprocal Exp Log Floor Ceil Round Erf Sin Cos Tan Asin Acos Atan Sinh Cosh "
               "Tanh Asinh Acosh Atanh Sigmoid").split():
        for dtype in FLOATS:
            x = values(rng, dtype, (5, 7))
            # The reference's Erf is an approximation.
            erf = [np.vectorize(math.erf)(x.astype(F64)).astype(dtype)] if op == "Erf" else None
            yield Case(f"{op} {dtype}", op, [x], erf)
        yield Case(f"{op} empty", op, [np.zeros((0, 2), F32)])
    for op, dtypes in (("Neg", FLOATS + SIGNED), ("Abs", FLOATS + INTS), ("Sign", FLOATS + INTS),
                       ("Relu", FLOATS + SIGNED), ("BitwiseNot", INTS), ("Not", [BOOL])):
        for dtype in dtypes:
            yield Case(f"{op} {dtype}", op, [values(rng, dtype, (4, 5))])
    for dtype in FLOATS:
        x = values(rng, dtype, (5, 6))
        yield Case(f"IsNaN {dtype}", "IsNaN", [x])
        for attrs in ({}, {"detect_negative": 0}, {"detect_positive": 0}):
            yield Case(f"IsInf {dtype} {attrs}", "IsInf", [x], **attrs)


def nonzero(x):
    return np.where(x == 0, np.ones((), x.dtype), x)


def binary(rng):
    for op in ("Add", "Sub", "Mul", "Div"):
        for dtype in FLOATS + INTS:
            for opset in (7, 14):
                for a, b in SHAPES if dtype in (F32, np.int64) else SHAPES[:2]:
                    y = values(rng, dtype, b)
                    y = nonzero(y) if op == "Div" and not is_float(dtype) else y
                    yield Case(f"{op} {dtype} {a} {b}", op, [values(rng, dtype, a), y], opset=opset)
    for dtype in FLOATS + INTS:
        a, b = values(rng, dtype, (6, 7)), nonzero(values(rng, dtype, (7,)))
        yield Case(f"Mod fmod {dtype}", "Mod", [a, b], fmod=1)
        if not is_float(dtype):
            yield Case(f"Mod {dtype}", "Mod", [a, b])
    yield Case("Mod of floats by the divisor's sign", "Mod",
               [np.array([5.5, -5.5, 5.5, -5.5], F32), np.array([2, 2, -2, -2], F32)],
               [np.array([1.5, 0.5, -0.5, -1.5], F32)])
    smallest = np.array([-2**63], np.int64)
    yield Case("Div overflow wraps", "Div", [smallest, np.array([-1], np.int64)], [smallest])
    yield Case("Mod of the overflow", "Mod", [smallest, np.array([-1], np.int64)],
               [np.array([0], np.int64)])
    for base in FLOATS + [np.dtype("int64"), np.dtype("int32")]:
        for power in (F32, F64, np.dtype("int64"), np.dtype("int32"), np.dtype("uint8")):
            b = np.array([0, 1, 2, 3, 7], power)
            yield Case(f"Pow {base} {power}", "Pow", [values(rng, base, (3, 5), False), b],
                       opset=15, expected=power_of(rng, base, b))


def power_of(_, base, exponent):
    """Filled in by fix_power: the operand is only known to the case."""
    return [base, exponent]


def fix_power(case):
    """Python integers wrap like two's complement when cut to the type; floats go through double."""
    x, b = case.inputs
    if is_float(x.dtype):
        with np.errstate(all="ignore"):
            case.expected = [np.power(x.astype(F64), b.astype(F64)).astype(x.dtype)]
    elif is_float(b.dtype):
        x = case.inputs[0] = (x % 10).astype(x.dtype)
        case.expected = [np.power(x.astype(F64), b.astype(F64)).astype(x.dtype)]
    else:
        bits = x.dtype.itemsize * 8
        flat = [pow(int(v), int(p)) for v, p in zip(x.reshape(-1), np.tile(b, x.shape[0]))]
        wrapped = [(v + 2**(bits - 1)) % 2**bits - 2**(bits - 1) for v in flat]
        case.expected = [np.array(wrapped, x.dtype).reshape(x.shape)]
    return case


def old_broadcast(rng):
    """Opset 6: the second operand is aligned at an axis when the attributes say so."""
    a, b = values(rng, F32, (2, 3, 4, 5), False), values(rng, F32, (3, 4), False)
    yield Case("Add axis 1", "Add", [a, b], [a + b[:, :, None]], opset=6, broadcast=1, axis=1)
    yield Case("Sub at the end", "Sub", [a, b[0, :1]], [a - b[0, 0]], opset=6, broadcast=1)
    yield Case("Mul by a scalar", "Mul", [a, b[0, 0]], [a * b[0, 0]], opset=6, broadcast=1)
    yield Case("Greater axis 0", "Greater", [a, b[0, :2]], [a > b[0, :2, None, None, None]],
               opset=6, broadcast=1, axis=0)


def two_to_bool(rng):
    for op in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"):
        for dtype in FLOATS + INTS + ([BOOL] if op == "Equal" else []):
            x = values(rng, dtype, (5, 6))
            yield Case(f"{op} {dtype}", op, [x, x.T.copy().reshape(5, 6)], opset=19)
        yield Case(f"{op} stretched", op, [values(rng, F32, (2, 3)), values(rng, F32, (1,))])
    for op in ("And", "Or", "Xor"):
        yield Case(op, op, [values(rng, BOOL, (4, 5)), values(rng, BOOL, (5,))])
        yield Case(f"{op} scalar", op, [np.array(True), np.array(False)])
        if op != "Not":
            for dtype in INTS:
                yield Case(f"Bitwise{op} {dtype}", f"Bitwise{op}",
                           [values(rng, dtype, (4, 5)), values(rng, dtype, (5,))])
    for dtype in UNSIGNED:
        bits = dtype.itemsize * 8
        by = np.array([0, 1, 3, bits - 1, bits, bits + 7], dtype)
        for direction in ("LEFT", "RIGHT"):
            yield Case(f"BitShift {dtype} {direction}", "BitShift",
                       [values(rng, dtype, (3, 6)), by], opset=11, direction=direction)


def many(rng):
    for op in ("Min", "Max", "Sum", "Mean"):
        for dtype in FLOATS + (INTS if op in ("Min", "Max") else []):
            x = [values(rng, dtype, shape) for shape in ((5, 6), (6,), (1, 1))]
            for n in (1, 2, 3):
                yield Case(f"{op} of {n} {dtype}", op, x[:n], opset=13)
    cond = values(rng, BOOL, (3, 1, 2))
    for dtype in ALL:
        a, b = values(rng, dtype, (4, 1)), values(rng, dtype, ())
        yield Case(f"Where {dtype}", "Where", [cond, a, b], [np.where(cond, a, b).astype(dtype)])


def clip(rng):
    for dtype in FLOATS + INTS:
        x = values(rng, dtype, (4, 6))
        lo, hi = np.array(2, dtype), np.array(4, dtype)
        yield Case(f"Clip {dtype}", "Clip", [x, lo, hi])
        yield Case(f"Clip {dtype} from below", "Clip", [x, lo])
        yield Case(f"Clip {dtype} from above", "Clip", [x, None, hi])
        yield Case(f"Clip {dtype} not at all", "Clip", [x])
        yield Case(f"Clip {dtype} crossed", "Clip", [x, hi, lo], [np.where(
            np.isnan(x), x, lo).astype(dtype) if is_float(dtype) else np.full_like(x, lo)])
    x = values(rng, F32, (4, 6))
    yield Case("Clip attributes", "Clip", [x], [np.clip(x, -1, F32.type(0.3))], opset=6, min=-1.0,
               max=0.3)
    yield Case("Clip one attribute", "Clip", [x], [np.maximum(x, -1)], opset=6, min=-1.0)


def cast_oracle(x, to):
    """ONNX's rules: integers keep their low bits, floats truncate. Out of range floats saturate,
    which ONNX leaves open; its own tests want 4 bits to be cut."""
    with np.errstate(all="ignore"):
        if to == BOOL:
            return x.astype(F64) != 0
        if is_float(to):
            return (x.astype(F64) if x.dtype in (BOOL, I4, U4) else x).astype(to)
        nibble = to in (I4, U4)
        low, bits = (-8 * (to == I4), 4) if nibble else (np.iinfo(to).min, to.itemsize * 8)
        flat = x.astype(F64).reshape(-1) if is_float(x.dtype) else x.reshape(-1)
        if is_float(x.dtype):
            lo, hi = (-2**31, 2**31 - 1) if nibble else (low, low + 2**bits - 1)
            flat = [0 if np.isnan(v) else lo if v <= lo else hi if v >= hi else int(v)
                    for v in flat]
        flat = [(int(v) - low) % 2**bits + low for v in flat]
        return np.array(flat, np.int8 if nibble else to).astype(to).reshape(x.shape)


def cast(rng):
    for a in ALL:
        x = values(rng, a, (5, 7))
        for b in ALL:
            code = helper.np_dtype_to_tensor_dtype(b)
            yield Case(f"Cast {a} {b}", "Cast", [x], [cast_oracle(x, b)], ulps=0, to=code)
            yield Case(f"CastLike {a} {b}", "CastLike", [x, np.zeros(1, b)], [cast_oracle(x, b)],
                       ulps=0)
    tie = np.array([2**60 + 2**36, 2**60 + 2**36 + 1, -(2**60) - 2**36 - 1], np.int64)
    yield Case("Cast int64 rounds once", "Cast", [tie], [tie.astype(F32)], ulps=0, to=1)
    half = np.array([2**62 + 2**54 + 1, 2**62 + 2**54], np.int64)
    yield Case("Cast int64 to bfloat16 rounds once", "Cast", [half],
               [np.array([2.0**62 + 2.0**55, 2.0**62], F64).astype(BF16)], ulps=0, to=16)
    yield Case("Cast double to half rounds once", "Cast",
               [np.array([1 + 2**-11 + 2**-40, 1 + 2**-11], F64)],
               [np.array([1 + 2**-10, 1], F16)], ulps=0, to=10)


def cases():
    rng = np.random.default_rng(1)
    for group in (unary, binary, old_broadcast, two_to_bool, many, clip, cast):
        for case in group(rng):
            yield fix_power(case) if case.op == "Pow" else case
