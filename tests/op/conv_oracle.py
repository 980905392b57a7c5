# SPDX-License-Identifier: MIT
"""Convolutions, products and pooling in float64, for any number of spatial dimensions.

Relies on numpy alone. Forward convolution: sliding windows and einsum; transposed convolution:
scattering of input cells; pooling: a loop over windows. Layouts: x [N, S.., C], forward filter
[K.., Cin/group, Cout], transposed filter [K.., Cin, Cout/group].
"""
import itertools

import numpy as np

SPATIAL = "xyz"
KERNEL = "abc"


def conv(x, w, bias, stride, pad, dilation, group):
    n = x.ndim - 2
    axes = tuple(range(1, n + 1))
    x = np.pad(x, [(0, 0), *[tuple(p) for p in pad], (0, 0)])
    extent = [(k - 1) * d + 1 for k, d in zip(w.shape, dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(x, extent, axis=axes)
    pick = [slice(None), *[slice(None, None, s) for s in stride], slice(None),
            *[slice(None, None, d) for d in dilation]]
    windows = windows[tuple(pick)]  # [N, So.., Cin, K..]
    cin, cout = x.shape[-1] // group, w.shape[-1] // group
    s, k = SPATIAL[:n], KERNEL[:n]
    parts = [np.einsum(f"n{s}i{k},{k}io->n{s}o",
                       windows[(slice(None),) * (n + 1) + (slice(g * cin, (g + 1) * cin),)],
                       w[..., g * cout:(g + 1) * cout]) for g in range(group)]
    return np.concatenate(parts, -1) + (0 if bias is None else bias)


def transposed(x, w, bias, stride, pad, dilation, group, output_padding):
    n = x.ndim - 2
    kernel = w.shape[:n]
    full = [(i - 1) * s + (k - 1) * d + 1
            for i, s, k, d in zip(x.shape[1:-1], stride, kernel, dilation)]
    size = [f - p[0] - p[1] + o for f, p, o in zip(full, pad, output_padding)]
    cin, cout = x.shape[-1] // group, w.shape[-1]
    room = [max(f, p[0] + z) for f, p, z in zip(full, pad, size)]
    y = np.zeros([x.shape[0], *room, cout * group])
    for at in itertools.product(*map(range, kernel)):
        cells = tuple(slice(a * d, a * d + (i - 1) * s + 1, s)
                      for a, d, i, s in zip(at, dilation, x.shape[1:-1], stride))
        for g in range(group):
            chans = slice(g * cin, (g + 1) * cin)
            y[(slice(None), *cells, slice(g * cout, (g + 1) * cout))] += \
                x[..., chans] @ w[at][chans]
    keep = tuple(slice(p[0], p[0] + z) for p, z in zip(pad, size))
    return y[(slice(None), *keep)] + (0 if bias is None else bias)


def pool(x, size, stride, pad, kind, ceil=False, count_pad=False, out=None):
    """kind: max, avg or l2. out: number of windows per dimension where it is not the formula's."""
    n = x.ndim - 2
    steps = []
    for i in range(n):
        room = x.shape[1 + i] + sum(pad[i]) - size[i]
        steps.append((-(-room // stride[i]) if ceil else room // stride[i]) + 1)
    steps = list(out or steps)
    y = np.zeros([x.shape[0], *steps, x.shape[-1]])
    for at in itertools.product(*map(range, steps)):
        inside, padded = [slice(None)], 1
        for a, s, k, p, d in zip(at, stride, size, pad, x.shape[1:-1]):
            low = a * s - p[0]
            inside.append(slice(max(low, 0), max(min(low + k, d), 0)))
            padded *= max(0, min(low + k, d + p[1]) - low)
        cells = x[tuple(inside)].reshape(x.shape[0], -1, x.shape[-1])
        if kind == "max":
            value = cells.max(1) if cells.shape[1] else np.full_like(y[:, 0, 0], -np.inf)
        elif kind == "l2":
            value = np.sqrt((cells ** 2).sum(1))
        else:
            value = cells.sum(1) / max(1, padded if count_pad else cells.shape[1])
        y[(slice(None), *at)] = value
    return y


def round_bias(real, unit):
    """A bias as sums of products hold it: whole multiples of scale(x) * scale(w), ties up."""
    return np.floor(real / unit + 0.5) * unit
