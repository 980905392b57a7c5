# SPDX-License-Identifier: MIT
"""Attention and its relatives: what the conformance cases of ONNX lack, and Microsoft's ops against
formulas in float64."""
import numpy as np

from case_onnx import case, node, quantized_case

RNG = np.random.default_rng(11)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def rounded(*arrays):
    return [np.asarray(a).astype(np.float32) for a in arrays]


def softmax(x):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def split(x, heads):
    b, s, d = x.shape
    return x.reshape(b, s, heads, d // heads).transpose(0, 2, 1, 3)


def join(x):
    b, h, s, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(b, s, h * d)


def attend(q, k, v, bias=0.0, scale=None, softcap=0.0):
    """[B, H, S, D], [B, Hkv, T, D], [B, Hkv, T, Dv] -> [B, H, S, Dv], in float64."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    return softmax(scores + bias) @ v


def causal(queries, keys, offset, left=None):
    """0 and -inf; offset: a number, or one for each batch."""
    at = np.reshape(offset, (-1, 1, 1, 1)) + np.arange(queries).reshape(-1, 1)
    key = np.arange(keys)
    seen = (key <= at) & (True if left is None else at - key <= left)
    return np.where(seen, 0.0, -np.inf)


def rotate(x, cos, sin, interleaved=False):
    """x [B, H, S, D], cos and sin [B or 1, 1, S, R / 2]."""
    half = cos.shape[-1]
    a, b = (x[..., 0:2 * half:2], x[..., 1:2 * half:2]) if interleaved else \
        (x[..., :half], x[..., half:2 * half])
    real, imaginary = a * cos - b * sin, a * sin + b * cos
    pairs = np.stack([real, imaginary], -1).reshape(*x.shape[:-1], 2 * half) if interleaved else \
        np.concatenate([real, imaginary], -1)
    return np.concatenate([pairs, x[..., 2 * half:]], -1)


def standard():
    """ONNX's own ops."""
    q, k, v = f32(2, 3, 4, 8), f32(2, 3, 6, 8), f32(2, 3, 6, 10)
    inputs = {"q": q, "k": k, "v": v}
    for rank, mask in enumerate([f32(6), f32(4, 6), f32(3, 4, 6), f32(2, 1, 4, 6)], 1):
        yield case(f"mask_rank_{rank}", node("Attention", "q k v m", "y"), inputs | {"m": mask},
                   opset=25)
    hidden = np.ones((2, 3, 4, 6), bool)
    hidden[0, 1, 2] = hidden[1, :, 3] = False
    for mode in range(4):
        yield case(f"hidden_rows_{mode}",
                   node("Attention", "q k v m", "y pk pv s", qk_matmul_output_mode=mode),
                   inputs | {"m": hidden}, "y pk pv s", opset=25)
    yield case("short_mask", node("Attention", "q k v m", "y"),
               inputs | {"m": f32(4, 4)}, opset=25)
    yield case("integer_mask", node("Attention", "q k v m", "y"),
               inputs | {"m": RNG.integers(-3, 3, (4, 6))}, opset=25)
    yield case("constant_mask", node("Attention", "q k v m", "y"), inputs,
               constants={"m": hidden}, opset=23)
    yield case("no_scale", node("Attention", "q k v", "y", scale=0.0), inputs, opset=25,
               expected=[np.repeat(v.mean(2, keepdims=True), 4, 2)])
    for left, right in [(0, -1), (-1, 0), (1, 1), (3, 0)]:
        yield case(f"window_{left}_{right}".replace("-", "m"),
                   node("Attention", "q k v", "y", left_window_size=left,
                        right_window_size=right), inputs, opset=25)
    flat = {"q": f32(1, 1, 24), "k": f32(1, 5, 8), "v": f32(1, 5, 8)}
    yield case("one_query_grouped", node("Attention", "q k v", "y", q_num_heads=6, kv_num_heads=2),
               flat, opset=24)
    yield case("one_head", node("Attention", "q k v", "y", q_num_heads=1, kv_num_heads=1),
               {"q": f32(2, 3, 8), "k": f32(2, 5, 8), "v": f32(2, 5, 4)}, opset=24)
    yield quantized_case("quantized", "Attention", {"q": f32(1, 2, 4, 8), "k": f32(1, 2, 6, 8),
                                                    "v": f32(1, 2, 6, 8)}, opset=23)
    yield case("heads_do_not_fit", node("Attention", "q k v", "y", q_num_heads=5, kv_num_heads=2),
               flat, opset=24, refusal="multiple")
    yield case("mask_does_not_fit", node("Attention", "q k v m", "y"), inputs | {"m": f32(3, 6)},
               opset=24, refusal="mask")


def rotary():
    cos, sin = f32(20, 4), f32(20, 4)
    x, flat = f32(2, 3, 5, 8), f32(2, 5, 24)
    ids = RNG.integers(0, 20, (2, 5))
    c, s = cos[ids][:, None], sin[ids][:, None]
    for interleaved in (0, 1):
        yield case(f"rotary_microsoft_{interleaved}",
                   node("RotaryEmbedding", "x i c s", "y", "com.microsoft",
                        interleaved=interleaved), {"x": x, "i": ids}, microsoft=True,
                   constants={"c": cos, "s": sin}, expected=[rotate(x, c, s, interleaved)])
        yield case(f"rotary_microsoft_flat_{interleaved}",
                   node("RotaryEmbedding", "x i c s", "y", "com.microsoft", num_heads=3,
                        interleaved=interleaved), {"x": flat, "i": ids}, microsoft=True,
                   constants={"c": cos, "s": sin},
                   expected=[join(rotate(split(flat, 3), c, s, interleaved))])
    first = np.array([7])
    yield case("rotary_offset", node("RotaryEmbedding", "x i c s", "y", "com.microsoft"),
               {"x": x, "i": first, "c": cos, "s": sin}, microsoft=True,
               expected=[rotate(x, cos[7:12], sin[7:12])])
    yield case("rotary_behind_the_tables",
               node("RotaryEmbedding", "x i c s", "y", "com.microsoft"),
               {"x": x, "i": ids + 20}, constants={"c": cos, "s": sin}, microsoft=True,
               refusal="is outside of")
    yield case("rotary_part",
               node("RotaryEmbedding", "x i c s", "y", "com.microsoft", num_heads=2,
                    rotary_embedding_dim=8), {"x": flat, "i": ids}, microsoft=True,
               constants={"c": cos, "s": sin},
               expected=[join(rotate(split(flat, 2), c, s))])


def multi_head():
    q, k, v = f32(2, 4, 12), f32(2, 6, 12), f32(2, 6, 18)
    bias = f32(12 + 12 + 18)
    op = dict(domain="com.microsoft", num_heads=3)
    inputs = {"q": q, "k": k, "v": v}
    heads = [split(x, 3) for x in (q, k, v)]

    def mha(name, text, feeds, want, outputs="y", **attributes):
        return case(name, node("MultiHeadAttention", text, outputs, **op, **attributes), feeds,
                    outputs, microsoft=True, expected=rounded(*want))

    yield mha("mha", "q k v", inputs, [join(attend(*heads))])
    shifted = [split(x + b, 3) for x, b in zip((q, k, v), np.split(bias, [12, 24]))]
    yield mha("mha_bias", "q k v b", inputs | {"b": bias}, [join(attend(*shifted))])
    keys = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]], np.int32)
    padded = np.where(keys, 0, -10000.0)[:, None, None]
    yield mha("mha_padding", "q k v - m", inputs | {"m": keys}, [join(attend(*heads, padded))])
    yield mha("mha_lengths", "q k v - m", inputs | {"m": np.array([3, 5], np.int32)},
              [join(attend(*heads, padded))])
    scores = f32(1, 3, 4, 6)
    yield mha("mha_scores", "q k v - - s", inputs | {"s": scores},
              [join(attend(*heads, scores, 0.7))], scale=0.7)
    past_k, past_v = f32(2, 3, 5, 4), f32(2, 3, 5, 6)
    all_k, all_v = (np.concatenate([p, h], 2) for p, h in zip((past_k, past_v), heads[1:]))
    feeds = inputs | {"pk": past_k, "pv": past_v}
    yield mha("mha_past", "q k v - - - pk pv", feeds,
              [join(attend(heads[0], all_k, all_v)), all_k, all_v], "y ok ov")
    feeds["k"], feeds["v"] = feeds["k"][:, :4], feeds["v"][:, :4]
    all_k, all_v = all_k[:, :, :9], all_v[:, :, :9]
    yield mha("mha_causal", "q k v - - - pk pv", feeds,
              [join(attend(heads[0], all_k, all_v, causal(4, 9, 5))), all_k, all_v], "y ok ov",
              unidirectional=1)
    yield case("mha_causal_cross", node("MultiHeadAttention", "q k v", "y", **op,
                                        unidirectional=1), inputs, microsoft=True,
               refusal="unidirectional")
    yield mha("mha_cross", "q k v", {"q": q, "k": heads[1], "v": heads[2]},
              [join(attend(*heads))])
    yield case("mha_packed", node("MultiHeadAttention", "q", "y", **op),
               {"q": f32(2, 4, 3, 3, 4)}, microsoft=True, refusal="packed")


