# SPDX-License-Identifier: MIT
"""Convolutions on float tensors: forward, depthwise and transposed, one to three dimensions.

Oracle: conv_oracle.py (float64). f16 results are rounded once, so they are at most half a unit off;
ROUNDED leaves a hundredth for the oracle's own error.
"""
import numpy as np

import conv_oracle as oracle
import qcase as q

ROUNDED = q.ulp16(0.51, 1e-6)  # of sums in f32


def tol_of(dtype):
    return ROUNDED if dtype == "f16" else None


def params_of(op, stride, pad, dilation=None, group=1, output_padding=None):
    """Parameters as the op wants them: scalars for one-dimensional ops."""
    one = op.endswith("1d")
    p = {"stride": ("u32", stride[0] if one else list(stride)),
         "pad_amount": ("u32", list(pad[0]) if one else [list(v) for v in pad])}
    if dilation is not None and (not op.startswith("Transpose") or op.endswith("3d")):
        p["dilation"] = ("u32", dilation[0] if one else list(dilation))
    if group != 1:
        p["group"] = ("u32", group)
    if output_padding is not None and any(output_padding):
        p["output_padding"] = ("u32", output_padding[0] if one else list(output_padding))
    return p


def geometry(rng, n, transposed=False, biggest=None):
    """Random spatial sizes that leave at least one output cell."""
    biggest = biggest or {1: 17, 2: 9, 3: 5}[n]
    while True:
        size = rng.integers(1, biggest + 1, n)
        kernel = rng.integers(1, 4, n)
        stride = rng.integers(1, 4, n)
        dilation = rng.integers(1, 3, n)
        pad = rng.integers(0, 3, (n, 2))
        extra = rng.integers(0, stride)
        if transposed:
            if n < 3:
                dilation[:] = 1
            out = stride * (size - 1) + (kernel - 1) * dilation + 1 - pad.sum(1) + extra
            fits = (out >= 1).all()
        else:
            fits = (size + pad.sum(1) >= (kernel - 1) * dilation + 1).all()
        if fits:
            return [v.tolist() for v in (size, kernel, stride, dilation, pad, extra)]


def forward(f, op, dtype, x_shape, w_shape, stride, pad, dilation, group, bias=True,
            weights="static", name=None):
    x = q.Tensor("x", f.rng.normal(size=x_shape), dtype)
    w = q.Tensor("w", f.rng.normal(size=w_shape), dtype, kind=weights)
    b = q.Tensor("b", f.rng.normal(size=w_shape[-1:]), dtype, kind=weights)
    y = oracle.conv(x.real, w.real, b.real if bias else None, stride, pad, dilation, group)
    shown = 1 if op.startswith("Depth") else group
    f.add(op, [x, w, b] if bias else [x, w], [q.Tensor("y", y, dtype, tol=tol_of(dtype))],
          params_of(op, stride, pad, dilation, shown), name=name or f"{op}_{dtype}")


def forward_cases(f):
    for op, n in (("Conv1d", 1), ("Conv2d", 2), ("Conv3d", 3)):
        for i in range(24):
            size, kernel, stride, dilation, pad, _ = geometry(f.rng, n)
            group = int(f.rng.integers(1, 4)) if i % 3 == 0 else 1
            cin = int(f.rng.integers(1, 7))
            cout = int(f.rng.integers(1, 40 if i % 2 else 6))
            forward(f, op, "f16" if i % 4 == 3 else "f32",
                    (int(f.rng.integers(1, 3)), *size, cin * group),
                    (*kernel, cin, cout * group), stride, pad, dilation, group,
                    bias=i % 5 != 0, weights="input" if i % 7 == 6 else "static")


def pointwise_cases(f):
    """The shapes that fast paths single out, around the sizes of their tiles."""
    for cells, cin, cout in ((1, 1, 1), (12, 16, 32), (13, 31, 33), (11, 32, 31), (25, 17, 64),
                             (144, 3, 65), (5, 64, 1)):
        forward(f, "Conv2d", "f32", (1, 1, cells, cin), (1, 1, cin, cout), (1, 1),
                ((0, 0), (0, 0)), (1, 1), 1, name="Conv2d_pointwise")
    for size, cin, cout in (((8, 8), 4, 32), ((7, 5), 3, 16), ((14, 14), 5, 33)):
        for stride in (1, 2):
            forward(f, "Conv2d", "f32", (2, *size, cin), (3, 3, cin, cout), (stride, stride),
                    ((1, 1), (1, 1)), (1, 1), 1, name="Conv2d_3x3")
    forward(f, "Conv2d", "f32", (1, 6, 6, 260), (3, 3, 260, 8), (1, 1), ((1, 1), (1, 1)), (1, 1), 1,
            name="Conv2d_deep")
    forward(f, "Conv2d", "f32", (1, 4, 4, 6), (7, 7, 6, 9), (1, 1), ((5, 5), (4, 6)), (1, 1), 1,
            name="Conv2d_more_padding_than_input")


