# SPDX-License-Identifier: MIT
"""Combinations of types that the HTP's table has and the cases of the groups lack.

check_htp.py proves that every pair of operand and type of that table occurs in a case that the HTP
runs; here are those that other backends do not call for: 16-bit weights, signed factors of norms,
bools, and floats beside codes, which come back as halves.
"""
import numpy as np

import cases_detect_nms as detect
import cases_reduce_norm as norm
import cases_seq_random as random
import conv_oracle as oracle
import qcase as q
import quant_weights as qw
from cases_conv import params_of

NO_PAD = ((0, 0), (0, 0), (0, 0))


def symmetric16(rng, name, shape, dtype, low=-1.0):
    """Values of -0x8000 to 0x7f7f, as HTP supports them."""
    real = rng.uniform(low, 1.0, shape)
    return q.Tensor(name, real, dtype,
                    q.scale_offset(1 / 32600, -32768 if dtype == "uq16" else 0), "static")


def weight(rng, shape, dtype):
    if dtype.endswith("16"):
        return symmetric16(rng, "w", shape, dtype)
    return q.Tensor("w", rng.normal(size=shape), dtype, kind="static")


def conv_case(f, op, x_type, w_type, bias_form):
    n = 3 if op.endswith("3d") else 2
    depthwise, transposed = op.startswith("Depth"), op.startswith("Transpose")
    cin, cout, group = (1, 1, 6) if depthwise else (5, 7, 1)
    x = q.Tensor("x", f.rng.normal(size=(1, *(4, 5, 3)[:n], cin * group)), x_type)
    shape = (2, 3, 2)[:n] + ((1, group) if depthwise else (cin, cout))
    w = weight(f.rng, shape, w_type)
    b, b_real = qw.bias(f.rng, bias_form, x, w, shape[-1], 1.0)
    if bias_form == "uq8" and x_type != "uq16":
        b_real = oracle.round_bias(b_real, qw.product_scales(x, w, shape[-1]))
    ones = (1,) * n
    if transposed:
        y = oracle.transposed(x.real, w.real, b_real, ones, NO_PAD[:n], ones, 1, (0,) * n)
    else:
        y = oracle.conv(x.real, w.real, b_real, ones, NO_PAD[:n], ones, group)
    f.add(op, [x, w] if b is None else [x, w, b], [q.Tensor("y", y, x_type)],
          params_of(op, ones, NO_PAD[:n], ones, 1, (0,) * n if transposed else None),
          name=f"{op}_{x_type}_{w_type}_{bias_form}")


def conv_cases(f):
    for op, types, biases in (
            ("Conv2d", (("uq16", "uq16"), ("uq16", "sq16")), ("none", "sq32")),
            ("DepthWiseConv2d", (("uq16", "sq16"), ("uq16", "uq16"), ("uq16", "uq8"),
                                 ("sq8", "uq8"), ("sq8", "sq8"), ("uq8", "uq8")), ("none", "sq32")),
            ("TransposeConv2d", (("uq16", "uq16"), ("uq16", "sq16")), ("none", "sq32")),
            ("Conv3d", (("uq16", "sq8"), ("uq8", "sq8"), ("uq8", "uq8")), ("uq8",)),
            ("TransposeConv3d", (("uq16", "uq8"), ("uq8", "uq8")), ("uq8",))):
        for x_type, w_type in types:
            for bias_form in biases:
                conv_case(f, op, x_type, w_type, bias_form)


def product_cases(f):
    for w_type in ("sq16", "uq16"):
        x = q.Tensor("x", f.rng.normal(size=(9, 40)), "uq16")
        w = weight(f.rng, (35, 40), w_type)
        f.add("FullyConnected", [x, w], [q.Tensor("y", x.real @ w.real.T, "uq16")],
              name=f"FullyConnected_uq16_{w_type}")
        for kind in ("static", "input"):
            a = q.Tensor("a", f.rng.normal(size=(3, 9, 40)), "uq16")
            b = symmetric16(f.rng, "b", (3, 40, 33), w_type)
            b.kind = kind
            f.add("MatMul", [a, b], [q.Tensor("y", a.real @ b.real, "uq16")],
                  name=f"MatMul_uq16_{w_type}_{kind}")


def norm_cases(f):
    shape = (2, 3, 8)
    for gamma_type, beta_type in (("sq16", "sq16"), ("uq16", "sq32"), ("sq16", "uq16")):
        x = q.Tensor("x", f.rng.normal(1, 2, shape), "uq16")
        gamma = symmetric16(f.rng, "gamma", (8,), gamma_type, 0.3)
        beta = symmetric16(f.rng, "beta", (8,), beta_type) if beta_type != "sq32" else \
            q.Tensor("beta", f.rng.normal(size=8), "sq32", q.scale_offset(1e-6), "static")
        y = norm.layer_norm(x.real, [2], gamma.real, beta.real, np.float64(np.float32(1e-3)))
        f.add("LayerNorm", [x, gamma, beta], [q.Tensor("y", y, "uq16")], {"axes": ("u32", [2])},
              name=f"LayerNorm_uq16_{gamma_type}_{beta_type}")
    for x_type, p_types in (("uq8", ("sq8 sq8", "sq8 sq32")),
                            ("uq16", ("sq8 sq8", "sq16 sq16", "uq16 sq32"))):
        for gamma_type, beta_type in (p.split() for p in p_types):
            x = q.Tensor("x", f.rng.normal(1, 2, shape), x_type)
            gamma = norm.affine_operand(f, "gamma", (8,), gamma_type, "static")
            beta = norm.affine_operand(f, "beta", (8,), beta_type, "static")
            y = norm.group_norm(x.real, 2, gamma.real, beta.real, np.float64(np.float32(1e-5)))
            f.add("GroupNorm", [x, gamma, beta], [q.Tensor("y", y, x_type)],
                  {"epsilon": ("f32", 1e-5), "group": ("u32", 2)},
                  name=f"GroupNorm_{x_type}_{gamma_type}_{beta_type}")


