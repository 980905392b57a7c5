# SPDX-License-Identifier: MIT
"""Element-wise ops on one operand: arithmetic, activations, tests of floats; single and combined.

Oracles: float64 numpy and the standard library's math module.
"""
import math

import numpy as np

import qcase as q

SHAPES = ((1,), (7,), (2, 3), (4, 33), (2, 3, 5, 4), (1, 1, 9), (2, 1, 2, 1, 2, 1, 2, 3))
REALS = "f32 f16 uq8 sq8 uq16"
ALL_REALS = REALS + " sq16"


def gelu(x):
    return x * 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))


def sigmoid(x):
    """Small results keep their relative accuracy."""
    return np.exp(-np.logaddexp(0, -x))


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def hard_swish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def hard_sigmoid(x, alpha=0.2, beta=0.5):
    return np.clip(np.float64(np.float32(alpha)) * x + np.float64(np.float32(beta)), 0, 1)


def softplus(x, beta=1.0, threshold=-1.0):
    y = np.logaddexp(0, beta * x) / beta
    return np.where((threshold >= 0) & (beta * x > threshold), x, y)


# op: (operation of ElementWiseUnary, formula, range of inputs, types, tolerance for f32)
UNARY = {
    "Abs": (0, np.abs, (-3, 3), REALS + " i32", 0.51),
    "Asin": (1, np.arcsin, (-1, 1), "f32 uq8 sq8", 2),
    "Atan": (2, np.arctan, (-4, 4), REALS, 2),
    "Ceil": (3, np.ceil, (-4, 4), REALS, 0.51),
    "Cos": (4, np.cos, (-7, 7), REALS, 1),
    "Exp": (5, np.exp, (-4, 3), REALS, 3),
    "Floor": (6, np.floor, (-4, 4), REALS, 0.51),
    "Log": (7, np.log, (0.1, 6), REALS, 1),
    "Neg": (8, np.negative, (-3, 4), "f32 f16 uq8 uq16 i32", 0.51),
    "Round": (11, np.round, (-5, 5), REALS, 0.51),
    "Rsqrt": (12, lambda x: 1 / np.sqrt(x), (0.2, 5), REALS, 1),
    "Sign": (13, np.sign, (-2, 2), REALS + " i8 i16 i32 i64 u32", 0.51),
    "Sin": (14, np.sin, (-7, 7), REALS, 1),
    "SquareRoot": (15, np.sqrt, (0, 9), ALL_REALS, 0.51),
}
# op: (operation of ElementWiseNeuron, formula, types, tolerance for f32)
ACTIVATIONS = {
    "Elu": (0, elu, ALL_REALS, 6),
    "Gelu": (1, gelu, REALS, None),
    "HardSwish": (3, hard_swish, REALS, 4),
    "Relu": (4, lambda x: np.maximum(x, 0), ALL_REALS, 0.51),
    "Sigmoid": (6, sigmoid, ALL_REALS, 4),
    "ElementWiseSoftplus": (7, softplus, "f32", 4),
    "Tanh": (8, np.tanh, ALL_REALS, 4),
    "Relu1": (None, lambda x: np.clip(x, -1, 1), REALS, 0.51),
    "Relu6": (None, lambda x: np.clip(x, 0, 6), REALS, 0.51),
}


def tol_of(dtype, f32_ulps):
    if dtype == "f32":
        return q.fp32(3e-6, 1e-12, per_element=True) if f32_ulps is None else q.ulp(f32_ulps)
    return q.ulp(0.51) if dtype == "f16" else None


def is_int(dtype):
    return q.dtype_class(dtype) == "int"


def positive(name, values, dtype):
    """Values whose codes stand for numbers above 0 only."""
    t = q.Tensor(name, values, dtype)
    if not q.is_fixed(dtype):
        return t
    return q.Tensor(name, np.maximum(t.codes, 1 - int(t.enc.offset[0])), dtype, t.enc)


