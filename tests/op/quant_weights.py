# SPDX-License-Identifier: MIT
"""Weights and biases of quantized convolutions and products, in every encoding that has a meaning.

Relies on numpy and qcase. For the case generators of convolutions and matrix products.
"""
import numpy as np

import qcase as q


def weights(rng, shape, form, channel_axis, sum_axis, kind="static", name="w"):
    """A weight tensor. form: uq8, sq8, sq8axis, sq4, uq4, sq4axis, bw4, bw4axis, block, block4,
    expansion; channel_axis: the output channel, sum_axis: the one that blocks cut."""
    real = rng.normal(size=shape)
    dtype = "sq8"
    if form in ("uq8", "sq8", "uq4", "sq4", "sq16", "uq16"):
        dtype = form
        enc = q.fit(real, form)
    elif form in ("sq8axis", "sq4axis"):
        dtype = form[:3]
        enc = q.fit_axis(real, channel_axis, dtype)
    elif form == "bw4":
        enc = q.bw(4, np.abs(real).max() / 7)
    elif form == "bw4axis":
        enc = q.fit_axis(real, channel_axis, "sq8", bits=4)
    elif form in ("block", "block4"):
        dtype = "sq8" if form == "block" else "sq4"
        enc = block_encoding(rng, shape, channel_axis, sum_axis, 127 if form == "block" else 7)
    else:
        enc = expansion(rng, real, channel_axis, sum_axis)
    return q.Tensor(name, real, dtype, enc, kind)


def part_of(size):
    """Some divisor of a size: the length of a block."""
    return next(d for d in (4, 3, 2, size) if size % d == 0)


def block_encoding(rng, shape, channel_axis, sum_axis, top):
    block = list(shape)
    block[channel_axis] = 1
    block[sum_axis] = part_of(shape[sum_axis])
    counts = [-(-d // b) for d, b in zip(shape, block)]
    return q.block(block, rng.uniform(1.0, 3.0, counts) / top)


def expansion(rng, real, channel_axis, sum_axis):
    n_blocks = real.shape[sum_axis] // part_of(real.shape[sum_axis])
    channels = real.shape[channel_axis]
    factors = rng.integers(1, 17, (channels, n_blocks))
    scales = np.full(channels, np.abs(real).max() / (7 * 8)) * rng.uniform(0.7, 1.3, channels)
    return q.blockwise_expansion(channel_axis, scales, factors, sum_axis, bits=4)


def is_blocked(w):
    return w.enc.form in ("block", "bwx", "fblock")


def product_scales(x, w, n_channels):
    """scale(x) * scale(w) per output channel, as float64 of the float32 scales."""
    scales = np.resize(w.enc.scale, n_channels)
    return x.enc.scale[0] * scales


def bias(rng, form, x, w, n_channels, size, name="b"):
    """A bias tensor and the real values it stands for. form: none, sq32 (in units of the product),
    sq32own (another scale), i32 (no encoding), bare (sq32 without an encoding), zero (sq32 with
    scale 0), uq8, sq8."""
    real = rng.normal(size=n_channels) * size
    if form == "none":
        return None, None
    if form in ("uq8", "sq8", "sq32own"):
        dtype = form[:4] if form == "sq32own" else form
        enc = q.scale_offset(0.0137 * size) if form == "sq32own" else None
        b = q.Tensor(name, real, dtype, enc, "static")
        return b, b.real
    units = product_scales(x, w, n_channels)
    codes = np.floor(real / units + 0.5).astype(np.int64)
    if form == "i32":
        return q.Tensor(name, codes, "i32", kind="static"), codes * units
    enc = q.scale_offset(units[0]) if w.enc.scale.size == 1 else q.axis(0, units)
    b = q.Tensor(name, codes, "sq32", enc, "static")
    if form == "bare":
        b.enc = None
    elif form == "zero":
        b.enc.scale[:] = 0.0
    return b, codes * units