def bool_cases(f):
    """A number is true unless it is 0; false and true are the numbers 0 and 1."""
    for source in ("uq8", "sq8", "uq16"):
        x = q.Tensor("x", f.rng.integers(0, 3, (4, 9)), source,
                     q.scale_offset(0.5, -1 if source[0] == "u" else 0))
        f.add("Convert", [x], [q.Tensor("y", (x.real != 0).astype(int), "b8")],
              name=f"Convert_{source}_b8")
    for target in ("uq8", "sq8", "uq16", "sq16", "b8"):
        x = q.Tensor("x", f.rng.integers(0, 2, (4, 9)), "b8")
        y = q.Tensor("y", x.real * 1.0, target, q.scale_offset(0.25, -3)) if target != "b8" else \
            q.Tensor("y", x.real.astype(int), "b8")
        f.add("Convert", [x], [y], name=f"Convert_b8_{target}")


def nms_cases(f):
    for box_type in ("uq8", "uq16"):
        for score_type in ("uq8", "uq16"):
            for feature_type in ("uq8", "sq8", "uq16", "sq16"):
                boxes = q.Tensor("boxes", detect.some_boxes(f, 1, 12), box_type)
                scores = q.Tensor("scores", f.rng.uniform(0.05, 1, (1, 12, 3)), score_type)
                feature = q.Tensor("f0", f.rng.normal(size=(1, 12, 2)), feature_type)
                p = detect.multi(boxes.real[0], scores.real[0], 0.5, 0.25, None, 6)
                want = np.zeros((1, 6, 2))
                want[0, :p[3]] = feature.real[0, p[4]]
                f.add("MultiClassNms", [boxes, scores, feature],
                      [q.Tensor("boxes", p[0][None], "f32", tol=q.fp16()),
                       q.Tensor("scores", p[1][None], score_type, scores.enc),
                       q.Tensor("classes", p[2][None], "i32"),
                       q.Tensor("count", np.array([p[3]]), "u32"),
                       q.Tensor("g", want, feature_type, feature.enc)],
                      {"iou_threshold": ("f32", 0.5), "score_threshold": ("f32", 0.25)},
                      name=f"MultiClassNms_{box_type}_{score_type}_{feature_type}")


def detection_cases(f):
    options = dict(regular=True, bg=9, use_bg=False, show_bg=True, limit=-1, eta=1.0, iou=0.5,
                   conf=0.25)
    factors = np.array([0.125, 0.25, 0.5, 0.25])
    for score_type in ("uq8", "uq16"):
        for box_type in ("uq8", "uq16"):
            scores = q.Tensor("scores", f.rng.uniform(0, 1, (1, 10, 3)), score_type)
            deltas = q.Tensor("deltas", f.rng.normal(size=(1, 10, 4)), box_type)
            anchors = q.Tensor("anchors", np.concatenate(
                [f.rng.uniform(0, 5, (10, 2)), f.rng.uniform(1, 4, (10, 2))], 1), box_type)
            boxes = detect.decoded(deltas.real[0], anchors.real, factors)
            rows = detect.detections(scores.real[0], np.repeat(boxes[:, None], 3, 1), options)
            pad = detect.box.pad
            f.add("DetectionOutput", [scores, deltas, anchors],
                  [q.Tensor("scores", pad([r[0] for r in rows], 30)[None], score_type, scores.enc),
                   q.Tensor("boxes", pad([r[1] for r in rows], 30, 4)[None], "f32", tol=q.fp16()),
                   q.Tensor("labels", pad([r[2] for r in rows], 30)[None].astype(int), "i32"),
                   q.Tensor("count", np.array([len(rows)]), "u32")],
                  {"delta_scaling_factors": ("f32", factors), "confidence_threshold": ("f32", 0.25),
                   "iou_threshold": ("f32", 0.5), "nms_type": ("u32", 1),
                   "background_class_idx": ("u32", 9), "share_location": ("b8", True)},
                  name=f"DetectionOutput_{score_type}_{box_type}")


def cases(f):
    conv_cases(f)
    product_cases(f)
    norm_cases(f)
    bool_cases(f)
    nms_cases(f)
    detection_cases(f)
    random.add(f, "RandomNormalLike", (4, 6), dtype="uq16", seed=3.0)


if __name__ == "__main__":
    q.run(cases)
