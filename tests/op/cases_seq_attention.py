# SPDX-License-Identifier: MIT
"""GroupedQueryAttention, RotaryEmbedding, Stft."""
import numpy as np

import onnx_oracle
import qcase as q


def heads(x, n):
    """[B, S, n*D] -> [B, n, S, D]."""
    return x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)


def attention(query, key, value, n_q, n_kv, past_key=None, past_value=None, mask=None, totals=None,
              scale=None, causal=True):
    qh, kh, vh = heads(query, n_q), heads(key, n_kv), heads(value, n_kv)
    if past_key is not None:
        kh, vh = np.concatenate([past_key, kh], 2), np.concatenate([past_value, vh], 2)
    n_queries, n_keys = qh.shape[2], kh.shape[2]
    scale = 1 / np.sqrt(qh.shape[-1]) if scale is None else scale
    group = n_q // n_kv
    scores = scale * np.einsum("bhsd,bhtd->bhst", qh, np.repeat(kh, group, 1))
    if mask is not None:
        scores = scores + mask
    hidden = np.zeros(scores.shape, bool)
    if causal:
        own = np.arange(n_queries)[:, None] + n_keys - n_queries
        hidden |= np.arange(n_keys)[None] > own
    if totals is not None:
        hidden |= np.arange(n_keys) >= np.asarray(totals)[:, None, None, None]
    scores = np.where(hidden, -np.inf, scores)
    top = scores.max(-1, keepdims=True)
    weight = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weight.sum(-1, keepdims=True)
    weight = weight / np.where(total == 0, 1, total)
    y = np.einsum("bhst,bhtd->bhsd", weight, np.repeat(vh, group, 1))
    return y.transpose(0, 2, 1, 3).reshape(query.shape), kh, vh


def add_gqa(f, name, dtype="f32", batch=2, queries=3, keys=3, n_q=4, n_kv=2, size=4, past=0,
            mask=None, totals=None, scale=None, causal=None, present=True, mask_array=None):
    def make(n, shape):
        return q.Tensor(n, f.rng.normal(size=shape), dtype)

    ins = [make("q", (batch, queries, n_q * size)), make("k", (batch, keys, n_kv * size)),
           make("v", (batch, keys, n_kv * size))]
    cache = [make("pk", (batch, n_kv, past, size)), make("pv", (batch, n_kv, past, size))] \
        if past else [q.NULL, q.NULL]
    bias = q.NULL
    if mask_array is not None:
        bias = q.Tensor("m", mask_array, dtype)
    elif mask:
        bias = make("m", mask)
    count = q.NULL if totals is None else q.Tensor("n", np.array(totals), "i32")
    optional = [*cache, bias, count]
    while optional and optional[-1] is q.NULL:
        optional.pop()
    y, k, v = attention(*[t.real for t in ins], n_q, n_kv, *[t.real for t in cache if past],
                        **{} if bias is q.NULL else {"mask": bias.real}, totals=totals,
                        scale=None if scale is None else float(np.float32(scale)),
                        causal=causal is not False)
    outs = [q.Tensor("y", y, dtype)]
    if present:
        outs += [q.Tensor("ok", k, dtype), q.Tensor("ov", v, dtype)]
    params = {"num_heads": ("u32", n_q), "kv_num_heads": ("u32", n_kv)}
    if scale is not None:
        params["scale"] = ("f32", scale)
    if causal is not None:
        params["is_causal"] = ("b8", causal)
    f.add("GroupedQueryAttention", ins + optional, outs, params, name="Gqa_" + name)


