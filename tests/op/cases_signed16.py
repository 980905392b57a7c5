# SPDX-License-Identifier: MIT
"""Signed 16-bit activations, with zero points and without, and 16-bit weights of the whole range.

Oracles: conv_oracle.py and numpy in float64. Shapes reach the kernels that compute 16-bit values as
two bytes: the high one is signed here. check_htp.py runs these cases on the HTP.
"""
import numpy as np

import conv_oracle as oracle
import qcase as q
import quant_weights as qw
from cases_conv import params_of
from cases_eltwise_unary import gelu

X_OFFSETS = (0, -517, 29000)  # symmetric, as LiteRT has them; and zero points on either side


def signed(f, name, shape, offset=0, mean=0.0, kind="input"):
    """Values that use the range; a zero point moves it."""
    return q.Tensor(name, f.rng.normal(mean, 1.0, shape), "sq16",
                    q.scale_offset(4.5 / 32768, offset), kind)


def weights(f, shape, form, channel_axis):
    if form == "sq16":  # -0x7fff to 0x7fff
        real = f.rng.uniform(-1, 1, shape)
        real.flat[0], real.flat[-1] = 1.0, -1.0
        return q.Tensor("w", real, "sq16", q.scale_offset(1 / 32767), "static")
    if form == "sq16axis":
        real = f.rng.normal(size=shape)
        return q.Tensor("w", real, "sq16", q.fit_axis(real, channel_axis, "sq16"), "static")
    return qw.weights(f.rng, shape, form, channel_axis, len(shape) - 2)


def bias(f, form, x, w, n):
    b, real = qw.bias(f.rng, form, x, w, n, 1.0)
    return b, real if b is None or form == "zero" else b.real


WEIGHTS = ("sq8", "sq8axis", "uq8", "sq16", "sq16axis", "sq4axis")
BIASES = ("sq32", "none", "zero", "sq32own")


