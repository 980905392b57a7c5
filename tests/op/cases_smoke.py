# SPDX-License-Identifier: MIT
"""A few cases of eight common ops: the model for the other case files, and the first thing to run.

Oracles: plain float64 numpy.
"""
import numpy as np

import qcase as q


def conv2d(x, w, bias, stride, pad, dilation, group):
    """Convolution straight from its definition. x: NHWC, w: [Kh, Kw, Cin/group, Cout]."""
    x = np.pad(x, ((0, 0), tuple(pad[0]), tuple(pad[1]), (0, 0)))
    n, height, width, _ = x.shape
    kh, kw, cin, cout = w.shape
    ho = (height - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    wo = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, ho, wo, cout))
    per_group = cout // group
    for g in range(group):
        outs = slice(g * per_group, (g + 1) * per_group)
        for i in range(kh):
            for j in range(kw):
                rows = slice(i * dilation[0], i * dilation[0] + (ho - 1) * stride[0] + 1, stride[0])
                cols = slice(j * dilation[1], j * dilation[1] + (wo - 1) * stride[1] + 1, stride[1])
                patch = x[:, rows, cols, g * cin:(g + 1) * cin]
                y[..., outs] += patch @ w[i, j, :, outs]
    return y + bias


def softmax(x, axis, beta):
    e = np.exp(beta * (x - x.max(axis=axis, keepdims=True)))
    return e / e.sum(axis=axis, keepdims=True)


def relu_cases(f):
    for dtype in ("f32", "uq8"):
        for shape in ((7,), (2, 3, 5, 4)):
            x = q.Tensor("x", f.rng.normal(size=shape), dtype)
            f.add("Relu", [x], [q.Tensor("y", np.maximum(x.real, 0), dtype)])
    x = q.Tensor("x", np.array([-np.inf, -0.0, np.inf, 1e-40, np.nan], np.float32))
    f.add("Relu", [x], [q.Tensor("y", np.maximum(x.real, 0))], name="Relu_special",
          tol=q.fp32(nan_ok=True))


def add_cases(f):
    for a_shape, b_shape in (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((5, 1), (1, 6))):
        for dtype in ("f32", "uq8"):
            a = q.Tensor("a", f.rng.normal(size=a_shape), dtype)
            b = q.Tensor("b", f.rng.normal(size=b_shape), dtype)
            f.add("ElementWiseAdd", [a, b], [q.Tensor("y", a.real + b.real, dtype)])
    a = q.Tensor("a", f.rng.integers(-1000, 1000, (4, 5)), "i32")
    b = q.Tensor("b", f.rng.integers(-1000, 1000, (5,)), "i32", kind="static")
    f.add("ElementWiseAdd", [a, b], [q.Tensor("y", a.real + b.real, "i32")], name="Add_i32_static")
    f.add("ElementWiseAdd", [a, a], [q.Tensor("y", 2 * a.real, "i32")], name="Add_itself")


def softmax_cases(f):
    for dtype in ("f32", "uq8"):
        x = q.Tensor("x", f.rng.uniform(-4, 4, (3, 10)), dtype)
        enc = q.scale_offset(1 / 256) if dtype == "uq8" else None
        f.add("Softmax", [x], [q.Tensor("y", softmax(x.real, -1, 1.0), dtype, enc)])
        f.add("Softmax", [x], [q.Tensor("y", softmax(x.real, 0, 0.5), dtype, enc)],
              {"axis": ("u32", 0), "beta": ("f32", 0.5)})


def conv_cases(f):
    #       input          filter        stride  pad               dilation group
    plans = (((1, 6, 7, 3), (3, 3, 3, 5), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
             ((2, 9, 8, 4), (3, 2, 2, 6), (2, 1), ((0, 1), (1, 0)), (2, 1), 2))
    for x_shape, w_shape, stride, pad, dilation, group in plans:
        params = {"stride": ("u32", stride), "pad_amount": ("u32", pad),
                  "dilation": ("u32", dilation), "group": ("u32", group)}
        x = q.Tensor("x", f.rng.normal(size=x_shape))
        w = q.Tensor("w", f.rng.normal(size=w_shape), kind="static")
        b = q.Tensor("b", f.rng.normal(size=w_shape[3:]), kind="static")
        y = conv2d(x.real, w.real, b.real, stride, pad, dilation, group)
        f.add("Conv2d", [x, w, b], [q.Tensor("y", y)], params)

        x = q.Tensor("x", f.rng.normal(size=x_shape), "uq8")
        real_w = f.rng.normal(size=w_shape)
        w = q.Tensor("w", real_w, "sq8", q.fit(real_w, "sq8"), "static")
        bias_enc = q.scale_offset(np.float32(x.enc.scale[0]) * np.float32(w.enc.scale[0]))
        b = q.Tensor("b", f.rng.normal(size=w_shape[3:]), "sq32", bias_enc, "static")
        y = conv2d(x.real, w.real, b.real, stride, pad, dilation, group)
        f.add("Conv2d", [x, w, b], [q.Tensor("y", y, "uq8")], params)


def matmul_cases(f):
    for dtype in ("f32", "uq8"):
        a = q.Tensor("a", f.rng.normal(size=(2, 4, 6)), dtype)
        b = q.Tensor("b", f.rng.normal(size=(2, 6, 5)), dtype)
        f.add("MatMul", [a, b], [q.Tensor("y", a.real @ b.real, dtype)])
        b = q.Tensor("b", f.rng.normal(size=(2, 5, 6)), dtype)
        f.add("MatMul", [a, b], [q.Tensor("y", a.real @ b.real.swapaxes(1, 2), dtype)],
              {"transpose_in1": ("b8", True)})


def move_cases(f):
    for dtype in ("f32", "uq8", "i32"):
        data = f.rng.integers(0, 200, (2, 3, 4))
        enc = q.scale_offset(0.05, -100) if dtype == "uq8" else None
        x = q.Tensor("x", data, dtype, enc)
        f.add("Reshape", [x], [q.Tensor("y", data.reshape(4, 6), dtype, enc, tol=q.exact())])
        f.add("Transpose", [x],
              [q.Tensor("y", data.transpose(2, 0, 1), dtype, enc, tol=q.exact())],
              {"perm": ("u32", [2, 0, 1])})
        b = q.Tensor("b", data[:, :1], dtype, enc)
        f.add("Concat", [x, b],
              [q.Tensor("y", np.concatenate([data, data[:, :1]], 1), dtype, enc, tol=q.exact())],
              {"axis": ("u32", 1)})


def graph_and_error_cases(f):
    x = q.Tensor("x", f.rng.normal(size=(3, 4)))
    middle = q.Tensor("m", kind="native", dims=(3, 4))
    f.build([q.Node("Relu", [x], [middle]),
             q.Node("ElementWiseAdd", [middle, x],
                    [q.Tensor("y", np.maximum(x.real, 0) + x.real)])], name="Relu_then_Add")
    f.add("Relu", [x], [q.Tensor("y", dims=(3, 5))], name="Relu_wrong_shape", error=q.error())
    f.add("Transpose", [x], [q.Tensor("y", dims=(4, 3))], {"perm": ("u32", [1, 1])},
          name="Transpose_not_a_permutation", error=q.error())
    f.add("Softmax", [x], [q.Tensor("y", dims=(3, 4))], {"axes": ("u32", 1)},
          name="Softmax_unknown_parameter", error=q.error())


def cases(f):
    relu_cases(f)
    add_cases(f)
    softmax_cases(f)
    conv_cases(f)
    matmul_cases(f)
    move_cases(f)
    graph_and_error_cases(f)


if __name__ == "__main__":
    q.run(cases)