def gqa_cases(f):
    for n_q, n_kv in ((1, 1), (2, 1), (4, 2), (6, 3), (6, 1), (3, 3)):
        for past in (0, 1, 5):
            for causal in (None, True, False):
                add_gqa(f, f"heads_{n_q}_{n_kv}", n_q=n_q, n_kv=n_kv, past=past, causal=causal,
                        size=int(f.rng.integers(1, 6)), present=past != 1)
    for dtype in ("f16", "uq8", "uq16"):
        for past in (0, 3):
            for batch in (1, 3):
                add_gqa(f, dtype, dtype, batch, past=past, size=8)
                add_gqa(f, dtype, dtype, batch, past=past, mask=(3, past + 3), causal=False)
    for mask in ((3, 8), (1, 8), (1, 1), (4, 3, 8), (1, 3, 8), (2, 4, 3, 8), (2, 1, 1, 8),
                 (1, 4, 3, 1), (3, 1)):
        for causal in (True, False):
            add_gqa(f, "mask", past=5, mask=mask, causal=causal)
    for totals in ([8, 8], [1, 8], [5, 6], [0, 3]):
        for causal in (True, False):
            add_gqa(f, "totals", past=5, totals=totals, causal=causal)
    add_gqa(f, "queries_and_keys_differ", queries=2, keys=6, causal=True)
    add_gqa(f, "more_queries_than_keys", queries=6, keys=2, causal=False)
    add_gqa(f, "decode_step", batch=1, queries=1, keys=1, past=9)
    for scale in (0.0, 0.125, 3.0, -1.0):
        add_gqa(f, "scale", scale=scale)
    closed = np.zeros((3, 3))
    closed[1] = -np.inf
    add_gqa(f, "closed_row", mask_array=closed, causal=False)
    add_gqa(f, "large_scores", mask_array=np.array([[3e4, 0.0, -3e4]] * 3), causal=False)
    add_gqa(f, "many_tasks", batch=2, queries=17, keys=40, n_q=8, n_kv=2, size=16)


def gqa_error_cases(f):
    def refused(name, changes=None, params=None, outs=None, stage=None, **more):
        t = {"q": (2, 3, 16), "k": (2, 3, 8), "v": (2, 3, 8), "pk": (2, 2, 5, 4),
             "pv": (2, 2, 5, 4), "m": (3, 8), "n": (2,)}
        t.update(changes or {})
        ins = [q.NULL if s is None else q.Tensor(n, np.ones(s), "i32" if n == "n" else "f32")
               for n, s in t.items()]
        if "n" in more:
            ins[6] = q.Tensor("n", np.array(more["n"]), "i32")
        given = {"num_heads": ("u32", 4), "kv_num_heads": ("u32", 2)}
        given.update(params or {})
        outs = outs or [q.Tensor("y", dims=(2, 3, 16))]
        f.add("GroupedQueryAttention", ins, outs, given, name="Gqa_" + name,
              error=q.error(None, "execute") if stage else q.error())

    refused("heads_do_not_divide", params={"num_heads": ("u32", 3)})
    refused("heads_0", params={"num_heads": ("u32", 0)})
    refused("kv_heads_do_not_divide", params={"kv_num_heads": ("u32", 3)})
    refused("kv_heads_0", params={"kv_num_heads": ("u32", 0)})
    refused("key_width", {"k": (2, 3, 12)})
    refused("key_batch", {"k": (3, 3, 8)})
    refused("value_length", {"v": (2, 4, 8)})
    refused("past_alone", {"pv": None})
    refused("past_heads", {"pk": (2, 4, 5, 4), "pv": (2, 4, 5, 4)})
    refused("past_lengths", {"pv": (2, 2, 6, 4)})
    refused("mask_shape", {"m": (3, 7)})
    refused("mask_too_large", {"m": (3, 4, 3, 8)})
    refused("totals_shape", {"n": (3,)})
    refused("output_shape", outs=[q.Tensor("y", dims=(2, 3, 8))])
    refused("present_shape", outs=[q.Tensor("y", dims=(2, 3, 16)),
                                   q.Tensor("pk", dims=(2, 2, 5, 4))])
    refused("causal_more_queries", {"q": (2, 9, 16), "m": (1, 8)},
            outs=[q.Tensor("y", dims=(2, 9, 16))])
    refused("totals_too_large", stage=True, n=[9, 1])
    refused("totals_negative", stage=True, n=[1, -1])


