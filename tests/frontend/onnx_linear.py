# SPDX-License-Identifier: MIT
"""Matrix products, Einsum, and convolutions and products in quantized form. Expected values by
numpy in float64 or exact integers."""
import numpy as np
from onnx import helper

from case_onnx import Case, case, encoding, model, node, quantized_case
from onnx_conv import conv, f32, transposed

RNG = np.random.default_rng(17)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def matmuls():
    shapes = [((4,), (4,)), ((4,), (4, 3)), ((2, 4), (4,)), ((2, 4), (4, 3)), ((5, 2, 4), (4, 3)),
              ((5, 2, 4), (4,)), ((4,), (5, 4, 3)), ((5, 2, 4), (5, 4, 3)), ((2, 4), (5, 4, 3)),
              ((2, 1, 2, 4), (3, 4, 3)), ((1, 1, 4), (4, 1)), ((2, 3, 1, 2, 4), (1, 5, 4, 2))]
    for (a, b), frozen in ((s, f) for s in shapes for f in (True, False)):
        x, w = normal(*a), normal(*b)
        want = np.matmul(x.astype(np.float64), w.astype(np.float64))
        name = "x".join(map(str, a)) + "_" + "x".join(map(str, b))
        yield case(f"matmul_{name}_{'constant' if frozen else 'run_time'}",
                   node("MatMul", "x w", "y"), {"x": x} if frozen else {"x": x, "w": w},
                   constants={"w": w} if frozen else None, expected=f32(want), opset=1)
    x, w = normal(3, 4).astype(np.float16), normal(4, 5).astype(np.float16)
    yield case("matmul_float16", node("MatMul", "x w", "y"), {"x": x}, constants={"w": w},
               expected=[np.matmul(x.astype(np.float64), w).astype(np.float16)], tol=1e-3)
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        low = 0 if np.dtype(dtype).kind == "u" else -2000
        x, w = (RNG.integers(low, 30000, s).astype(dtype) for s in ((2, 3, 4), (4, 5)))
        yield case(f"matmul_{dtype.__name__}", node("MatMul", "x w", "y"), {"x": x, "w": w},
                   expected=[np.matmul(x, w)])
    x = normal(2, 3, 4, 5)
    a, b = normal(3, 4, 2), normal(5, 4)
    yield case("fused_matmul", node("FusedMatMul", "a b", "y", "com.microsoft", alpha=0.5,
                                    transA=1, transB=1), {"a": a, "b": b}, microsoft=True,
               expected=f32(0.5 * np.matmul(a.transpose(0, 2, 1).astype(np.float64), b.T)))
    a, b = normal(4, 3, 2, 5), normal(3, 4, 2, 5)
    yield case("fused_matmul_batches", node("FusedMatMul", "a b", "y", "com.microsoft", transB=1,
                                            transBatchA=1), {"a": a, "b": b[:, :2, 0]},
               microsoft=True, refusal="cannot be broadcast")
    want = np.matmul(a.transpose(1, 2, 0, 3).astype(np.float64), b[:, :2].swapaxes(-1, -2))
    yield case("fused_matmul_batch", node("FusedMatMul", "a b", "y", "com.microsoft", transB=1,
                                          transBatchA=1), {"a": a, "b": b[:, :2]},
               microsoft=True, expected=f32(want))
    yield case("matmul_mismatch", node("MatMul", "x w", "y"), {"x": x, "w": x},
               refusal="contracted")


def large_constants():
    """Weights of float16 that are cast, more than a megabyte of them: they are freed behind the
    last node that reads them, which may be a Gather, a Transpose, or one that shares the data."""
    table, x = normal(900, 300).astype(np.float16), normal(2, 300)
    ids = np.array([[3, 899, 0]], np.int32)
    cast = node("Cast", "w", "f", to=1)
    wide = table.astype(np.float32)
    tied = [cast, node("Gather", "f ids", "rows"), node("Transpose", "f", "t", perm=[1, 0]),
            node("MatMul", "x t", "y"), node("ReduceSum", "rows", "z", keepdims=0)]
    yield case("large_tied", tied, {"x": x, "ids": ids}, "y z", constants={"w": table},
               expected=[x @ wide.T, wide[ids].sum()], tol=1e-4)
    twice = [cast, node("Cast", "f", "again", to=1), node("Transpose", "again", "t", perm=[1, 0]),
             node("MatMul", "x t", "a"), node("MatMul", "a f", "y")]
    yield case("large_shared", twice, {"x": x}, constants={"w": table},
               expected=[x @ wide.T @ wide], tol=1e-3)
    w = normal(300, 900).astype(np.float16)
    yield case("large_output", [cast, node("MatMul", "x f", "y"), node("Identity", "f", "z")],
               {"x": x}, "y z", constants={"w": w},
               expected=[x @ w.astype(np.float32), w.astype(np.float32)], tol=1e-4)


