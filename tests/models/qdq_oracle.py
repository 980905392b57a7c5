# SPDX-License-Identifier: MIT
"""Evaluates QDQ models in double precision: real numbers between QuantizeLinear nodes, which round
half up and clamp. Relies on numpy and onnx alone and shares nothing with what it judges.

    values = evaluate(model, {"x": array})

gives every value of the graph by name: codes as integers, real numbers as float64.
"""
import math

import numpy as np
from onnx import numpy_helper

RANGES = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767),
          "int32": (-2 ** 31, 2 ** 31 - 1)}


def per_axis(v, rank, axis):
    v = np.asarray(v)
    return v.reshape([-1 if i == axis % rank else 1 for i in range(rank)]) if v.size > 1 else v


def dequantize(a, x, scale, zero=0):
    axis = a.get("axis", 1)
    x = np.asarray(x)
    return (x.astype(np.float64) - per_axis(zero, x.ndim, axis)) * per_axis(
        np.asarray(scale, np.float64), x.ndim, axis)


def quantize(a, x, scale, zero):
    axis = a.get("axis", 1)
    lo, hi = RANGES[np.asarray(zero).dtype.name]
    t = np.floor(x / per_axis(np.asarray(scale, np.float64), x.ndim, axis) + 0.5)
    t = t + per_axis(np.asarray(zero, np.float64), x.ndim, axis)
    return np.clip(t, lo, hi).astype(np.asarray(zero).dtype)


def windows(x, a, kernel, fill):
    """[N, C, oh, ow, kh, kw] of [N, C, h, w]."""
    pads, strides = a.get("pads", [0] * 4), a.get("strides", [1, 1])
    dilations = a.get("dilations", [1, 1])
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    v = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return v[:, :, ::strides[0], ::strides[1], ::dilations[0], ::dilations[1]]


def conv(a, x, w, b=None):
    group = a.get("group", 1)
    v = windows(x, a, w.shape[2:], 0.0)
    n, _, oh, ow = v.shape[:4]
    out = []
    for g in range(group):
        cin, cout = w.shape[1], w.shape[0] // group
        part = v[:, g * cin:(g + 1) * cin].transpose(0, 2, 3, 1, 4, 5).reshape(n * oh * ow, -1)
        out.append(part @ w[g * cout:(g + 1) * cout].reshape(cout, -1).T)
    y = np.concatenate(out, 1).reshape(n, oh, ow, -1).transpose(0, 3, 1, 2)
    return y if b is None else y + np.reshape(b, (1, -1, 1, 1))


def gemm(a, x, w, b=None):
    x = x.T if a.get("transA") else x
    y = a.get("alpha", 1.0) * (x @ (w.T if a.get("transB") else w))
    return y if b is None else y + a.get("beta", 1.0) * b


def layer_norm(a, x, w, b=None):
    axis = a.get("axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    y = (x - mean) / np.sqrt(variance + a.get("epsilon", 1e-5)) * w
    return y if b is None else y + b


def softmax(a, x):
    e = np.exp(x - x.max(a.get("axis", -1), keepdims=True))
    return e / e.sum(a.get("axis", -1), keepdims=True)


def reshape(a, x, shape):
    shape = np.asarray(shape).tolist()
    return x.reshape([x.shape[i] if s == 0 else s for i, s in enumerate(shape)])


def reduce_mean(a, x, axes=None):
    axes = a.get("axes") if axes is None else np.asarray(axes).tolist()
    return x.mean(tuple(axes), keepdims=bool(a.get("keepdims", 1)))


ERF = np.vectorize(math.erf)
OPS = {
    "DequantizeLinear": dequantize, "QuantizeLinear": quantize, "Conv": conv, "Gemm": gemm,
    "LayerNormalization": layer_norm, "Softmax": softmax, "Reshape": reshape,
    "ReduceMean": reduce_mean,
    "MatMul": lambda a, x, y: x @ y,
    "Add": lambda a, x, y: x + y,
    "Mul": lambda a, x, y: x * y,
    "Sub": lambda a, x, y: x - y,
    "Div": lambda a, x, y: x / y,
    "Relu": lambda a, x: np.maximum(x, 0),
    "Clip": lambda a, x, lo=-np.inf, hi=np.inf: np.clip(x, lo, hi),
    "Sigmoid": lambda a, x: 1 / (1 + np.exp(-x)),
    "Tanh": lambda a, x: np.tanh(x),
    "Gelu": lambda a, x: x / 2 * (1 + ERF(x / math.sqrt(2))),
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdims=True),
    "MaxPool": lambda a, x: windows(x, a, a["kernel_shape"], -np.inf).max((4, 5)),
    "Flatten": lambda a, x: x.reshape(int(np.prod(x.shape[:a.get("axis", 1)])), -1),
    "Transpose": lambda a, x: x.transpose(a["perm"]),
    "Concat": lambda a, *x: np.concatenate(x, a["axis"]),
    "Squeeze": lambda a, x, axes: np.squeeze(x, tuple(np.asarray(axes).tolist())),
    "Unsqueeze": lambda a, x, axes: np.expand_dims(x, tuple(np.asarray(axes).tolist())),
    "Gather": lambda a, x, i: np.take(x, i, a.get("axis", 0)),
}


def attributes(node):
    from onnx import helper
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def evaluate(model, feeds):
    values = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    values.update((k, v.astype(np.float64) if v.dtype == np.float32 else v)
                  for k, v in feeds.items())
    values[""] = None
    for n in model.graph.node:
        a = attributes(n)
        if n.op_type == "Constant":
            values[n.output[0]] = numpy_helper.to_array(a["value"])
            continue
        args = [values[i] for i in n.input]
        while args and args[-1] is None:
            args.pop()
        values[n.output[0]] = OPS[n.op_type](a, *args)
    return values
