# SPDX-License-Identifier: MIT
"""Convolutions on fixed-point tensors: every weight encoding and every form of bias.

Oracle: conv_oracle.py on the real values of the codes, in float64. A bias that is not in units of
scale(x) * scale(w) is rounded to them first when activations have 8 bits and weights no blocks: the
sum is one integer there.
"""
import itertools

import numpy as np

import conv_oracle as oracle
import qcase as q
import quant_weights as qw
from cases_conv import geometry, params_of

FORMS = ("uq8", "sq8", "sq8axis", "sq4", "uq4", "sq4axis", "bw4", "bw4axis", "block", "block4",
         "expansion")
BIASES = ("none", "sq32", "sq32own", "i32", "bare", "zero", "uq8", "sq8")


def even(n):
    return n + n % 2


def filter_shape(op, kernel, cin, cout, group):
    if op.startswith("Transpose"):
        return (*kernel, cin * group, cout)
    if op.startswith("Depth"):
        return (*kernel, 1, cout * group)
    return (*kernel, cin, cout * group)


def one_case(f, op, n, form, bias_form, dtype, out_dtype, index):
    transposed = op.startswith("Transpose")
    size, kernel, stride, dilation, pad, extra = geometry(f.rng, n, transposed)
    group = int(f.rng.integers(1, 4)) if index % 3 == 0 else 1
    cin, cout = int(f.rng.integers(1, 9)), even(int(f.rng.integers(1, 36 if index % 2 else 5)))
    if op.startswith("Depth"):
        group, cin, cout = even(int(f.rng.integers(1, 12))), 1, 1 + index % 2
    shape = filter_shape(op, kernel, cin, cout, group)
    x = q.Tensor("x", f.rng.normal(size=(1 + index % 2, *size, cin * group)), dtype,
                 None if index % 4 else q.scale_offset(0.031, -17 if dtype[0] == "u" else 5))
    w = qw.weights(f.rng, shape, form, len(shape) - 1, len(shape) - 2)
    channels = shape[-1] * (group if transposed else 1)
    b, b_real = qw.bias(f.rng, bias_form, x, w, channels, 1.0)
    if bias_form in ("uq8", "sq8", "sq32own") and dtype in ("uq8", "sq8") \
            and not qw.is_blocked(w):
        b_real = oracle.round_bias(b_real, qw.product_scales(x, w, channels))
    if transposed:
        y = oracle.transposed(x.real, w.real, b_real, stride, pad, dilation, group, extra)
    else:
        y = oracle.conv(x.real, w.real, b_real, stride, pad, dilation, group)
    shown = 1 if op.startswith("Depth") else group
    f.add(op, [x, w] if b is None else [x, w, b], [q.Tensor("y", y, out_dtype)],
          params_of(op, stride, pad, dilation, shown, extra if transposed else None),
          name=f"{op}_{dtype}_{form}_{bias_form}_{out_dtype}")


OPS = (("Conv1d", 1), ("Conv2d", 2), ("Conv3d", 3), ("DepthWiseConv1d", 1), ("DepthWiseConv2d", 2),
       ("TransposeConv1d", 1), ("TransposeConv2d", 2), ("TransposeConv3d", 3))


def biases_of(op):
    """What the op table allows."""
    if op.endswith("3d"):
        return ("none", "sq32", "sq32own", "bare", "zero", "uq8")
    if op.startswith("Transpose"):
        return ("none", "sq32", "sq32own", "i32", "bare", "zero", "uq8")
    return BIASES


def encoding_cases(f):
    """Each op with each weight encoding; biases and output types take turns."""
    index = 0
    for op, n in OPS:
        for form in FORMS:
            blocked = form.startswith("block") or form == "expansion"
            if blocked and op.startswith("Depth"):
                continue
            biases = [b for b in biases_of(op)
                      if not blocked or b in ("none", "sq32own", "uq8", "sq8")]
            for dtype, out in (("uq8", "uq8"), ("sq8", "sq8"), ("uq8", "uq16")):
                one_case(f, op, n, form, biases[index % len(biases)], dtype, out, index)
                index += 1


def bias_cases(f):
    """Each form of bias with one scale and with a scale per channel."""
    index = 1
    for op, n in OPS:
        for bias_form in biases_of(op):
            for form in ("sq8", "sq8axis"):
                one_case(f, op, n, form, bias_form, "uq8", "uq8", index)
                index += 1


def wide_cases(f):
    """16-bit activations: sums in double."""
    index = 2
    for op, n in OPS:
        for form in ("sq8", "uq8", "sq8axis", "sq4axis", "sq16"):
            if form == "sq16" and op.endswith("3d"):
                continue
            biases = [b for b in biases_of(op) if b not in ("zero",)]
            one_case(f, op, n, form, biases[index % len(biases)], "uq16", "uq16", index)
            index += 1


def mixed_cases(f):
    """Types that do not go together in integers."""
    for x_type, form, out in (("f32", "sq8", "f32"), ("uq8", "sq8", "f32"), ("uq8", "sq8", "f16"),
                              ("f32", "sq8axis", "uq8"), ("uq8", "sq16", "uq8")):
        x = q.Tensor("x", f.rng.normal(size=(1, 5, 6, 4)), x_type)
        w = qw.weights(f.rng, (3, 2, 4, 6), form, 3, 2)
        b = q.Tensor("b", f.rng.normal(size=6), "f32", kind="static")
        y = oracle.conv(x.real, w.real, b.real, (1, 1), ((1, 1), (0, 0)), (1, 1), 1)
        f.add("Conv2d", [x, w, b], [q.Tensor("y", y, out)],
              params_of("Conv2d", (1, 1), ((1, 1), (0, 0))), name=f"Conv2d_mixed_{x_type}_{out}")