def gemms():
    a, b = normal(3, 4), normal(4, 5)
    for i, c in enumerate((None, normal(5), normal(1, 5), normal(3, 1), normal(3, 5), normal(1),
                           np.float32(0.7))):
        for frozen in (True, False):
            for alpha, beta, ta, tb in ((1.0, 1.0, 0, 0), (0.5, 2.0, 1, 1)):
                feeds = {"a": a.T.copy() if ta else a}
                rest = {"b": b.T.copy() if tb else b, **({} if c is None else {"c": c})}
                want = alpha * (a.astype(np.float64) @ b) + beta * (0 if c is None else c)
                yield case(f"gemm_{i}_{frozen}_{ta}",
                           node("Gemm", "a b" if c is None else "a b c", "y", alpha=alpha,
                                beta=beta, transA=ta, transB=tb),
                           feeds if frozen else {**feeds, **rest},
                           constants=rest if frozen else None, expected=f32(want))
    yield case("gemm_opset6", node("Gemm", "a b c", "y", broadcast=1), {"a": a}, opset=6,
               constants={"b": b, "c": normal(5) * 0}, expected=f32(a.astype(np.float64) @ b))
    x, w, c = (RNG.integers(-9999, 9999, s).astype(np.int32) for s in ((3, 4), (4, 5), (5,)))
    yield case("gemm_int32", node("Gemm", "x w c", "y"), {"x": x, "w": w, "c": c},
               expected=[x @ w + c])
    yield case("fused_gemm", node("FusedGemm", "a b", "y", "com.microsoft",
                                  activation="LeakyRelu", activation_alpha=0.2), {"a": a},
               constants={"b": b}, microsoft=True,
               expected=f32(np.where(a @ b < 0, 0.2, 1) * (a.astype(np.float64) @ b)))


def integers():
    for name, depth in (("", 9), ("_deep", 700), ("_deeper", 9000)):
        a = RNG.integers(0, 256, (2, 3, depth), dtype=np.uint8)
        b = RNG.integers(-128, 128, (depth, 4)).astype(np.int8)
        az, bz = np.array([7, 200, 99], np.uint8), np.array([-3, 0, 5, 127], np.int8)
        want = (a.astype(np.int64) - az.reshape(3, 1)) @ (b.astype(np.int64) - bz)
        yield case(f"matmul_integer{name}", node("MatMulInteger", "a b az bz", "y"), {"a": a},
                   constants={"b": b, "az": az, "bz": bz}, expected=[want.astype(np.int32)])
    rng = np.random.default_rng(5)
    zeros = {"none": (None, None), "a": (np.uint8(130), None), "both": (np.uint8(9), np.int8(-4))}
    for name, (az, bz) in zeros.items():
        for types in ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)):
            low, high = zip(*((np.iinfo(t).min, np.iinfo(t).max + 1) for t in types))
            a = rng.integers(low[0], high[0], (2, 13, 70)).astype(types[0])
            b = rng.integers(low[1], high[1], (70, 37)).astype(types[1])
            both = [None if z is None else z.astype(t) for z, t in zip((az, bz), types)]
            want = (a.astype(np.int64) - int(both[0] or 0)) @ (b.astype(np.int64) -
                                                               int(both[1] or 0))
            names = "a b az bz" if bz is not None else "a b az" if az is not None else "a b"
            given = {k: np.array(z) for k, z in zip(("az", "bz"), both) if z is not None}
            title = f"matmul_integer_{name}_{types[0].__name__}_{types[1].__name__}"
            for how, live in (("", ()), ("_live_zero", ("az",)), ("_live", ("az", "bz", "b"))):
                every = {"b": b, **given}
                yield case(title + how, node("MatMulInteger", names, "y"),
                           {"a": a, **{k: v for k, v in every.items() if k in live}},
                           constants={k: v for k, v in every.items() if k not in live},
                           expected=[want.astype(np.int32)])
    yield case("matmul_integer_too_deep", node("MatMulInteger", "a b", "y"),
               {"a": np.zeros((1, 99999), np.uint8)},
               constants={"b": np.zeros((99999, 1), np.int8)}, refusal="not exact")


