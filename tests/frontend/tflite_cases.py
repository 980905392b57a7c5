# SPDX-License-Identifier: MIT
"""Models of one .tflite op each, in float32, int8, int16 (with int8 weights) and uint8.

cases() yields (name, model, inputs): what the interpreter of LiteRT makes of them is the
expected result. Ranges of quantized results are given by hand: they only have to be sensible.
"""
import zlib

import numpy as np

from tflite_writer import SAME, VALID, Graph

# Ops that have quantized forms in their first version, or newer versions only.
ONE_VERSION = {"RELU_N1_TO_1", "ELU", "HARD_SWISH", "RESHAPE", "EXPAND_DIMS", "SQUEEZE"}
LATER_VERSIONS = {"BROADCAST_TO": 2}
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32767, 32767)}


class Case:
    """One model under construction in one type of activations."""

    def __init__(self, name, dtype):
        self.g, self.dtype, self.inputs = Graph(), dtype, {}
        self.rng = np.random.default_rng(zlib.crc32(f"{name}/{dtype}".encode()))

    def encoding(self, lo, hi):
        """Scale and zero point for real numbers from lo to hi."""
        least, most = LIMITS[self.dtype]
        if self.dtype == "int16":
            return max(abs(lo), abs(hi)) / most, 0
        scale = (hi - lo) / (most - least)
        return scale, int(round(least - lo / scale))

    def x(self, shape, lo=-4.0, hi=4.0, name=None, pad=0):
        """An input with random numbers of this range."""
        name = name or f"x{len(self.inputs)}"
        values = self.rng.uniform(lo + pad, hi - pad, shape).astype(np.float32)
        if self.dtype == "float32":
            self.inputs[name] = values
            return self.g.input(name, shape)
        scale, zero = self.encoding(lo, hi)
        self.inputs[name] = np.clip(np.round(values / scale) + zero,
                                    *LIMITS[self.dtype]).astype(self.dtype)
        return self.g.input(name, shape, self.dtype, scale, zero)

    def plain(self, values, name=None):
        """An input of plain integers or booleans."""
        name = name or f"x{len(self.inputs)}"
        self.inputs[name] = np.asarray(values)
        return self.g.input(name, self.inputs[name].shape, str(self.inputs[name].dtype))

    def c(self, values, lo=None, hi=None):
        """A constant of the type of the activations."""
        values = np.asarray(values, np.float32)
        if self.dtype == "float32":
            return self.g.const(values)
        scale, zero = self.encoding(values.min() if lo is None else lo,
                                    values.max() if hi is None else hi)
        stored = np.clip(np.round(values / scale) + zero, *LIMITS[self.dtype])
        return self.g.const(stored.astype(self.dtype), scale, zero)

    def i(self, values, dtype=np.int32):
        return self.g.const(np.asarray(values, dtype))

    def y(self, shape, lo=-4.0, hi=4.0):
        """A result of the type of the activations, of this range when quantized."""
        if self.dtype == "float32":
            return self.g.tensor(shape)
        return self.g.tensor(shape, self.dtype, *self.encoding(lo, hi))

    def like(self, x, shape):
        """A result in the encoding of another tensor."""
        _, dtype, scales, zeros, *_ = self.g.tensors[x]
        if scales is None:
            return self.g.tensor(shape, dtype)
        return self.g.tensor(shape, dtype, scales, zeros)

    def weights(self, shape, axis, channels=True, spread=0.5):
        """Weights and the scales of their products; int8, or uint8 with uint8 activations."""
        values = self.rng.uniform(-spread, spread, shape).astype(np.float32)
        if self.dtype == "float32":
            return self.g.const(values), None
        n = shape[axis]
        if self.dtype == "uint8":
            stored = np.clip(np.round(values / (2 * spread / 255)) + 128, 1, 255)
            return self.g.const(stored.astype(np.uint8), 2 * spread / 255, 128), 2 * spread / 255
        scales = np.full(n, spread / 127) * (1 + np.arange(n) % 3) if channels else \
            np.full(1, spread / 127)
        view = [1] * len(shape)
        view[axis] = -1 if channels else 1
        stored = np.clip(np.round(values / scales.reshape(view)), -127, 127).astype(np.int8)
        return self.g.const(stored, scales, 0, axis), scales

    def bias(self, n, x, scales):
        values = self.rng.uniform(-1, 1, n).astype(np.float32)
        if self.dtype == "float32":
            return self.g.const(values)
        products = self.g.tensors[x][2][0] * np.broadcast_to(scales, n)
        stored = np.round(values / products)
        per_tensor = np.ndim(scales) == 0 or np.size(scales) == 1
        return self.g.const(stored.astype(np.int64 if self.dtype == "int16" else np.int32),
                            products[0] if per_tensor else products, 0, 0)

    def done(self, *outputs):
        self.g.output(*outputs)
        return self.g.bytes(), self.inputs


