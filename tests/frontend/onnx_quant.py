# SPDX-License-Identifier: MIT
"""Quantization: QuantizeLinear and DequantizeLinear in every form, operators on quantized tensors,
weights in blocks, whole QDQ networks. Expected values by formulas in float64; where rounding ties
may fall either way a difference of one step is allowed."""
import itertools

import numpy as np

from case_onnx import Case, case, encoding, model, node
from onnx.reference import ReferenceEvaluator

RNG = np.random.default_rng(8)


def rand(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def codes(*shape, dtype=np.uint8):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def quantize(x, scale, zero):
    info = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, info.min, info.max).astype(zero.dtype)


def real(q, scale, zero):
    return (q.astype(np.float64) - zero) * np.float64(scale)


def microsoft(op, inputs, outputs="y", **attributes):
    return node(op, inputs, outputs, "com.microsoft", **attributes)


# ---- the two ops


def linear_ops():
    """Constant and run-time scales: per tensor, per axis, in blocks."""
    x, scales = rand(2, 6, 4), np.abs(rand(6)) / 10 + np.float32(0.01)
    blocks = np.abs(rand(2, 3, 4)) / 10 + np.float32(0.01)
    odd = blocks[:, :2]
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        for form, s, wide, more in (
                ("tensor", scales[0], scales[0], {}),
                ("axis", scales, scales[:, None], {"axis": 1}),
                ("negative_axis", scales, scales[:, None], {"axis": -2}),
                ("block", blocks, blocks.repeat(2, 1), {"axis": 1, "block_size": 2}),
                ("odd_block", odd, odd.repeat(4, 1)[:, :6], {"axis": -2, "block_size": 4})):
            z = codes(*np.shape(s), dtype=dtype)
            z = np.asarray(z, dtype)
            zw = z.reshape(wide.shape) if form in ("axis", "negative_axis") else \
                z.repeat(2, 1) if form == "block" else \
                z.repeat(4, 1)[:, :6] if form == "odd_block" else z
            q = codes(2, 6, 4, dtype=dtype)
            up, down = (node(op, "x s z", "y", **more)
                        for op in ("DequantizeLinear", "QuantizeLinear"))
            tag = f"{dtype.__name__}_{form}"
            given = {"s": np.asarray(s), "z": z}
            wanted = {"up": (up, q, real(q, wide, zw).astype(np.float32)),
                      "down": (down, x, quantize(x, wide, zw))}
            for name, (n, data, want) in wanted.items():
                yield case(f"{name}_{tag}", n, {"x": data}, constants=given, expected=[want],
                           tol=1e-6)
                yield case(f"{name}_{tag}_run_time", n, {"x": data, **given}, expected=[want],
                           tol=1e-6)