def einsums():
    sizes = dict(zip("abcdefghijBS", (2, 3, 4, 2, 3, 2, 5, 3, 4, 2, 2, 3)))
    equations = ["ab,bc->ac", "ab,bc", "ba,bc->ca", "abc,acd->abd", "abc,dc->abd", "a,b->ab",
                 "a,a->", "abc->cba", "abc->b", "abc->", "ii->i", "ii", "bii->bi", "iji->j",
                 "abi,abj->abij", "abc,cd,de->abe", "abcd,aecd->abe", "ab,ab->ab", "ab,c->ba",
                 "bhid,bhjd->bhij", "BSa,ab->BSb", "ba", "i j , j k", "abc,abd->cd", "ab,cb,b->ac"]
    for equation in equations:
        terms = equation.replace(" ", "").split("->")[0].split(",")
        feeds = {f"x{i}": normal(*[sizes.get(c, 3) for c in t]) for i, t in enumerate(terms)}
        want = np.einsum(equation, *[v.astype(np.float64) for v in feeds.values()])
        yield case(f"einsum_{equation}", node("Einsum", " ".join(feeds), "y", equation=equation),
                   feeds, expected=f32(want), tol=1e-5, atol=1e-6)
    for equation, shapes in (("...ij,...jk->...ik", ((2, 3, 4), (5, 2, 4, 3))),
                             ("...ij,jk->i...k", ((2, 5, 3, 4), (4, 2))), ("...->...", ((2, 3),)),
                             ("...ii->...i", ((2, 3, 3),)), ("i...,i...", ((2, 3), (2, 1)))):
        feeds = {f"x{i}": normal(*s) for i, s in enumerate(shapes)}
        want = np.einsum(equation, *[v.astype(np.float64) for v in feeds.values()])
        yield case(f"einsum_{equation}", node("Einsum", " ".join(feeds), "y", equation=equation),
                   feeds, expected=f32(want))
    x, y = (RNG.integers(-9999, 9999, (3, 3)).astype(np.int32) for _ in range(2))
    yield case("einsum_int32", node("Einsum", "x y", "z", equation="ij,kj->ik"),
               {"x": x, "y": y}, "z", expected=[np.einsum("ij,kj->ik", x, y)])
    for equation in ("ab->aa", "ab->c", "a?->a", "ab,bc->ac", "abc->a"):
        yield case(f"einsum_bad_{equation}", node("Einsum", "x", "y", equation=equation),
                   {"x": normal(2, 3)}, refusal="equation")
    for n in (1, 2, 3):
        m = normal(2, 5, n, n)
        yield case(f"det_{n}", node("Det", "x", "y"), {"x": m},
                   expected=f32(np.linalg.det(m.astype(np.float64))), tol=1e-4)
        m += 3 * np.eye(n, dtype=np.float32)
        yield case(f"inverse_{n}", node("Inverse", "x", "y", "com.microsoft"), {"x": m},
                   expected=f32(np.linalg.inv(m.astype(np.float64))), tol=1e-4, microsoft=True)
    yield case("inverse_4", node("Inverse", "x", "y", "com.microsoft"), {"x": normal(4, 4)},
               microsoft=True, refusal="4 rows")
    yield case("det_4", node("Det", "x", "y"), {"x": normal(4, 4)}, refusal="4 rows")


def quantize(a, scale, zero, axis=None):
    shape = [1] * a.ndim
    if axis is not None:
        shape[axis] = -1
    info = np.iinfo(zero.dtype)
    codes = np.rint(a / scale.reshape(shape)) + zero.reshape(shape).astype(np.float64)
    return np.clip(codes, info.min, info.max).astype(zero.dtype)


def unit(name, op, x, w, b, f, axis, bits=8, signed=False, wtype=np.int8, float_bias=False,
         **attributes):
    """QDQ around an op with quantized weights, per channel when axis is given. f computes the op
    in float64. Activations are u8, s8, u16 or s16; the result is within one step."""
    xs, xz = encoding(x, bits, signed)
    top = {np.int8: 127, np.int16: 32767, np.uint8: 127}[wtype]
    others = tuple(i for i in range(w.ndim) if i != axis)
    ws = np.asarray(np.abs(w).max(others if axis is not None else None) / top, np.float32)
    wz = np.full(ws.shape, 128 if wtype == np.uint8 else 0, wtype)
    codes = quantize(w, ws, wz, axis)
    wide = [-1 if i == axis else 1 for i in range(w.ndim)] if axis is not None else []
    real_w = (codes.astype(np.float64) - wz.reshape(wide)) * ws.reshape(wide)
    xq = quantize(x, np.asarray(xs), np.asarray(xz))
    real_x = (xq.astype(np.float64) - float(xz)) * float(xs)
    consts = {"xs": xs, "xz": xz, "w": codes, "ws": ws, "wz": wz}
    nodes = [node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xd"),
             node("DequantizeLinear", "w ws wz", "wd", **({} if axis is None else {"axis": axis}))]
    names, real_b = "xd wd", None
    if b is not None and float_bias:
        consts["b"], real_b, names = b, b.astype(np.float64), "xd wd b"
    elif b is not None:
        bs = (ws * xs).astype(np.float32)
        consts |= {"b": np.rint(b / bs).astype(np.int32), "bs": bs}
        nodes.append(node("DequantizeLinear", "b bs", "bd", axis=0))
        real_b, names = consts["b"] * bs.astype(np.float64), "xd wd bd"
    want = f(real_x, real_w, real_b)
    ys, yz = encoding(want, bits, signed)
    consts |= {"ys": ys, "yz": yz}
    nodes += [node(op, names, "f", **attributes), node("QuantizeLinear", "f ys yz", "yq"),
              node("DequantizeLinear", "yq ys yz", "y")]
    m = model(nodes, {"x": x}, ["y"], consts, 21)
    return Case(name, m, [x], f32(want), tol=0, atol=1.01 * float(ys))


