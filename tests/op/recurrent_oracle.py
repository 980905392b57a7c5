# SPDX-License-Identifier: MIT
"""LSTM and GRU in float64, all batch rows at once; weights are given by name in a dictionary."""
import numpy as np


def sigma(v):
    return np.where(v >= 0, 1, np.exp(np.minimum(v, 0))) / (1 + np.exp(-np.abs(v)))


def clip(v, limit):
    return np.clip(v, -limit, limit) if limit else v


def layer_norm(v, weight):
    centred = v - v.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-8) * weight


def lstm_step(w, x, h, c, cell_clip=0.0, out_clip=0.0):
    """One step of [B, I]: h', c' and the four gates."""
    def pre(gate, cell=None):
        v = np.einsum("bi,ui->bu", x, w["x" + gate]) + np.einsum("bo,uo->bu", h, w["h" + gate])
        if cell is not None and "c" + gate in w:
            v = v + cell * w["c" + gate]
        if "ln" + gate in w:
            v = layer_norm(v, w["ln" + gate])
        return v + w["b" + gate]

    f = sigma(pre("f", c))
    i = sigma(pre("i", c)) if "xi" in w else 1 - f
    g = np.tanh(pre("c"))
    c = clip(f * c + i * g, cell_clip)
    o = sigma(pre("o", c))
    h = o * np.tanh(c)
    if "proj" in w:
        h = clip(np.einsum("bu,ou->bo", h, w["proj"]) + w.get("bproj", 0.0), out_clip)
    return h, c, (i, f, g, o)


def gru_step(w, x, h, linear_before_reset=False):
    def affine(kind, v):
        return v @ w[kind].T + w.get("b" + kind, 0.0)

    z = sigma(affine("xz", x) + affine("hz", h))
    r = sigma(affine("xr", x) + affine("hr", h))
    if linear_before_reset:
        n = np.tanh(affine("xn", x) + r * affine("hn", h))
    else:
        n = np.tanh(affine("xn", x) + affine("hn", r * h))
    return n + z * (h - n)


def scan(step, x, state, reverse=False, time_major=True):
    """Runs step(x_t, *state) -> new state over the time axis; outputs at their own place."""
    steps = x if time_major else np.moveaxis(x, 1, 0)
    out = [None] * len(steps)
    for t in (range(len(steps) - 1, -1, -1) if reverse else range(len(steps))):
        state = step(steps[t], *state)
        out[t] = state[0]
    return np.stack(out, 0 if time_major else 1), state
