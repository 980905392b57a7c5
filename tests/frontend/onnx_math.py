# SPDX-License-Identifier: MIT
"""Element-wise ops: accuracy over their whole range, every integer type, old opsets, layouts,
quantized units, odd shapes, refusals."""
import math

import numpy as np

from case_onnx import case, encoding, node, quantized_case

RNG = np.random.default_rng(7)
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def f32(*shape, low=-3.0, high=3.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def ints(dtype, *shape, low=None, high=None):
    info = np.iinfo(dtype)
    low = max(info.min, -50) if low is None else low
    high = min(info.max, 100) if high is None else high
    return RNG.integers(low, high, shape, dtype=np.int64).astype(dtype)


def spread(low, high, n=400):
    """Both signs of numbers between low and high, evenly spread in their logarithm."""
    a = np.exp(np.linspace(np.log(low), np.log(high), n))
    return np.concatenate([-a[::-1], a]).astype(np.float32)


def erf(x):
    return np.vectorize(math.erf)(x)


def gelu(x):
    return 0.5 * x * np.vectorize(math.erfc)(-x / math.sqrt(2))


def tanh_gelu(x):
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x / (1 + np.exp(-2 * u))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def accuracy():
    """Each element within a few units of the last place of the exact result."""
    near_one = (1 + np.exp(np.linspace(-16, 0, 200))).astype(np.float32)
    below_one = (1 - np.exp(np.linspace(-16, -1, 200))).astype(np.float32)
    unit = np.concatenate([spread(1e-20, 0.6), below_one, -below_one]).astype(np.float32)
    wide = spread(1e-20, 1e30)
    mid = spread(1e-20, 80)
    for op, fn, x, tol in [
            ("Acos", np.arccos, unit, 1e-6), ("Asin", np.arcsin, unit, 1e-6),
            ("Atan", np.arctan, wide, 1e-6),
            ("Acosh", np.arccosh, np.concatenate([near_one, wide[wide > 1]]), 2e-6),
            ("Asinh", np.arcsinh, wide, 1e-6), ("Atanh", np.arctanh, unit, 2e-6),
            ("Cosh", np.cosh, mid, 2e-6), ("Sinh", np.sinh, mid, 2e-6),
            ("Tan", np.tan, spread(1e-20, 1.5), 2e-6), ("Erf", erf, spread(1e-20, 6), 1e-6),
            ("Exp", np.exp, mid, 1e-6), ("Log", np.log, wide[wide > 0], 1e-6),
            ("Sqrt", np.sqrt, wide[wide > 0], 1e-6), ("Tanh", np.tanh, mid, 1e-6),
            ("Sin", np.sin, spread(1e-20, 3), 1e-6), ("Cos", np.cos, spread(1e-20, 1.5), 1e-6),
            ("Sigmoid", lambda x: 1 / (1 + np.exp(-x)), mid, 1e-6),
            ("Softsign", lambda x: x / (1 + np.abs(x)), wide, 1e-6),
            ("Softplus", softplus, mid, 2e-6),
            ("Mish", lambda x: x * np.tanh(softplus(x)), mid, 3e-6),
            ("Reciprocal", lambda x: 1 / x, wide, 1e-6)]:
        with np.errstate(over="ignore"):
            want = fn(x.astype(np.float64)).astype(np.float32)
        yield case("accurate_" + op, node(op, "x", "y"), {"x": x}, expected=[want], tol=tol,
                   atol=1e-37, relative=True)
    x = spread(1e-20, 8)
    for name, op, fn, attributes in [
            ("Gelu", "Gelu", gelu, {}), ("Gelu_tanh", "Gelu", tanh_gelu, {"approximate": "tanh"}),
            ("Swish", "Swish", lambda x: x / (1 + np.exp(-1.5 * x)), {"alpha": 1.5})]:
        yield case("accurate_" + name, node(op, "x", "y", **attributes), {"x": x}, tol=1e-6,
                   opset=24, expected=[fn(x.astype(np.float64)).astype(np.float32)])
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)
    for op in ["Asinh", "Cosh", "Sinh", "Erf", "Tanh", "Softplus", "Relu", "Abs", "Exp", "Sigmoid",
               "Sign", "Floor", "Round"]:
        with np.errstate(all="ignore"):
            yield case("ends_" + op, node(op, "x", "y"), {"x": ends},
                       expected=[erf(ends).astype(np.float32)] if op == "Erf" else None)
    yield case("ends_Acosh", node("Acosh", "x", "y"),
               {"x": np.array([1, np.inf, 0.5, np.nan], np.float32)},
               expected=[np.array([0, np.inf, np.nan, np.nan], np.float32)])
    yield case("ends_Atanh", node("Atanh", "x", "y"),
               {"x": np.array([1, -1, 2, 0], np.float32)},
               expected=[np.array([np.inf, -np.inf, np.nan, 0], np.float32)])
    yield case("round_halves", node("Round", "x", "y"),
               {"x": np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997], np.float32)})


