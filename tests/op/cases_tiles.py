# SPDX-License-Identifier: MIT
"""Shapes at the borders of what kernels do at once: one more and one less than a vector, a tile, a
panel of columns or a block of rows, and enough of them to be shared between tasks.

Oracles: conv_oracle.py and numpy in float64. The other groups cover what ops mean, with small
tensors; this one is what the proofs of the kernel rows feed on.
"""
import numpy as np

import conv_oracle as oracle
import qcase as q
import quant_weights as qw
from cases_conv import params_of

#         activations, weights, result
FORMS = (("uq8", "sq8axis", "uq8"), ("uq8", "sq8", "uq8"), ("uq8", "uq8", "uq8"),
         ("sq8", "sq8", "sq8"), ("uq16", "sq8axis", "uq16"), ("uq16", "sq8", "uq8"),
         ("uq16", "sq16", "uq16"), ("uq8", "sq4axis", "uq8"), ("uq16", "sq4axis", "uq16"),
         ("f32", "f32", "f32"))
CODES = ("uq8", "sq8", "uq16", "f32")
WIDTHS = (1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 127, 129, 200)


def turns(values):
    """Endlessly one after the other."""
    while True:
        yield from values


def filter_of(f, shape, form):
    if form == "f32":
        return q.Tensor("w", f.rng.normal(size=shape), "f32", kind="static")
    return qw.weights(f.rng, shape, form, len(shape) - 1, len(shape) - 2)


def bias_of(f, x, w, n, form):
    """A float bias, or one in units of scale(x) * scale(w). Its own scale, a float, only comes near
    to that product; where sums are in double, it counts."""
    if form == "f32":
        b = q.Tensor("b", f.rng.normal(size=n), "f32", kind="static")
        return b, b.real
    b, exact = qw.bias(f.rng, "sq32", x, w, n, 1.0)
    return b, b.real if x.dtype == "uq16" else exact


def conv_case(f, op, size, cin, cout, kernel, stride, pad, forms, dilation=1, with_bias=True):
    xt, wt, yt = forms
    depthwise = op.startswith("Depth")
    if "4" in wt:
        cout += cout % 2
        cin = cout if depthwise else cin
    x = q.Tensor("x", f.rng.normal(size=(1, *size, cin)), xt)
    w = filter_of(f, (*kernel, 1 if depthwise else cin, cout), wt)
    b, b_real = bias_of(f, x, w, cout, wt) if with_bias else (None, None)
    y = oracle.conv(x.real, w.real, b_real, (stride,) * 2, pad, (dilation,) * 2,
                    cin if depthwise else 1)
    f.add(op, [x, w, b] if with_bias else [x, w], [q.Tensor("y", y, yt)],
          params_of(op, (stride,) * 2, pad, (dilation,) * 2),
          name=f"{op}_{'x'.join(map(str, kernel))}_{cin}_{cout}_{xt}_{wt}_{yt}")


def pointwise_cases(f):
    forms = turns(FORMS)
    sizes = turns(((7, 7), (5, 13), (1, 1), (14, 14), (1, 29), (3, 4)))
    for cin, cout in ((3, 33), (4, 64), (16, 96), (17, 31), (32, 65), (33, 32), (63, 16), (64, 130),
                      (65, 8), (96, 24), (129, 47), (260, 40), (576, 36), (577, 1), (1030, 17)):
        for i in range(4):
            conv_case(f, "Conv2d", next(sizes), cin, cout, (1, 1), 1, ((0, 0),) * 2, next(forms),
                      with_bias=i != 3)


def window_cases(f):
    forms = turns(FORMS)
    around = turns((((1, 1), (1, 1)), ((0, 1), (1, 0)), ((2, 0), (0, 2)), ((0, 0), (0, 0))))
    for cin, cout, kernel, size in ((3, 32, (3, 3), (17, 19)), (3, 64, (7, 7), (23, 21)),
                                    (8, 33, (3, 3), (9, 14)), (33, 17, (3, 3), (8, 8)),
                                    (64, 64, (3, 3), (7, 7)), (48, 40, (1, 7), (9, 17)),
                                    (48, 40, (7, 1), (17, 9)), (20, 70, (5, 5), (11, 12))):
        for stride in (1, 2):
            for _ in range(3):
                conv_case(f, "Conv2d", size, cin, cout, kernel, stride, next(around), next(forms))


def winograd_cases(f):
    """3x3 windows on images of 32 tiles of 4x4 cells or more."""
    forms = turns(FORMS[:4])
    around = turns((((1, 1), (1, 1)), ((0, 1), (1, 0)), ((2, 0), (0, 2)), ((0, 0), (0, 0))))
    for cin, cout, size in ((16, 16, (24, 24)), (33, 40, (23, 27)), (32, 32, (22, 31)),
                            (47, 17, (30, 26)), (65, 48, (25, 25))):
        for i in range(4):
            conv_case(f, "Conv2d", size, cin, cout, (3, 3), 1, next(around), next(forms),
                      with_bias=i != 3)