def rotate(x, cos, sin, interleaved):
    """As a complex product; cos and sin are [B, S, R/2]."""
    half = cos.shape[-1]
    y = x.copy()
    pairs = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else \
        (slice(0, half), slice(half, 2 * half))
    turned = (x[..., pairs[0]] + 1j * x[..., pairs[1]]) * (cos + 1j * sin)[:, None]
    y[..., pairs[0]], y[..., pairs[1]] = turned.real, turned.imag
    return y


def rotary_cases(f):
    for dtype in ("f32", "f16"):
        for interleaved in (None, False, True):
            for batch, n, steps, size, rd in ((1, 1, 1, 2, 2), (2, 3, 4, 8, 8), (1, 2, 5, 7, 4),
                                              (2, 1, 3, 6, None), (3, 2, 2, 10, 2)):
                half = (rd or size) // 2
                x = q.Tensor("x", f.rng.normal(size=(batch, n, steps, size)), dtype)
                params = {} if rd is None else {"rotary_embedding_dim": ("u32", rd)}
                if interleaved is not None:
                    params["interleaved"] = ("b8", interleaved)
                angle = f.rng.uniform(-3, 3, (batch, steps, half))
                cos, sin = (q.Tensor(k, fn(angle), dtype) for k, fn in (("c", np.cos),
                                                                        ("s", np.sin)))
                want = rotate(x.real, cos.real, sin.real, interleaved)
                f.add("RotaryEmbedding", [x, cos, sin], [q.Tensor("y", want, dtype)], params,
                      name=f"Rotary_own_{dtype}")
                table = f.rng.uniform(-3, 3, (11, half))
                cos, sin = (q.Tensor(k, fn(table), dtype, kind="static")
                            for k, fn in (("c", np.cos), ("s", np.sin)))
                at = q.Tensor("p", f.rng.integers(0, 11, (batch, steps)), "i32")
                want = rotate(x.real, cos.real[at.array], sin.real[at.array], interleaved)
                f.add("RotaryEmbedding", [x, cos, sin, at], [q.Tensor("y", want, dtype)], params,
                      name=f"Rotary_indexed_{dtype}")
    for interleaved in (0, 1):  # as ONNX defines it
        x = q.Tensor("x", f.rng.normal(size=(2, 3, 4, 8)))
        cos, sin = (q.Tensor(k, f.rng.normal(size=(9, 3))) for k in "cs")
        at = q.Tensor("p", f.rng.integers(0, 9, (2, 4)), "i32")
        want, = onnx_oracle.evaluate("RotaryEmbedding",
                                     [x.real, cos.real, sin.real, at.array.astype(np.int64)],
                                     opset=23, interleaved=interleaved, rotary_embedding_dim=6)
        f.add("RotaryEmbedding", [x, cos, sin, at], [q.Tensor("y", want)],
              {"interleaved": ("b8", interleaved), "rotary_embedding_dim": ("u32", 6)},
              name="Rotary_onnx")


def rotary_error_cases(f):
    def refused(name, x=(2, 3, 4, 8), c=(2, 4, 4), s=None, p=None, out=None, at=None, **params):
        ins = [q.Tensor("x", np.zeros(x)), q.Tensor("c", np.zeros(c)),
               q.Tensor("s", np.zeros(s or c))]
        if p:
            ins.append(q.Tensor("p", np.full(p, at or 0), "i32"))
        f.add("RotaryEmbedding", ins, [q.Tensor("y", dims=out or x)],
              {k: ("u32", v) for k, v in params.items()}, name="Rotary_" + name,
              error=q.error() if at is None else q.error(None, "execute"))

    refused("odd", c=(2, 4, 1), rotary_embedding_dim=3)
    refused("too_wide", c=(2, 4, 5), rotary_embedding_dim=10)
    refused("odd_head", x=(2, 3, 4, 7), c=(2, 4, 3))
    refused("cache_width", c=(2, 4, 3))
    refused("cache_steps", c=(2, 5, 4))
    refused("caches_differ", s=(2, 4, 3))
    refused("rank_2_without_positions", c=(9, 4))
    refused("rank_3_with_positions", p=(2, 4))
    refused("positions_shape", c=(9, 4), p=(2, 5))
    refused("output_shape", out=(2, 3, 4, 6))
    refused("position_too_large", c=(9, 4), p=(2, 4), at=9)
    refused("position_negative", c=(9, 4), p=(2, 4), at=-1)


