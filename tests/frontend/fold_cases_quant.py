# SPDX-License-Identifier: MIT
"""QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear against their formulas in numpy."""
import numpy as np

from fold_case import BF16, F16, F32, F64, I4, LATEST, U4, Case
from onnx import helper

CODES = [np.dtype(t) for t in ("uint8", "int8", "uint16", "int16")] + [I4, U4]


def limits(dtype):
    if dtype in (I4, U4):
        return (-8, 7) if dtype == I4 else (0, 15)
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def spread(param, shape, axis, block):
    """A scale or zero point with the shape of the data."""
    param = np.asarray(param)
    if param.size == 1 and not block:
        return param.reshape(())
    if block:
        return np.repeat(param, block, axis=axis).take(range(shape[axis]), axis=axis)
    return param.reshape([-1 if d == axis else 1 for d in range(len(shape))])


def quantize(x, scale, zero, dtype, axis=1, block=0, precision=None):
    precision = precision or scale.dtype
    with np.errstate(all="ignore"):
        ratio = (x.astype(precision).astype(F64) /
                 spread(scale.astype(precision), x.shape, axis, block).astype(F64))
        ratio = ratio.astype(precision).astype(F64)
        q = np.rint(ratio) + spread(zero, x.shape, axis, block).astype(F64)
    return np.clip(q, *limits(dtype)).astype(np.int32).astype(dtype)


def dequantize(q, scale, zero, axis=1, block=0, dtype=None):
    real = (q.astype(F64) - spread(zero, q.shape, axis, block).astype(F64)) * spread(
        scale, q.shape, axis, block).astype(F64)
    return real.astype(dtype or scale.dtype)


def forms(rng, dtype):
    """(scale, zero point, attributes) of each granularity for data of shape (3, 6, 4)."""
    lo, hi = limits(dtype)
    for shape, attrs in (((), {}), ((1,), {}), ((6,), {}), ((3,), {"axis": 0}),
                         ((4,), {"axis": -1}),
                         ((3, 3, 4), {"axis": 1, "block_size": 2}),
                         ((3, 2, 4), {"axis": 1, "block_size": 4})):
        zero = rng.integers(lo, hi, shape, endpoint=True).astype(np.int32).astype(dtype)
        yield rng.uniform(0.01, 0.2, shape).astype(F32), np.asarray(zero), attrs


def cases():
    rng = np.random.default_rng(4)
    x = rng.normal(0, 2, (3, 6, 4)).astype(F32)
    x[0, 0, :4] = [np.inf, -np.inf, 0, -0.0]
    for dtype in CODES:
        lo, hi = limits(dtype)
        q = rng.integers(lo, hi, (3, 6, 4), endpoint=True).astype(np.int32).astype(dtype)
        for scale, zero, attrs in forms(rng, dtype):
            axis, block = attrs.get("axis", 1) % 3, attrs.get("block_size", 0)
            opset = LATEST if block or dtype in (I4, U4) or "16" in str(dtype) else 13
            name = f"{dtype} {scale.shape} {attrs}"
            yield Case(f"QuantizeLinear {name}", "QuantizeLinear", [x, scale, zero],
                       [quantize(x, scale, zero, dtype, axis, block)], opset=opset, **attrs)
            yield Case(f"DequantizeLinear {name}", "DequantizeLinear", [q, scale, zero],
                       [dequantize(q, scale, zero, axis, block)], opset=opset, ulps=0, **attrs)
        scale = np.array(0.1, F32)
        yield Case(f"DequantizeLinear {dtype} without zero", "DequantizeLinear", [q, scale],
                   [dequantize(q, scale, np.zeros((), np.int32))], ulps=0)
        yield Case(f"QuantizeLinear {dtype} by attribute", "QuantizeLinear", [x, scale],
                   [quantize(x, scale, np.zeros((), np.int32), dtype)],
                   output_dtype=helper.np_dtype_to_tensor_dtype(dtype))
        nothing = np.zeros((), np.int32)
        for op, data, want in (("QuantizeLinear", x, quantize(x, scale, nothing, dtype)),
                               ("DequantizeLinear", q, dequantize(q, scale, nothing))):
            yield Case(f"com.microsoft {op} {dtype}", op,
                       [data, scale, np.zeros((), dtype)], [want], domain="com.microsoft")
    for real in (F16, BF16, F64):
        scale, zero = np.array(0.125, real), np.array(3, np.int8)
        wide = np.arange(-20, 20).astype(real) / real.type(16)
        q = np.arange(-20, 20).astype(np.int8)
        yield Case(f"QuantizeLinear {real}", "QuantizeLinear", [wide, scale, zero],
                   [quantize(wide, scale, zero, np.dtype("int8"))])
        yield Case(f"DequantizeLinear {real}", "DequantizeLinear", [q, scale, zero],
                   [dequantize(q, scale, zero)], ulps=0)
    ties = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5], F32)
    one, none = np.array(1, F32), np.array(0, np.int8)
    yield Case("QuantizeLinear ties", "QuantizeLinear", [ties, one, none],
               [np.array([0, 2, 2, 0, -2, -2], np.int8)])
    yield Case("QuantizeLinear default type", "QuantizeLinear", [ties, one],
               [np.array([0, 2, 2, 0, 0, 0], np.uint8)])
    yield Case("QuantizeLinear of int32", "QuantizeLinear",
               [np.array([-700, -7, 5, 900], np.int32), np.array(2, F32), none],
               [np.array([-128, -4, 2, 127], np.int8)])
    yield Case("QuantizeLinear precision", "QuantizeLinear", [x, np.array(0.1, F16), none],
               [quantize(x, np.array(0.1, F16), none, np.dtype("int8"), precision=F32)],
               precision=1)
    i32 = np.array([-2**31, 2**31 - 1, 12345], np.int32)
    yield Case("DequantizeLinear of int32", "DequantizeLinear", [i32, np.array(2**-10, F32)],
               [(i32.astype(F64) * 2**-10).astype(F32)], ulps=0)
    yield Case("DequantizeLinear output type", "DequantizeLinear", [np.array([1, 2], np.int8), one],
               [np.array([1, 2], F16)], output_dtype=10)
    for data in (x[1:], np.zeros((2, 2), F32), np.abs(x[1:]), -np.abs(x[1:]),
                 np.array([5.0], F32)):
        yield Case("DynamicQuantizeLinear", "DynamicQuantizeLinear", [data], n_out=3,
                   expected=dynamic(data))
    yield Case("DynamicQuantizeLinear values only", "DynamicQuantizeLinear", [x[1:]],
               dynamic(x[1:])[:1])


def dynamic(x):
    """In float32, as the definition by ONNX functions is."""
    hi, lo = np.maximum(F32.type(0), x.max()), np.minimum(F32.type(0), x.min())
    scale = F32.type(1 if hi == lo else hi - lo) / F32.type(255)
    zero = np.rint(np.clip(-lo / scale, 0, 255))
    return [np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8), np.asarray(scale),
            np.asarray(zero).astype(np.uint8)]