def units():
    x, w, b = normal(1, 4, 6, 5), normal(8, 4, 3, 3), normal(8)
    for bits, signed in ((8, False), (8, True), (16, False), (16, True)):
        kind = f"{'s' if signed else 'u'}{bits}"
        yield unit(f"unit_conv_{kind}", "Conv", x, w, b, conv, None, bits, signed)
        yield unit(f"unit_conv_channels_{kind}", "Conv", x, w, b, conv, 0, bits, signed)
        yield unit(f"unit_gemm_{kind}", "Gemm", normal(3, 7), normal(5, 7), normal(5),
                   lambda a, v, c: a @ v.T + c, 0, bits, signed, transB=1)
        yield unit(f"unit_matmul_{kind}", "MatMul", normal(2, 3, 7), normal(7, 5), None,
                   lambda a, v, c: a @ v, 1, bits, signed)
    yield unit("unit_conv_float_bias", "Conv", x, w, b, conv, 0, float_bias=True)
    yield unit("unit_conv_u8_weights", "Conv", x, w, b, conv, None, wtype=np.uint8)
    yield unit("unit_conv_s16_weights", "Conv", x, w, b, conv, None, 16, wtype=np.int16)
    yield unit("unit_conv_depthwise", "Conv", x, normal(8, 1, 3, 3), b,
               lambda *a: conv(*a, group=4), 0, group=4)
    yield unit("unit_conv_groups", "Conv", x, normal(8, 2, 3, 3), b,
               lambda *a: conv(*a, group=2), 0, group=2)
    yield unit("unit_conv_1d", "Conv", x[..., 0], normal(8, 4, 3), b, conv, 0)
    yield unit("unit_conv_3d", "Conv", normal(1, 2, 4, 4, 4), normal(3, 2, 2, 2, 2), normal(3),
               conv, 0)
    yield unit("unit_transposed", "ConvTranspose", x, normal(4, 3, 3, 2), normal(3),
               lambda *a: transposed(*a, strides=[2, 1]), 1, strides=[2, 1])
    yield unit("unit_transposed_dilated", "ConvTranspose", x, normal(4, 3, 3, 2), normal(3),
               lambda *a: transposed(*a, dilations=[2, 2]), None, dilations=[2, 2])
    yield quantized_case("unit_matmul_run_time", "MatMul", {"a": normal(2, 3, 4),
                                                            "b": normal(4, 5)})
    yield quantized_case("unit_matmul_run_time16", "MatMul", {"a": normal(2, 3, 4),
                                                              "b": normal(4, 5)}, 16, True)
    yield quantized_case("unit_gemm_alpha", "Gemm", {"a": normal(3, 4), "b": normal(4, 5)},
                         constants=("b",), alpha=0.5)
    yield quantized_case("unit_einsum", "Einsum", {"a": normal(3, 4), "b": normal(4, 5)},
                         equation="ij,jk->ki")
    for op, args in (("MaxPool", {"kernel_shape": [3, 3]}),
                     ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 2]}),
                     ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
                     ("GlobalAveragePool", {}), ("LpPool", {"kernel_shape": [2, 2]})):
        for bits, signed in ((8, False), (8, True), (16, True)):
            name = f"unit_{op}{'_dilated' if 'dilations' in args else ''}_{bits}{int(signed)}"
            yield quantized_case(name, op, {"x": x}, bits, signed, **args)


