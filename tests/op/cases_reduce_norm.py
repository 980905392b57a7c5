# SPDX-License-Identifier: MIT
"""Softmax family and normalizations.

Oracles: float64 numpy formulas on whole arrays, and the ONNX reference evaluator for some.
"""
import numpy as np

import qcase as q
from onnx_oracle import evaluate

REALS = "f32 f16 uq8 sq8 uq16"
NORM_TYPES = "f32 f16 uq8 uq16"
SHAPES = ((7,), (1,), (3, 10), (2, 3, 5), (2, 3, 4, 5), (1, 2, 1, 2, 9), (2, 1, 1, 3, 1, 2, 1, 4))


def softmax(x, axis, beta=1.0):
    e = np.exp(beta * x - np.max(beta * x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_softmax(x, axis, beta=1.0):
    return beta * x - np.logaddexp.reduce(beta * x, axis=axis, keepdims=True)


def softmax_cases(f):
    for op, formula in (("Softmax", softmax), ("LogSoftmax", log_softmax)):
        for dtype in REALS.split():
            for shape in SHAPES:
                for axis in range(len(shape)):
                    for beta in (1.0, 0.5) if axis % 2 else (1.0, -2.0):
                        x = q.Tensor("x", f.rng.uniform(-4, 4, shape), dtype)
                        params = {"axis": ("u32", axis)}
                        if beta != 1.0:
                            params["beta"] = ("f32", beta)
                        y = formula(x.real, axis, beta)
                        tol = q.fp32(2e-6, per_element=op == "Softmax") if dtype == "f32" else None
                        f.add(op, [x], [q.Tensor("y", y, dtype, tol=tol)], params)
    for dtype in ("uq8", "sq8"):
        x = q.Tensor("x", f.rng.uniform(-4, 4, (3, 10)), dtype)
        f.add("Softmax", [x], [q.Tensor("y", softmax(x.real, -1), "f32")],
              name=f"Softmax_{dtype}_f32")
        f.add("Softmax", [x], [q.Tensor("y", softmax(x.real, -1), dtype, q.scale_offset(1 / 256))])
    x = q.Tensor("x", np.array([[1e4, 1e4 - 1, -1e4], [-1e30, 0.0, 1.0], [3e38, -3e38, 0]]))
    for op, formula in (("Softmax", softmax), ("LogSoftmax", log_softmax)):
        with np.errstate(over="ignore"):
            f.add(op, [x], [q.Tensor("y", formula(x.real, 1))], {"axis": ("u32", 1)},
                  name=f"{op}_wide")
    x = q.Tensor("x", np.array([[np.nan, 1.0, 2.0], [-np.inf, 0.0, 1.0], [1.0, 2.0, 3.0]]))
    want = np.vstack([np.full(3, np.nan), [0, *softmax(np.array([0.0, 1.0]), 0)],
                      softmax(np.array([1.0, 2, 3]), 0)])
    f.add("Softmax", [x], [q.Tensor("y", want)], name="Softmax_special")
    for shape, axis in (((40, 1000), 1), ((40, 1000), 0), ((3, 300, 40), 1), ((128, 257), 1)):
        for op, formula in (("Softmax", softmax), ("LogSoftmax", log_softmax)):
            x = q.Tensor("x", f.rng.normal(0, 5, shape))
            f.add(op, [x], [q.Tensor("y", formula(x.real, axis), tol=q.fp32(2e-6))],
                  {"axis": ("u32", axis)}, name=f"{op}_large")
    for dtype in ("f32", "uq8"):
        x = q.Tensor("x", f.rng.normal(size=(2, 5)), dtype, dims=(4, 8), dynamic=(1, 1))
        f.add("Softmax", [x], [q.Tensor("y", softmax(x.real, 1), dtype, dims=(4, 8),
                                        dynamic=(1, 1))], name=f"Softmax_{dtype}_dynamic")


def masked_softmax_cases(f):
    for dtype in ("f32", "uq8", "uq16"):
        for shape in ((1, 1, 1, 1), (2, 3, 4, 5), (1, 2, 7, 33), (3, 1, 2, 8)):
            n, _, _, c = shape
            x = q.Tensor("x", f.rng.normal(0, 2, shape), dtype)
            keep = f.rng.integers(0, 2, (n, c))
            keep[:, 0] = 1
            for mask_type in ("f32", "i32", dtype):
                low = -20 if mask_type.startswith("u") else -10000
                values = np.where(keep, 0, low)
                mask = q.Tensor("m", values if mask_type == "i32" else values.astype(float),
                                mask_type)
                y = softmax(x.real + mask.real[:, None, None, :], -1)
                f.add("MaskedSoftmax", [x, mask], [q.Tensor("y", y, dtype)],
                      {"mode": ("u32", 0)} if mask_type == "f32" else {},
                      name=f"MaskedSoftmax_{dtype}_{mask_type}")
    for dtype in ("f32", "uq8", "uq16"):
        for n, h, c, lengths in ((1, 2, 6, [[2, 3]]), (2, 1, 5, [[5, 0, 0], [1, 1, 3]]),
                                 (2, 2, 4, [[0, 0], [2, 1]]), (1, 1, 9, [[3, 0, 6]])):
            x = q.Tensor("x", f.rng.normal(0, 2, (n, h, c, c)), dtype)
            y = np.zeros((n, h, c, c))
            for b in range(n):
                start = 0
                for length in lengths[b]:
                    part = slice(start, start + length)
                    if length:
                        y[b, :, part, part] = softmax(x.real[b, :, part, part], -1)
                    start += length
            for mask_type in ("i32", "f32", "uq8"):
                array = np.array(lengths)
                enc = q.scale_offset(1.0) if mask_type == "uq8" else None
                array = array.astype(float) if mask_type == "f32" else array
                mask = q.Tensor("m", array, mask_type, enc)
                f.add("MaskedSoftmax", [x, mask], [q.Tensor("y", y, dtype)], {"mode": ("u32", 1)},
                      name=f"MaskedSoftmax_{dtype}_{mask_type}_compressed")
    x = q.Tensor("x", np.zeros((1, 1, 4, 4)))
    for lengths in ([[3, 2]], [[-1, 2]], [[5, 0]]):
        f.add("MaskedSoftmax", [x, q.Tensor("m", np.array(lengths), "i32")],
              [q.Tensor("y", None, dims=(1, 1, 4, 4))], {"mode": ("u32", 1)},
              name="MaskedSoftmax_lengths", error=q.error(None, "execute"))


def affine_operand(f, name, shape, dtype, kind):
    real = f.rng.uniform(0.5, 1.5, shape) if name == "gamma" else f.rng.normal(size=shape)
    return q.Tensor(name, real, dtype, kind=kind)


def batchnorm_cases(f):
    for x_type, w_type, b_type in (("f32", "f32", "f32"), ("f16", "f16", "f16"),
                                   ("uq8", "uq8", "uq8"), ("uq8", "uq8", "sq32"),
                                   ("sq8", "sq8", "sq8"), ("uq16", "uq16", "sq32"),
                                   ("uq16", "sq16", "sq32"), ("uq16", "uq8", "uq8")):
        for shape in ((5,), (3, 4), (2, 3, 7), (2, 3, 4, 5), (1, 2, 2, 1, 2, 3), (2, 40, 17)):
            for kind in ("static", "input"):
                x = q.Tensor("x", f.rng.normal(size=shape), x_type)
                w = affine_operand(f, "gamma", shape[-1:], w_type, kind)
                b = affine_operand(f, "beta", shape[-1:], b_type, kind)
                f.add("Batchnorm", [x, w, b], [q.Tensor("y", x.real * w.real + b.real, x_type)],
                      name=f"Batchnorm_{x_type}_{w_type}_{b_type}")
            f.add("Batchnorm", [x, w], [q.Tensor("y", x.real * w.real, x_type)])


def spread(p, x, axes):
    """A parameter shaped like x at axes, in the order of the list, made broadcastable to x."""
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    shape = [x.shape[d] if d in axes else 1 for d in range(x.ndim)]
    return np.transpose(p, order).reshape(shape)


def scaled(y, axes, gamma, beta):
    y = y if gamma is None else y * spread(gamma, y, axes)
    return y if beta is None else y + spread(beta, y, axes)


def layer_norm(x, axes, gamma, beta, eps):
    mean = x.mean(axis=tuple(axes), keepdims=True)
    var = x.var(axis=tuple(axes), keepdims=True)
    return scaled((x - mean) / np.sqrt(var + eps), axes, gamma, beta)


def rms_norm(x, axes, gamma, beta, eps):
    y = x / np.sqrt(np.mean(x * x, axis=tuple(axes), keepdims=True) + eps)
    return scaled(y, axes, gamma, beta)


def over_axes_cases(f):
    plans = (((7,), [0]), ((3, 10), [1]), ((3, 10), [0]), ((2, 3, 5), [1, 2]), ((2, 3, 5), [2, 1]),
             ((2, 3, 4, 5), [3]), ((2, 3, 4, 5), [1, 2, 3]), ((2, 3, 4, 5), [3, 1]),
             ((2, 3, 4, 5), [0, 2]), ((1, 4, 64), [2]), ((2, 1, 2, 1, 2, 1, 2, 3), [7, 2, 4]))
    for op, formula, default_eps in (("LayerNorm", layer_norm, 1e-3), ("RmsNorm", rms_norm, 1e-6)):
        for dtype in NORM_TYPES.split() + (["bf16"] if op == "RmsNorm" else []):
            for shape, axes in plans:
                for operands in ("gamma beta", "gamma", "beta", ""):
                    eps = [None, 1e-5, 0.1][int(f.rng.integers(3))]
                    x = q.Tensor("x", f.rng.normal(1, 2, shape), dtype)
                    kind = "static" if f.rng.integers(2) else "input"
                    p_shape = [shape[a] for a in axes]
                    gamma = beta = None
                    if "gamma" in operands:
                        gamma = affine_operand(f, "gamma", p_shape, dtype, kind)
                    if "beta" in operands:
                        wide = "sq32" if dtype in ("uq8", "uq16") and f.rng.integers(2) else dtype
                        beta = affine_operand(f, "beta", p_shape, wide, kind)
                    ins = [x]
                    if gamma or beta:
                        ins.append(gamma or q.NULL)
                    if beta:
                        ins.append(beta)
                    params = {"axes": ("u32", axes)}
                    if eps:
                        params["epsilon"] = ("f32", eps)
                    y = formula(x.real, axes, gamma and gamma.real, beta and beta.real,
                                np.float64(np.float32(eps or default_eps)))
                    f.add(op, ins, [q.Tensor("y", y, dtype)], params)
    x = q.Tensor("x", f.rng.normal(size=(3, 4, 5)))
    g, b = (affine_operand(f, n, (4, 5), "f32", "static") for n in ("gamma", "beta"))
    want = evaluate("LayerNormalization", [x.real, g.real, b.real], axis=1, epsilon=1e-3)[0]
    f.add("LayerNorm", [x, g, b], [q.Tensor("y", want)], {"axes": ("u32", [1, 2])},
          name="LayerNorm_onnx")
    x = q.Tensor("x", f.rng.normal(size=(60, 768)))
    g, b = (affine_operand(f, n, (768,), "f32", "static") for n in ("gamma", "beta"))
    for op, formula in (("LayerNorm", layer_norm), ("RmsNorm", rms_norm)):
        y = formula(x.real, [1], g.real, b.real, np.float64(np.float32(1e-5)))
        f.add(op, [x, g, b], [q.Tensor("y", y)],
              {"axes": ("u32", [1]), "epsilon": ("f32", 1e-5)}, name=f"{op}_large")
    x = q.Tensor("x", f.rng.normal(size=(2, 8)), dims=(5, 8), dynamic=(1, 0))
    y = rms_norm(x.real, [1], None, None, np.float64(np.float32(1e-6)))
    f.add("RmsNorm", [x], [q.Tensor("y", y, dims=(5, 8), dynamic=(1, 0))], {"axes": ("u32", [1])},
          name="RmsNorm_dynamic")
    far = q.Tensor("x", f.rng.normal(1e4, 1, (2, 100)))
    f.add("LayerNorm", [far], [q.Tensor("y", layer_norm(far.real, [1], None, None,
                                                        np.float64(np.float32(1e-3))))],
          {"axes": ("u32", [1])}, name="LayerNorm_far_from_0")


def group_norm(x, group, gamma, beta, eps):
    batch = x.shape[0] if x.ndim > 1 else 1
    channels = x.shape[-1]
    parts = x.reshape(batch, -1, group, channels // group)
    mean = parts.mean(axis=(1, 3), keepdims=True)
    var = parts.var(axis=(1, 3), keepdims=True)
    y = ((parts - mean) / np.sqrt(var + eps)).reshape(x.shape)
    y = y if gamma is None else y * gamma
    return y if beta is None else y + beta


def group_norm_cases(f):
    for dtype in NORM_TYPES.split():
        for shape, groups in (((6,), (1, 2, 3)), ((2, 8), (1, 2, 4)), ((2, 3, 6), (2, 6)),
                              ((2, 3, 4, 12), (1, 3, 4, 12)), ((1, 2, 3, 2, 4), (2,))):
            for group in groups:
                for operands in ("gamma beta", "gamma", "beta", ""):
                    eps = 1e-5 if len(shape) > 2 or group < shape[-1] else 0.5
                    x = q.Tensor("x", f.rng.normal(1, 2, shape), dtype)
                    p_type = "f32" if dtype == "uq8" and f.rng.integers(2) else dtype
                    gamma = affine_operand(f, "gamma", shape[-1:], p_type, "static") \
                        if "gamma" in operands else None
                    beta = affine_operand(f, "beta", shape[-1:], p_type, "static") \
                        if "beta" in operands else None
                    ins = [x] + ([gamma or q.NULL] if gamma or beta else []) + \
                        ([beta] if beta else [])
                    y = group_norm(x.real, group, gamma and gamma.real, beta and beta.real,
                                   np.float64(np.float32(eps)))
                    f.add("GroupNorm", ins, [q.Tensor("y", y, dtype)],
                          {"epsilon": ("f32", eps), "group": ("u32", group)})
    x = q.Tensor("x", f.rng.normal(size=(2, 3, 4, 6)))
    g, b = (affine_operand(f, n, (6,), "f32", "static") for n in ("gamma", "beta"))
    want = evaluate("GroupNormalization", [x.real.transpose(0, 3, 1, 2), g.real, b.real], opset=21,
                    epsilon=1e-5, num_groups=3)[0].transpose(0, 2, 3, 1)
    f.add("GroupNorm", [x, g, b], [q.Tensor("y", want)],
          {"epsilon": ("f32", 1e-5), "group": ("u32", 3)}, name="GroupNorm_onnx")


def instance_norm(x, gamma, beta, eps, mode, region, variance):
    last = x.ndim - 1
    axes = {0: tuple(range(1, last)), 1: (last,), 2: tuple(range(1, last + 1))}[region]
    if mode == 1:
        scale = np.sqrt(np.sum(x * x, axis=axes, keepdims=True) + eps)
        return x * gamma / scale + beta
    centred = x - x.mean(axis=axes, keepdims=True)
    if not variance:
        return centred
    return centred * gamma / np.sqrt(np.mean(centred ** 2, axis=axes, keepdims=True) + eps) + beta


def instance_norm_cases(f):
    for dtype in NORM_TYPES.split():
        for shape in ((2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 2, 3)):
            for mode, region, variance in ((None, None, None), (0, 0, True), (0, 0, False),
                                           (0, 1, True), (0, 2, True), (1, 0, True), (1, 1, True),
                                           (1, 2, True), (1, 2, False)):
                with_beta = bool(f.rng.integers(2))
                eps = 1e-5 if f.rng.integers(2) else 0.25
                x = q.Tensor("x", f.rng.normal(1, 2, shape), dtype)
                gamma = affine_operand(f, "gamma", shape[-1:], dtype, "static")
                beta_type = {"uq8": "sq32", "uq16": "uq8"}.get(dtype, dtype)
                beta = affine_operand(f, "beta", shape[-1:], beta_type, "static")
                params = {"epsilon": ("f32", eps)}
                if mode is not None:
                    params.update(mode=("u32", mode), region=("u32", region),
                                  normalize_variance=("b8", variance))
                y = instance_norm(x.real, gamma.real, beta.real if with_beta else 0.0,
                                  np.float64(np.float32(eps)), mode or 0, region or 0,
                                  variance is not False)
                f.add("InstanceNorm", [x, gamma] + ([beta] if with_beta else []),
                      [q.Tensor("y", y, dtype)], params)
    x = q.Tensor("x", f.rng.normal(size=(2, 3, 4, 5)))
    g, b = (affine_operand(f, n, (5,), "f32", "static") for n in ("gamma", "beta"))
    want = evaluate("InstanceNormalization", [x.real.transpose(0, 3, 1, 2), g.real, b.real],
                    epsilon=1e-12)[0].transpose(0, 2, 3, 1)
    f.add("InstanceNorm", [x, g, b], [q.Tensor("y", want)], name="InstanceNorm_onnx")


def l2_norm_cases(f):
    for dtype in REALS.split():
        for shape in SHAPES:
            for axis in range(len(shape)):
                x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                y = x.real / np.maximum(np.linalg.norm(x.real, axis=axis, keepdims=True), 1e-12)
                f.add("L2Norm", [x], [q.Tensor("y", y, dtype)], {"axis": ("u32", axis)})
    for axes in ([0, 1], [2], [2, 0], [0, 1, 2]):
        x = q.Tensor("x", f.rng.normal(size=(2, 3, 4)))
        total = np.sqrt(np.sum(x.real ** 2, axis=tuple(axes), keepdims=True))
        f.add("L2Norm", [x], [q.Tensor("y", x.real / total)], {"axes": ("u32", axes)})
        f.add("L2Norm", [x], [q.Tensor("y", x.real / np.maximum(total, 100))],
              {"axes": ("u32", axes), "axis": ("u32", 1), "epsilon": ("f32", 100.0)})
    x = q.Tensor("x", np.zeros((2, 3)))
    f.add("L2Norm", [x], [q.Tensor("y", np.zeros((2, 3)))], {"axis": ("u32", 1)},
          name="L2Norm_zeros")


def lrn(x, radius, alpha, beta, bias, within):
    padded = x * x
    total = np.zeros_like(x)
    if within:
        pad = np.pad(padded, ((0, 0), (radius, radius), (radius, radius), (0, 0)))
        for i in range(2 * radius + 1):
            for j in range(2 * radius + 1):
                total += pad[:, i:i + x.shape[1], j:j + x.shape[2], :]
    else:
        pad = np.pad(padded, ((0, 0),) * (x.ndim - 1) + ((radius, radius),))
        for i in range(2 * radius + 1):
            total += pad[..., i:i + x.shape[-1]]
    return x / (bias + alpha * total) ** beta


def lrn_cases(f):
    for dtype in ("f32", "f16", "uq8"):
        for shape in ((7,), (3, 5), (2, 3, 4, 6), (1, 5, 6, 1)):
            for radius in (0, 1, 2, 9):
                for within in (False, True) if len(shape) == 4 else (False,):
                    for alpha, beta, bias in ((None, None, None), (0.25, 0.75, 2.0)):
                        x = q.Tensor("x", f.rng.normal(0, 2, shape), dtype)
                        params = {"radius": ("i32", radius)}
                        if alpha:
                            params.update(alpha=("f32", alpha), beta=("f32", beta),
                                          bias=("f32", bias))
                        if within or radius == 1:
                            params["region"] = ("u32", int(within))
                        y = lrn(x.real, radius, alpha or 1.0, beta or 0.5, bias or 1.0, within)
                        f.add("Lrn", [x], [q.Tensor("y", y, dtype)], params)
    x = q.Tensor("x", f.rng.normal(size=(8, 3, 2, 8)))  # the evaluator wants batch = channels
    want = evaluate("LRN", [x.real.transpose(0, 3, 1, 2)], double=False, size=5, alpha=0.5,
                    beta=0.75, bias=1.5)[0].transpose(0, 2, 3, 1)
    f.add("Lrn", [x], [q.Tensor("y", want)],
          {"radius": ("i32", 2), "alpha": ("f32", 0.1), "beta": ("f32", 0.75),
           "bias": ("f32", 1.5)}, name="Lrn_onnx")
    x = q.Tensor("x", f.rng.normal(size=(2, 9)))
    f.add("Lrn", [x], [q.Tensor("y", x.real / np.sqrt(1 + np.sum(x.real ** 2, 1, keepdims=True)))],
          {"radius": ("i32", 2 ** 31 - 1)}, name="Lrn_huge_radius")


def error_cases(f):
    def refuse(op, shapes, params, name, dims=None, dtype="f32"):
        ins = [q.Tensor(f"x{i}", np.zeros(s), "f32") for i, s in enumerate(shapes)]
        f.add(op, ins, [q.Tensor("y", None, dtype, dims=dims or shapes[0])], params,
              name=f"{op}_{name}", error=q.error())

    for op in ("Softmax", "LogSoftmax"):
        refuse(op, [(2, 3)], {"axis": ("u32", 2)}, "axis")
        refuse(op, [(2, 3)], {"axis": ("u32", 1)}, "shape", (3, 2))
    refuse("LogSoftmax", [(2, 3)], {}, "no_axis")
    refuse("MaskedSoftmax", [(1, 2, 3, 4), (1, 3)], {}, "mask_length")
    refuse("MaskedSoftmax", [(1, 2, 3, 4), (2, 4)], {}, "mask_batch")
    refuse("MaskedSoftmax", [(1, 2, 3, 4), (1, 2)], {"mode": ("u32", 1)}, "not_square")
    refuse("MaskedSoftmax", [(1, 2, 4, 4), (1, 4)], {"mode": ("u32", 2)}, "mode")
    refuse("MaskedSoftmax", [(2, 4, 4), (2, 4)], {}, "rank")
    refuse("Batchnorm", [(2, 3), (2,)], {}, "weight")
    refuse("Batchnorm", [(2, 3), (3,), (2,)], {}, "bias")
    refuse("Batchnorm", [(2, 3)], {}, "no_weight")
    refuse("InstanceNorm", [(2, 3, 4), (3,)], {}, "gamma")
    refuse("InstanceNorm", [(2, 3, 4), (4,), (3,)], {}, "beta")
    refuse("InstanceNorm", [(3, 4), (4,)], {}, "rank")
    refuse("InstanceNorm", [(2, 3, 4), (4,)], {"region": ("u32", 3)}, "region")
    eps = {"epsilon": ("f32", 1e-5)}
    refuse("GroupNorm", [(2, 6)], {"group": ("u32", 4), **eps}, "does_not_divide")
    refuse("GroupNorm", [(2, 6)], {"group": ("u32", 0), **eps}, "group_0")
    refuse("GroupNorm", [(2, 6)], eps, "no_group")
    refuse("GroupNorm", [(2, 6)], {"group": ("u32", 2)}, "no_epsilon")
    refuse("GroupNorm", [(2, 6), (2,)], {"group": ("u32", 2), **eps}, "gamma")
    for op in ("LayerNorm", "RmsNorm"):
        refuse(op, [(2, 3)], {}, "no_axes")
        refuse(op, [(2, 3)], {"axes": ("u32", [2])}, "axis")
        refuse(op, [(2, 3)], {"axes": ("u32", [1, 1])}, "axis_twice")
        refuse(op, [(2, 3), (2,)], {"axes": ("u32", [1])}, "gamma")
        refuse(op, [(2, 3), (3,), (2,)], {"axes": ("u32", [1])}, "beta")
        refuse(op, [(2, 3), (3, 2)], {"axes": ("u32", [0, 1])}, "gamma_order")
        refuse(op, [(2, 3)], {"axes": ("u32", [1])}, "shape", (3, 2))
    refuse("L2Norm", [(2, 3)], {}, "no_axis")
    refuse("L2Norm", [(2, 3)], {"axis": ("u32", 2)}, "axis")
    refuse("L2Norm", [(2, 3)], {"axes": ("u32", [0, 2])}, "axes")
    refuse("L2Norm", [(2, 3)], {"axes": ("u32", [1, 1])}, "axis_twice")
    refuse("Lrn", [(2, 3)], {}, "no_radius")
    refuse("Lrn", [(2, 3)], {"radius": ("i32", -1)}, "negative_radius")
    refuse("Lrn", [(2, 3)], {"radius": ("i32", 1), "region": ("u32", 1)}, "within_rank")
    refuse("Lrn", [(2, 3)], {"radius": ("i32", 1), "region": ("u32", 2)}, "region")


def cases(f):
    softmax_cases(f)
    masked_softmax_cases(f)
    batchnorm_cases(f)
    over_axes_cases(f)
    group_norm_cases(f)
    instance_norm_cases(f)
    l2_norm_cases(f)
    lrn_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