def depthwise_cases(f):
    forms = turns([form for form in FORMS if form[1] != "sq16"])
    around = turns((((1, 1), (1, 1)), ((0, 1), (0, 1)), ((2, 2), (2, 2)), ((0, 0), (0, 0)),
                    ((1, 2), (2, 1))))
    geometry = turns((((3, 3), 1, 1), ((3, 3), 2, 1), ((5, 5), 1, 1), ((5, 5), 2, 1),
                      ((3, 3), 1, 2), ((7, 7), 1, 1), ((1, 3), 1, 1), ((2, 2), 2, 1)))
    sizes = turns(((9, 11), (14, 14), (7, 7), (8, 30), (13, 9)))
    for channels in (*WIDTHS, 96, 100, 144):
        for _ in range(5):
            kernel, stride, dilation = next(geometry)
            conv_case(f, "DepthWiseConv2d", next(sizes), channels, channels, kernel, stride,
                      next(around), next(forms), dilation)


def dense_cases(f):
    forms = turns(FORMS)
    for rows in (1, 2, 5, 12, 13, 30):
        for depth, cols in ((64, 33), (100, 10), (257, 64), (1030, 31), (48, 130)):
            xt, wt, yt = next(forms)
            depth, cols = (depth + depth % 2, cols + cols % 2) if "4" in wt else (depth, cols)
            x = q.Tensor("x", f.rng.normal(size=(rows, depth)), xt)
            w = (q.Tensor("w", f.rng.normal(size=(cols, depth)), kind="static") if wt == "f32"
                 else qw.weights(f.rng, (cols, depth), wt, 0, 1))
            b, b_real = bias_of(f, x, w, cols, wt)
            f.add("FullyConnected", [x, w, b], [q.Tensor("y", x.real @ w.real.T + b_real, yt)],
                  name=f"FullyConnected_{rows}_{depth}_{cols}_{xt}_{wt}")


def product_cases(f):
    types = turns(CODES)
    for lead, rows, depth, cols in ((1, 49, 64, 49), (3, 17, 33, 65), (2, 1, 130, 34),
                                    (2, 13, 64, 17), (1, 100, 31, 1), (4, 12, 32, 32)):
        for transposed in (False, True):
            for _ in range(2):
                dtype = next(types)
                a = q.Tensor("a", f.rng.normal(size=(lead, rows, depth)), dtype)
                b = q.Tensor("b", f.rng.normal(size=(lead, cols, depth) if transposed
                                               else (lead, depth, cols)), dtype)
                y = a.real @ (b.real.swapaxes(1, 2) if transposed else b.real)
                f.add("MatMul", [a, b], [q.Tensor("y", y, dtype)],
                      {"transpose_in1": ("b8", True)} if transposed else {},
                      name=f"MatMul_{rows}_{depth}_{cols}_{dtype}")


BINARY = {"ElementWiseAdd": np.add, "ElementWiseSubtract": np.subtract,
          "ElementWiseMultiply": np.multiply, "ElementWiseMaximum": np.maximum}


def binary_cases(f):
    ops = turns(BINARY.items())
    types = turns((*CODES, "uq8"))  # five: each op meets each type
    for width in WIDTHS:
        whole = (1, 3, 5, width)
        for other in (whole, (1, 1, 1, width), (width,), (1,), (1, 3, 5, 1)):
            for swap in (False, True):
                (op, formula), dtype = next(ops), next(types)
                a = q.Tensor("a", f.rng.normal(size=whole), dtype)
                b = q.Tensor("b", f.rng.normal(size=other) * 2, dtype)
                pair = [b, a] if swap else [a, b]
                f.add(op, pair, [q.Tensor("y", formula(pair[0].real, pair[1].real), dtype)],
                      name=f"{op}_{width}_{dtype}")


UNARY = {"Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Relu": lambda x: np.maximum(x, 0),
         "Tanh": np.tanh, "HardSwish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
         "ElementWiseExp": np.exp}


