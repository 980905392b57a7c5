# SPDX-License-Identifier: MIT
"""What the case files of the movement ops share: random tensors of any type, and expectations for
moved data.

Movement is tested on stored elements (codes, bit patterns), which must come out unchanged, and,
with another encoding or type on the output, on real values.
"""
import numpy as np

import qcase as q

ACT = ("f32", "f16", "uq8", "sq8", "uq16")
ACT16 = ACT + ("sq16",)


def elements(f, shape, dtype):
    """Random stored elements over the whole range of the type."""
    if dtype in ("f32", "f16"):
        return f.rng.normal(size=shape).astype({"f32": np.float32, "f16": np.float16}[dtype])
    if dtype == "b8":
        return f.rng.integers(0, 2, shape)
    if q.is_fixed(dtype):
        low, high = q.code_range(dtype)
    else:
        info = np.iinfo(q.DTYPES[dtype][3])
        low, high = int(info.min), int(info.max)
    return f.rng.integers(low, high, shape, dtype=np.int64, endpoint=True)


def encoding(f, dtype):
    """A random per-tensor encoding whose zero point is a code of the type."""
    if not q.is_fixed(dtype):
        return None
    low, high = q.code_range(dtype)
    zero = int(f.rng.integers(low, high, endpoint=True))
    return q.scale_offset(float(f.rng.uniform(0.001, 0.1)), -zero)


def source(f, shape, dtype, name="x", kind="input", enc=None, **more):
    return q.Tensor(name, elements(f, shape, dtype), dtype, enc or encoding(f, dtype), kind, **more)


def moved(x, array, name="y", **more):
    """Output of x's type and encoding that must hold exactly these stored elements."""
    return q.Tensor(name, array, x.dtype, x.enc, tol=q.exact(), **more)


def changed(f, array, dtype, name="y", **more):
    """Output of another type or encoding that must hold these real values."""
    array = np.asarray(array, np.float64)
    enc = q.fit(array, dtype) if q.is_fixed(dtype) else None
    return q.Tensor(name, array, dtype, enc, **more)


def both(f, op, shape, dtypes, function, params=None, name=None):
    """One case per type for y = function(x), and one with a requantized output."""
    for dtype in dtypes:
        x = source(f, shape, dtype)
        f.add(op, [x], [moved(x, function(x.codes))], params, name=name and f"{name}_{dtype}")
        if q.is_fixed(dtype):
            f.add(op, [x], [changed(f, function(x.real), dtype)], params,
                  name=f"{name or op}_{dtype}_requantized")