def weights_only():
    """Quantized weights of float products: 4 bits per channel, 8 bits in blocks."""
    x, w = normal(1, 4, 5, 5), normal(6, 4, 3, 3)
    ws = (np.abs(w).max((1, 2, 3)) / 7).astype(np.float32)
    codes = np.clip(np.rint(w / ws.reshape(-1, 1, 1, 1)), -8, 7)
    m = model([node("DequantizeLinear", "w ws", "d", axis=0), node("Conv", "x d", "y")], {"x": x},
              ["y"], {"ws": ws}, 21)
    packed = helper.make_tensor("w", 22, codes.shape, codes.astype(np.int8).ravel())
    m.graph.initializer.append(packed)
    yield Case("conv_int4_weights", m, [x], f32(conv(x, codes * ws.reshape(-1, 1, 1, 1))))
    a, b = normal(3, 8), RNG.integers(-128, 128, (8, 5)).astype(np.int8)
    bs = np.abs(normal(4, 5)) + 0.1
    yield case("matmul_blocked_weights",
               [node("DequantizeLinear", "b bs", "d", axis=0, block_size=2),
                node("MatMul", "a d", "y")], {"a": a}, constants={"b": b, "bs": bs}, opset=21,
               expected=f32(a.astype(np.float64) @ (b * np.repeat(bs, 2, 0).astype(np.float64))))


def qlinear():
    def q(a, s, z):
        return np.clip(np.rint(a / np.float64(s)) + z, 0, 255).astype(np.uint8)

    x = RNG.integers(0, 256, (1, 3, 6, 6), dtype=np.uint8)
    w = RNG.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
    v = RNG.integers(0, 256, (2, 4, 1, 1), dtype=np.uint8)
    b = RNG.integers(-9999, 9999, 4).astype(np.int32)
    ws = np.array([0.01, 0.02, 0.015, 0.03], np.float32)
    c = {"xs": np.float32(0.02), "xz": np.uint8(120), "w": w, "ws": ws, "wz": np.zeros(4, np.int8),
         "ys": np.float32(0.9), "yz": np.uint8(127), "b": b, "v": v, "vs": np.float32(0.03),
         "vz": np.uint8(130), "us": np.float32(7.0), "uz": np.uint8(100)}
    first = conv((x.astype(np.int64) - 120).astype(np.float64), w)
    first = (first + b.reshape(-1, 1, 1)) * (np.float64(c["xs"]) * ws.astype(np.float64)).reshape(
        -1, 1, 1)
    y = q(first, c["ys"], 127)
    second = conv(y.astype(np.float64) - 127, v.astype(np.float64) - 130) * \
        (np.float64(c["ys"]) * np.float64(c["vs"]))
    u = q(second, c["us"], 100)
    one = node("QLinearConv", "x xs xz w ws wz ys yz b", "y")
    two = node("QLinearConv", "y ys yz v vs vz us uz", "u")
    yield case("qlinear_conv", one, {"x": x}, constants=c, expected=[y])
    yield case("qlinear_chain", [one, two], {"x": x}, "u", c, expected=[u])
    yield case("qlinear_both_read", [one, two], {"x": x}, "u y", c, expected=[u, y])
    yield case("qlinear_moved", [one, node("Flatten", "y", "z")], {"x": x}, "z", c,
               expected=[y.reshape(1, -1)])
    yield case("qlinear_dequantized", [one, node("DequantizeLinear", "y ys yz", "z")], {"x": x},
               "z", c, expected=f32((y.astype(np.float64) - 127) * c["ys"]))
    a, m = RNG.integers(0, 256, (2, 3, 4), dtype=np.uint8), RNG.integers(
        0, 256, (4, 5), dtype=np.uint8)
    d = {"as": np.float32(0.03), "az": np.uint8(110), "ms": np.float32(0.02), "mz": np.uint8(140),
         "os": np.float32(0.2), "oz": np.uint8(128)}
    want = q((a.astype(np.int64) - 110) @ (m.astype(np.int64) - 140) *
             (np.float64(d["as"]) * np.float64(d["ms"])), d["os"], 128)
    for frozen in (True, False):
        yield case(f"qlinear_matmul_{frozen}", node("QLinearMatMul", "a as az m ms mz os oz", "y"),
                   {"a": a} if frozen else {"a": a, "m": m},
                   constants={**d, "m": m} if frozen else d, expected=[want])
    yield case("qlinear_run_time_scale", node("QLinearMatMul", "a as az m ms mz os oz", "y"),
               {"a": a, "as": d["as"]}, constants={**{k: v for k, v in d.items() if k != "as"},
                                                   "m": m}, expected=[want])


def cases():
    for group in (matmuls, large_constants, gemms, integers, einsums, units, weights_only, qlinear):
        yield from group()