def dynamic_weight_cases(f):
    """Weights and bias that the application gives."""
    for form in ("uq8", "sq8", "sq8axis"):
        x = q.Tensor("x", f.rng.normal(size=(1, 4, 5, 3)), "uq8")
        w = qw.weights(f.rng, (2, 2, 3, 4), form, 3, 2, kind="input")
        b, b_real = qw.bias(f.rng, "sq32", x, w, 4, 1.0)
        b.kind = "input"
        y = oracle.conv(x.real, w.real, b_real, (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
        f.add("Conv2d", [x, w, b], [q.Tensor("y", y, "uq8")],
              params_of("Conv2d", (1, 1), ((0, 0), (0, 0))), name=f"Conv2d_given_weights_{form}")


def given_bias_cases(f):
    """Codes without a scale that the application gives, with sums in integers and in double."""
    for dtype, form in itertools.product(("uq8", "uq16"), ("sq8", "sq8axis")):
        x = q.Tensor("x", f.rng.normal(size=(1, 4, 5, 3)), dtype)
        w = qw.weights(f.rng, (2, 2, 3, 4), form, 3, 2)
        b, b_real = qw.bias(f.rng, "i32", x, w, 4, 1.0)
        b.kind = "input"
        y = oracle.conv(x.real, w.real, b_real, (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
        f.add("Conv2d", [x, w, b], [q.Tensor("y", y, dtype)],
              params_of("Conv2d", (1, 1), ((0, 0), (0, 0))), name=f"Conv2d_given_bias_{dtype}")


def shared_scale_cases(f):
    """A bias with the scales of a group's channels, each for as many neighbours as groups."""
    for group, dtype in itertools.product((2, 3), ("uq8", "uq16")):
        x = q.Tensor("x", f.rng.normal(size=(1, 4, 5, 2 * group)), dtype)
        w = qw.weights(f.rng, (3, 2, 2 * group, 3), "sq8axis", 3, 2)
        w.enc.scale[:] *= np.float32([1.0, 0.5, 2.0])  # far apart, so that the order matters
        w = q.Tensor("w", w.codes, "sq8", w.enc, "static")
        scales = q.axis(0, x.enc.scale[0] * w.enc.scale)
        units = np.repeat(scales.scale.astype(np.float64), group)
        codes = np.floor(f.rng.normal(size=3 * group) / units + 0.5).astype(np.int64)
        b = q.Tensor("b", codes, "sq32", q.axis(0, units), "static")
        b.enc = scales
        real = codes * units
        if dtype == "uq8":
            real = oracle.round_bias(real, qw.product_scales(x, w, 3 * group))
        y = oracle.transposed(x.real, w.real, real, (2, 1), ((1, 0), (0, 1)), (1, 1), group, (0, 0))
        f.add("TransposeConv2d", [x, w, b], [q.Tensor("y", y, dtype)],
              params_of("TransposeConv2d", (2, 1), ((1, 0), (0, 1)), (1, 1), group, (0, 0)),
              name=f"TransposeConv2d_shared_scales_{group}_{dtype}")


def exact_cases(f):
    """Ties and saturation, where every product is a whole number of half steps."""
    codes = np.arange(0, 256).reshape(1, 16, 16, 1)
    x = q.Tensor("x", codes, "uq8", q.scale_offset(1.0, -128))
    for weight in (1, -1, 3):
        w = q.Tensor("w", np.full((1, 1, 1, 1), weight), "sq8", q.scale_offset(0.5), "static")
        position = (codes - 128) * weight * 0.5 + 100
        y = np.clip(np.floor(position + 0.5), 0, 255).astype(np.int64)
        f.add("Conv2d", [x, w], [q.Tensor("y", y, "uq8", q.scale_offset(1.0, -100), tol=q.exact())],
              params_of("Conv2d", (1, 1), ((0, 0), (0, 0))), name="Conv2d_ties_up")
    # Sums of a long filter that do not fit 32 bits.
    x = q.Tensor("x", np.full((1, 40, 40, 42), 255), "uq8", q.scale_offset(1.0, 0))
    w = q.Tensor("w", np.full((40, 40, 42, 1), -128), "sq8", q.scale_offset(1.0, 0), "static")
    y = np.full((1, 1, 1, 1), np.floor(-255.0 * 128 * 67200 / 2.0 ** 24 + 0.5) + 220)
    f.add("Conv2d", [x, w], [q.Tensor("y", y.astype(np.int64), "uq8",
                                      q.scale_offset(2.0 ** 24, -220), tol=q.exact())],
          params_of("Conv2d", (1, 1), ((0, 0), (0, 0))), name="Conv2d_largest_sums")


def cases(f):
    encoding_cases(f)
    bias_cases(f)
    wide_cases(f)
    mixed_cases(f)
    dynamic_weight_cases(f)
    given_bias_cases(f)
    shared_scale_cases(f)
    exact_cases(f)


if __name__ == "__main__":
    q.run(cases)