def fused():
    x, w, b = f32(2, 4, 10), f32(10, 36), f32(36)
    q, k, v = (split(p, 3) for p in np.split(x.astype(np.float64) @ w + b, 3, -1))
    op = dict(domain="com.microsoft", num_heads=3)
    constants = {"w": w, "b": b}
    yield case("fused", node("Attention", "x w b", "y", **op), {"x": x}, constants=constants,
               microsoft=True, expected=rounded(join(attend(q, k, v))))
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    padded = np.where(mask, 0, -10000.0)[:, None, None]
    yield case("fused_mask", node("Attention", "x w b m", "y", **op, unidirectional=1),
               {"x": x, "m": mask}, constants=constants, microsoft=True,
               expected=rounded(join(attend(q, k, v, padded + causal(4, 4, 0)))))
    past = f32(2, 2, 3, 5, 4)
    all_k, all_v = (np.concatenate([p, n], 2) for p, n in zip(past, (k, v)))
    yield case("fused_past", node("Attention", "x w b - p", "y o", **op), {"x": x, "p": past},
               "y o", constants, microsoft=True,
               expected=rounded(join(attend(q, all_k, all_v)), np.stack([all_k, all_v])))
    sizes = dict(qkv_hidden_sizes=[12, 12, 6])
    w2 = np.ascontiguousarray(w[:, :30])
    q, k, v = (split(p, 3) for p in np.split(x.astype(np.float64) @ w2, [12, 24], -1))
    yield case("fused_sizes", node("Attention", "x w - m", "y", **op, **sizes),
               {"x": x, "m": np.array([3, 2], np.int32)}, constants={"w": w2}, microsoft=True,
               expected=rounded(join(attend(q, k, v, padded))))


