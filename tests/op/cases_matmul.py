# SPDX-License-Identifier: MIT
"""MatMul, FullyConnected and HadamardTransform.

Oracles: numpy matmul in float64; the Hadamard matrix built by Kronecker products.
"""
import numpy as np

import conv_oracle as oracle
import qcase as q
import quant_weights as qw

# f16 results are sums in f32, rounded once; a hundredth for the oracle's own error
ROUNDED = q.ulp16(0.51, 1e-6)
FORMS = ("uq8", "sq8", "sq8axis", "sq4", "uq4", "sq4axis", "bw4", "bw4axis", "block", "block4",
         "expansion")


def tol_of(dtype):
    return ROUNDED if dtype == "f16" else None


def swap(a):
    return np.swapaxes(a, -1, -2)


def flags(t0, t1):
    p = {}
    if t0:
        p["transpose_in0"] = ("b8", True)
    if t1:
        p["transpose_in1"] = ("b8", True)
    return p


def matmul_float_cases(f):
    leads = (((), ()), ((2,), (2,)), ((3,), (1,)), ((2, 3), (3,)), ((), (2, 2)), ((2, 1), (1, 3)),
             ((1, 2), (2,)))
    for i in range(84):
        lead_a, lead_b = leads[i % len(leads)]
        rows, depth, cols = (int(v) for v in f.rng.integers(1, (30, 40, 70)))
        t0, t1 = i % 5 == 1, i % 3 == 1
        dtype = "f16" if i % 6 == 5 else "f32"
        a = q.Tensor("a", f.rng.normal(size=(*lead_a, *((depth, rows) if t0 else (rows, depth)))),
                     dtype)
        b = q.Tensor("b", f.rng.normal(size=(*lead_b, *((cols, depth) if t1 else (depth, cols)))),
                     dtype, kind="static" if i % 2 else "input")
        v = q.Tensor("v", f.rng.normal(size=cols), dtype, kind="static" if i % 4 else "input")
        y = np.matmul(swap(a.real) if t0 else a.real, swap(b.real) if t1 else b.real)
        with_bias = i % 3 != 2
        f.add("MatMul", [a, b, v] if with_bias else [a, b],
              [q.Tensor("y", y + v.real if with_bias else y, dtype, tol=tol_of(dtype))],
              flags(t0, t1), name=f"MatMul_{dtype}")
    a = q.Tensor("a", f.rng.normal(size=(13, 2200)))
    b = q.Tensor("b", f.rng.normal(size=(2200, 35)), kind="static")
    f.add("MatMul", [a, b], [q.Tensor("y", a.real @ b.real)], name="MatMul_deep")


def matmul_quant_case(f, i, form, dtype, out, bias_form, kind="static", lead=()):
    rows, depth, cols = int(f.rng.integers(1, 12)), int(f.rng.integers(1, 40)), \
        2 * int(f.rng.integers(1, 20))
    depth += depth % 2
    t0, t1 = i % 5 == 1, i % 2 == 1
    a = q.Tensor("a", f.rng.normal(size=(*lead, *((depth, rows) if t0 else (rows, depth)))), dtype)
    shape = (*lead, *((cols, depth) if t1 else (depth, cols)))
    rank = len(shape)
    axes = (rank - 2, rank - 1) if t1 else (rank - 1, rank - 2)
    b = qw.weights(f.rng, shape, form, *axes, kind=kind)
    v, v_real = qw.bias(f.rng, bias_form, a, b, cols, 1.0)
    if bias_form in ("uq8", "sq8", "sq32own") and dtype in ("uq8", "sq8") \
            and not qw.is_blocked(b):
        v_real = oracle.round_bias(v_real, qw.product_scales(a, b, cols))
    y = np.matmul(swap(a.real) if t0 else a.real, swap(b.real) if t1 else b.real)
    f.add("MatMul", [a, b] if v is None else [a, b, v],
          [q.Tensor("y", y if v is None else y + v_real, out)], flags(t0, t1),
          name=f"MatMul_{dtype}_{form}_{bias_form}_{out}")


