# SPDX-License-Identifier: MIT
"""A small Llama with random weights: as a GGUF file, and computed in float64 as llama.cpp defines
it (rotated pairs lie side by side), which is not how Quern's graphs lay them out.

    net = TinyLlama()
    path.write_bytes(net.gguf("Q4_0").bytes())
    logits, k, v = net.forward(ids)         # of all positions; k, v: [layer][kv, T, head_dim]
"""
import numpy as np
from gguf_writer import ARRAY, BOOL, F32, I32, STRING, U32, Gguf

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
        "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|im_start|>assistant\n' }}{% endif %}")
LINEAR = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def byte_letters():
    """The characters that stand for the 256 bytes in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(extra)}}


def vocabulary():
    """Tokens, kinds, merges."""
    letters = list(byte_letters().values())
    merges = ["t h", "th e", "Ġ the", "i n", "Ġ a", "h i"]
    tokens = SPECIAL + letters + [m.replace(" ", "") for m in merges]
    return tokens, [3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)), merges


class TinyLlama:
    def __init__(self, layers=2, hidden=64, heads=4, kv=2, ff=96, tied=True, arch="llama",
                 seed=0, base=10000.0, eps=1e-5):
        rng = np.random.default_rng(seed)
        self.layers, self.hidden, self.heads, self.kv, self.ff = layers, hidden, heads, kv, ff
        self.arch, self.base, self.eps, self.hd = arch, base, eps, hidden // heads
        self.tokens, self.kinds, self.merges = vocabulary()
        self.vocab = len(self.tokens)
        draw = lambda *shape: np.float32(rng.standard_normal(shape) / np.sqrt(shape[-1]))
        side = {"attn_q": (heads * self.hd, hidden), "attn_k": (kv * self.hd, hidden),
                "attn_v": (kv * self.hd, hidden), "attn_output": (hidden, heads * self.hd),
                "ffn_gate": (ff, hidden), "ffn_up": (ff, hidden), "ffn_down": (hidden, ff)}
        self.w = {"token_embd.weight": draw(self.vocab, hidden) * 4,
                  "output_norm.weight": np.float32(1 + .1 * rng.standard_normal(hidden))}
        if not tied:
            self.w["output.weight"] = draw(self.vocab, hidden)
        for i in range(layers):
            for name in ("attn_norm", "ffn_norm"):
                self.w[f"blk.{i}.{name}.weight"] = np.float32(1 + .1 * rng.standard_normal(hidden))
            for name in LINEAR:
                self.w[f"blk.{i}.{name}.weight"] = draw(*side[name])
                if arch == "qwen2" and name in LINEAR[:3]:
                    self.w[f"blk.{i}.{name}.bias"] = np.float32(rng.standard_normal(side[name][0]))

    def settings(self, g):
        key = lambda name, kind, v: g.key(f"{self.arch}.{name}", kind, v)
        g.key("general.architecture", STRING, self.arch)
        key("block_count", U32, self.layers)
        key("context_length", U32, 256)
        key("embedding_length", U32, self.hidden)
        key("feed_forward_length", U32, self.ff)
        key("attention.head_count", U32, self.heads)
        key("attention.head_count_kv", U32, self.kv)
        key("rope.freq_base", F32, self.base)
        key("attention.layer_norm_rms_epsilon", F32, self.eps)

    def tokenizer(self, g, pre="smollm"):
        g.key("tokenizer.ggml.model", STRING, "gpt2")
        g.key("tokenizer.ggml.pre", STRING, pre)
        g.key("tokenizer.ggml.tokens", ARRAY, (STRING, self.tokens))
        g.key("tokenizer.ggml.token_type", ARRAY, (I32, self.kinds))
        g.key("tokenizer.ggml.merges", ARRAY, (STRING, self.merges))
        g.key("tokenizer.ggml.bos_token_id", U32, 1)
        g.key("tokenizer.ggml.eos_token_id", U32, 2)
        g.key("tokenizer.ggml.add_bos_token", BOOL, False)
        g.key("tokenizer.chat_template", STRING, CHAT)

    def gguf(self, kind="F32", pre="smollm"):
        """Matrices of layers are of type `kind`, all else F32."""
        g = Gguf()
        self.settings(g)
        self.tokenizer(g, pre)
        for name, w in self.w.items():
            g.tensor(name, w, kind if any(p in name for p in LINEAR) and w.ndim == 2 else "F32")
        return g

    def _rotate(self, x):
        """x: [heads, T, hd]; pairs side by side (llama) or half a head apart (qwen2)."""
        angle = (np.arange(x.shape[1])[:, None]
                 / self.base ** (np.arange(0, self.hd, 2) / self.hd)[None])
        c, s, y = np.cos(angle), np.sin(angle), np.empty_like(x)
        half = self.hd // 2
        a, b = (slice(0, None, 2), slice(1, None, 2)) if self.arch == "llama" else \
            (slice(0, half), slice(half, None))
        y[..., a] = x[..., a] * c - x[..., b] * s
        y[..., b] = x[..., a] * s + x[..., b] * c
        return y

    def forward(self, ids):
        w = {k: v.astype(np.float64) for k, v in self.w.items()}
        norm = lambda x, n: x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * w[n]
        x, t, ks, vs = w["token_embd.weight"][ids], len(ids), [], []
        for i in range(self.layers):
            h = norm(x, f"blk.{i}.attn_norm.weight")
            lin = lambda n, y: y @ w[f"blk.{i}.{n}.weight"].T + w.get(f"blk.{i}.{n}.bias", 0)
            split = lambda y, n: y.reshape(t, n, self.hd).swapaxes(0, 1)
            q = self._rotate(split(lin("attn_q", h), self.heads))
            k = self._rotate(split(lin("attn_k", h), self.kv))
            v = split(lin("attn_v", h), self.kv)
            ks.append(k), vs.append(v)
            rep = lambda y: np.repeat(y, self.heads // self.kv, 0)
            a = q @ rep(k).swapaxes(1, 2) / np.sqrt(self.hd)
            a = np.where(np.tril(np.ones((t, t), bool)), a, -np.inf)
            a = np.exp(a - a.max(-1, keepdims=True))
            a = (a / a.sum(-1, keepdims=True)) @ rep(v)
            x = x + lin("attn_output", a.swapaxes(0, 1).reshape(t, -1))
            h = norm(x, f"blk.{i}.ffn_norm.weight")
            gate = lin("ffn_gate", h)
            x = x + lin("ffn_down", gate / (1 + np.exp(-gate)) * lin("ffn_up", h))
        head = w.get("output.weight", w["token_embd.weight"])
        return norm(x, "output_norm.weight") @ head.T, ks, vs