def unary_cases(f):
    types = turns(CODES)
    for width in WIDTHS:
        for op, formula in UNARY.items():
            dtype = next(types)
            if op == "ElementWiseExp" and dtype == "sq8":
                dtype = "f32"
            x = q.Tensor("x", f.rng.normal(0, 2, (1, 3, 3, width)), dtype)
            f.add(op, [x], [q.Tensor("y", formula(x.real), dtype)], name=f"{op}_{width}_{dtype}")
    for width in (41, 64):  # enough elements for a table
        x = q.Tensor("x", f.rng.normal(0, 2, (1, 3, 37, width)), "uq16")
        f.add("HardSwish", [x], [q.Tensor("y", UNARY["HardSwish"](x.real), "uq16")],
              name=f"HardSwish_table_{width}")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def row_cases(f):
    """Along the last axis: softmax and layer normalization."""
    for width in (*WIDTHS, 257, 768, 1000):
        for dtype in ("uq8", "uq16", "f32"):
            x = q.Tensor("x", f.rng.normal(0, 2, (1, 6, width)), dtype)
            f.add("Softmax", [x], [q.Tensor("y", softmax(x.real), dtype)], {"axis": ("u32", 2)},
                  name=f"Softmax_{width}_{dtype}")
            if width < 7:
                continue
            gamma = q.Tensor("g", f.rng.normal(1, 0.2, width), dtype, kind="static")
            mean = x.real.mean(-1, keepdims=True)
            y = (x.real - mean) / np.sqrt(x.real.var(-1, keepdims=True) + 1e-5) * gamma.real
            f.add("LayerNorm", [x, gamma], [q.Tensor("y", y, dtype)],
                  {"axes": ("u32", [2]), "epsilon": ("f32", 1e-5)},
                  name=f"LayerNorm_{width}_{dtype}")


def window_sum_cases(f):
    """Pooling and means over the picture, for every number of channels."""
    types = turns(CODES)
    for width in WIDTHS:
        for kernel, stride, pad in (((3, 3), 2, 1), ((2, 2), 2, 0), ((7, 7), 1, 0)):
            for op, kind in (("PoolMax2d", "max"), ("PoolAvg2d", "avg")):
                dtype = next(types)
                x = q.Tensor("x", f.rng.normal(size=(1, 9, 8, width)), dtype)
                around = ((pad, pad),) * 2
                y = oracle.pool(x.real, kernel, (stride,) * 2, around, kind)
                f.add(op, [x], [q.Tensor("y", y, dtype, x.enc)],
                      {"filter_size": ("u32", list(kernel)), "stride": ("u32", [stride] * 2),
                       "pad_amount": ("u32", [list(p) for p in around])},
                      name=f"{op}_{width}_{dtype}")
        dtype = next(types)
        x = q.Tensor("x", f.rng.normal(size=(1, 9, 8, width)), dtype)
        f.add("ReduceMean", [x], [q.Tensor("y", x.real.mean((1, 2), keepdims=True), dtype)],
              {"axes": ("u32", [1, 2]), "keep_dims": ("b8", True)},
              name=f"ReduceMean_{width}_{dtype}")


def move_cases(f):
    types = turns(CODES)
    for width in WIDTHS:
        for perm in ((0, 3, 1, 2), (0, 2, 1, 3), (0, 2, 3, 1)):
            dtype = next(types)
            x = q.Tensor("x", f.rng.normal(size=(1, 6, 5, width)), dtype)
            f.add("Transpose", [x], [q.Tensor("y", x.codes.transpose(perm), dtype, x.enc,
                                              tol=q.exact())],
                  {"perm": ("u32", perm)}, name=f"Transpose_{width}_{dtype}")
    for height, width in ((1, 1), (3, 7), (5, 13), (8, 8), (9, 15), (17, 19)):  # images
        for dtype in ("uq8", "sq8"):
            x = q.Tensor("x", f.rng.normal(size=(2, 3, height, width)), dtype)
            f.add("Transpose", [x], [q.Tensor("y", x.codes.transpose((0, 2, 3, 1)), dtype, x.enc,
                                              tol=q.exact())],
                  {"perm": ("u32", (0, 2, 3, 1))}, name=f"Transpose_{height}x{width}_{dtype}")


def convert_cases(f):
    pairs = turns((("Quantize", "f32", "uq8"), ("Quantize", "f32", "uq16"),
                   ("Dequantize", "uq8", "f32"), ("Dequantize", "uq16", "f32"),
                   ("Convert", "uq8", "uq16"), ("Convert", "uq16", "uq8"),
                   ("Convert", "uq8", "sq8"), ("Cast", "f32", "f16"), ("Cast", "f16", "f32")))
    for width in WIDTHS:
        for _ in range(9):
            op, source, target = next(pairs)
            x = q.Tensor("x", f.rng.normal(size=(3, width)), source)
            f.add(op, [x], [q.Tensor("y", x.real, target)], name=f"{op}_{width}_{source}_{target}")


def cases(f):
    pointwise_cases(f)
    window_cases(f)
    winograd_cases(f)
    depthwise_cases(f)
    dense_cases(f)
    product_cases(f)
    binary_cases(f)
    unary_cases(f)
    row_cases(f)
    window_sum_cases(f)
    move_cases(f)
    convert_cases(f)


if __name__ == "__main__":
    q.run(cases)