def matmul_quant_cases(f):
    i = 0
    for form in FORMS:
        blocked = form.startswith("block") or form == "expansion"
        biases = ("none", "uq8", "sq8", "sq32own") if blocked else \
            ("none", "sq32", "uq8", "sq8", "sq32own", "bare", "zero")
        for dtype, out in (("uq8", "uq8"), ("sq8", "sq8"), ("uq8", "uq16"), ("uq16", "uq16")):
            for _ in range(3):
                bias_form = biases[i % len(biases)]
                matmul_quant_case(f, i, form, dtype, out, bias_form)
                i += 1
    for form in ("uq8", "sq8"):  # both operands are activations
        for lead in ((), (2,), (2, 3)):
            for _ in range(2):
                matmul_quant_case(f, i, form, "uq8", "uq8", "none", kind="input", lead=lead)
                matmul_quant_case(f, i, form, "sq8", "uq8", "sq32", kind="input", lead=lead)
                i += 1
    for dtype in ("uq16", "sq16"):  # 16-bit products of two activations
        a = q.Tensor("a", f.rng.normal(size=(2, 5, 9)), "uq16")
        b = q.Tensor("b", f.rng.normal(size=(2, 9, 6)), dtype)
        f.add("MatMul", [a, b], [q.Tensor("y", a.real @ b.real, "uq16")],
              name=f"MatMul_uq16_{dtype}")


def matmul_sum_cases(f):
    """Results of 32 bits: the sums themselves where scales are 1, exactly."""
    def codes(dtype, shape):
        low, high = {"uq8": (0, 255), "sq8": (-128, 127), "uq16": (0, 65535)}[dtype]
        return f.rng.integers(low, high, shape, endpoint=True)
    for a_type, b_type in (("uq8", "sq8"), ("sq8", "sq8"), ("uq8", "uq8"), ("uq16", "sq8")):
        for kind in ("static", "input"):
            for rows, depth, cols in ((1, 5, 3), (13, 70, 33), (30, 258, 64)):
                for a_offset, b_offset, scale in ((0, 0, 1), (-7, 5, 1), (0, -128, 1), (3, 0, 3)):
                    a = q.Tensor("a", codes(a_type, (rows, depth)), a_type,
                                 q.scale_offset(1, a_offset))
                    b = q.Tensor("b", codes(b_type, (depth, cols)), b_type,
                                 q.scale_offset(1, b_offset), kind)
                    y = (a.codes + a_offset) @ (b.codes + b_offset)
                    y = (2 * y + scale) // (2 * scale)  # ties go up
                    f.add("MatMul", [a, b], [q.Tensor("y", y, "sq32", q.scale_offset(scale),
                                                      tol=q.exact())],
                          name=f"MatMul_{a_type}_{b_type}_sq32_{kind}")


def matmul_dynamic_cases(f):
    for dtype in ("f32", "uq8"):
        for kind in ("static", "input"):
            a = q.Tensor("a", f.rng.normal(size=(2, 9, 12)), dtype, dims=(2, 9, 12),
                         dynamic=[1, 1, 0])
            b = q.Tensor("b", f.rng.normal(size=(12, 34)), dtype, kind=kind)
            y = q.Tensor("y", a.real @ b.real, dtype, dims=(2, 9, 34), dynamic=[1, 1, 0])
            rounds = []
            for lead in ((2, 9), (1, 9), (2, 1), (1, 4)):
                part = f.rng.uniform(-2, 2, (*lead, 12))
                rounds.append(({"a": part}, {"y": a.real_of(part) @ b.real}))
            f.add("MatMul", [a, b], [y], rounds=rounds, name=f"MatMul_dynamic_{dtype}_{kind}")
    # Attention: the contracted dimension itself is dynamic.
    a = q.Tensor("a", f.rng.normal(size=(3, 5, 16)), dims=(3, 5, 16), dynamic=[0, 0, 1])
    b = q.Tensor("b", f.rng.normal(size=(3, 16, 8)), dims=(3, 16, 8), dynamic=[0, 1, 0])
    y = q.Tensor("y", a.real @ b.real, dims=(3, 5, 8))
    rounds = []
    for depth in (16, 7, 1):
        pa, pb = f.rng.normal(size=(3, 5, depth)), f.rng.normal(size=(3, depth, 8))
        rounds.append(({"a": pa, "b": pb}, {"y": a.real_of(pa) @ b.real_of(pb)}))
    f.add("MatMul", [a, b], [y], rounds=rounds, name="MatMul_dynamic_depth")


def fully_connected_shape(x_shape, w, keep):
    if keep or len(x_shape) == 1:
        return (*x_shape[:-1], w.shape[0])
    return (-1, w.shape[0])