def stft(x, window, step, bins):
    """By numpy's FFT of each windowed frame."""
    n = len(window)
    signal = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    starts = range(0, x.shape[1] - n + 1, step)
    y = np.stack([np.fft.fft(signal[:, s:s + n] * window)[:, :bins] for s in starts], 1)
    return np.stack([y.real, y.imag], -1)


def stft_cases(f):
    for dtype in ("f32", "f16"):
        for length, step, n in ((8, 2, 20), (5, 3, 17), (1, 1, 4), (16, 16, 16), (7, 1, 8),
                                (12, 5, 40), (9, 20, 30)):
            for parts in (1, 2):
                for windowed in (True, False):
                    onesided = None if parts == 1 and length % 2 else parts == 1 and length > 6
                    x = q.Tensor("x", f.rng.normal(size=(2, n, parts)), dtype)
                    w = q.Tensor("w", f.rng.uniform(0.1, 1, length), dtype, kind="static")
                    bins = length if onesided is False else length // 2 + 1
                    want = stft(x.real, w.real if windowed else np.ones(length), step, bins)
                    params = {"frame_step": ("u32", step)}
                    if not windowed or f.rng.integers(2):
                        params["frame_length"] = ("u32", length)
                    if onesided is not None:
                        params["onesided"] = ("b8", onesided)
                    f.add("Stft", [x, w] if windowed else [x], [q.Tensor("y", want, dtype)], params,
                          name=f"Stft_{dtype}_{length}")
    x, w = q.Tensor("x", f.rng.normal(size=(1, 20, 1))), q.Tensor("w", np.hanning(8) + 0.1)
    want, = onnx_oracle.evaluate("STFT", [x.real, np.int64(4), w.real], onesided=1)
    f.add("Stft", [x, w], [q.Tensor("y", want)], {"frame_step": ("u32", 4)}, name="Stft_onnx")
    x = q.Tensor("x", f.rng.normal(size=(3, 200, 1)))
    f.add("Stft", [x], [q.Tensor("y", stft(x.real, np.ones(64), 8, 33))],
          {"frame_step": ("u32", 8), "frame_length": ("u32", 64)}, name="Stft_many_tasks")


def stft_error_cases(f):
    def refused(name, x=(2, 20, 1), window=8, out=(2, 7, 5, 2), **params):
        given = {"frame_step": ("u32", 2)}
        given.update({k: ("b8" if k == "onesided" else "u32", v) for k, v in params.items()})
        ins = [q.Tensor("x", np.zeros(x))] + ([q.Tensor("w", np.ones(window))] if window else [])
        f.add("Stft", ins, [q.Tensor("y", dims=out)], given, name="Stft_" + name, error=q.error())

    refused("three_parts", x=(2, 20, 3))
    refused("complex_onesided", x=(2, 20, 2))
    refused("complex_onesided_said", x=(2, 20, 2), onesided=1)
    refused("step_0", frame_step=0)
    refused("no_length", window=None)
    refused("length_0", window=None, frame_length=0)
    refused("length_above_signal", window=None, frame_length=21)
    refused("window_above_signal", window=21)
    refused("lengths_differ", frame_length=6)
    refused("output_frames", out=(2, 6, 5, 2))
    refused("output_bins", out=(2, 7, 8, 2))


def cases(f):
    gqa_cases(f)
    gqa_error_cases(f)
    rotary_cases(f)
    rotary_error_cases(f)
    stft_cases(f)
    stft_error_cases(f)


if __name__ == "__main__":
    q.run(cases)
