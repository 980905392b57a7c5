# SPDX-License-Identifier: MIT
"""Matmuls of language models by weights of 4 or 8 bits, as onnxruntime's quantizer writes them and
in the forms that exporters have. Expected values by formulas in float64."""
import itertools

import ml_dtypes
import numpy as np
from onnxruntime.capi import _pybind_state as ort

from case_onnx import case, encoding, node

RNG = np.random.default_rng(31)
ROOM = {"int4": (-8, 7), "uint4": (0, 15), "int8": (-128, 127), "uint8": (0, 255)}


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def weight_only(*given, expanded=False, **more):
    """The weights stay quantized; the HTP has float16 activations there."""
    return case(*given, float16=True, expanded=expanded, **more)


# ---- MatMulNBits


def nbits_of(w, bits, block, symmetric):
    """What MatMulNBitsQuantizer writes for w [K, N]: packed values, scales, zero points."""
    k, n = w.shape
    count = -(-k // block)
    packed = np.zeros((n, count, block * bits // 8), np.uint8)
    scales, zeros = np.zeros(n * count, np.float32), np.zeros(n * -(-count * bits // 8), np.uint8)
    quantize = {4: ort.quantize_matmul_4bits, 8: ort.quantize_matmul_8bits}[bits]
    quantize(packed, w, scales, zeros, block, n, k, symmetric)
    return packed, scales, zeros


def nibbles(packed, bits):
    parts = [packed >> shift & (2**bits - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1)


def nbits_reals(packed, scales, zeros, k, bits):
    n, count = packed.shape[:2]
    z = np.full((n, count), 2.0**(bits - 1)) if zeros is None else \
        nibbles(zeros.reshape(n, -1), bits)[:, :count].astype(np.float64)
    w = nibbles(packed, bits).astype(np.float64) - z[..., None]
    return (w * scales.reshape(n, count)[..., None]).reshape(n, -1)[:, :k].T


def by_quantizer():
    for bits, (k, block), symmetric, dtype in itertools.product(
            (4, 8), ((64, 32), (80, 32), (256, 128)), (True, False), (np.float32, np.float16)):
        packed, scales, zeros = nbits_of(f32(k, 24), bits, block, symmetric)
        if symmetric and bits == 4:
            assert (scales < 0).any() and (scales > 0).any()  # which QNN does not have
        w = nbits_reals(packed, scales, None if symmetric else zeros, k, bits)
        a = f32(2, 3, k).astype(dtype)
        names, given = "a b s", {"b": packed, "s": scales.astype(dtype)}
        if not symmetric:
            names, given = names + " z", given | {"z": zeros}
        yield weight_only(
            f"nbits_{bits}_{k}_{'symmetric' if symmetric else 'zeros'}_{np.dtype(dtype).name}",
            node("MatMulNBits", names, "y", "com.microsoft", K=k, N=24, bits=bits,
                 block_size=block, accuracy_level=4), {"a": a}, constants=given, microsoft=True,
            expected=[(a.astype(np.float64) @ w).astype(dtype)],
            tol=1e-5 if dtype is np.float32 else 2e-3)


def more_nbits():
    packed, scales, zeros = nbits_of(f32(64, 8), 4, 32, False)
    common = dict(domain="com.microsoft", K=64, N=8, bits=4, block_size=32)
    given, a, bias = {"b": packed, "s": scales}, f32(5, 64), f32(8)
    w = nbits_reals(packed, scales, None, 64, 4)
    yield weight_only("nbits_bias_input", node("MatMulNBits", "a b s - - c", "y", **common),
                      {"a": a, "c": bias}, constants=given, microsoft=True,
                      expected=[(a @ w + bias).astype(np.float32)])
    # Zero points as numbers: whole ones are those of an encoding.
    for name, z in (("whole", np.full((8, 2), 7, np.float32)), ("real", np.abs(f32(8, 2)) * 4)):
        w = nbits_reals(packed, scales, None, 64, 4) + \
            np.repeat(((8 - z) * scales.reshape(8, 2)), 32, 1).T
        yield weight_only(f"nbits_{name}_zeros", node("MatMulNBits", "a b s z", "y", **common),
                          {"a": a}, constants=given | {"z": z}, microsoft=True,
                          expanded=name == "real", expected=[(a @ w).astype(np.float32)])
    empty = scales.copy()
    empty[3] = 0  # a block of zeros
    yield weight_only("nbits_scale_0", node("MatMulNBits", "a b s", "y", **common), {"a": a},
                      constants={"b": packed, "s": empty}, microsoft=True,
                      expected=[(a @ nbits_reals(packed, empty, None, 64, 4)).astype(np.float32)])
    yield case("nbits_g_idx", node("MatMulNBits", "a b s - g", "y", **common), {"a": a},
               constants=given | {"g": np.arange(64, dtype=np.int32) // 32}, microsoft=True,
               refusal="g_idx")


# ---- DequantizeLinear


def stored(kind, *shape, lowest=True):
    low, high = ROOM[kind]
    dtype = getattr(ml_dtypes if "4" in kind else np, kind)
    return RNG.integers(low if lowest else low + 1, high + 1, shape).astype(dtype)


def dequantize(q, scale, zero, axis, block):
    """Real numbers; scale and zero are per tensor, per index of the axis or per block."""
    def spread(x):
        x = np.asarray(x, np.float64)
        if block:
            return np.repeat(x, block, axis).take(range(q.shape[axis]), axis)
        return x if x.ndim == 0 else x.reshape([-1 if i == axis else 1 for i in range(q.ndim)])
    return (q.astype(np.float64) - (0 if zero is None else spread(zero))) * spread(scale)


def dq(kind, shape, axis, block, zeros, negative=False, lowest=True):
    """(nodes, constants, real numbers) of a dequantized constant 'd'."""
    low, high = ROOM[kind]
    count = list(shape)
    count[axis] = -(-shape[axis] // block) if block else shape[axis]
    pairs = tuple(count) if block else (shape[axis],)
    q = stored(kind, *shape, lowest=lowest)
    scale = (np.abs(f32(*pairs)) + np.float32(0.1)) / np.float32(high)
    if negative:
        scale *= np.where(RNG.random(pairs) < 0.5, -1, 1).astype(np.float32)
    zero = RNG.integers(low, high + 1, pairs).astype(q.dtype) if zeros else None
    attributes = {"axis": axis} | ({"block_size": block} if block else {})
    given = {"q": q, "qs": scale} | ({"qz": zero} if zeros else {})
    nodes = [node("DequantizeLinear", "q qs qz" if zeros else "q qs", "d", **attributes)]
    return nodes, given, dequantize(q, scale, zero, axis, block)


def before_matmul():
    forms = itertools.product(ROOM, (0, 32), (False, True), (False, True))
    for kind, block, zeros, negative in forms:
        if kind.startswith("u") and not zeros:
            continue  # all positive: nobody writes that
        tag = f"{kind}_{'block' if block else 'channel'}{'_zeros' * zeros}{'_negative' * negative}"
        nodes, given, w = dq(kind, (96, 40), 0 if block else 1, block, zeros, negative)
        a = f32(2, 3, 96)
        yield weight_only(f"matmul_{tag}", nodes + [node("MatMul", "a d", "y")], {"a": a},
                          constants=given, expected=[(a @ w).astype(np.float32)])
        c = f32(40)
        yield weight_only(f"matmul_add_{tag}",
                          nodes + [node("MatMul", "a d", "p"), node("Add", "p c", "y")],
                          {"a": a}, constants=given | {"c": c},
                          expected=[(a @ w + c).astype(np.float32)])
        nodes, given, w = dq(kind, (40, 96), 1 if block else 0, block, zeros, negative)
        yield weight_only(f"gemm_{tag}", nodes + [node("Gemm", "a d c", "y", transB=1, beta=0.5)],
                          {"a": a[0]}, constants=given | {"c": c},
                          expected=[(a[0] @ w.T + c / 2).astype(np.float32)])
        yield weight_only(f"transposed_{tag}",
                          nodes + [node("Transpose", "d", "t", perm=[1, 0]),
                                   node("MatMul", "a t", "y")], {"a": a}, constants=given,
                          expected=[(a @ w.T).astype(np.float32)])


def more_matmuls():
    nodes, given, w = dq("int4", (90, 40), 0, 32, False)  # the last block is shorter
    a = f32(4, 90)
    yield weight_only("matmul_last_block", nodes + [node("MatMul", "a d", "y")], {"a": a},
                      constants=given, expected=[(a @ w).astype(np.float32)])
    nodes, given, w = dq("int4", (96, 40), 1, 8, False)  # along the outputs
    a = f32(4, 96)
    yield weight_only("matmul_blocks_of_outputs", nodes + [node("MatMul", "a d", "y")], {"a": a},
                      constants=given, expected=[(a @ w).astype(np.float32)])
    nodes, given, w = dq("int4", (96, 40), 0, 32, True)
    a16 = a.astype(np.float16)
    given["qs"] = given["qs"].astype(np.float16)
    w = dequantize(given["q"], given["qs"], given["qz"], 0, 32)
    yield weight_only("matmul_float16", nodes + [node("MatMul", "a d", "y")], {"a": a16},
                      constants=given, tol=2e-3,
                      expected=[(a16.astype(np.float64) @ w).astype(np.float16)])


def two_levels(kind, shape, axis, block):
    """The same with scales that are dequantized themselves: a factor for each block, a scale for
    each channel."""
    count = list(shape)
    count[axis] = shape[axis] // block
    factors = RNG.integers(1, 16, count).astype(np.uint8)
    scale = (np.abs(f32(shape[1 - axis])) + np.float32(0.1)) / np.float32(100)
    q = stored(kind, *shape)
    nodes = [node("DequantizeLinear", "qf qs", "ds", axis=1 - axis),
             node("DequantizeLinear", "q ds", "d", axis=axis, block_size=block)]
    real = dequantize(factors, scale, None, 1 - axis, 0).astype(np.float32)
    return nodes, {"q": q, "qf": factors, "qs": scale}, dequantize(q, real, None, axis, block)


def expanded():
    """What has no quantized form says that it is expanded."""
    index = np.array([[3, 0, 5]])
    nodes, given, w = dq("int4", (8, 64), 1, 32, False)
    yield case("gather_int4", nodes + [node("Gather", "d i", "y")], {"i": index},
               constants=given, expected=[w[index].astype(np.float32)], expanded=True)
    packed = RNG.integers(0, 256, (8, 32)).astype(np.uint8)
    scales = np.abs(f32(8, 2))
    table = (nibbles(packed, 4).astype(np.float64) - 8) * np.repeat(scales, 32, 1)
    yield case("gather_block", node("GatherBlockQuantized", "d i s", "y", "com.microsoft", bits=4,
                                    block_size=32), {"i": index},
               constants={"d": packed, "s": scales}, microsoft=True, expanded=True,
               expected=[table[index].astype(np.float32)])


def convolutions():
    """Weights of 4 bits per channel: kept beside the HTP's float16 activations."""
    x, c = f32(1, 8, 5, 5), f32(6)
    for size in (1, 3):
        nodes, given, w = dq("int4", (6, 8, size, size), 0, 0, False, negative=True, lowest=False)
        parts = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
        want = np.einsum("nchwij,ocij->nohw", parts, w) + c[:, None, None]
        yield case(f"conv_int4_{size}", nodes + [node("Conv", "x d c", "y")], {"x": x},
                   constants=given | {"c": c}, expected=[want.astype(np.float32)], float16=True,
                   expanded="cpu")


# ---- quantized activations


def fixed(name, nodes, given, a, want, bits, tail):
    """Q and DQ of `bits` around the float ops `nodes`, whose activation is 'x' and result 'f'."""
    (sa, za), (sy, zy) = encoding(a, bits), encoding(want, bits)
    around = [node("QuantizeLinear", "a sa za", "aq"), node("DequantizeLinear", "aq sa za", "x")]
    behind = [node("QuantizeLinear", "f sy zy", "yq"), node("DequantizeLinear", "yq sy zy", "y")]
    scales = {"sa": sa, "za": za, "sy": sy, "zy": zy}
    return case(name, around + nodes + tail + behind, {"a": a}, constants=given | scales,
                expected=[want.astype(np.float32)], tol=0, atol=1.01 * float(sy), expanded=False)


def rounded(a, bits):
    s, z = encoding(a, bits)
    top = 2**bits - 1
    return (np.clip(np.rint(a / s) + z, 0, top).astype(np.float64) - z) * np.float64(s)


def quantized_activations():
    for bits, kind, block, negative in itertools.product((8, 16), ("int4", "int8"), (0, 32),
                                                         (False, True)):
        tag = f"{bits}_{kind}_{'block' if block else 'channel'}{'_negative' * negative}"
        if bits == 8 and block:
            continue  # nobody has it
        # Without the lowest value a channel that is mirrored needs no zero point.
        nodes, given, w = dq(kind, (96, 40), 0 if block else 1, block, False, negative,
                             lowest=block > 0)
        a, c = f32(2, 3, 96), f32(40)
        x = rounded(a, bits)
        yield fixed(f"a{tag}", nodes, given, a, x @ w, bits, [node("MatMul", "x d", "f")])
        yield fixed(f"a{tag}_add", nodes, given | {"c": c}, a, x @ w + c, bits,
                    [node("MatMul", "x d", "p"), node("Add", "p c", "f")])
        nodes, given, w = dq(kind, (40, 96), 1 if block else 0, block, False, negative,
                             lowest=block > 0)
        yield fixed(f"a{tag}_gemm", nodes, given | {"c": c}, a[0], rounded(a[0], bits) @ w.T + c,
                    bits, [node("Gemm", "x d c", "f", transB=1)])
    nodes, given, w = two_levels("int4", (96, 40), 0, 32)
    yield weight_only("matmul_two_levels", nodes + [node("MatMul", "a d", "y")], {"a": a},
                      constants=given, expected=[(a @ w).astype(np.float32)])
    yield fixed("a16_two_levels", nodes, given, a, rounded(a, 16) @ w, 16,
                [node("MatMul", "x d", "f")])
    nodes, given, w = two_levels("int4", (40, 96), 1, 32)
    yield fixed("a16_two_levels_gemm", nodes, given | {"c": c}, a[0],
                rounded(a[0], 16) @ w.T + c, 16, [node("Gemm", "x d c", "f", transB=1)])
    nodes, given, w = dq("uint4", (96, 40), 0, 32, True)
    yield fixed("a16_uint4_block_zeros", nodes, given, a, rounded(a, 16) @ w, 16,
                [node("MatMul", "x d", "f")])


# ---- what stands between the matmuls


def rms(x, scale, epsilon):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale


def layer(x, scale, bias, epsilon):
    x = x.astype(np.float64) - x.mean(-1, keepdims=True, dtype=np.float64)
    return rms(x, scale, epsilon) + bias


def norms():
    x, skip, bias, scale, beta = f32(1, 5, 64), f32(1, 5, 64), f32(64), f32(64), f32(64)
    given = {"s": scale, "b": bias, "t": beta}

    def ms(name, op, inputs, want, outputs="y", **attributes):
        names = inputs.split()
        feeds = {k: v for k, v in (("x", x), ("k", skip)) if k in names}
        return case(name, node(op, inputs, outputs, "com.microsoft", **attributes), feeds, outputs.
                    replace("- ", ""), {k: v for k, v in given.items() if k in names},
                    microsoft=True, expected=[np.asarray(w, np.float32) for w in want])

    eps = 1e-5
    yield ms("simplified", "SimplifiedLayerNormalization", "x s", [rms(x, scale, eps)],
             epsilon=eps)
    for tag, inputs, add in (("", "x k s", 0), ("_bias", "x k s b", bias)):
        total = x.astype(np.float64) + skip + add
        yield ms("skip_simplified" + tag, "SkipSimplifiedLayerNormalization", inputs,
                 [rms(total, scale, eps), total], "y - - sum", epsilon=eps)
    for tag, inputs, add in (("", "x k s t", 0), ("_bias", "x k s t b", bias)):
        total = x.astype(np.float64) + skip + add
        yield ms("skip_layer" + tag, "SkipLayerNormalization", inputs,
                 [layer(total, scale, beta, eps), total], "y - - sum", epsilon=eps)
    for opset in (23, 24):
        yield case(f"rms_{opset}", node("RMSNormalization", "x s", "y", epsilon=eps), {"x": x},
                   constants={"s": scale}, opset=opset,
                   expected=[rms(x, scale, eps).astype(np.float32)])
    yield case("rms_float16", node("RMSNormalization", "x s", "y", epsilon=eps),
               {"x": x.astype(np.float16)}, constants={"s": scale.astype(np.float16)}, opset=23,
               expected=[rms(x, scale, eps).astype(np.float16)], tol=5e-3)


def caches():
    """Keys and values that are written where they lie."""
    past, new = f32(2, 3, 12, 8), f32(2, 3, 2, 8)
    for at in (np.array([4, 7]), np.array([0, 10])):
        yield case(f"tensor_scatter_{at[0]}", node("TensorScatter", "p n w", "y", axis=-2),
                   {"p": past, "n": new, "w": at}, opset=24)
    yield case("tensor_scatter_circular",
               node("TensorScatter", "p n w", "y", axis=-2, mode="circular"),
               {"p": past, "n": new, "w": np.array([11, 5])}, opset=24)
    q, k, v = f32(2, 6, 1, 8), f32(2, 3, 12, 8), f32(2, 3, 12, 8)
    # As exporters of opset 24 write a static cache: scatter, then attention over what is valid.
    yield case("static_cache", [
        node("TensorScatter", "k kn w", "ks", axis=-2),
        node("TensorScatter", "v vn w", "vs", axis=-2),
        node("Attention", "q ks vs - - - n", "y")],
        {"k": k, "kn": f32(2, 3, 1, 8), "w": np.array([4, 7]), "v": v, "vn": f32(2, 3, 1, 8),
         "q": q, "n": np.array([5, 8])}, "y ks vs", opset=24)
    cos, sin = f32(1, 5, 4), f32(1, 5, 4)
    for opset, flat in itertools.product((23, 24), (False, True)):
        x = f32(1, 5, 24) if flat else f32(1, 3, 5, 8)
        more = {"num_heads": 3} if flat else {}
        yield case(f"rotary_{opset}_{'flat' if flat else 'heads'}",
                   node("RotaryEmbedding", "x c s", "y", **more), {"x": x, "c": cos, "s": sin},
                   opset=opset)


def other_tokens():
    """Which the table does not have."""
    for name, ids in (("large", [[0, 50]]), ("negative", [[1, -51]])):
        says = f"index {ids[0][1]} (number 2 of 2) is outside of the dimension of 50"
        yield case(f"token_too_{name}", node("Gather", "t i", "y"), {"i": np.array(ids, np.int32)},
                   constants={"t": f32(50, 8)}, refusal=says)


def cases():
    for group in (norms, caches, by_quantizer, more_nbits, before_matmul, more_matmuls, expanded,
                  convolutions, quantized_activations, other_tokens):
        yield from group()
