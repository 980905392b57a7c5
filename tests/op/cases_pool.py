# SPDX-License-Identifier: MIT
"""Pooling, Im2Col and Col2Im.

Oracles: a loop over windows in float64 (conv_oracle.py); sliding windows for Im2Col and scattering
for Col2Im; for max and average pooling also the ONNX reference evaluator.
"""
import numpy as np

import conv_oracle as oracle
import onnx_oracle
import qcase as q
from cases_conv import geometry, params_of

TYPES = {"PoolAvg2d": ("f32", "f16", "uq8", "sq8", "uq16"),
         "PoolAvg3d": ("f32", "f16", "uq8", "sq8", "uq16"),
         "PoolMax2d": ("f32", "f16", "uq8", "sq8", "uq16", "sq16"),
         "PoolMax3d": ("f32", "uq8"),
         "L2Pool2d": ("f32", "f16")}


def tol_of(dtype):
    return q.ulp(0.51) if dtype == "f16" else None


def pool_params(size, stride, pad, ceil=False, count_pad=False):
    p = {"filter_size": ("u32", list(size)), "stride": ("u32", list(stride)),
         "pad_amount": ("u32", [list(v) for v in pad])}
    if ceil:
        p["rounding_mode"] = ("u32", 1)
    if count_pad:
        p["count_pad_for_edges"] = ("b8", True)
    return p


def kind_of(op):
    return "l2" if op.startswith("L2") else op[4:7].lower()


def window(rng, n):
    """Sizes whose padding is smaller than the window, so that every window touches the input."""
    while True:
        size = rng.integers(1, 12 if n == 2 else 7, n)
        kernel = rng.integers(1, 5, n)
        stride = rng.integers(1, 4, n)
        pad = rng.integers(0, kernel[:, None], (n, 2))
        last = -(-(size + pad.sum(1) - kernel) // stride)
        if (size + pad.sum(1) >= kernel).all() and (last * stride < size + pad[:, 0]).all():
            return [v.tolist() for v in (size, kernel, stride, pad)]


def pool_cases(f):
    for op, types in TYPES.items():
        n = 2 if op.endswith("2d") else 3
        for i in range(14):
            for dtype in types:
                size, kernel, stride, pad = window(f.rng, n)
                ceil = i % 3 == 1 and op != "L2Pool2d"
                count_pad = i % 2 == 1 and "Avg" in op
                x = q.Tensor("x", f.rng.normal(size=(1 + i % 2, *size, int(f.rng.integers(1, 9)))),
                             dtype)
                y = oracle.pool(x.real, kernel, stride, pad, kind_of(op), ceil, count_pad)
                enc = x.enc if "Max" in op and i % 2 else None  # same encoding, or one of its own
                f.add(op, [x], [q.Tensor("y", y, dtype, enc, tol=tol_of(dtype))],
                      pool_params(kernel, stride, pad, ceil, count_pad), name=f"{op}_{dtype}")


def onnx_cases(f):
    """The same numbers as ONNX models see; the evaluator wants channels first, and gets padding
    wrong that differs between sides."""
    for i in range(12):
        size, kernel, stride, pad = window(f.rng, 2)
        pad = [[min(map(min, pad))] * 2] * 2
        if any(z + 2 * p[0] < k for z, p, k in zip(size, pad, kernel)):
            continue
        x = q.Tensor("x", f.rng.normal(size=(1, *size, 3)))
        pads = [pad[0][0], pad[1][0], pad[0][1], pad[1][1]]
        common = {"kernel_shape": kernel, "strides": stride, "pads": pads}
        y = onnx_oracle.evaluate("MaxPool", [x.real.transpose(0, 3, 1, 2)], **common)[0]
        f.add("PoolMax2d", [x], [q.Tensor("y", y.transpose(0, 2, 3, 1))],
              pool_params(kernel, stride, pad), name="PoolMax2d_onnx")
        count = i % 2
        y = onnx_oracle.evaluate("AveragePool", [x.real.transpose(0, 3, 1, 2)],
                                 count_include_pad=count, **common)[0]
        f.add("PoolAvg2d", [x], [q.Tensor("y", y.transpose(0, 2, 3, 1))],
              pool_params(kernel, stride, pad, count_pad=bool(count)), name="PoolAvg2d_onnx")


def edge_cases(f):
    # All values negative: padding must not win.
    for dtype in ("f32", "uq8", "sq8", "uq16"):
        enc = q.fit(np.array([-3.0, 0.0]), dtype) if dtype != "f32" else None
        x = q.Tensor("x", f.rng.uniform(-3, -1, (1, 4, 4, 2)), dtype, enc)
        y = oracle.pool(x.real, (3, 3), (1, 1), ((1, 1), (1, 1)), "max")
        f.add("PoolMax2d", [x], [q.Tensor("y", y, dtype, enc)],
              pool_params((3, 3), (1, 1), ((1, 1), (1, 1))), name="PoolMax2d_negative")
    # Global pooling, more channels than a run.
    for dtype in ("f32", "uq8"):
        x = q.Tensor("x", f.rng.normal(size=(2, 7, 7, 130)), dtype)
        for op in ("PoolAvg2d", "PoolMax2d"):
            y = oracle.pool(x.real, (7, 7), (1, 1), ((0, 0), (0, 0)), kind_of(op))
            f.add(op, [x], [q.Tensor("y", y, dtype)], pool_params((7, 7), (1, 1), ((0, 0), (0, 0))),
                  name=f"{op}_global")
    # Rounding up makes a window that starts behind the input: the plain formula keeps it,
    # frameworks drop it. Both shapes are taken.
    x = q.Tensor("x", f.rng.normal(size=(1, 4, 5, 2)))
    for out in ((3, 3), (2, 3)):
        for op, want in (("PoolMax2d", -np.inf), ("PoolAvg2d", 0.0)):
            y = oracle.pool(x.real, (2, 2), (3, 2), ((1, 1), (0, 0)), kind_of(op), True, out=out)
            if out[0] == 3:
                y[:, 2] = want
            f.add(op, [x], [q.Tensor("y", y)], name=f"{op}_behind_the_input",
                  params=pool_params((2, 2), (3, 2), ((1, 1), (0, 0)), True))
    # Windows wholly inside the leading padding.
    x = q.Tensor("x", f.rng.normal(size=(1, 3, 3, 1)), "uq8")
    y = oracle.pool(x.real, (1, 1), (1, 1), ((2, 0), (0, 1)), "max")
    low = np.where(np.isneginf(y), x.enc.scale[0] * x.enc.offset[0], y)
    f.add("PoolMax2d", [x], [q.Tensor("y", low, "uq8", x.enc)],
          pool_params((1, 1), (1, 1), ((2, 0), (0, 1))), name="PoolMax2d_only_padding")
    data = f.rng.normal(size=(1, 4, 4, 1))
    data[0, 1, 1, 0], data[0, 3, 3, 0] = np.nan, np.inf
    x = q.Tensor("x", data)
    y = oracle.pool(x.real, (2, 2), (2, 2), ((0, 0), (0, 0)), "max")
    f.add("PoolMax2d", [x], [q.Tensor("y", y)], pool_params((2, 2), (2, 2), ((0, 0), (0, 0))),
          name="PoolMax2d_nan")


def im2col(x, kernel, stride, pad, dilation):
    padded = np.pad(x, [(0, 0), *[tuple(p) for p in pad], (0, 0)])
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    w = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(1, 2))
    w = w[:, ::stride[0], ::stride[1], :, ::dilation[0], ::dilation[1]]  # N, oh, ow, C, a, b
    n, oh, ow, c, a, b = w.shape
    return w.transpose(0, 3, 4, 5, 1, 2).reshape(n, c * a * b, oh * ow)