def depthwise_cases(f):
    for op, n in (("DepthWiseConv1d", 1), ("DepthWiseConv2d", 2)):
        for i in range(24):
            size, kernel, stride, dilation, pad, _ = geometry(f.rng, n)
            cin = int(f.rng.integers(1, 70 if i % 3 == 0 else 9))
            times = 1 if i % 2 else int(f.rng.integers(1, 4))
            forward(f, op, "f16" if i % 5 == 4 else "f32",
                    (int(f.rng.integers(1, 3)), *size, cin), (*kernel, 1, cin * times), stride, pad,
                    dilation, cin, bias=i % 4 != 0, weights="input" if i % 9 == 8 else "static")
    forward(f, "DepthWiseConv2d", "f32", (1, 9, 9, 5), (9, 9, 1, 5), (1, 1), ((4, 4), (4, 4)),
            (1, 1), 5, name="DepthWiseConv2d_81_taps")


def transposed_cases(f):
    for op, n in (("TransposeConv1d", 1), ("TransposeConv2d", 2), ("TransposeConv3d", 3)):
        for i in range(24):
            size, kernel, stride, dilation, pad, extra = geometry(f.rng, n, True, 6 if n < 3 else 4)
            dtype = "f16" if i % 4 == 3 else "f32"
            group = int(f.rng.integers(1, 4)) if i % 3 == 0 else 1
            cin, cout = int(f.rng.integers(1, 5)), int(f.rng.integers(1, 36 if i % 2 else 5))
            x = q.Tensor("x", f.rng.normal(size=(int(f.rng.integers(1, 3)), *size, cin * group)),
                         dtype)
            w = q.Tensor("w", f.rng.normal(size=(*kernel, cin * group, cout)), dtype, kind="static")
            b = q.Tensor("b", f.rng.normal(size=cout * group), dtype, kind="static")
            y = oracle.transposed(x.real, w.real, b.real, stride, pad, dilation, group, extra)
            f.add(op, [x, w, b], [q.Tensor("y", y, dtype, tol=tol_of(dtype))],
                  params_of(op, stride, pad, dilation, group, extra), name=f"{op}_{dtype}")