def meanings():
    """The same codes with several meanings."""
    q, x = codes(2, 6, 4), rand(2, 6, 4)
    s, t, z, u = np.float32(0.1), np.float32(0.3), np.uint8(100), np.uint8(7)
    given = {"s": s, "t": t, "z": z, "u": u}
    both = [node("DequantizeLinear", "q s z", "a"), node("DequantizeLinear", "q t u", "b"),
            node("Mul", "a b", "y")]
    want = (real(q, s, z) * real(q, t, u)).astype(np.float32)
    yield case("two_meanings_of_an_input", both, {"q": q}, constants=given, expected=[want])
    yield case("two_meanings_of_a_constant", [*both[:2], node("Mul", "a b", "m"),
                                              node("Add", "m x", "y")], {"x": x},
               constants={**given, "q": q}, expected=[want + x])
    first = quantize(x, s, z)
    yield case("another_scale_after", [node("QuantizeLinear", "x s z", "q"),
                                       node("DequantizeLinear", "q t u", "y")], {"x": x},
               constants=given, expected=[real(first, t, u).astype(np.float32)], atol=0.31)
    yield case("through_identity", [node("Identity", "q", "r"),
                                    node("DequantizeLinear", "r s z", "y")], {"q": q},
               constants=given, expected=[real(q, s, z).astype(np.float32)])
    yield case("after_a_cast", [node("Cast", "x", "i", to=2),
                                node("DequantizeLinear", "i s z", "y")], {"x": np.abs(x) * 20},
               constants=given,
               expected=[real((np.abs(x) * 20).astype(np.uint8), s, z).astype(np.float32)])
    yield case("int32_input", node("DequantizeLinear", "q s", "y"), {"q": q.astype(np.int32)},
               constants={"s": s}, expected=[real(q, s, 0).astype(np.float32)])
    yield case("int32_to_codes", node("QuantizeLinear", "q t u", "y"), {"q": q.astype(np.int32)},
               constants=given, expected=[quantize(q.astype(np.float64), t, u)])
    yield case("ties_to_even", node("QuantizeLinear", "x t u", "y"),
               {"x": np.arange(-20, 20, dtype=np.float32) / 4}, constants={
                   "t": np.float32(0.5), "u": u},
               expected=[quantize(np.arange(-20, 20) / 4, 0.5, u)])
    yield case("float8", node("QuantizeLinear", "x s", "y", output_dtype=17), {"x": x},
               constants={"s": s}, refusal="no fixed point of type float8e4m3fn")


def dequantized_constants():
    """Their type is that of the scale."""
    q = np.arange(-6, 6, dtype=np.int8).reshape(1, 3, 2, 2)
    nodes = [node("DequantizeLinear", "q s", "d"), node("Add", "x d", "y")]
    x = rand(1, 3, 2, 2).astype(np.float16)
    yield case("constant_of_float16", nodes, {"x": x},
               constants={"q": q, "s": np.float16(0.5)}, opset=19,
               expected=[x + q.astype(np.float16) * np.float16(0.5)])


def dynamic():
    for name, x in (("mixed", rand(3, 5)), ("positive", np.abs(rand(3, 5)) + 1),
                    ("negative", -np.abs(rand(7))), ("zero", np.zeros((2, 2), np.float32))):
        low, high = np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))
        s = (high - low) / np.float32(255) or np.float32(1)
        z = np.uint8(np.clip(np.rint(-low / s), 0, 255))
        yield case(f"dynamic_{name}", node("DynamicQuantizeLinear", "x", "y s z"), {"x": x},
                   "y s z", expected=[quantize(x, s, z), np.asarray(s), np.asarray(z)])


# ---- operators on quantized tensors


def coded(name, n, inputs, constants, want, scale, zero, steps=1):
    """A case whose output is codes: it is dequantized, so that a step may be allowed."""
    nodes = [n, node("DequantizeLinear", "c so zo", "y")]
    values = quantize(want, scale, zero)
    return case(name, nodes, inputs, constants={**constants, "so": scale, "zo": zero},
                microsoft=True, expected=[real(values, scale, zero).astype(np.float32)],
                tol=0, atol=(steps + 0.01) * float(scale))