def fully_connected_case(f, x_shape, n, m, keep, dtype, form, bias_form, out):
    x = q.Tensor("x", f.rng.normal(size=x_shape), dtype)
    if q.is_fixed(dtype):
        w = qw.weights(f.rng, (m, n), form, 0, 1)
        v, v_real = qw.bias(f.rng, bias_form, x, w, m, 1.0)
        if bias_form in ("uq8", "sq8", "sq32own") and dtype in ("uq8", "sq8") \
                and not qw.is_blocked(w):
            v_real = oracle.round_bias(v_real, qw.product_scales(x, w, m))
    else:
        w = q.Tensor("w", f.rng.normal(size=(m, n)), dtype, kind=form)
        v = None if bias_form == "none" else q.Tensor("b", f.rng.normal(size=m), dtype,
                                                      kind="static")
        v_real = None if v is None else v.real
    y = np.einsum("bk,mk->bm", x.real.reshape(-1, n), w.real) + (0 if v is None else v_real)
    y = y.reshape(fully_connected_shape(x_shape, w.real, keep))
    f.add("FullyConnected", [x, w] if v is None else [x, w, v],
          [q.Tensor("y", y, out, tol=tol_of(out))], {"keep_dims": ("b8", True)} if keep else {},
          name=f"FullyConnected_{dtype}_{form}_{bias_form}")


def fully_connected_cases(f):
    shapes = (((7,), 7, False), ((7,), 7, True), ((1, 12), 12, False), ((13, 6), 6, False),
              ((2, 3, 8), 8, True), ((2, 3, 8), 24, False), ((2, 4, 2, 5), 10, False),
              ((2, 3, 2, 6), 6, True), ((25, 34), 34, False), ((2, 1, 2, 3, 4), 4, True))
    i = 0
    for x_shape, n, keep in shapes:
        for dtype, form in (("f32", "static"), ("f32", "input"), ("f16", "static")):
            for m in (1, 9, 33, 70):
                fully_connected_case(f, x_shape, n, m, keep, dtype, form,
                                     "none" if i % 3 == 0 else "f", dtype)
                i += 1
    for form in FORMS:
        blocked = form.startswith("block") or form == "expansion"
        biases = ("none", "uq8", "sq8", "sq32own") if blocked else \
            ("none", "sq32", "uq8", "sq8", "sq32own", "i32", "bare", "zero")
        for dtype, out in (("uq8", "uq8"), ("sq8", "sq8"), ("uq8", "uq16"), ("uq16", "uq16")):
            for _ in range(2):
                x_shape, n, keep = shapes[2 + i % 7]
                m = 2 * int(f.rng.integers(1, 20))
                fully_connected_case(f, x_shape, n, m, keep, dtype, form, biases[i % len(biases)],
                                     out)
                i += 1


def fully_connected_dynamic_cases(f):
    for dtype in ("f32", "uq8"):
        x = q.Tensor("x", f.rng.normal(size=(8, 2, 5)), dtype, dims=(8, 2, 5), dynamic=[1, 0, 0])
        w = q.Tensor("w", f.rng.normal(size=(6, 10)), "sq8" if dtype == "uq8" else dtype,
                     kind="static")
        y = q.Tensor("y", x.real.reshape(8, 10) @ w.real.T, dtype, dims=(8, 6), dynamic=[1, 0])
        rounds = []
        for batch in (8, 1, 3):
            part = f.rng.uniform(-2, 2, (batch, 2, 5))
            rounds.append(({"x": part}, {"y": x.real_of(part).reshape(batch, 10) @ w.real.T}))
        f.add("FullyConnected", [x, w], [y], rounds=rounds, name=f"FullyConnected_dynamic_{dtype}")


def hadamard_cases(f):
    for power in range(0, 9):
        n = 1 << power
        matrix = np.ones((1, 1))
        while matrix.shape[0] < n:
            matrix = np.kron(np.array([[1, 1], [1, -1]]), matrix)
        for dtype in ("f32", "f16", "uq8", "sq8", "uq16", "sq16"):
            lead = ((), (3,), (2, 3), (2, 1, 2))[(power + len(dtype)) % 4]
            scale = (1.0, 0.5, -2.0)[power % 3]
            x = q.Tensor("x", f.rng.normal(size=(*lead, n)), dtype)
            y = scale * (x.real @ matrix) / np.sqrt(n)
            f.add("HadamardTransform", [x], [q.Tensor("y", y, dtype, tol=tol_of(dtype))],
                  {"scale": ("f32", scale)} if scale != 1.0 else {},
                  name=f"HadamardTransform_{dtype}")
    ones = q.Tensor("x", np.ones(256))
    f.add("HadamardTransform", [ones], [q.Tensor("y", np.array([16.0] + [0.0] * 255))],
          name="HadamardTransform_of_ones")


def cases(f):
    matmul_float_cases(f)
    matmul_quant_cases(f)
    matmul_sum_cases(f)
    matmul_dynamic_cases(f)
    fully_connected_cases(f)
    fully_connected_dynamic_cases(f)
    hadamard_cases(f)


if __name__ == "__main__":
    q.run(cases)