def conv_cases(f):
    shapes = ((1, 1, 64, 40, (7, 9)), (3, 3, 32, 34, (8, 9)), (3, 3, 3, 16, (15, 14)),
              (1, 1, 260, 36, (1, 1)), (5, 3, 17, 66, (6, 7)))
    turn = 0
    for w_form in WEIGHTS:
        for kh, kw, cin, cout, size in shapes:
            offset, stride = X_OFFSETS[turn % 3], (1 + turn % 2,) * 2
            bias_form = BIASES[turn % 4]
            turn += 1
            x = signed(f, "x", (1, *size, cin), offset)
            w = weights(f, (kh, kw, cin, cout), w_form, 3)
            b, b_real = bias(f, bias_form, x, w, cout)
            pad = ((kh // 2, kh // 2), (kw // 2, 0))
            y = oracle.conv(x.real, w.real, b_real, stride, pad, (1, 1), 1)
            f.add("Conv2d", [x, w] if b is None else [x, w, b], [q.Tensor("y", y, "sq16")],
                  params_of("Conv2d", stride, pad, (1, 1)),
                  name=f"Conv2d_sq16_{w_form}_{bias_form}_{kh}x{kw}_{cin}_{cout}_{offset}")


def group_cases(f):
    for offset in X_OFFSETS:
        x, w = signed(f, "x", (1, 6, 5, 12), offset), weights(f, (3, 3, 4, 9), "sq8axis", 3)
        y = oracle.conv(x.real, w.real, None, (1, 1), ((1, 1), (1, 1)), (1, 1), 3)
        f.add("Conv2d", [x, w], [q.Tensor("y", y, "sq16")],
              params_of("Conv2d", (1, 1), ((1, 1), (1, 1)), (1, 1), 3),
              name=f"Conv2d_sq16_group_{offset}")


def transposed_cases(f):
    for i, w_form in enumerate(("sq8", "sq8axis", "sq16", "uq8")):
        x = signed(f, "x", (1, 5, 6, 20), X_OFFSETS[i % 3])
        w = weights(f, (3, 2, 20, 24), w_form, 3)
        b, b_real = bias(f, BIASES[i % 2], x, w, 24)
        pad = ((1, 0), (0, 1))
        y = oracle.transposed(x.real, w.real, b_real, (2, 2), pad, (1, 1), 1, (0, 0))
        f.add("TransposeConv2d", [x, w] if b is None else [x, w, b], [q.Tensor("y", y, "sq16")],
              params_of("TransposeConv2d", (2, 2), pad, (1, 1), 1, (0, 0)),
              name=f"TransposeConv2d_sq16_{w_form}")


def fully_connected_cases(f):
    for i, w_form in enumerate(WEIGHTS):
        for rows, n, m in ((1, 64, 96), (9, 130, 34), (17, 33, 16)):
            x = signed(f, "x", (rows, n), X_OFFSETS[(i + rows) % 3])
            w = weights(f, (m, n + n % 2), w_form, 0) if "4" in w_form else \
                weights(f, (m, n), w_form, 0)
            if w.dims[1] != n:
                continue
            b, b_real = bias(f, BIASES[(i + n) % 4], x, w, m)
            y = x.real @ w.real.T + (0 if b_real is None else b_real)
            f.add("FullyConnected", [x, w] if b is None else [x, w, b],
                  [q.Tensor("y", y, "sq16")], name=f"FullyConnected_sq16_{w_form}_{rows}_{n}_{m}")


def matmul_cases(f):
    for i, (lead, b_type, kind) in enumerate((
            ((), "sq16", "static"), ((3,), "sq16", "input"), ((2, 2), "sq8", "input"),
            ((2,), "uq8", "input"), ((1, 2, 2), "sq16", "input"), ((2, 1, 2), "sq8", "static"))):
        for t1 in (0, 1):
            for rows in (3, 18):
                a = signed(f, "a", (*lead, rows, 66), X_OFFSETS[i % 3])
                real = f.rng.uniform(-1, 1, (*lead, 35, 66) if t1 else (*lead, 66, 35))
                enc = q.scale_offset(1 / 32767) if b_type == "sq16" else None
                b = q.Tensor("b", real, b_type, enc, kind)
                y = a.real @ (np.swapaxes(b.real, -1, -2) if t1 else b.real)
                f.add("MatMul", [a, b], [q.Tensor("y", y, "sq16")],
                      {"transpose_in1": ("b8", t1)},
                      name=f"MatMul_sq16_{b_type}_{kind}_rank{len(lead) + 2}_{t1}_{rows}")


def reduce_cases(f):
    for offset in X_OFFSETS:
        for shape, axes in (((2, 3, 4, 33), [3]), ((1, 7, 7, 40), [1, 2]),
                            ((2, 2, 3, 2, 9), [1, 4])):
            x = signed(f, "x", shape, offset)
            for op, compute in (("ReduceMean", np.mean), ("ReduceSum", np.sum),
                                ("ReduceMax", np.max)):
                y = compute(x.real, axis=tuple(axes), keepdims=True)
                f.add(op, [x], [q.Tensor("y", y, "sq16")],
                      {"axes": ("u32", axes), "keep_dims": ("b8", 1)},
                      name=f"{op}_sq16_rank{len(shape)}_{offset}")
        for shape in ((3, 40), (2, 3, 129), (1, 2, 2, 3, 17)):
            x = signed(f, "x", shape, offset)
            e = np.exp(x.real - x.real.max(-1, keepdims=True))
            y = e / e.sum(-1, keepdims=True)
            f.add("Softmax", [x], [q.Tensor("y", y, "sq16", q.scale_offset(1 / 32768, 0))],
                  name=f"Softmax_sq16_rank{len(shape)}_{offset}")


def move_cases(f):
    for offset in X_OFFSETS:
        x = signed(f, "x", (2, 5, 6, 7), offset)
        f.add("StridedSlice", [x], [q.Tensor("y", x.codes[:, 1:5:2, :, 2:6], "sq16", x.enc)],
              {"ranges": ("i32", [[0, 2, 1], [1, 5, 2], [0, 6, 1], [2, 6, 1]])},
              name=f"StridedSlice_sq16_{offset}")
        pads = ((0, 0), (1, 2), (0, 1), (3, 0))
        zero = int(np.clip(-offset, -32768, 32767))
        f.add("Pad", [x], [q.Tensor("y", np.pad(x.codes, pads, constant_values=zero), "sq16",
                                    x.enc)],
              {"scheme": ("u32", 0), "pad_amount": ("u32", pads),
               "pad_constant_value": ("f32", 0.0)}, name=f"Pad_sq16_constant_{offset}")
        f.add("Pad", [x], [q.Tensor("y", np.pad(x.codes, pads, "reflect"), "sq16", x.enc)],
              {"scheme": ("u32", 2), "pad_amount": ("u32", pads)},
              name=f"Pad_sq16_reflect_{offset}")
        for shape, axis in (((2, 5, 6, 7), 2), ((70, 8), 0), ((2, 3, 4, 5, 6), 4)):
            for kind in ("input", "static"):
                x = signed(f, "x", shape, offset, kind=kind)
                i = q.Tensor("i", np.array([3, 0, 1, 3]), "i32", kind="static")
                f.add("Gather", [x, i], [q.Tensor("y", x.codes.take([3, 0, 1, 3], axis), "sq16",
                                                  x.enc)],
                      {"axis": ("i32", axis)}, name=f"Gather_sq16_{kind}_{len(shape)}_{offset}")
            x = signed(f, "x", shape, offset)
            f.add("Split", [x], [q.Tensor("y", part, "sq16", x.enc)
                                 for part in np.split(x.codes, [1, 3], axis)],
                  {"axis": ("u32", axis), "split_index": ("u32", [1, 3])},
                  name=f"Split_sq16_{len(shape)}_{offset}")
        x = signed(f, "x", (2, 3, 4, 5, 6), offset)
        f.add("Transpose", [x], [q.Tensor("y", x.codes.transpose(4, 0, 2, 1, 3), "sq16", x.enc)],
              {"perm": ("u32", [4, 0, 2, 1, 3])}, name=f"Transpose_sq16_rank5_{offset}")


def convert_cases(f):
    for offset in X_OFFSETS:
        x = signed(f, "x", (5, 67), offset)
        f.add("Dequantize", [x], [q.Tensor("y", x.real, "f32", tol=q.ulp(1))],
              name=f"Dequantize_sq16_f32_{offset}")
        for target in ("uq8", "sq8", "uq16", "sq16"):
            f.add("Convert", [x], [q.Tensor("y", x.real, target)],
                  name=f"Convert_sq16_{target}_{offset}")


OPERATIONS = {"DIVIDE": (2, np.divide), "MAXIMUM": (10, np.maximum), "SUBTRACT": (18, np.subtract)}
OWN_NAMES = {"DIVIDE": "ElementWiseDivide", "MAXIMUM": "ElementWiseMaximum",
             "SUBTRACT": "ElementWiseSubtract"}


def binary_cases(f):
    for i, (name, (number, compute)) in enumerate(OPERATIONS.items()):
        for op in ("ElementWiseBinary", OWN_NAMES[name]):
            for shapes in (((3, 4, 33), (3, 4, 33)), ((2, 5, 40), (40,)), ((1, 2, 3, 2, 9), (1,))):
                a = signed(f, "a", shapes[0], X_OFFSETS[i % 3])
                away = 2.5 if name == "DIVIDE" else 0.0
                b = q.Tensor("b", f.rng.normal(away, 0.4, shapes[1]), "sq16",
                             q.scale_offset(6 / 32768, -100))
                f.add(op, [a, b], [q.Tensor("y", compute(a.real, b.real), "sq16")],
                      {"operation": ("u32", number)} if op == "ElementWiseBinary" else {},
                      name=f"{op}_sq16_{name}_rank{len(shapes[0])}")


def unary_cases(f):
    for shape in ((3, 50), (70, 100), (2, 1, 3, 2, 9)):  # a function of many values is a table
        for offset in X_OFFSETS:
            x = signed(f, "x", shape, offset)
            for number, name, compute in ((4, "RELU", lambda v: np.maximum(v, 0)),
                                          (1, "GELU", gelu)):
                f.add("ElementWiseNeuron", [x], [q.Tensor("y", compute(x.real), "sq16")],
                      {"operation": ("u32", number)},
                      name=f"ElementWiseNeuron_sq16_{name}_{len(shape)}_{shape[0]}_{offset}")
            f.add("Gelu", [x], [q.Tensor("y", gelu(x.real), "sq16")],
                  name=f"Gelu_sq16_{len(shape)}_{shape[0]}_{offset}")
        for dtype in ("sq16", "sq8"):
            x = q.Tensor("x", f.rng.uniform(0.5, 4.0, shape), dtype)
            for number, name, own, compute in ((12, "RSQRT", "ElementWiseRsqrt",
                                                lambda v: 1 / np.sqrt(v)),
                                               (15, "SQRT", "ElementWiseSquareRoot", np.sqrt)):
                f.add("ElementWiseUnary", [x], [q.Tensor("y", compute(x.real), dtype)],
                      {"operation": ("u32", number)},
                      name=f"ElementWiseUnary_{dtype}_{name}_{len(shape)}_{shape[0]}")
                f.add(own, [x], [q.Tensor("y", compute(x.real), dtype)],
                      name=f"{own}_{dtype}_{len(shape)}_{shape[0]}")


def cases(f):
    conv_cases(f)
    group_cases(f)
    transposed_cases(f)
    fully_connected_cases(f)
    matmul_cases(f)
    reduce_cases(f)
    move_cases(f)
    convert_cases(f)
    binary_cases(f)
    unary_cases(f)


if __name__ == "__main__":
    q.run(cases)