def qlinear_ops():
    for dtype in (np.uint8, np.int8):
        signed, t = dtype is np.int8, dtype.__name__
        a, b = rand(2, 3, 4, 6), rand(2, 3, 4, 6)
        (sa, za), (sb, zb) = encoding(a, signed=signed), encoding(b, signed=signed)
        qa, qb = quantize(a, sa, za), quantize(b, sb, zb)
        ra, rb = real(qa, sa, za), real(qb, sb, zb)
        given = {"sa": sa, "za": za, "sb": sb, "zb": zb}
        pool = ra.reshape(2, 3, 2, 2, 3, 2).mean((3, 5))
        soft = np.exp(ra) / np.exp(ra).sum(-1, keepdims=True)
        for op, want, two, more in (
                ("QLinearAdd", ra + rb, True, {}), ("QLinearMul", ra * rb, True, {}),
                ("QLinearSigmoid", 1 / (1 + np.exp(-ra)), False, {}),
                ("QLinearLeakyRelu", np.where(ra < 0, ra * 0.2, ra), False, {"alpha": 0.2}),
                ("QLinearSoftmax", soft, False, {"axis": -1, "opset": 13}),
                ("QLinearAveragePool", pool, False, {"kernel_shape": [2, 2], "strides": [2, 2]}),
                ("QLinearGlobalAveragePool", ra.mean((2, 3), keepdims=True), False, {}),
                ("QLinearReduceMean", ra.mean(2, keepdims=True), False,
                 {"axes": [2], "keepdims": 1})):
            so, zo = encoding(want, signed=signed)
            names, feeds = ("a sa za b sb zb so zo", {"a": qa, "b": qb}) if two else \
                ("a sa za so zo", {"a": qa})
            yield coded(f"{op}_{t}", microsoft(op, names, "c", **more), feeds, given, want, so, zo)
        so, zo = encoding(np.concatenate([a, b]), signed=signed)
        yield coded(f"QLinearConcat_{t}", microsoft(
            "QLinearConcat", "so zo a sa za b sb zb", "c", axis=1), {"a": qa, "b": qb}, given,
            np.concatenate([ra, rb], 1), so, zo)
        yield coded(f"QLinearWhere_{t}", microsoft(
            "QLinearWhere", "p a sa za b sb zb so zo", "c"), {"p": a > 0, "a": qa, "b": qb}, given,
            np.where(a > 0, ra, rb), so, zo)
        for name, op, why, more in (
                ("old_axes", "QLinearSoftmax", "only the last axis", {"axis": 1, "opset": 11}),
                ("old_default", "QLinearSoftmax", "only the last axis", {"opset": 11}),
                ("channels_last", "QLinearAveragePool", "channels_last",
                 {"kernel_shape": [2, 2], "channels_last": 1})):
            yield case(f"{op}_{name}_{t}", microsoft(op, "a sa za sa za", "c", **more), {"a": qa},
                       "c", given, microsoft=True, refusal=why)
        yield case(f"QLinearConv_channels_last_{t}", microsoft(
            "QLinearConv", "a sa za w sb zb sa za", "c", channels_last=1), {"a": qa}, "c",
            given | {"w": np.ones((2, 6, 1, 1), dtype)}, microsoft=True, refusal="channels_last")
        yield case(f"QLinearConv_without_filters_{t}", node(
            "QLinearConv", "a sa za w sn zn sa za n", "c"), {"a": qa}, "c",
            given | {"w": np.ones((0, 3, 1, 1), dtype), "sn": np.ones(0, np.float32),
                     "zn": np.ones(0, dtype), "n": np.ones(0, np.int32)},
            refusal="at least one each")
        # One after the other: codes pass from op to op without a conversion.
        so, zo = encoding((ra + rb) * rb, signed=signed)
        sm, zm = encoding(ra + rb, signed=signed)
        middle = real(quantize(ra + rb, sm, zm), sm, zm)
        chain = [microsoft("QLinearAdd", "a sa za b sb zb sm zm", "m"),
                 microsoft("QLinearMul", "m sm zm b sb zb so zo", "c"),
                 node("DequantizeLinear", "c so zo", "y")]
        want = real(quantize(middle * rb, so, zo), so, zo).astype(np.float32)
        yield case(f"chain_{t}", chain, {"a": qa, "b": qb}, microsoft=True, expected=[want],
                   constants={**given, "sm": sm, "zm": zm, "so": so, "zo": zo}, tol=0,
                   atol=3.01 * float(so))