def unary_cases(f):
    for op, (code, formula, (low, high), types, ulps) in UNARY.items():
        for dtype in types.split():
            for shape in SHAPES:
                if is_int(dtype):
                    least = 0 if dtype[0] == "u" else -9
                    x = q.Tensor("x", f.rng.integers(least, 10, shape), dtype)
                elif low > 0:
                    x = positive("x", f.rng.uniform(low, high, shape), dtype)
                else:
                    x = q.Tensor("x", f.rng.uniform(low, high, shape), dtype)
                if op == "Asin" and np.any(np.abs(x.real) > 1):
                    continue  # a code stands for a number a little outside
                value = formula(x.real)
                tol = tol_of(dtype, ulps)
                f.add("ElementWise" + op, [x], [q.Tensor("y", value, dtype, tol=tol)])
                if not is_int(dtype):
                    f.add("ElementWiseUnary", [x], [q.Tensor("y", value, dtype, tol=tol)],
                          {"operation": ("u32", code)}, name=f"Unary{op}_{dtype}")
    for dtype in ALL_REALS.split() + ["bf16"]:
        x = positive("x", f.rng.uniform(0.3, 4, (3, 5)), dtype)
        f.add("ElementWiseUnary", [x], [q.Tensor("y", 1 / x.real, dtype)],
              {"operation": ("u32", 10)}, name=f"UnaryReciprocal_{dtype}")
        x = q.Tensor("x", f.rng.normal(size=(3, 5)), dtype)
        f.add("ElementWiseUnary", [x], [q.Tensor("y", np.abs(x.real), dtype)],
              {"operation": ("u32", 0)}, name=f"UnaryAbs_{dtype}")