def col2im(columns, image, kernel, stride, pad, dilation):
    """Adds each column into the padded image, window by window."""
    n, h, w, c = image
    y = np.zeros((n, h + sum(pad[0]), w + sum(pad[1]), c))
    across = (w + sum(pad[1]) - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    cells = columns.reshape(n, c, *kernel, -1)
    for at in range(cells.shape[-1]):
        top, left = at // across * stride[0], at % across * stride[1]
        for a in range(kernel[0]):
            for b in range(kernel[1]):
                y[:, top + a * dilation[0], left + b * dilation[1]] += cells[:, :, a, b, at]
    return y[:, pad[0][0]:pad[0][0] + h, pad[1][0]:pad[1][0] + w]


def column_cases(f):
    for dtype in ("f32", "f16", "uq8", "sq8", "uq16", "sq16"):
        for i in range(8):
            size, kernel, stride, dilation, pad, _ = geometry(f.rng, 2)
            p = params_of("Im2Col", stride, pad, dilation if i % 2 else None)
            p["kernel_size"] = ("u32", kernel)
            dilation = dilation if i % 2 else [1, 1]
            if (np.array(size) + np.sum(pad, 1) < (np.array(kernel) - 1) * dilation + 1).any():
                continue
            shape = (1 + i % 2, *size, int(f.rng.integers(1, 4)))
            x = q.Tensor("x", f.rng.normal(size=shape), dtype)
            y = im2col(x.real, kernel, stride, pad, dilation)
            f.add("Im2Col", [x], [q.Tensor("y", y, dtype, x.enc)], p, name=f"Im2Col_{dtype}")
            x = q.Tensor("x", f.rng.normal(size=y.shape), dtype)
            y = col2im(x.real, shape, kernel, stride, pad, dilation)
            f.add("Col2Im", [x], [q.Tensor("y", y, dtype, tol=tol_of(dtype))], p,
                  name=f"Col2Im_{dtype}")


def wide_columns(f):
    """Images of one channel and windows that move by one column, in rows longer than a few
    vectors."""
    for size, kernel, pad, dilation in (((5, 57), (3, 3), ((1, 1), (1, 1)), (1, 1)),
                                        ((4, 70), (2, 5), ((0, 2), (7, 0)), (1, 3)),
                                        ((3, 600), (1, 2), ((0, 0), (0, 0)), (1, 40)),
                                        ((6, 41), (3, 7), ((2, 0), (0, 6)), (2, 1))):
        p = params_of("Col2Im", (2 if size[0] == 6 else 1, 1), pad, dilation)
        p["kernel_size"] = ("u32", list(kernel))
        stride = (2 if size[0] == 6 else 1, 1)
        steps = [(size[i] + sum(pad[i]) - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1
                 for i in (0, 1)]
        x = q.Tensor("x", f.rng.normal(size=(2, kernel[0] * kernel[1], steps[0] * steps[1])))
        y = col2im(x.real, (2, *size, 1), kernel, stride, pad, dilation)
        f.add("Col2Im", [x], [q.Tensor("y", y, tol=tol_of("f32"))], p, name="Col2Im_wide")


def cases(f):
    wide_columns(f)
    pool_cases(f)
    onnx_cases(f)
    edge_cases(f)
    column_cases(f)


if __name__ == "__main__":
    q.run(cases)