def qlinear_products():
    x, w, bias = rand(1, 4, 6, 6), rand(5, 4, 3, 3) / 3, rand(5)
    plain = model([node("Conv", "x w b", "y", pads=[1, 1, 1, 1])], {"x": x}, ["y"],
                  {"w": w, "b": bias})
    for dtype, channels in itertools.product((np.uint8, np.int8), (False, True)):
        sx, zx = encoding(x, signed=dtype is np.int8)
        sw = np.abs(w).max((1, 2, 3) if channels else None) / np.float32(127)
        wide = np.reshape(sw, (-1, 1, 1, 1))
        wq = quantize(w, wide, np.int8(0))
        bq = np.rint(bias / (sx * sw)).astype(np.int32)
        xq = quantize(x, sx, zx)
        rounded = model(plain.graph.node, {"x": x}, ["y"], {
            "w": real(wq, wide, 0).astype(np.float32),
            "b": (bq * sx.astype(np.float64) * sw).astype(np.float32)})
        want = ReferenceEvaluator(rounded).run(None, {"x": real(xq, sx, zx).astype(np.float32)})[0]
        so, zo = encoding(want, signed=dtype is np.int8)
        yield coded(f"QLinearConv_{dtype.__name__}_{channels}", node(
            "QLinearConv", "x sx zx w sw zw so zo b", "c", pads=[1, 1, 1, 1]), {"x": xq}, {
                "sx": sx, "zx": zx, "w": wq, "sw": np.asarray(sw),
                "zw": np.zeros(np.shape(sw), np.int8), "b": bq}, want, so, zo)
    a, b, bias = rand(3, 8), rand(8, 4), rand(4)
    (sa, za), (sb, zb) = encoding(a), encoding(b, signed=True)
    qa, qb = quantize(a, sa, za), quantize(b, sb, zb)
    given = {"sa": sa, "za": za, "b": qb, "sb": sb, "zb": zb}
    product = real(qa, sa, za) @ real(qb, sb, zb)
    so, zo = encoding(product)
    yield coded("QLinearMatMul", node("QLinearMatMul", "a sa za b sb zb so zo", "c"), {"a": qa},
                given, product, so, zo)
    columns = (np.abs(rand(4)) + 1).astype(np.float32) / 100
    yield coded("QLinearMatMul_columns", node("QLinearMatMul", "a sa za b sb zb so zo", "c"),
                {"a": qa}, {**given, "sb": columns, "zb": np.zeros(4, np.int8)},
                real(qa, sa, za) @ real(qb, columns, 0),
                *encoding(real(qa, sa, za) @ real(qb, columns, 0)))
    c = np.rint(bias / (sa * sb)).astype(np.int32)
    yield coded("QGemm", microsoft("QGemm", "a sa za b sb zb d so zo", "c"), {"a": qa},
                {**given, "d": c}, product + c * np.float64(sa * sb), so, zo)
    yield case("QGemm_float", microsoft("QGemm", "a sa za b sb zb", "y"), {"a": qa},
               constants=given, microsoft=True, expected=[product.astype(np.float32)],
               float16=True)
    yield case("MatMulIntegerToFloat", microsoft("MatMulIntegerToFloat", "a b sa sb za zb d"),
               {"a": qa}, constants={**given, "d": bias}, microsoft=True,
               expected=[(product + bias).astype(np.float32)], float16=True)
    yield case("DynamicQuantizeMatMul", microsoft("DynamicQuantizeMatMul", "a b sb zb d"),
               {"a": a}, constants={"b": qb, "sb": sb, "zb": zb, "d": bias}, microsoft=True,
               expected=[(a @ real(qb, sb, zb) + bias).astype(np.float32)], float16=True)


# ---- weights in blocks