def encoded_cases(f):
    """Every code of an 8-bit type, wide and narrow output encodings, other output types."""
    for dtype in ("uq8", "sq8"):
        low, high = q.code_range(dtype)
        codes = np.arange(low, high + 1).reshape(16, 16)
        offset = -100 if dtype == "uq8" else 10
        x = q.Tensor("x", codes, dtype, q.scale_offset(0.05, offset))
        for op in ("Sigmoid", "Tanh", "Relu", "HardSwish", "Gelu"):
            value = ACTIVATIONS[op][1](x.real)
            for out in (q.fit(value, dtype), q.scale_offset(1 / 64, offset // 2)):
                f.add(op, [x], [q.Tensor("y", value, dtype, out)], name=f"{op}_{dtype}_all_codes")
            for wide in ("uq16", "f32", "f16"):
                f.add(op, [x], [q.Tensor("y", value, wide)], name=f"{op}_{dtype}_{wide}")
        narrow = q.Tensor("x", np.arange(-8, 8) if dtype == "sq8" else np.arange(16), dtype,
                          q.bw(4, 0.3, 0 if dtype == "sq8" else -8))
        f.add("Sigmoid", [narrow], [q.Tensor("y", sigmoid(narrow.real), "uq8")],
              name=f"Sigmoid_{dtype}_4_bits")
    data = f.rng.normal(size=(4, 6))
    x = q.Tensor("x", data, "sq8", q.fit_axis(data, 0))
    f.add("Tanh", [x], [q.Tensor("y", np.tanh(x.real), "sq8")], name="Tanh_per_axis")
    for scale, offset, dtype in ((1 / 65536, 0, "uq16"), (1 / 32768, 0, "sq16")):
        x = q.Tensor("x", f.rng.normal(0, 3, (5, 5)), dtype)
        f.add("Sigmoid", [x], [q.Tensor("y", sigmoid(x.real), dtype,
                                        q.scale_offset(scale, offset))])
    for scale, offset, dtype in ((1 / 32768, -32768, "uq16"), (1 / 32768, 0, "sq16")):
        x = q.Tensor("x", f.rng.normal(0, 3, (5, 5)), dtype)
        f.add("Tanh", [x], [q.Tensor("y", np.tanh(x.real), dtype, q.scale_offset(scale, offset))])


def bare_cases(f):
    """A result without an encoding: these two functions have one of their own."""
    for name, code, function in (("Sigmoid", 6, sigmoid), ("Tanh", 8, np.tanh)):
        for dtype, bits in (("uq8", 8), ("sq8", 8), ("uq16", 16), ("sq16", 16)):
            unsigned = dtype[0] == "u"
            enc = q.scale_offset(2.0 ** -(bits - (name == "Tanh" or not unsigned)),
                                 -2 ** (bits - 1) if name == "Tanh" and unsigned else 0)
            x = q.Tensor("x", f.rng.normal(0, 2, (3, 17)), dtype)
            middle = q.dequantize(q.quantize(function(x.real), enc, dtype), enc)
            y = q.Tensor("y", x.real * middle, dtype)
            for op, params in ((name, {}), ("ElementWiseNeuron", {"operation": ("u32", code)})):
                bare = q.Tensor("t", None, dtype, None, "native", dims=(3, 17))
                f.build([q.Node(op, [x], [bare], params),
                         q.Node("ElementWiseMultiply", [x, bare], [y])],
                        name=f"{name}_{dtype}_bare")


def activation_cases(f):
    for op, (code, formula, types, ulps) in ACTIVATIONS.items():
        for dtype in types.split():
            for shape in SHAPES:
                x = q.Tensor("x", f.rng.normal(0, 3, shape), dtype)
                y = formula(x.real)
                tol = tol_of(dtype, ulps)
                if op == "HardSwish" and dtype == "f32":
                    tol = q.fp32(1e-6)
                f.add(op, [x], [q.Tensor("y", y, dtype, tol=tol)])
                if code is not None:
                    f.add("ElementWiseNeuron", [x], [q.Tensor("y", y, dtype, tol=tol)],
                          {"operation": ("u32", code)}, name=f"Neuron{op}_{dtype}")
    for dtype in ("f32", "uq8", "sq8", "uq16"):
        for alpha in (0.5, 2.0):
            x = q.Tensor("x", f.rng.normal(0, 2, (3, 7)), dtype)
            params = {"alpha": ("f32", alpha)}
            f.add("Elu", [x], [q.Tensor("y", elu(x.real, alpha), dtype)], params)
            f.add("ElementWiseNeuron", [x], [q.Tensor("y", elu(x.real, alpha), dtype)],
                  {"operation": ("u32", 0), **params})
        for alpha, beta in ((None, None), (0.25, 0.75), (1 / 6, None)):
            x = q.Tensor("x", f.rng.normal(0, 3, (3, 7)), dtype)
            params = {"operation": ("u32", 2)}
            if alpha:
                params["alpha"] = ("f32", alpha)
            if beta:
                params["beta"] = ("f32", beta)
            y = hard_sigmoid(x.real, alpha or 0.2, beta or 0.5)
            f.add("ElementWiseNeuron", [x], [q.Tensor("y", y, dtype)], params)
        for low, high in ((-1.0, 1.0), (0.0, 6.0), (-0.5, 20.0), (1.0, 1.0)):
            x = q.Tensor("x", f.rng.normal(0, 4, (3, 7)), dtype)
            params = {"min_value": ("f32", low), "max_value": ("f32", high)}
            y = np.clip(x.real, low, high)
            f.add("ReluMinMax", [x], [q.Tensor("y", y, dtype)], params)
            f.add("ElementWiseNeuron", [x], [q.Tensor("y", y, dtype)],
                  {"operation": ("u32", 5), **params})
    for beta, threshold in ((2.0, 4.0), (0.5, 1.0), (1.0, 0.0), (3.0, -1.0)):
        params = {"beta": ("f32", beta), "threshold": ("f32", threshold)}
        x = q.Tensor("x", np.concatenate([f.rng.normal(0, 8, 30), [-200, 200, 90]]))
        y = softplus(x.real, beta, threshold)
        f.add("ElementWiseSoftplus", [x], [q.Tensor("y", y, tol=q.ulp(4))], params)
        f.add("ElementWiseNeuron", [x], [q.Tensor("y", y, tol=q.ulp(4))],
              {"operation": ("u32", 7), **params})


def integer_cases(f):
    top = 2 ** 31 - 1
    x = np.array([0, 1, -1, 5, -7, top, -top - 1])
    t = q.Tensor("x", x, "i32")
    f.add("ElementWiseNeuron", [t], [q.Tensor("y", np.maximum(x, 0), "i32")],
          {"operation": ("u32", 4)}, name="NeuronRelu_i32")
    limits = {"min_value": ("f32", -3.0), "max_value": ("f32", 4.0)}
    f.add("ReluMinMax", [t], [q.Tensor("y", np.clip(x, -3, 4), "i32")], limits)
    f.add("ElementWiseNeuron", [t], [q.Tensor("y", np.clip(x, -3, 4), "i32")],
          {"operation": ("u32", 5), **limits}, name="NeuronClamp_i32")
    small = q.Tensor("x", np.array([-40, -2, 0, 3, 40]), "i32")
    f.add("ElementWiseNeuron", [small], [q.Tensor("y", np.trunc(np.tanh(small.real)), "i32")],
          {"operation": ("u32", 8)}, name="NeuronTanh_i32")
    f.add("ElementWiseAbs", [t], [q.Tensor("y", np.where(x == -top - 1, x, np.abs(x)), "i32")],
          name="Abs_i32_limits")
    f.add("ElementWiseNeg", [t], [q.Tensor("y", np.where(x == -top - 1, x, -x), "i32")],
          name="Neg_i32_limits")
    long = q.Tensor("x", np.array([0, 2 ** 62, -2 ** 63, -5]), "i64")
    f.add("ElementWiseSign", [long], [q.Tensor("y", np.sign(long.real), "i64")])


def not_cases(f):
    for dtype in ("b8", "u8", "uq8", "sq8"):
        for shape in SHAPES:
            enc = q.scale_offset(0.5, -3) if q.is_fixed(dtype) else None
            x = q.Tensor("x", f.rng.integers(0, 3, shape), dtype, enc)
            y = q.Tensor("y", (x.codes == 0).astype(int), dtype, enc, tol=q.exact())
            f.add("ElementWiseNot", [x], [y])
            y = q.Tensor("y", (x.codes == 0).astype(int), dtype, enc, tol=q.exact())
            f.add("ElementWiseUnary", [x], [y], {"operation": ("u32", 9)}, name=f"UnaryNot_{dtype}")


def float_test_cases(f):
    special = np.array([[0.0, np.inf, -np.inf, np.nan], [1.0, -5.0, 6e4, -0.0]], np.float32)
    for dtype in ("f32", "f16"):
        x = q.Tensor("x", special, dtype)
        f.add("IsNan", [x], [q.Tensor("y", np.isnan(special), "b8")])
        f.add("IsInf", [x], [q.Tensor("y", np.isinf(special), "b8")])
        for plus in (False, True):
            for minus in (False, True):
                y = (plus & np.isposinf(special)) | (minus & np.isneginf(special))
                f.add("IsInf", [x], [q.Tensor("y", y, "b8")],
                      {"detect_positive": ("b8", plus), "detect_negative": ("b8", minus)})
    x = q.Tensor("x", np.float32(np.nan).reshape(()), "f32")
    f.add("IsNan", [x], [q.Tensor("y", np.array(True), "b8")], name="IsNan_0d")


def logit(p):
    return np.log(p) - np.log1p(-p)


def logit_cases(f):
    for dtype in ALL_REALS.split():
        for shape in ((6,), (3, 5), ()):
            x = q.Tensor("x", f.rng.uniform(0.05, 0.95, shape), dtype,
                         q.scale_offset(1 / 256 if dtype.endswith("8") else 1 / 32768)
                         if q.is_fixed(dtype) else None)
            if q.is_fixed(dtype):
                x = q.Tensor("x", np.clip(x.codes, 3, None), dtype, x.enc)
            f.add("Logit", [x], [q.Tensor("y", logit(x.real), dtype)])
            for kind in ("static", "input"):
                eps = q.Tensor("eps", np.array([0.2]), "f32", kind=kind)
                e = eps.real[0]
                f.add("Logit", [x, eps],
                      [q.Tensor("y", logit(np.clip(x.real, e, 1 - e)), dtype)])
    x = q.Tensor("x", np.array([0.0, 1.0, 0.5, -1.0, np.nan], np.float32))
    want = np.array([-np.inf, np.inf, 0.0, np.nan, np.nan])
    f.add("Logit", [x], [q.Tensor("y", want)], name="Logit_special")


def special_cases(f):
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, -1e-40, 88.0, 88.8, -88.0, -104.0, 120,
                  -120, 1e30, -1e30, 1e-8, -1e-8, 0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
    t = q.Tensor("x", x)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        for op, (_, formula, _, _, ulps) in UNARY.items():
            # near the ends of the range a float result has few bits left
            f.add("ElementWise" + op, [t], [q.Tensor("y", formula(wide), tol=q.ulp(max(ulps, 1)))],
                  name=f"{op}_special")
        for op in ("Relu", "Relu1", "Relu6", "Tanh", "Elu"):
            f.add(op, [t], [q.Tensor("y", ACTIVATIONS[op][1](wide), tol=q.ulp(6))],
                  name=f"{op}_special")
        f.add("Sigmoid", [t], [q.Tensor("y", sigmoid(wide), tol=q.fp32(atol=1e-38))],
              name="Sigmoid_special")
        y = gelu(wide)
        y[1] = 0.0
        f.add("Gelu", [t], [q.Tensor("y", y, tol=q.fp32(3e-6, per_element=True))],
              name="Gelu_special")
    # limits of fixed point: log 0, rsqrt 0, 1 / 0
    zero = q.Tensor("x", np.array([0, 1, 2, 255]), "uq8", q.scale_offset(0.1))
    out = q.scale_offset(0.02, -128)
    real = zero.real
    with np.errstate(divide="ignore"):
        for op, y in (("Log", np.log(real)), ("Rsqrt", 1 / np.sqrt(real))):
            f.add("ElementWise" + op, [zero], [q.Tensor("y", y, "uq8", out)], name=f"{op}_of_0")
        f.add("ElementWiseUnary", [zero], [q.Tensor("y", 1 / real, "uq8", out)],
              {"operation": ("u32", 10)}, name="Reciprocal_of_0")


def dense_cases(f):
    """The fast forms over their whole range, with enough elements for several tasks."""
    x = q.Tensor("x", np.linspace(-110, 95, 40003))
    tail = np.linspace(-12, 12, 40003)
    with np.errstate(over="ignore"):
        f.add("ElementWiseExp", [x], [q.Tensor("y", np.exp(x.real), tol=q.ulp(3))])
    for op, (_, formula, _, _) in ACTIVATIONS.items():
        t = q.Tensor("x", tail)
        tol = q.fp32(3e-6, atol=1e-12, per_element=True) if op == "Gelu" else \
            q.fp32(1e-6, per_element=True)
        if op == "HardSwish":
            tol = q.fp32(1e-6)
        f.add(op, [t], [q.Tensor("y", formula(t.real), tol=tol)], name=f"{op}_dense")


def dynamic_cases(f):
    for dtype in ("f32", "uq8", "uq16", "f16"):
        for op, formula, params in (
                ("Sigmoid", sigmoid, {}), ("ElementWiseSquareRoot", np.sqrt, {}),
                ("ElementWiseNeuron", np.tanh, {"operation": ("u32", 8)}),
                ("ElementWiseUnary", np.abs, {"operation": ("u32", 0)})):
            x = q.Tensor("x", f.rng.uniform(0.5, 2, (3, 4, 5)), dtype, dims=(6, 4, 8),
                         dynamic=(1, 0, 1))
            y = q.Tensor("y", formula(x.real), dtype, dims=(6, 4, 8), dynamic=(1, 0, 1))
            f.add(op, [x], [y], params, name=f"{op}_{dtype}_dynamic")


def error_cases(f):
    def refuse(op, x, y, name, params=None, dims=(3,)):
        f.add(op, [q.Tensor("x", np.zeros(3, int if is_int(x) or x == "b8" else float), x)],
              [q.Tensor("y", None, y, dims=dims)], params or {}, name=name, error=q.error())

    neuron = "ElementWiseNeuron"
    refuse("Relu", "f32", "f32", "Relu_shape", dims=(4,))
    refuse("ElementWiseAbs", "f32", "i32", "Abs_real_to_integer")
    refuse("ElementWiseAbs", "i32", "f32", "Abs_integer_to_real")
    refuse("ReluMinMax", "f32", "f32", "ReluMinMax_no_max", {"min_value": ("f32", 2.0)})
    refuse("ReluMinMax", "f32", "f32", "ReluMinMax_nan",
           {"min_value": ("f32", np.nan), "max_value": ("f32", 1.0)})
    refuse("ElementWiseSoftplus", "f32", "f32", "Softplus_beta_0", {"beta": ("f32", 0.0)})
    refuse(neuron, "f32", "f32", "Neuron_softplus_beta_negative",
           {"operation": ("u32", 7), "beta": ("f32", -1.0)})
    refuse(neuron, "f32", "f32", "Neuron_alpha_with_relu",
           {"operation": ("u32", 4), "alpha": ("f32", 1.0)})
    refuse(neuron, "f32", "f32", "Neuron_beta_with_elu",
           {"operation": ("u32", 0), "beta": ("f32", 1.0)})
    refuse(neuron, "f32", "f32", "Neuron_threshold_with_tanh",
           {"operation": ("u32", 8), "threshold": ("f32", 1.0)})
    refuse(neuron, "f32", "f32", "Neuron_limits_with_relu",
           {"operation": ("u32", 4), "min_value": ("f32", 0.0), "max_value": ("f32", 1.0)})
    refuse(neuron, "f32", "f32", "Neuron_no_max", {"operation": ("u32", 5),
                                                   "min_value": ("f32", 0.0)})
    refuse(neuron, "f32", "f32", "Neuron_unknown_operation", {"operation": ("u32", 9)})
    refuse(neuron, "f32", "f32", "Neuron_no_operation")
    refuse("ElementWiseUnary", "f32", "f32", "Unary_unknown_operation", {"operation": ("u32", 16)})
    refuse("ElementWiseUnary", "f32", "f32", "Unary_not_of_floats", {"operation": ("u32", 9)})
    refuse("ElementWiseNot", "f32", "b8", "Not_of_floats")
    refuse("IsNan", "f32", "f32", "IsNan_float_output")
    refuse("Elu", "f32", "f32", "Elu_alpha_integer", {"alpha": ("i32", 1)})
    x, eps = q.Tensor("x", np.zeros(3)), q.Tensor("e", np.zeros(2))
    f.add("Logit", [x, eps], [q.Tensor("y", None, dims=(3,))], name="Logit_two_epsilons",
          error=q.error())


def cases(f):
    unary_cases(f)
    encoded_cases(f)
    bare_cases(f)
    activation_cases(f)
    integer_cases(f)
    not_cases(f)
    float_test_cases(f)
    logit_cases(f)
    special_cases(f)
    dense_cases(f)
    dynamic_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
