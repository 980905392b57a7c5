#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Few rows times constant weights of 8 and 4 bits, as language models have them, and of floats."""
import numpy as np
import qcase as q
import qtypes as qt


def encodings(rng, codes_shape, channel, depth):
    """(name, dtype, encoding) of weights whose output channels and depth are these dimensions."""
    n, k = codes_shape[channel], codes_shape[depth]
    scales = rng.uniform(0.002, 0.02, n)
    yield "uq8", "uq8", qt.scale_offset(0.01, -131)
    yield "sq8", "sq8", qt.scale_offset(0.01, 0)
    yield "sq8axis", "sq8", qt.axis(channel, scales, np.zeros(n, int))
    yield "sq4", "sq4", qt.scale_offset(0.1, 0)
    yield "uq4", "uq4", qt.scale_offset(0.1, -7)
    if k % 32 == 0:
        block = [1, 1]
        block[depth] = 32
        pairs = n * (k // 32)
        yield "block4", "sq4", qt.block(block, rng.uniform(0.02, 0.2, pairs), np.zeros(pairs, int))
        yield "block8", "sq8", qt.block(block, rng.uniform(0.002, 0.02, pairs),
                                        rng.integers(-9, 9, pairs))


def codes(rng, dtype, shape):
    low, high = {"uq8": (0, 256), "sq8": (-128, 128), "sq4": (-8, 8), "uq4": (0, 16)}[dtype]
    return rng.integers(low, high, shape)


def floats(f):
    for rows, cols, depth in ((1, 300, 128), (3, 129, 260), (4, 1000, 20)):
        for dtype in ("f32", "f16"):
            x = q.Tensor("x", f.rng.normal(size=(rows, depth)), dtype)
            w = q.Tensor("w", f.rng.normal(size=(cols, depth)), dtype, kind="static")
            want = x.real @ w.real.T
            f.add("FullyConnected", [x, w], [q.Tensor("y", want, dtype)],
                  name=f"FullyConnected_{dtype}_{rows}x{cols}x{depth}")


def fully_connected(f):
    for rows, cols, depth in ((1, 96, 256), (3, 33, 64), (9, 40, 96), (1, 5, 4128), (2, 17, 40)):
        for name, dtype, enc in encodings(f.rng, (cols, depth), 0, 1):
            x = q.Tensor("x", f.rng.normal(size=(rows, depth)), "f32")
            w = q.Tensor("w", codes(f.rng, dtype, (cols, depth)), dtype, enc, kind="static")
            bias = q.Tensor("bias", f.rng.normal(size=cols), "f32", kind="static")
            want = x.real @ w.real.T + bias.real
            f.add("FullyConnected", [x, w, bias], [q.Tensor("y", want, "f32")],
                  name=f"FullyConnected_f32_{name}_{rows}x{cols}x{depth}")


def matmul(f):
    for name, dtype, enc in encodings(f.rng, (64, 24), 1, 0):
        x = q.Tensor("x", f.rng.normal(size=(2, 64)), "f32")
        w = q.Tensor("w", codes(f.rng, dtype, (64, 24)), dtype, enc, kind="static")
        f.add("MatMul", [x, w], [q.Tensor("y", x.real @ w.real, "f32")], name=f"MatMul_f32_{name}")


def cases(f):
    floats(f)
    fully_connected(f)
    matmul(f)


if __name__ == "__main__":
    q.run(cases)