def integer_types():
    for t in INTEGERS:
        name = np.dtype(t).name
        a, b = ints(t, 3, 4), ints(t, 3, 4, low=1, high=90)
        few = ints(t, 3, 4, low=0, high=4)
        if t == np.uint64:
            a += b  # QNN tensors have 32 bits: a difference below 0 would wrap there
        for op in ["Add", "Sub", "Mul", "Div", "Mod"]:
            yield case(f"{op}_{name}", node(op, "a b", "y"), {"a": a, "b": b},
                       expected=[(np.sign(a.astype(np.int64)) *
                                  (np.abs(a.astype(np.int64)) // b.astype(np.int64))).astype(t)]
                       if op == "Div" else None)
        yield case(f"Mod_c_{name}", node("Mod", "a b", "y", fmod=1), {"a": a, "b": b},
                   expected=[np.fmod(a, b)])
        for op in ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]:
            yield case(f"{op}_{name}", node(op, "a b", "y"), {"a": few, "b": few[::-1].copy()})
        for op in ["Max", "Min"]:
            yield case(f"{op}_{name}", node(op, "a b c", "y"), {"a": a, "b": b, "c": few})
        for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
            yield case(f"{op}_{name}", node(op, "a b", "y"), {"a": a, "b": b})
        yield case(f"BitwiseNot_{name}", node("BitwiseNot", "a", "y"), {"a": few if t in (
            np.uint64,) else a}, expected=None if t != np.uint64 else [~few & 0xFFFFFFFF])
        yield case(f"Abs_{name}", node("Abs", "a", "y"), {"a": a})
        yield case(f"Sign_{name}", node("Sign", "a", "y"), {"a": a})
        yield case(f"Clip_{name}", node("Clip", "a low high", "y"), {"a": a},
                   constants={"low": t(2), "high": t(40)})
        yield case(f"Clip_live_{name}", node("Clip", "a low high", "y"),
                   {"a": a, "low": t(2), "high": t(40)})
        yield case(f"Where_{name}", node("Where", "c a b", "y"),
                   {"c": few > 1, "a": a, "b": b[0]})
        yield case(f"CastFrom_{name}", node("Cast", "a", "y", to=1), {"a": a})
        yield case(f"CastTo_{name}", node("CastLike", "x like", "y"),
                   {"x": f32(3, 4, low=0, high=100)}, constants={"like": a})
        yield case(f"Shrink_{name}", node("Shrink", "a", "y", lambd=5.0, bias=1.0), {"a": a},
                   expected=[np.where(a > 5, a - t(1), np.where(
                       a.astype(np.int64) < -5, a + t(1), t(0))).astype(t)])
        if np.dtype(t).kind == "i":
            yield case(f"Neg_{name}", node("Neg", "a", "y"), {"a": a})
            yield case(f"Relu_{name}", node("Relu", "a", "y"), {"a": a})
        else:
            for way in ["LEFT", "RIGHT"]:
                yield case(f"BitShift_{way}_{name}", node("BitShift", "a b", "y", direction=way),
                           {"a": a, "b": few})
    for t in [np.int32, np.int64, np.uint32, np.uint64]:
        name = np.dtype(t).name
        a = ints(t, 5, low=0, high=9)
        for e in [np.int32, np.int64, np.uint8, np.float32]:
            b = np.array([0, 1, 2, 3, 5]).astype(e)
            yield case(f"Pow_{name}_{np.dtype(e).name}", node("Pow", "a b", "y"),
                       {"a": a, "b": b}, expected=[np.power(
                           a.astype(np.float64), b.astype(np.float64)).astype(t)])
    for t in [np.int32, np.int64]:
        yield case(f"PRelu_{np.dtype(t).name}", node("PRelu", "a b", "y"),
                   {"a": ints(t, 2, 3), "b": ints(t, 3)})
    for t in [np.int8, np.uint8, np.int16, np.uint16, np.int32]:
        info = np.iinfo(t)
        a = np.array([info.max, info.max - 3, info.min, info.min + 2], t)
        b = np.array([1, 100, -1 if info.min else 1, 7], np.int64).astype(t)
        with np.errstate(over="ignore"):
            yield case(f"wrap_Add_{np.dtype(t).name}", node("Add", "a b", "y"), {"a": a, "b": b},
                       expected=[a + b])
            yield case(f"wrap_Mul_{np.dtype(t).name}", node("Mul", "a b", "y"), {"a": a, "b": b},
                       expected=[a * b])
    yield case("BitwiseXor_wide", node("BitwiseXor", "a b", "y"), {
        "a": np.array([0x12345678, -1, -0x80000000, 0x7FFFFFFF], np.int32),
        "b": np.array([0x0F0F0F0F, 0x55555555, -1, -0x80000000], np.int32)})
    for t in [np.int32, np.uint32, np.int8, np.uint16]:
        info = np.iinfo(t)
        some = ints(t, 5, 1, 37, low=info.min, high=info.max)
        row = ints(t, 3, 1, low=info.min, high=info.max)
        for op, of in [("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)]:
            name = f"Bitwise{op}_{np.dtype(t).name}"
            yield case(f"{name}_spread", node(f"Bitwise{op}", "a b", "y"), {"a": some, "b": row},
                       expected=[of(some, row)])
            yield case(f"{name}_constant", node(f"Bitwise{op}", "a b", "y"), {"a": some},
                       constants={"b": row}, expected=[of(some, row)])
            yield case(f"{name}_constant_first", node(f"Bitwise{op}", "b a", "y"), {"a": some},
                       constants={"b": row}, expected=[of(some, row)])
        yield case(f"bits_of_bits_{np.dtype(t).name}", [
            node("Add", "a b", "s"), node("BitwiseAnd", "a b", "x"), node("BitwiseOr", "x s", "z"),
            node("BitwiseXor", "z x", "w"), node("BitwiseNot", "w", "y")], {"a": some, "b": row},
            expected=[~(((some & row) | (some + row)) ^ (some & row))])
    shifted = ints(np.uint32, 4, 35, low=0, high=2**32 - 1)
    by = np.arange(35).astype(np.uint32)
    for way, of in [("LEFT", np.left_shift), ("RIGHT", np.right_shift)]:
        yield case(f"BitShift_{way}_all", node("BitShift", "a b", "y", direction=way),
                   {"a": shifted, "b": by},
                   expected=[np.where(by < 32, of(shifted, by % 32), 0).astype(np.uint32)])
    big = np.array([0xFFFFFFFF, 0x80000000, 5, 0], np.uint32)
    for op in ["Max", "Div", "Mod", "Greater"]:
        yield case(f"{op}_uint32_large", node(op, "a b", "y"),
                   {"a": big, "b": np.array([3, 0xFFFFFFFE, 7, 9], np.uint32)})
    flags = np.array([[True, False], [True, True]]), np.array([False, True])
    for op in ["And", "Or", "Xor", "Equal"]:
        yield case(f"{op}_bool", node(op, "a b", "y"), {"a": flags[0], "b": flags[1]})
    yield case("Not_bool", node("Not", "a", "y"), {"a": flags[0]})
    yield case("Where_bool", node("Where", "c a b", "y"),
               {"c": flags[0], "a": ~flags[0], "b": flags[1]})


def half():
    for op in ["Add", "Mul", "Div", "Pow", "Max", "Mod", "Greater"]:
        attributes = {"fmod": 1} if op == "Mod" else {}
        yield case(f"{op}_float16", node(op, "a b", "y", **attributes),
                   {"a": f32(2, 5, low=0.1).astype(np.float16),
                    "b": f32(5, low=0.5).astype(np.float16)}, tol=1e-3)
    for op in ["Abs", "Asin", "Erf", "Exp", "Sigmoid", "Gelu", "Softplus", "Mish", "HardSwish",
               "Elu", "LeakyRelu", "ThresholdedRelu", "Relu", "IsNaN", "Neg", "HardSigmoid"]:
        yield case(f"{op}_float16", node(op, "a", "y"),
                   {"a": f32(3, 7, low=-0.9, high=0.9).astype(np.float16)}, tol=1e-3)
    yield case("Sum_float16", node("Sum", "a b c", "y"),
               {n: f32(4).astype(np.float16) for n in "abc"}, tol=1e-3)


def old_opsets():
    x, channel = f32(2, 3, 4, 5), f32(3, low=0.5)
    along = channel.reshape(3, 1, 1)
    for op, fn in [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply),
                   ("Div", np.divide)]:
        yield case(f"{op}_6_axis", node(op, "x b", "y", broadcast=1, axis=1), {"x": x}, opset=6,
                   constants={"b": channel}, expected=[fn(x, along)])
    yield case("Add_6_axis_live", node("Add", "x b", "y", broadcast=1, axis=1, consumed_inputs=[0]),
               {"x": x, "b": channel}, opset=5, expected=[x + along])
    yield case("Add_6_two", node("Add", "x b", "y", broadcast=1, axis=-3),
               {"x": x, "b": x[0, :, :, 0]}, opset=6, expected=[x + x[0, :, :, :1]])
    yield case("Add_6_suffix", node("Add", "x b", "y", broadcast=1), {"x": x, "b": x[0, 0]},
               opset=6, expected=[x + x[0, 0]])
    yield case("Less_1_axis", node("Less", "x b", "y", broadcast=1, axis=1), {"x": x, "b": channel},
               opset=6, expected=[x < along])
    yield case("Pow_1_axis", node("Pow", "x b", "y", broadcast=1, axis=1),
               {"x": np.abs(x), "b": channel}, opset=6, expected=[np.abs(x)**along])
    yield case("PRelu_6_channels", node("PRelu", "x b", "y"), {"x": x, "b": channel}, opset=6,
               expected=[np.where(x < 0, x * along, x)])
    yield case("Clip_6", node("Clip", "x", "y", min=-1.0, max=0.5), {"x": x}, opset=6)
    yield case("Clip_6_min", node("Clip", "x", "y", min=-1.0), {"x": x}, opset=6,
               expected=[np.maximum(x, -1)])
    yield case("Clip_crossed", node("Clip", "x low high", "y"), {"x": x},
               constants={"low": np.float32(1), "high": np.float32(-1)}, opset=13,
               expected=[np.full_like(x, -1)])
    yield case("Clip_live", node("Clip", "x - high", "y"), {"x": x, "high": np.float32(0.3)})
    yield case("Selu_1", node("Selu", "x", "y"), {"x": x}, opset=5,
               expected=[1.0507 * np.where(x > 0, x, 1.6732 * np.expm1(x)).astype(np.float32)])
    yield case("Cast_1", node("Cast", "x", "y", to="INT32"), {"x": x}, opset=1,
               expected=[x.astype(np.int32)])
    yield case("Sum_6", node("Sum", "x x x", "y"), {"x": x}, opset=6, expected=[x + x + x])
    yield case("Dropout_1", node("Dropout", "x", "y", is_test=1), {"x": x}, opset=1, expected=[x])
    yield case("Dropout_7_mask", node("Dropout", "x", "y mask"), {"x": x}, "y mask", opset=7,
               expected=[x, np.ones_like(x)])
    yield case("Dropout_10_mask", node("Dropout", "x", "y mask"), {"x": x}, "y mask", opset=10,
               expected=[x, np.ones(x.shape, bool)])
    yield case("Dropout_13", node("Dropout", "x ratio train", "y"), {"x": x}, opset=13,
               constants={"ratio": np.float32(0), "train": np.array(True)}, expected=[x])


def parameters():
    x = f32(3, 40, low=-6, high=6)
    for op, attributes in [
            ("Elu", {"alpha": 2.5}), ("Elu", {"alpha": -0.7}), ("Celu", {"alpha": 2.5}),
            ("Selu", {"alpha": 1.2, "gamma": 3.0}), ("Selu", {"alpha": -0.5, "gamma": 2.0}),
            ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("LeakyRelu", {"alpha": 0.2}),
            ("LeakyRelu", {"alpha": -0.2}), ("LeakyRelu", {"alpha": 1.5}),
            ("ThresholdedRelu", {"alpha": 0.6}), ("Shrink", {"lambd": 1.5, "bias": 0.5}),
            ("IsInf", {"detect_negative": 0})]:
        data = np.where(x > 5, np.inf, np.where(x < -5, -np.inf, x)) if op == "IsInf" else x
        name = "_".join([op, *(f"{k}{v:g}" for k, v in attributes.items())])
        yield case(name, node(op, "x", "y", **attributes), {"x": data.astype(np.float32)})
    d = {"x": x, "b": f32(40)}
    s = x.astype(np.float64)
    t = s + d["b"]
    for name, names, want in [("Gelu", "x", gelu(s)), ("FastGelu", "x", tanh_gelu(s)),
                              ("FastGelu", "x b", tanh_gelu(t)), ("BiasGelu", "x b", gelu(t)),
                              ("QuickGelu", "x", s / (1 + np.exp(-1.702 * s)))]:
        yield case(f"microsoft_{name}_{len(names.split())}",
                   node(name, names, "y", "com.microsoft"), {n: d[n] for n in names.split()},
                   microsoft=True, expected=[want.astype(np.float32)])


def shapes():
    one = np.float32(2.5)
    yield case("scalars", node("Add", "a b", "y"), {"a": one, "b": one})
    yield case("scalar_unary", node("Sqrt", "a", "y"), {"a": one})
    yield case("scalar_cast", node("Cast", "a", "y", to=7), {"a": one})
    yield case("scalar_erf", node("Erf", "a", "y"), {"a": one})
    yield case("scalar_where", node("Where", "c a b", "y"),
               {"c": np.array(True), "a": one, "b": np.float32(1)})
    yield case("scalar_and_one", node("Mul", "a b", "y"), {"a": one, "b": f32(1)})
    for a, b in [((3, 1, 5), (4, 1)), ((1,), (2, 3)), ((2, 1, 3, 1, 2), (4, 1, 5, 1)),
                 ((1, 2, 1, 3, 1, 2), (2, 1, 2, 1, 2, 1)), ((7,), ()), ((2, 3, 4), (1, 1, 1))]:
        name = "x".join(map(str, a)) + "_" + "x".join(map(str, b))
        yield case("broadcast_" + name, node("Sub", "a b", "y"), {"a": f32(*a), "b": f32(*b)})
    parts = {"a": f32(3, 1), "b": f32(4), "c": f32(2, 1, 1)}
    yield case("mean_broadcast", node("Mean", "a b c", "y"), parts,
               expected=[(parts["a"] + parts["b"] + parts["c"]) / np.float32(3)])
    yield case("where_broadcast", node("Where", "c a b", "y"),
               {"c": f32(3, 1) > 0, "a": f32(2, 1, 1), "b": f32(4)})
    yield case("prelu_slope", node("PRelu", "a b", "y"), {"a": f32(2, 3, 4, 5), "b": f32(3, 1, 1)})
    x = f32(2, 3)
    yield case("identity_through", node("Identity", "x", "y"), {"x": x})
    yield case("identity_twice", [node("Relu", "x", "r"), node("Identity", "r", "y"),
                                  node("Identity", "r", "z")], {"x": x}, "r y z")
    yield case("identity_constant", [node("Identity", "c", "y"), node("Neg", "x", "z")], {"x": x},
               "y z", constants={"c": x})
    yield case("max_one", node("Max", "x", "y"), {"x": x})
    yield case("same_operand", node("Mul", "x x", "y"), {"x": x})


def layouts():
    """Between convolutions an op runs in the layout of the image: transposes only at the edges."""
    x, k = f32(1, 4, 6, 5), f32(4, 4, 3, 3, low=-0.4, high=0.4)
    around = [node("Conv", "x k", "a", pads=[1, 1, 1, 1]),
              node("Conv", "b k", "y", pads=[1, 1, 1, 1])]
    c = {"k": k, "channel": f32(4, 1, 1, low=0.5), "row": f32(5, low=0.5),
         "full": f32(1, 4, 6, 5, low=0.5), "one": np.float32(1.5), "low": np.float32(-0.5)}
    for name, middle in [
            ("Relu", node("Relu", "a", "b")), ("Erf", node("Erf", "a", "b")),
            ("Clip", node("Clip", "a low one", "b")), ("LeakyRelu", node("LeakyRelu", "a", "b")),
            ("Add_channel", node("Add", "a channel", "b")), ("Mul_row", node("Mul", "a row", "b")),
            ("Sub_full", node("Sub", "full a", "b")), ("Div_one", node("Div", "a one", "b")),
            ("PRelu", node("PRelu", "a channel", "b")), ("Sum", node("Sum", "a a channel", "b")),
            ("Mish", node("Mish", "a", "b")), ("Identity", node("Identity", "a", "b")),
            ("Selu", node("Selu", "a", "b")), ("Dropout", node("Dropout", "a", "b"))]:
        used = {n: c[n] for n in ["k", *(i for i in middle.input if i in c)]}
        yield case("conv_" + name, [around[0], middle, around[1]], {"x": x}, constants=used,
                   transposes=2)
    yield case("conv_Where", [around[0], node("Greater", "a one", "g"),
                              node("Where", "g a channel", "b"), around[1]], {"x": x},
               constants={n: c[n] for n in ["k", "one", "channel"]}, transposes=2)
    yield case("conv_Add_live", [around[0], node("Add", "a live", "b"), around[1]],
               {"x": x, "live": f32(4, 1, 1)}, constants={"k": k}, transposes=2)
    yield case("conv_Mul_gate", [around[0], node("Sigmoid", "a", "s"), node("Mul", "a s", "b"),
                                 around[1]], {"x": x}, constants={"k": k}, transposes=2)


def quantized():
    image = f32(1, 3, 6, 5)
    two = {"a": image, "b": f32(1, 3, 6, 5, low=-2, high=2)}
    positive = f32(2, 30, low=0.05, high=4)
    for bits, signed in [(8, False), (8, True), (16, False), (16, True)]:
        kind = ("s" if signed else "u") + str(bits)
        q = {"bits": bits, "signed": signed, "steps": 1 if bits == 8 else 2}
        for op in ["Add", "Sub", "Mul", "Max", "Min"]:
            yield quantized_case(f"{op}_{kind}", op, two, **q)
        for op in ["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "HardSwish", "Elu", "LeakyRelu",
                   "Softplus", "Mish", "HardSigmoid", "Sin", "Floor", "Round", "Celu", "Selu",
                   "Softsign", "Sign"]:
            yield quantized_case(f"{op}_{kind}", op, {"a": image}, **q)
        for op, fn in [("Gelu", gelu), ("Erf", erf)]:
            yield quantized_case(f"{op}_{kind}", op, {"a": image}, reference=fn, **q)
        yield quantized_case(f"Gelu_tanh_{kind}", "Gelu", {"a": image}, reference=tanh_gelu,
                             approximate="tanh", **q)
        for op in ["Exp", "Log", "Sqrt", "Reciprocal"]:
            yield quantized_case(f"{op}_{kind}", op, {"a": positive}, **q)
        yield quantized_case(f"Div_{kind}", "Div", {"a": f32(2, 30), "b": positive}, **q)
        yield quantized_case(f"Pow_{kind}", "Pow", {"a": positive, "b": np.full(
            (1,), 2, np.float32)}, **q)
        yield quantized_case(f"Sum3_{kind}", "Sum", two | {"c": f32(3, 1, 1)}, **q)
        yield quantized_case(f"Mean_{kind}", "Mean", two, **q)
        yield quantized_case(f"Add_constant_{kind}", "Add", {"a": image, "b": f32(3, 1, 1)},
                             constants=["b"], **q)
        yield quantized_case(f"PRelu_{kind}", "PRelu", {"a": image, "b": f32(3, 1, 1, low=0)},
                             constants=["b"], **q)
        yield quantized_case(f"QuickGelu_{kind}", "QuickGelu", {"a": image}, domain="com.microsoft",
                             reference=lambda x: x / (1 + np.exp(-1.702 * x)), **q)
    # Clip and Pow take float constants as parameters.
    s, z = encoding(positive)
    low, high = np.float32(0.5), np.float32(2.5)
    ends = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"),
            node("QuantizeLinear", "f t z", "r"), node("DequantizeLinear", "r t z", "y")]
    for name, inner, scale, constants in [
            ("Clip", node("Clip", "d low high", "f"), s, {"low": low, "high": high}),
            ("Pow", node("Pow", "d two", "f"), s * 4, {"two": np.float32(2)})]:
        yield case("parameter_" + name, [ends[0], ends[1], inner, ends[2], ends[3]],
                   {"x": positive}, constants={"s": s, "z": z, "t": np.float32(scale), **constants},
                   tol=0, atol=1.01 * float(scale))
    # Types that Convert does not take are requantized through float; so are integers.
    for t in [np.int8, np.int16]:
        yield case(f"requantize_{np.dtype(t).name}", [
            ends[0], ends[1], node("QuantizeLinear", "d t w", "r"),
            node("DequantizeLinear", "r t w", "y")], {"x": positive},
            constants={"s": s, "z": z, "t": np.float32(0.05), "w": t(3)}, tol=0, atol=0.051)
    yield case("quantize_int32", node("QuantizeLinear", "x s z", "y"),
               {"x": ints(np.int32, 20)}, constants={"s": np.float32(0.5), "z": np.uint8(100)})
    # Comparisons of quantized values give plain booleans.
    yield case("compare", [ends[0], ends[1], node("Greater", "d half", "y")], {"x": positive},
               constants={"s": s, "z": z, "half": np.float32(1.003 * s * 40)})
    yield case("compare_both", [ends[0], ends[1], node("Less", "d d", "y")], {"x": positive},
               constants={"s": s, "z": z})


def refusals():
    x = f32(2, 3)
    yield case("training", node("Dropout", "x ratio train", "y"), {"x": x}, opset=13,
               constants={"ratio": np.float32(0.5), "train": np.array(True)},
               refusal="export the model for inference")
    yield case("shapes_differ", node("Add", "x b", "y"), {"x": x, "b": f32(2)},
               refusal="cannot be broadcast")
    yield case("slope_too_big", node("PRelu", "x b", "y"), {"x": x, "b": f32(2, 2, 3)},
               refusal="slope")
    yield case("one_operand", node("Mul", "x", "y"), {"x": x}, refusal="input 1 is missing")
    yield case("no_operand", node("Relu", "", "y"), {"x": x}, refusal="expected")
    yield case("types_differ", node("Add", "x b", "y"), {"x": x, "b": ints(np.int32, 2, 3)},
               refusal="int32")
    yield case("large_constant", node("Add", "x b", "y"), {"x": ints(np.int64, 3)},
               constants={"b": np.array([1, 2, 2**40])}, refusal="64 bits")
    yield case("celu_alpha", node("Celu", "x", "y", alpha=0.0), {"x": x}, refusal="alpha")
    yield case("shift_way", node("BitShift", "x x", "y", direction="UP"),
               {"x": ints(np.uint8, 3)}, refusal="LEFT")
    yield case("bits_of_floats", node("BitwiseAnd", "x x", "y"), {"x": x}, refusal="integer")
    yield case("clip_list", node("Clip", "x b", "y"), {"x": x, "b": f32(3)},
               refusal="single number")


def cases():
    for group in [accuracy, integer_types, half, old_opsets, parameters, shapes, layouts, quantized,
                  refusals]:
        for c in group():
            c.name = f"{group.__name__}/{c.name}"
            yield c