def unpacked(packed, bits, count):
    """[..., bytes] to [..., count] codes, the low bits first."""
    parts = [packed >> shift & (2**bits - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1)[..., :count]


def blocks():
    for bits, (k, block), zeros, bias in itertools.product(
            (2, 4, 8), ((64, 32), (48, 32), (128, 16)), (None, "packed", "float"), (False, True)):
        n, count = 6, -(-k // block)
        packed = codes(n, count, block * bits // 8)
        scales = np.abs(rand(n, count)) / 10 + np.float32(0.01)
        w = unpacked(packed, bits, block).reshape(n, count, block).astype(np.float64)
        given, names = {"b": packed, "s": scales}, ["a", "b", "s", "-" if zeros is None else "z"]
        zero = np.full((n, count), 2.0**(bits - 1))
        if zeros == "packed":
            given["z"] = codes(n, -(-count * bits // 8))
            zero = unpacked(given["z"], bits, count).astype(np.float64)
        elif zeros == "float":
            given["z"] = np.abs(rand(n, count)) * 3
            zero = given["z"].astype(np.float64)
        w = ((w - zero[..., None]) * scales[..., None]).reshape(n, -1)[:, :k]
        a, c = rand(2, 3, k), rand(n)
        if bias:
            names += ["-", "c"]
            given["c"] = c
        yield case(f"nbits_{bits}_{k}_{block}_{zeros}_{bias}", microsoft(
            "MatMulNBits", " ".join(names), K=k, N=n, bits=bits, block_size=block), {"a": a},
            constants=given, microsoft=True, float16=True,
            expected=[(a.astype(np.float64) @ w.T + c * bias).astype(np.float32)])
    index = np.array([[1, 3], [9, 0]], np.int64)
    for bits, zeros in itertools.product((4, 8), (False, True)):
        data, scales = codes(10, 64 * bits // 8), np.abs(rand(10, 4))
        zero = codes(10, 4 * bits // 8)
        z = unpacked(zero, bits, 4) if zeros else np.full((10, 4), 2**(bits - 1))
        table = (unpacked(data, bits, 64).reshape(10, 4, 16).astype(np.float64) - z[..., None]) * \
            scales[..., None]
        yield case(f"gather_{bits}_{zeros}", microsoft(
            "GatherBlockQuantized", "d i s z" if zeros else "d i s", block_size=16, bits=bits,
            gather_axis=0, quantize_axis=1), {"i": index}, constants={
                "d": data, "s": scales, "z": zero}, microsoft=True,
            expected=[table.reshape(10, 64)[index].astype(np.float32)])


# ---- networks


class Network:
    """Builds a QDQ network and, beside it, what each tensor holds: rounded after every op."""

    def __init__(self, bits, signed, channels):
        self.bits, self.signed, self.channels = bits, signed, channels
        self.nodes, self.constants, self.value, self.step = [], {}, {}, {}

    def pair(self, name, array):
        """Q and DQ behind a float value."""
        s, z = encoding(array, self.bits, self.signed)
        self.constants |= {name + "_s": s, name + "_z": z}
        self.nodes += [node("QuantizeLinear", f"{name} {name}_s {name}_z", name + "_q"),
                       node("DequantizeLinear", f"{name}_q {name}_s {name}_z", name + "_d")]
        self.value[name], self.step[name] = real(quantize(array, s, z), s, z), s
        return name

    def weight(self, name, array, axis=0):
        dims = tuple(i for i in range(array.ndim) if i != axis) if self.channels else None
        s = np.abs(array).max(dims) / np.float32(127)
        wide = s
        if self.channels:
            wide = s.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        q = quantize(array, wide, np.int8(0))
        self.constants |= {name + "_q": q, name + "_s": np.asarray(s)}
        more = {"axis": axis} if self.channels else {}
        self.nodes.append(node("DequantizeLinear", f"{name}_q {name}_s", name + "_d", **more))
        self.value[name], self.step[name] = real(q, wide, 0), s

    def bias(self, name, array, x, w):
        s = np.float32(self.step[x]) * np.asarray(self.step[w], np.float32)
        q = np.rint(array / s).astype(np.int32)
        self.constants |= {name + "_q": q, name + "_s": np.asarray(s, np.float32)}
        more = {"axis": 0} if self.channels else {}
        # Through an Identity, as exporters leave it.
        self.nodes += [node("Identity", name + "_q", name + "_i"),
                       node("DequantizeLinear", f"{name}_i {name}_s", name + "_d", **more)]
        self.value[name] = q * s.astype(np.float64)

    def op(self, op, inputs, name, relu=False, plain=(), **attributes):
        names = " ".join(n if n in plain or n == "-" else n + "_d" for n in inputs.split())
        made = [node(op, names, name + ("_p" if relu else ""), **attributes)]
        if relu:
            made.append(node("Relu", name + "_p", name))
        feeds = {n if n in plain else n + "_d": np.asarray(self.constants[n]) if n in plain else
                 self.value[n].astype(np.float32) for n in inputs.split() if n != "-"}
        want = ReferenceEvaluator(model(made, feeds, [name])).run(None, feeds)[0]
        self.nodes += made
        return self.pair(name, want.astype(np.float64))


def networks():
    for bits, signed, channels in ((8, False, False), (8, False, True), (8, True, True),
                                   (16, False, True), (16, True, False)):
        n = Network(bits, signed, channels)
        x = rand(1, 3, 12, 12)
        n.pair("x", x)
        n.weight("w1", rand(8, 3, 3, 3) / 3)
        n.bias("b1", rand(8), "x", "w1")
        n.op("Conv", "x w1 b1", "c1", relu=True, pads=[1, 1, 1, 1])
        n.op("MaxPool", "c1", "p1", kernel_shape=[2, 2], strides=[2, 2])
        n.weight("w2", rand(8, 1, 3, 3) / 3)
        n.op("Conv", "p1 w2", "c2", group=8, pads=[1, 1, 1, 1])
        n.op("Add", "c2 p1", "a1")
        n.op("Sigmoid", "a1", "s1")
        n.op("Mul", "a1 s1", "m1")
        n.constants["sz"] = np.array([1, 8, 12, 12], np.int64)
        n.op("Resize", "m1 - - sz", "u1", plain=("sz",), mode="nearest")
        n.op("Concat", "u1 c1", "k1", axis=1)
        n.op("GlobalAveragePool", "k1", "g1")
        n.op("Flatten", "g1", "f1")
        n.weight("w3", rand(10, 16) / 3)
        n.bias("b3", rand(10), "f1", "w3")
        n.op("Gemm", "f1 w3 b3", "y", transB=1)
        m = model(n.nodes, {"x": x}, ["y_d"], n.constants)
        yield Case(f"network_{bits}_{signed}_{channels}", m, [x],
                   [n.value["y"].astype(np.float32)], tol=0, transposes=1,
                   atol=(2.01 if bits == 8 else 8.01) * float(n.step["y"]))
    # A pair of its own for each reader of a value, as some quantizers write it.
    for op in ("Tanh", "Transpose", "Flatten"):
        n = Network(8, False, False)
        x = rand(3, 3)
        n.pair("x", x)
        n.op(op, "x", "t")
        n.nodes += [node("QuantizeLinear", "t t_s t_z", "u_q"),
                    node("DequantizeLinear", "u_q t_s t_z", "u_d")]
        n.value["u"] = n.value["t"]
        n.op("Mul", "t u", "y")
        yield Case(f"two_pairs_{op}", model(n.nodes, {"x": x}, ["y_d"], n.constants), [x],
                   [n.value["y"].astype(np.float32)], tol=0, atol=2.01 * float(n.step["y"]))
    # Weights that are transposed after DequantizeLinear stay quantized: no float product is left.
    for channels in (False, True):
        n = Network(8, False, channels)
        x = rand(3, 8)
        n.pair("x", x)
        n.weight("w", rand(6, 8))
        n.nodes.append(node("Transpose", "w_d", "t_d", perm=[1, 0]))
        n.value["t"] = n.value["w"].T
        n.op("MatMul", "x t", "y")
        yield Case(f"transposed_{channels}", model(n.nodes, {"x": x}, ["y_d"], n.constants), [x],
                   [n.value["y"].astype(np.float32)], tol=0, atol=1.01 * float(n.step["y"]))


def cases():
    for make in (linear_ops, meanings, dequantized_constants, dynamic, qlinear_ops,
                 qlinear_products, blocks, networks):
        yield from make()