def phase_cases(f):
    """Transposed ones whose results have different taps: as many as the stride, fewer, more, none;
    so few columns that the phases of a line are one row; several panels."""
    for kernel, stride, cin, cout, pad in (
            ((2, 2), (2, 2), 24, 1, 0), ((2, 2), (2, 2), 5, 16, 0), ((2, 2), (2, 2), 5, 17, 0),
            ((3, 3), (3, 3), 8, 2, 0), ((2, 3), (2, 3), 4, 10, 1), ((4, 4), (2, 2), 20, 33, 1),
            ((3, 3), (2, 2), 7, 24, 1), ((2, 1), (3, 3), 6, 70, 0), ((5, 4), (1, 3), 3, 40, 2)):
        for dtype, extra in (("f32", (0, 0)), ("f16", (0, 0)), ("f32", (0, stride[1] - 1))):
            x = q.Tensor("x", f.rng.normal(size=(2, 5, 19, cin)), dtype)
            w = q.Tensor("w", f.rng.normal(size=(*kernel, cin, cout)), dtype, kind="static")
            b = q.Tensor("b", f.rng.normal(size=cout), dtype, kind="static")
            pads = ((0, 0), (pad, pad // 2))
            y = oracle.transposed(x.real, w.real, b.real, stride, pads, (1, 1), 1, extra)
            f.add("TransposeConv2d", [x, w, b], [q.Tensor("y", y, dtype, tol=tol_of(dtype))],
                  params_of("TransposeConv2d", stride, pads, None, 1, extra),
                  name=f"TransposeConv2d_phases_{dtype}")


def default_cases(f):
    """Optional parameters and operands left out."""
    x = q.Tensor("x", f.rng.normal(size=(1, 5, 6, 3)))
    w = q.Tensor("w", f.rng.normal(size=(2, 3, 3, 4)), kind="static")
    y = oracle.conv(x.real, w.real, None, (1, 2), ((0, 0), (0, 0)), (1, 1), 1)
    params = {"stride": ("u32", [1, 2]), "pad_amount": ("u32", [[0, 0], [0, 0]])}
    f.add("Conv2d", [x, w], [q.Tensor("y", y)], params, name="Conv2d_defaults")
    f.add("Conv2d", [x, w, q.NULL], [q.Tensor("y", y)], params, name="Conv2d_null_bias")
    f.add("Conv2d", [x, w], [q.Tensor("y", y)],
          {**params, "reuse_sparse_indices": ("b8", False)}, name="Conv2d_dense_flag")
    signed = {"stride": ("i32", [1, 2]), "pad_amount": ("i32", [[0, 0], [0, 0]])}
    f.add("Conv2d", [x, w], [q.Tensor("y", y)], signed, name="Conv2d_i32_parameters")
    y = oracle.transposed(x.real, w.real.transpose(0, 1, 3, 2)[:, :, :3], None, (1, 1),
                          ((0, 0), (0, 0)), (1, 1), 1, (0, 0))
    wt = q.Tensor("w", w.array.transpose(0, 1, 3, 2)[:, :, :3], kind="static")
    f.add("TransposeConv2d", [x, wt], [q.Tensor("y", y)],
          {"stride": ("u32", [1, 1]), "pad_amount": ("u32", [[0, 0], [0, 0]])},
          name="TransposeConv2d_defaults")
    for extra in ((2, 1), (0, 1)):  # said by the shape of the output alone
        y = oracle.transposed(x.real, wt.real, None, (3, 2), ((0, 0), (1, 0)), (1, 1), 1, extra)
        f.add("TransposeConv2d", [x, wt], [q.Tensor("y", y)],
              params_of("TransposeConv2d", (3, 2), ((0, 0), (1, 0))),
              name="TransposeConv2d_larger_output")


def special_value_cases(f):
    """Infinities and NaN stay where their windows reach them."""
    data = f.rng.normal(size=(1, 5, 5, 2))
    data[0, 2, 2, 0] = np.inf
    data[0, 4, 4, 1] = np.nan
    x = q.Tensor("x", data)
    w = q.Tensor("w", np.abs(f.rng.normal(size=(2, 2, 2, 3))) + 0.1, kind="static")
    y = oracle.conv(x.real, w.real, None, (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    with np.errstate(invalid="ignore"):
        f.add("Conv2d", [x, w], [q.Tensor("y", y)], params_of("Conv2d", (1, 1), ((0, 0), (0, 0))),
              tol=q.fp32(per_element=True, rtol=1e-4), name="Conv2d_infinities")


def dynamic_cases(f):
    """One graph, several batch sizes, heights and widths."""
    for dtype in ("f32", "uq8", "uq16"):
        for group, cin, kernel in ((1, 3, 3), (1, 5, 1), (2, 2, 2)):
            pad, stride = ((1, 0), (0, 1)), (1, 2)
            largest = (3, 8, 9, cin * group)
            seen = f.rng.normal(size=largest)
            x = q.Tensor("x", seen, dtype, dims=largest, dynamic=[1, 1, 1, 0])
            w = q.Tensor("w", f.rng.normal(size=(kernel, kernel, cin, 4 * group)),
                         "sq8" if dtype != "f32" else "f32", kind="static")

            def expected(real, w=w, group=group, pad=pad, stride=stride):
                return oracle.conv(real, w.real, None, stride, pad, (1, 1), group)

            full = expected(x.real)
            y = q.Tensor("y", full, dtype, dims=full.shape, dynamic=[1, 1, 1, 0])
            rounds = []
            for shape in (largest, (1, 8, 9), (2, 3, 9), (3, 4, 5), (1, 2, 2)):
                part = f.rng.uniform(seen.min(), seen.max(), (*shape[:3], cin * group))
                rounds.append(({"x": part}, {"y": expected(x.real_of(part))}))
            f.add("Conv2d", [x, w], [y], params_of("Conv2d", stride, pad, None, group),
                  rounds=rounds, name=f"Conv2d_dynamic_{dtype}")


def cases(f):
    forward_cases(f)
    pointwise_cases(f)
    depthwise_cases(f)
    transposed_cases(f)
    phase_cases(f)
    default_cases(f)
    special_value_cases(f)
    dynamic_cases(f)


if __name__ == "__main__":
    q.run(cases)