def grouped():
    cos, sin = f32(32, 4), f32(32, 4)
    op = dict(domain="com.microsoft", num_heads=4, kv_num_heads=2)
    inputs = "q k v pk pv last total"

    def gqa(name, q, k, v, past_k, past_v, last, total, dynamic, room, rotary=None, left=None,
            packed=False, shared=False, half=False, bias=None, **attributes):
        """Keys of batch b are the first ones of the past, then the new ones."""
        b, s = q.shape[:2]
        lead = np.maximum(np.array(last) + 1 - s, 0)
        hq, hk, hv = split(q, 4), split(k, 2), split(v, 2)
        if rotary is not None:
            at = lead[:, None] + np.arange(s)
            c, n = cos[at][:, None], sin[at][:, None]
            hq, hk = rotate(hq, c, n, rotary), rotate(hk, c, n, rotary)
            attributes |= dict(do_rotary=1, rotary_interleaved=rotary)
        keys, values = np.zeros((2, b, 2, room, 8))
        for i in range(b):
            for all_, old, new in ((keys, past_k, hk), (values, past_v, hv)):
                if old is not None:
                    all_[i, :, :old.shape[2]] = old[i]
                all_[i, :, lead[i]:lead[i] + s] = new[i]
        mask = causal(s, room, lead, left) + (0 if bias is None else bias)
        y = join(attend(hq, keys, values, mask, scale=attributes.get("scale"),
                        softcap=attributes.get("softcap", 0)))
        if left is not None:
            attributes["local_window_size"] = left + 1
        feeds = {"q": np.concatenate([q, k, v], -1)} if packed else {"q": q, "k": k, "v": v}
        text = inputs.replace("k v", "- -", 1) if packed else inputs
        if past_k is None:
            text = text.replace("pk pv", "- -")
        elif shared:
            text = text.replace("k v pk pv", "k k pk pk")
            feeds = {"q": q, "k": k, "pk": past_k}
        else:
            feeds |= {"pk": past_k, "pv": past_v}
        feeds["last"] = np.array(last, np.int32)
        more = {"total": np.array(total, np.int32)}
        constants = {} if dynamic else dict(more)
        if dynamic:
            feeds |= more
        if rotary is not None:
            text += " c s"
            constants |= {"c": cos, "s": sin}
        if bias is not None:
            text += " -" * (10 - len(text.split())) + " b"
            feeds["b"] = bias
        want, more = rounded(y, keys, values), {}
        if half:
            feeds, constants = ({n: a.astype(np.float16) if a.dtype == np.float32 else a
                                 for n, a in d.items()} for d in (feeds, constants))
            want, more = [w.astype(np.float16) for w in want], {"tol": 5e-3}
        return case(name, node("GroupQueryAttention", text, "y ok ov", **op, **attributes), feeds,
                    "y ok ov", constants, microsoft=True, expected=want, **more)

    def new(b, s):
        return f32(b, s, 32), f32(b, s, 16), f32(b, s, 16)

    past = f32(1, 2, 6, 8), f32(1, 2, 6, 8)
    yield gqa("gqa_prompt", *new(2, 5), None, None, [4, 4], 5, False, 5)
    yield gqa("gqa_prompt_rotary", *new(1, 5), None, None, [4], 5, True, 5, rotary=0)
    yield gqa("gqa_packed", *new(1, 5), None, None, [4], 5, False, 5, rotary=1, packed=True)
    yield gqa("gqa_follows", *new(1, 1), *past, [6], 7, False, 7, rotary=0)
    yield gqa("gqa_follows_several", *new(1, 3), *past, [8], 9, False, 9, rotary=1)
    yield gqa("gqa_softcap", *new(1, 3), *past, [8], 9, False, 9, softcap=3.0)
    yield gqa("gqa_window", *new(1, 3), *past, [8], 9, False, 9, left=3)
    query, key, _ = new(1, 1)
    yield gqa("gqa_keys_are_values", query, key, key, past[0], past[0], [6], 7, False, 7,
              shared=True)
    room = f32(1, 2, 12, 8), f32(1, 2, 12, 8)
    room[0][:, :, 6:] = room[1][:, :, 6:] = 0
    yield gqa("gqa_buffer", *new(1, 1), *room, [6], 7, True, 12, rotary=0)
    yield gqa("gqa_buffer_window", *new(1, 2), *room, [7], 8, True, 12, left=2)
    yield gqa("gqa_buffer_packed", *new(1, 2), *room, [7], 8, True, 12, rotary=1, packed=True)
    yield gqa("gqa_buffer_everything", *new(1, 2), *room, [7], 8, True, 12, rotary=0, left=3,
              packed=True, softcap=2.0, scale=0.4)
    yield gqa("gqa_buffer_bias", *new(1, 2), *room, [7], 8, True, 12, bias=f32(1, 4, 2, 12))
    yield gqa("gqa_buffer_float16", *new(1, 2), *room, [7], 8, True, 12, rotary=0, half=True)
    yield gqa("gqa_prompt_in_buffer", *new(1, 6), *room, [5], 12, True, 12, rotary=0)
    yield gqa("gqa_follows_float16", *new(1, 1), *past, [6], 7, False, 7, rotary=0, half=True)
    both = f32(2, 2, 12, 8), f32(2, 2, 12, 8)
    yield gqa("gqa_buffer_batch", *new(2, 1), *both, [6, 3], 7, True, 12, rotary=0)
    names = ["q", "k", "v", "pk", "pv", "last", "total"]
    for name, text in (("rotary", inputs + " c s"), ("plain", inputs)):  # a cache that is full
        yield case(f"gqa_behind_the_buffer_{name}",
                   node("GroupQueryAttention", text, "y ok ov", do_rotary=int(name == "rotary"),
                        **op),
                   dict(zip(names, [*new(1, 1), *room, np.array([12], np.int32),
                                    np.array(13, np.int32)])), "y ok ov",
                   {"c": cos[:12], "s": sin[:12]} if name == "rotary" else {}, microsoft=True,
                   refusal="is outside of")
    for name, last in (("decode", [-1]), ("prompt", [-7])):
        s = 1 if name == "decode" else 6
        yield case(f"gqa_negative_length_{name}",
                   node("GroupQueryAttention", inputs, "y ok ov", **op),
                   dict(zip(names, [*new(1, s), *room, np.array(last, np.int32),
                                    np.array(s, np.int32)])), "y ok ov", microsoft=True,
                   refusal="is outside of")
    yield case("gqa_sink", node("GroupQueryAttention", inputs, "y ok ov", smooth_softmax=1, **op),
               dict(zip(names, [*new(1, 1), *past, np.array([6], np.int32),
                                np.array(7, np.int32)])),
               "y ok ov", microsoft=True, refusal="smooth_softmax")


def states():
    """Longer than one op has operands."""
    feeds = {"q": f32(1, 70, 8), "k": f32(1, 70, 4) * 0.3, "v": f32(1, 70, 6),
             "d": -np.abs(f32(1, 70, 2)), "b": np.abs(f32(1, 70, 2)) * 0.1}
    yield case("linear_long", node("LinearAttention", "q k v - d b", "y s", q_num_heads=4,
                                   kv_num_heads=2), feeds, "y s", opset=27)
    yield case("linear_rule", node("LinearAttention", "q k v", "y s", q_num_heads=4,
                                   kv_num_heads=2), {n: feeds[n] for n in "qkv"}, "y s", opset=27,
               refusal="decay or beta")


def cases():
    for group in (standard, rotary, multi_head, fused, grouped, states):
        yield from group()