ROWS = []  # (name, types, function of a Case)
ALL, QUANT = ("float32", "int8", "int16", "uint8"), ("int8", "int16", "uint8")
FI, F = ("float32", "int8"), ("float32",)
FI16 = ("float32", "int8", "int16")


def case(name, types=FI16, **arguments):
    def add(fn):
        ROWS.append((name, types, fn, arguments))
        return fn
    return add


# --- convolutions and matmuls

def _conv(k, pad, stride, dilation, act, hw=9, ci=3, co=5, channels=True):
    x = k.x([1, hw, hw, ci])
    w, scales = k.weights([co, 3, 3, ci], 0, channels and k.dtype != "uint8")
    b = k.bias(co, x, scales)
    reach = 2 * dilation + 1
    n = -(-hw // stride) if pad == SAME else (hw - reach) // stride + 1
    lo, hi = {"RELU6": (0, 6), "RELU": (0, 9)}.get(act, (-9, 9))
    y = k.y([1, n, n, co], lo, hi)
    k.g.op("CONV_2D", [x, w, b], y, padding=pad, stride_w=stride, stride_h=stride,
           fused_activation_function=act, dilation_w_factor=dilation, dilation_h_factor=dilation)
    return k.done(y)


for _name, _row in {
        "conv_same": (SAME, 1, 1, "NONE"), "conv_valid": (VALID, 1, 1, "NONE"),
        "conv_stride2_relu6": (SAME, 2, 1, "RELU6"), "conv_dilated_relu": (VALID, 1, 2, "RELU"),
        "conv_same_n1_to_1": (SAME, 1, 1, "RELU_N1_TO_1")}.items():
    case(_name, ALL)(lambda k, r=_row: _conv(k, *r))
case("conv_per_tensor", ("int8",))(lambda k: _conv(k, SAME, 1, 1, "NONE", channels=False))
case("conv_stride2_even", FI)(lambda k: _conv(k, SAME, 2, 1, "NONE", hw=8))


@case("depthwise", ALL, mult=1, stride=1, pad=SAME)
@case("depthwise_stride2", FI16, mult=1, stride=2, pad=SAME)
@case("depthwise_multiplier", FI16, mult=2, stride=1, pad=VALID)
def _depthwise(k, mult, stride, pad):
    x = k.x([1, 8, 8, 4])
    w, scales = k.weights([1, 3, 3, 4 * mult], 3, k.dtype != "uint8")
    b = k.bias(4 * mult, x, scales)
    n = -(-8 // stride) if pad == SAME else 6
    y = k.y([1, n, n, 4 * mult], 0, 6)
    k.g.op("DEPTHWISE_CONV_2D", [x, w, b], y, padding=pad, stride_w=stride, stride_h=stride,
           depth_multiplier=mult, fused_activation_function="RELU6")
    return k.done(y)


@case("transpose_conv_same", FI16, pad=SAME, stride=2, n=10, kernel=3)
@case("transpose_conv_valid", FI16, pad=VALID, stride=2, n=11, kernel=3)
@case("transpose_conv_stride1", FI, pad=SAME, stride=1, n=5, kernel=4)
def _transpose_conv(k, pad, stride, n, kernel):
    x = k.x([1, 5, 5, 3])
    w, scales = k.weights([4, kernel, kernel, 3], 0)
    b = k.bias(4, x, scales)
    y = k.y([1, n, n, 4], -9, 9)
    k.g.op("TRANSPOSE_CONV", [k.i([1, n, n, 4]), w, x, b], y, version=3, padding=pad,
           stride_w=stride, stride_h=stride)
    return k.done(y)


@case("fully_connected", ALL, shape=[2, 8], keep=0, act="NONE")
@case("fully_connected_relu", FI16, shape=[2, 8], keep=0, act="RELU")
@case("fully_connected_keeps_dims", FI16, shape=[2, 3, 8], keep=1, act="NONE")
@case("fully_connected_flattens", FI, shape=[2, 2, 4], keep=0, act="NONE")
def _fully_connected(k, shape, keep, act):
    x = k.x(shape)
    w, scales = k.weights([6, 8], 0, k.dtype != "uint8")
    b = k.bias(6, x, scales)
    out = shape[:-1] + [6] if keep else [int(np.prod(shape)) // 8, 6]
    y = k.y(out, 0 if act == "RELU" else -8, 8)
    k.g.op("FULLY_CONNECTED", [x, w, b], y, version=5, keep_num_dims=keep,
           fused_activation_function=act)
    return k.done(y)


@case("fully_connected_int4", ("float32", "int8"))
def _int4(k):
    x = k.x([2, 8])
    w = k.rng.integers(-7, 8, [6, 8]).astype(np.int8)
    scales = np.full(6, 0.07) * (1 + np.arange(6) % 2)
    y = k.y([2, 6], -8, 8)
    k.g.op("FULLY_CONNECTED", [x, k.g.const(w, scales, 0, 0, dtype="int4"), -1], y, version=7)
    return k.done(y)


@case("fully_connected_hybrid", F)
def _hybrid(k):
    w = k.rng.integers(-127, 128, [6, 8]).astype(np.int8)
    x, y = k.x([2, 8]), k.y([2, 6])
    k.g.op("FULLY_CONNECTED", [x, k.g.const(w, 0.01), k.g.const(np.ones(6, np.float32))], y,
           version=3)
    return k.done(y)


@case("conv_float16_weights", F)
def _float16(k):
    x = k.x([1, 6, 6, 3])
    half = k.g.const(k.rng.uniform(-1, 1, [4, 3, 3, 3]).astype(np.float16))
    w = k.g.op("DEQUANTIZE", [half], k.g.tensor([4, 3, 3, 3]), version=3)
    y = k.y([1, 6, 6, 4])
    k.g.op("CONV_2D", [x, w, k.g.const(np.zeros(4, np.float32))], y, stride_w=1, stride_h=1)
    return k.done(y)


@case("batch_matmul", FI16, adj_x=0, adj_y=0)
@case("batch_matmul_adj", FI, adj_x=0, adj_y=1)
@case("batch_matmul_adj_x", F, adj_x=1, adj_y=0)
def _matmul(k, adj_x, adj_y):
    a = k.x([2, 6, 5] if adj_x else [2, 5, 6])
    b = k.x([2, 4, 6] if adj_y else [2, 6, 4])
    y = k.y([2, 5, 4], -30, 30)
    k.g.op("BATCH_MATMUL", [a, b], y, version=4, adj_x=adj_x, adj_y=adj_y)
    return k.done(y)


# --- elements

def _binary(k, op, shapes, lo, hi, out, act="NONE"):
    a, b = (k.x(s, lo, hi) for s in shapes)
    y = k.y(np.broadcast_shapes(*shapes), *out)
    options = {"fused_activation_function": act} if op in ("ADD", "SUB", "MUL", "DIV") else {}
    if op in ("ADD", "SUB"):
        options["pot_scale_int16"] = 0
    k.g.op(op, [a, b], y, version=2 if k.dtype == "int8" else 1, **options)
    return k.done(y)


_SAME = ([1, 4, 4, 3], [1, 4, 4, 3])
for _name, _row in {
        "add": ("ADD", _SAME, -4, 4, (-8, 8)), "sub": ("SUB", _SAME, -4, 4, (-8, 8)),
        "mul": ("MUL", _SAME, -4, 4, (-16, 16)),
        "add_broadcast": ("ADD", ([1, 4, 4, 3], [3]), -4, 4, (-8, 8)),
        "mul_broadcast": ("MUL", ([1, 4, 4, 3], [1, 1, 1, 3]), -4, 4, (-16, 16)),
        "add_relu": ("ADD", _SAME, -4, 4, (0, 8), "RELU"),
        "add_relu6": ("ADD", _SAME, -4, 4, (-8, 8), "RELU6")}.items():
    case(_name, ALL)(lambda k, r=_row: _binary(k, *r))
for _name, _row in {
        "div": ("DIV", _SAME, 1, 4, (0, 4)), "pow": ("POW", _SAME, 1, 3, (0, 27)),
        "floor_div": ("FLOOR_DIV", _SAME, 1, 9, (0, 9)),
        "floor_mod": ("FLOOR_MOD", _SAME, 1, 9, (0, 9))}.items():
    case(_name, F)(lambda k, r=_row: _binary(k, *r))
for _name, _row in {
        "maximum": ("MAXIMUM", _SAME, -4, 4, (-4, 4)),
        "minimum": ("MINIMUM", _SAME, -4, 4, (-4, 4)),
        "squared_difference": ("SQUARED_DIFFERENCE", _SAME, -2, 2, (0, 16))}.items():
    case(_name, FI)(lambda k, r=_row: _binary(k, *r))


def _unary(k, op, lo, hi, out, shape=(1, 4, 4, 3), version=1, **options):
    x, y = k.x(list(shape), lo, hi), k.y(list(shape), *out)
    k.g.op(op, [x], y, version=version, **options)
    return k.done(y)


for _name, _types, _row in [
        ("exp", FI, ("EXP", -2, 2, (0, 8))), ("log", FI, ("LOG", 0.1, 8, (-3, 3))),
        ("sqrt", F, ("SQRT", 0.1, 8, (0, 3))), ("rsqrt", FI, ("RSQRT", 0.5, 8, (0, 2))),
        ("neg", F, ("NEG", -4, 4, (-4, 4))), ("abs", FI, ("ABS", -4, 4, (0, 4))),
        ("sin", F, ("SIN", -4, 4, (-1, 1))), ("cos", F, ("COS", -4, 4, (-1, 1))),
        ("floor", F, ("FLOOR", -4, 4, (-4, 4))), ("ceil", F, ("CEIL", -4, 4, (-4, 4))),
        ("round", F, ("ROUND", -4, 4, (-4, 4))), ("square", F, ("SQUARE", -4, 4, (0, 16))),
        ("sign", F, ("SIGN", -4, 4, (-1, 1))), ("relu", FI16, ("RELU", -4, 4, (0, 4))),
        ("relu6", FI, ("RELU6", -8, 8, (0, 6))),
        ("relu_n1_to_1", FI, ("RELU_N1_TO_1", -4, 4, (-1, 1))),
        ("elu", FI, ("ELU", -4, 4, (-1, 4))), ("hard_swish", FI, ("HARD_SWISH", -4, 4, (-1, 4)))]:
    case(_name, _types)(lambda k, r=_row: _unary(
        k, *r, version=2 if k.dtype == "int8" and r[0] not in ONE_VERSION else 1))
case("leaky_relu", FI16)(lambda k: _unary(k, "LEAKY_RELU", -4, 4, (-1, 4), version=2, alpha=0.2))
case("gelu", FI)(lambda k: _unary(k, "GELU", -4, 4, (-1, 4), version=2, approximate=0))
case("gelu_tanh", FI)(lambda k: _unary(k, "GELU", -4, 4, (-1, 4), version=2, approximate=1))


@case("logistic", FI16, op="LOGISTIC", encodings={"int8": (1 / 256, -128), "int16": (1 / 32768, 0)})
@case("tanh", FI16, op="TANH", encodings={"int8": (1 / 128, 0), "int16": (1 / 32768, 0)})
@case("softmax", FI16, op="SOFTMAX", encodings={"int8": (1 / 256, -128), "int16": (1 / 32768, 0)})
@case("log_softmax", FI, op="LOG_SOFTMAX", encodings={"int8": (16 / 256, 127)})
@case("l2_normalization", FI, op="L2_NORMALIZATION", encodings={"int8": (1 / 128, 0)})
def _fixed_range(k, op, encodings):
    """Ops whose results have one encoding that the format gives."""
    x = k.x([1, 2, 2, 6])
    y = k.g.tensor([1, 2, 2, 6], k.dtype, *encodings.get(k.dtype, ()))
    options = {"beta": 1.0} if op == "SOFTMAX" else {}
    version = {"int8": 2, "int16": 3}.get(k.dtype, 1)
    k.g.op(op, [x], y, version=version, **options)
    return k.done(y)


case("softmax_beta", F)(lambda k: _unary(k, "SOFTMAX", -2, 2, (0, 1), beta=0.5))


@case("prelu", FI)
def _prelu(k):
    x, y = k.x([1, 4, 4, 3]), k.y([1, 4, 4, 3])
    k.g.op("PRELU", [x, k.c(np.reshape([0.1, 0.2, 0.5], [1, 1, 3]))], y)
    return k.done(y)


@case("comparisons", FI)
def _compare(k):
    a, b = k.x([2, 5]), k.x([2, 5])
    ops = ["LESS", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "EQUAL", "NOT_EQUAL"]
    return k.done(*[k.g.op(op, [a, b], k.g.tensor([2, 5], "bool"), version=2) for op in ops])


@case("logical", F)
def _logical(k):
    a, b = k.plain(k.rng.random([2, 5]) < 0.5), k.plain(k.rng.random([2, 5]) < 0.5)
    outs = [k.g.op(op, [a, b], k.g.tensor([2, 5], "bool")) for op in ("LOGICAL_AND", "LOGICAL_OR")]
    return k.done(*outs, k.g.op("LOGICAL_NOT", [a], k.g.tensor([2, 5], "bool")))


@case("integers", F)
def _integers(k):
    a = k.plain(k.rng.integers(-99, 99, [2, 5]).astype(np.int32))
    b = k.plain(k.rng.integers(1, 9, [2, 5]).astype(np.int32))
    return k.done(*[k.g.op(op, [a, b], k.g.tensor([2, 5], "int32"))
                    for op in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "FLOOR_DIV",
                               "FLOOR_MOD")])


# --- images

def _image(k, op, out, inputs=(), lo=-4.0, hi=4.0, shape=(1, 8, 8, 3), own=None, **options):
    x = k.x(list(shape), lo, hi)
    y = k.y(out, *own) if own else k.like(x, out)
    version = 2 if k.dtype == "int8" and op not in ONE_VERSION else LATER_VERSIONS.get(op, 1)
    k.g.op(op, [x, *[k.i(v) for v in inputs]], y, version=version, **options)
    return k.done(y)


_POOL = {"filter_width": 3, "filter_height": 3, "stride_w": 2, "stride_h": 2}
for _op, _types in (("AVERAGE_POOL_2D", FI16), ("MAX_POOL_2D", FI16)):
    case(_op.lower(), _types)(
        lambda k, o=_op: _image(k, o, [1, 4, 4, 3], padding=SAME, **_POOL))
    case(_op.lower() + "_valid", _types)(
        lambda k, o=_op: _image(k, o, [1, 3, 3, 3], padding=VALID, **_POOL))
for _align in (0, 1):
    for _half in (0, 1):
        if _align and _half:
            continue
        _end = "_align" * _align + "_half" * _half
        case("resize_bilinear" + _end, FI)(
            lambda k, a=_align, h=_half: _image(k, "RESIZE_BILINEAR", [1, 13, 5, 3], [[13, 5]],
                                                align_corners=a, half_pixel_centers=h))
        case("resize_nearest" + _end, FI)(
            lambda k, a=_align, h=_half: _image(k, "RESIZE_NEAREST_NEIGHBOR", [1, 13, 5, 3],
                                                [[13, 5]], align_corners=a, half_pixel_centers=h))
case("depth_to_space", FI)(
    lambda k: _image(k, "DEPTH_TO_SPACE", [1, 8, 8, 2], shape=(1, 4, 4, 8), block_size=2))
case("space_to_depth", FI)(
    lambda k: _image(k, "SPACE_TO_DEPTH", [1, 4, 4, 12], block_size=2))
case("batch_to_space", FI)(
    lambda k: _image(k, "BATCH_TO_SPACE_ND", [1, 7, 8, 3], [[2, 2], [[0, 1], [0, 0]]],
                     shape=(4, 4, 4, 3)))
case("space_to_batch", FI)(
    lambda k: _image(k, "SPACE_TO_BATCH_ND", [4, 5, 4, 3], [[2, 2], [[1, 1], [0, 0]]]))
case("local_response_normalization", F)(
    lambda k: _image(k, "LOCAL_RESPONSE_NORMALIZATION", [1, 8, 8, 3], radius=2, bias=1.0,
                     alpha=0.5, beta=0.75))

# --- reductions

for _op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
    _own = {"SUM": (-60, 60)}.get(_op)
    case(_op.lower(), FI if _op != "REDUCE_PROD" else F)(
        lambda k, o=_op, w=_own: _image(k, o, [1, 1, 1, 3], [[1, 2]], keep_dims=1, own=w))
    case(_op.lower() + "_drop", F)(
        lambda k, o=_op: _image(k, o, [1, 8, 3], [[-2]], keep_dims=0))


@case("reduce_logical", F)
def _reduce_logical(k):
    x = k.plain(k.rng.random([4, 6]) < 0.8)
    return k.done(*[k.g.op(op, [x, k.i([1])], k.g.tensor([4], "bool"))
                    for op in ("REDUCE_ANY", "REDUCE_ALL")])


@case("arguments", FI)
def _arguments(k):
    x = k.x([3, 7])
    return k.done(*[k.g.op(op, [x, k.i([1])], k.g.tensor([3], "int32"), version=2, output_type=2)
                    for op in ("ARG_MAX", "ARG_MIN")])


@case("topk", FI)
def _topk(k):
    x = k.x([3, 7])
    outs = [k.like(x, [3, 2]), k.g.tensor([3, 2], "int32")]
    return k.done(*k.g.op("TOPK_V2", [x, k.i(2)], outs, version=2))


case("cumsum", F)(lambda k: _image(k, "CUMSUM", [3, 7], [1], shape=(3, 7)))
case("cumsum_reverse", F)(
    lambda k: _image(k, "CUMSUM", [3, 7], [0], shape=(3, 7), exclusive=1, reverse=1))

# --- moves

for _name, _op, _out, _inputs, _options in [
        ("reshape", "RESHAPE", [4, 48], [[4, -1]], {}),
        ("squeeze", "SQUEEZE", [8, 8, 3], [], {"squeeze_dims": [0]}),
        ("expand_dims", "EXPAND_DIMS", [1, 8, 1, 8, 3], [2], {}),
        ("transpose", "TRANSPOSE", [1, 3, 8, 8], [[0, 3, 1, 2]], {}),
        ("slice", "SLICE", [1, 4, 8, 2], [[0, 2, 0, 1], [1, 4, -1, 2]], {}),
        ("strided_slice", "STRIDED_SLICE", [1, 3, 3, 3],
         [[0, 1, 7, 0], [1, 7, 1, 3], [1, 2, -2, 1]], {"begin_mask": 1, "end_mask": 8}),
        ("strided_slice_shrink", "STRIDED_SLICE", [8, 3], [[0, 2], [1, 3], [1, 1]],
         {"shrink_axis_mask": 3}),
        ("strided_slice_ellipsis", "STRIDED_SLICE", [1, 8, 8, 1, 2],
         [[0, 0, 1], [0, 0, 3], [1, 1, 1]], {"ellipsis_mask": 1, "new_axis_mask": 2}),
        ("pad", "PAD", [1, 11, 9, 3], [[[0, 0], [1, 2], [1, 0], [0, 0]]], {}),
        ("mirror_pad_reflect", "MIRROR_PAD", [1, 11, 9, 3], [[[0, 0], [1, 2], [1, 0], [0, 0]]],
         {"mode": 0}),
        ("mirror_pad_symmetric", "MIRROR_PAD", [1, 11, 9, 3], [[[0, 0], [1, 2], [1, 0], [0, 0]]],
         {"mode": 1}),
        ("tile", "TILE", [1, 16, 8, 9], [[1, 2, 1, 3]], {}),
        ("reverse", "REVERSE_V2", [1, 8, 8, 3], [[1]], {}),
        ("gather", "GATHER", [1, 8, 3, 3], [[5, 0, 7]], {"axis": 2}),
        ("gather_nd", "GATHER_ND", [2, 3], [[[0, 1, 2], [0, 7, 5]]], {})]:
    case(_name, F if _op in ("REVERSE_V2",) else FI16 if _op in
         ("RESHAPE", "TRANSPOSE", "STRIDED_SLICE", "PAD", "SLICE") else FI)(
        lambda k, o=_op, s=_out, i=_inputs, p=_options: _image(k, o, s, i, **p))
case("broadcast_to", FI)(
    lambda k: _image(k, "BROADCAST_TO", [2, 4, 3], [[2, 4, 3]], shape=(1, 4, 1)))


@case("padv2", FI)
def _padv2(k):
    x = k.x([1, 4, 4, 3])
    y = k.like(x, [1, 6, 5, 3])
    scale, zero = (None, None) if k.dtype == "float32" else k.encoding(-4, 4)
    fill = k.g.const(np.float32([1.5])) if k.dtype == "float32" else \
        k.g.const(np.asarray([round(1.5 / scale) + zero], k.dtype), scale, zero)
    k.g.op("PADV2", [x, k.i([[0, 0], [1, 1], [0, 1], [0, 0]]), fill], y, version=2)
    return k.done(y)


@case("concatenation", ALL, ranges=[(-4, 4)] * 3)
@case("concatenation_rescales", ("uint8",), ranges=[(-4, 4), (-1, 2), (-2, 2)])
def _concat(k, ranges):
    parts = [k.x([1, 4, 4, 2 + i], *r) for i, r in enumerate(ranges)]
    y = k.y([1, 4, 4, 9], *ranges[0])
    k.g.op("CONCATENATION", parts, y, axis=-1)
    return k.done(y)


@case("splits", FI16)
def _splits(k):
    x = k.x([1, 4, 6])
    out = k.g.op("SPLIT", [k.i(2), x], [k.like(x, [1, 4, 3]) for _ in range(2)], num_splits=2)
    out = list(out) + list(k.g.op("SPLIT_V", [x, k.i([1, -1, 2]), k.i(2)],
                                  [k.like(x, [1, 4, n]) for n in (1, 3, 2)], num_splits=3))
    return k.done(*out)


@case("pack_and_unpack", FI)
def _pack(k):
    a, b = k.x([3, 4]), k.x([3, 4])
    packed = k.g.op("PACK", [a, b], k.like(a, [3, 2, 4]), axis=1, values_count=2, version=2)
    return k.done(packed, *k.g.op("UNPACK", [a], [k.like(a, [4]) for _ in range(3)], axis=0, num=3))


@case("select", FI)
def _select(k):
    c, a, b = k.plain(k.rng.random([3, 4]) < 0.5), k.x([3, 4]), k.x([3, 4])
    y = k.like(a, [3, 4])
    k.g.op("SELECT_V2", [c, a, b], y)
    return k.done(y)


@case("scatter_nd", F)
def _scatter(k):
    y = k.y([5, 3])
    k.g.op("SCATTER_ND", [k.i([[4], [1], [4]]), k.x([3, 3]), k.i([5, 3])], y)
    return k.done(y)


@case("one_hot", F)
def _one_hot(k):
    x = k.plain(np.int32([[0, 3], [2, 1]]))
    y = k.g.op("ONE_HOT", [x, k.i(4), k.g.const(np.float32(2)), k.g.const(np.float32(-1))],
               k.g.tensor([2, 2, 4]), axis=-1)
    return k.done(y)


@case("casts", F)
def _casts(k):
    x = k.x([2, 5], -90, 90)
    n = k.g.op("CAST", [x], k.g.tensor([2, 5], "int32"), in_data_type=0, out_data_type=2)
    return k.done(n, k.g.op("CAST", [n], k.g.tensor([2, 5]), in_data_type=2, out_data_type=0),
                  k.g.op("CAST", [x], k.g.tensor([2, 5], "bool"), in_data_type=0, out_data_type=6))


@case("quantize", QUANT)
def _quantize(k):
    k.inputs["x"] = k.rng.uniform(-4, 4, [2, 5]).astype(np.float32)
    q = k.g.op("QUANTIZE", [k.g.input("x", [2, 5])], k.y([2, 5]))
    return k.done(q, k.g.op("DEQUANTIZE", [q], k.g.tensor([2, 5]), version=2))


@case("requantize", ("int8",))
def _requantize(k):
    x = k.x([2, 5])
    wide = k.g.op("QUANTIZE", [x], k.g.tensor([2, 5], "int8", 0.07, 3), version=2)
    return k.done(wide, k.g.op("QUANTIZE", [x], k.g.tensor([2, 5], "uint8", 0.06, 130), version=2))


@case("shapes_are_folded", F)
def _shapes(k):
    x = k.x([2, 3, 4])
    shape = k.g.op("SHAPE", [x], k.g.tensor([3], "int32"), out_type=2)
    first = k.g.op("STRIDED_SLICE", [shape, k.i([0]), k.i([1]), k.i([1])], k.g.tensor([], "int32"),
                   shrink_axis_mask=1)
    packed = k.g.op("PACK", [first, k.i(12)], k.g.tensor([2], "int32"), axis=0, values_count=2)
    filled = k.g.op("FILL", [packed, k.g.const(np.float32(1.5))], k.g.tensor([2, 12]))
    flat = k.g.op("RESHAPE", [x, packed], k.g.tensor([2, 12]))
    return k.done(k.g.op("ADD", [flat, filled], k.g.tensor([2, 12])))


# --- several ops

@case("net", FI16)
def _net(k):
    """A small network of images, as a classifier begins and ends."""
    x = k.x([1, 8, 8, 3], -1, 1, "image")
    w, scales = k.weights([8, 3, 3, 3], 0)
    a = k.g.op("CONV_2D", [x, w, k.bias(8, x, scales)], k.y([1, 4, 4, 8], 0, 4), padding=SAME,
               stride_w=2, stride_h=2, fused_activation_function="RELU")
    w, scales = k.weights([1, 3, 3, 8], 3)
    b = k.g.op("DEPTHWISE_CONV_2D", [a, w, k.bias(8, a, scales)], k.y([1, 4, 4, 8], -4, 4),
               padding=SAME, stride_w=1, stride_h=1, depth_multiplier=1)
    c = k.g.op("ADD", [a, b], k.y([1, 4, 4, 8], -4, 8), pot_scale_int16=0)
    d = k.g.op("MEAN", [c, k.i([1, 2])], k.like(c, [1, 8]), version=2)
    w, scales = k.weights([5, 8], 0)
    e = k.g.op("FULLY_CONNECTED", [d, w, k.bias(5, d, scales)], k.y([1, 5], -8, 8), version=5)
    encodings = {"int8": (1 / 256, -128), "int16": (1 / 32768, 0)}
    y = k.g.tensor([1, 5], k.dtype, *encodings.get(k.dtype, ()), name="scores")
    k.g.op("SOFTMAX", [e], y, version=3 if k.dtype == "int16" else 2, beta=1.0)
    return k.done(y)


@case("dynamic_batch", F)
def _dynamic(k):
    k.inputs["x"] = k.rng.uniform(-1, 1, [1, 4]).astype(np.float32)
    x = k.g.input("x", [-1, 4])
    w, b = k.weights([3, 4], 0)[0], k.g.const(np.float32([1, 2, 3]))
    return k.done(k.g.op("FULLY_CONNECTED", [x, w, b], k.g.tensor([-1, 3], name="y")))


@case("sparse_weights", F)
def _sparse(k):
    values = k.rng.uniform(-1, 1, [3, 4]) * (k.rng.random([3, 4]) < 0.5)
    w = k.g.op("DENSIFY", [k.g.sparse(values.astype(np.float32))], k.g.tensor([3, 4]))
    x, b = k.x([2, 4]), k.g.const(np.zeros(3, np.float32))
    return k.done(k.g.op("FULLY_CONNECTED", [x, w, b], k.y([2, 3])))


def cases():
    for name, types, fn, arguments in ROWS:
        for dtype in types:
            k = Case(name, dtype)
            model, inputs = fn(k, **arguments)
            yield f"{name}/{dtype}", model, inputs
