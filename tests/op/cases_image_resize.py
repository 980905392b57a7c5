# SPDX-License-Identifier: MIT
"""Resize, ResizeBilinear, ResizeNearestNeighbor.

Oracles: a dense matrix per axis, built from exact fractions, applied with tensordot; for Resize
also the ONNX reference evaluator, which both must agree with.
"""
from fractions import Fraction as F
from math import ceil, floor

import numpy as np

import onnx_oracle
import qcase as q

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
MODES = ("nearest", "linear", "cubic")
ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def source(o, size, out, how):
    """Where output o lies on the input axis."""
    if how == "align_corners":
        return F(o * (size - 1), out - 1) if out > 1 else F(0)
    if how == "asymmetric":
        return F(o * size, out)
    if how == "pytorch_half_pixel" and out == 1:
        return F(0)
    return (o + F(1, 2)) * F(size, out) - F(1, 2)


def rounded(x, how):
    if how == "floor":
        return floor(x)
    if how == "ceil":
        return ceil(x)
    down, rest = floor(x), x - floor(x)
    return down + int(rest > F(1, 2) or (rest == F(1, 2) and how == "round_prefer_ceil"))


def keys(t, a):
    t = abs(t)
    if t <= 1:
        return (a + 2) * t ** 3 - (a + 3) * t ** 2 + 1
    return a * t ** 3 - 5 * a * t ** 2 + 8 * a * t - 4 * a if t < 2 else 0.0


def matrix(size, out, weights_at):
    """[out, size] weights; weights_at(o) yields (position, weight), positions may lie outside."""
    m = np.zeros((out, size))
    for o in range(out):
        for at, w in weights_at(o):
            m[o, min(max(at, 0), size - 1)] += w
    return m


def linear_matrix(size, out, how):
    def weights(o):
        x = source(o, size, out, how)
        rest = float(x - floor(x))
        return (floor(x), 1 - rest), (floor(x) + 1, rest)
    return matrix(size, out, weights)


def cubic_matrix(size, out, how, a, exclude):
    def weights(o):
        x = source(o, size, out, how)
        taps = [(p, keys(float(x - p), a)) for p in range(floor(x) - 1, floor(x) + 3)]
        if exclude:
            taps = [(p, w) for p, w in taps if 0 <= p < size]
            total = sum(w for _, w in taps)
            taps = [(p, w / total) for p, w in taps]
        return taps
    return matrix(size, out, weights)


def nearest_matrix(size, out, how, rounding):
    return matrix(size, out, lambda o: [(rounded(source(o, size, out, how), rounding), 1.0)])


def triangle_matrix(size, out, how):
    """Linear filter widened to cover the input when shrinking."""
    width = max(size / out, 1.0)

    def weights(o):
        x = float(source(o, size, out, how))
        taps = [(p, 1 - abs(p - x) / width) for p in range(size) if abs(p - x) < width]
        total = sum(w for _, w in taps)
        return [(p, w / total) for p, w in taps]
    return matrix(size, out, weights)


def resize(x, sizes, matrix_of):
    for axis, out in enumerate(sizes):
        if x.shape[axis] != out:
            m = matrix_of(x.shape[axis], out)
            x = np.moveaxis(np.tensordot(m, x, (1, axis)), 0, axis)
    return x


def onnx_resize(x, sizes, **attributes):
    return onnx_oracle.evaluate("Resize", [x, None, None, np.asarray(sizes, np.int64)], opset=19,
                                **attributes)[0]


def outputs(real, dtype, x, other_encoding):
    """The output tensor: in the encoding of x, or in its own."""
    if q.is_fixed(dtype):
        enc = None if other_encoding else x.enc
        return q.Tensor("y", real, dtype, enc)
    return q.Tensor("y", real, dtype)


SHAPES = (((1, 4, 5, 3), (1, 8, 10, 3)), ((2, 7, 3, 1), (2, 3, 9, 1)),
          ((1, 5, 6, 17), (1, 5, 4, 17)),
          ((1, 1, 1, 2), (1, 3, 2, 2)), ((1, 6, 4, 5), (1, 1, 1, 5)), ((1, 3, 3, 4), (1, 3, 3, 4)))
OTHER_RANKS = (((2, 5, 3), (2, 9, 3)), ((1, 3, 4, 5, 2), (1, 5, 4, 3, 2)), ((3, 4), (3, 4)),
               ((5,), (5,)), ((1, 2, 3, 2, 3, 2), (1, 3, 2, 4, 3, 2)))


def one_resize(f, shape, sizes, dtype, how, mode, extra, matrix_of, attributes, other=False):
    x = q.Tensor("x", f.rng.normal(size=shape), dtype)
    want = resize(x.real, sizes, matrix_of)
    # The evaluator's scales are float32, and it reads PYTORCH_HALF_PIXEL otherwise for size 1.
    if attributes is not None and not (how == "pytorch_half_pixel" and 1 in sizes[1:-1]):
        check = onnx_resize(x.real, sizes, mode=mode, coordinate_transformation_mode=how,
                            **attributes)
        if not np.allclose(check, want, rtol=1e-5, atol=1e-5):
            raise ValueError(f"the oracles disagree: {how} {mode} {shape} {sizes}")
    params = {"transformation_mode": ("u32", COORDINATES.index(how)),
              "interpolation_mode": ("u32", MODES.index(mode)), **extra}
    f.add("Resize", [x], [outputs(want, dtype, x, other)], params,
          name=f"Resize_{dtype}_{mode}_{how}")


def nearest_cases(f):
    for how in COORDINATES:
        for number, rounding in enumerate(ROUNDING):
            def nearest(n, m):
                return nearest_matrix(n, m, how, rounding)  # noqa: B023
            extra = {"nearest_mode": ("u32", number)}
            for i, (shape, sizes) in enumerate(SHAPES):
                dtype = ("f32", "uq8", "sq8", "uq16", "f16", "f32")[(i + number) % 6]
                one_resize(f, shape, sizes, dtype, how, "nearest", extra, nearest, None,
                           other=i % 2 == 1)
    for shape, sizes in OTHER_RANKS:
        for dtype in ("f32", "uq8"):
            one_resize(f, shape, sizes, dtype, "asymmetric", "nearest",
                       {"nearest_mode": ("u32", 2)},
                       lambda n, m: nearest_matrix(n, m, "asymmetric", "floor"), None)
    # Without parameters: NEAREST, HALF_PIXEL, ROUND_PREFER_FLOOR.
    x = q.Tensor("x", f.rng.normal(size=(1, 4, 4, 2)))
    want = resize(x.real, (1, 6, 8, 2),
                  lambda n, m: nearest_matrix(n, m, "half_pixel", "round_prefer_floor"))
    f.add("Resize", [x], [q.Tensor("y", want, tol=q.exact())], name="Resize_defaults")


def smooth_cases(f):
    for how in COORDINATES:
        def linear(n, m):
            return linear_matrix(n, m, how)  # noqa: B023
        for shape, sizes in SHAPES:
            for dtype in ("f32", "uq8", "sq8", "uq16", "f16"):
                one_resize(f, shape, sizes, dtype, how, "linear", {}, linear, {},
                           other=dtype == "uq16")
            one_resize(f, shape, sizes, "f32", how, "linear", {"exclude_outside": ("b8", True)},
                       linear, None)
        for a, exclude in ((-0.75, False), (-0.5, False), (-0.75, True), (-0.5, True)):
            def cubic(n, m):
                return cubic_matrix(n, m, how, a, exclude)  # noqa: B023
            extra = {"cubic_coeff": ("f32", a), "exclude_outside": ("b8", exclude)}
            attributes = {"cubic_coeff_a": a, "exclude_outside": int(exclude)}
            for i, (shape, sizes) in enumerate(SHAPES):
                for dtype in ("f32", ("uq8", "sq8", "uq16", "f16")[i % 4]):
                    one_resize(f, shape, sizes, dtype, how, "cubic", extra, cubic, attributes)
    for shape, sizes in OTHER_RANKS:
        for dtype in ("f32", "uq8"):
            one_resize(f, shape, sizes, dtype, "half_pixel", "linear", {},
                       lambda n, m: linear_matrix(n, m, "half_pixel"), {})
    one_resize(f, (1, 3, 4, 2), (1, 5, 9, 2), "f32", "half_pixel", "cubic", {},
               lambda n, m: cubic_matrix(n, m, "half_pixel", -0.75, False), {})


def bilinear_cases(f):
    grids = (({}, "asymmetric"), ({"align_corners": ("b8", True)}, "align_corners"),
             ({"half_pixel_centers": ("b8", True)}, "half_pixel"))
    for params, how in grids:
        for shape, sizes in SHAPES:
            for dtype in ("f32", "uq8", "sq8", "uq16", "sq16", "f16"):
                x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                want = resize(x.real, sizes, lambda n, m: linear_matrix(n, m, how))  # noqa: B023
                f.add("ResizeBilinear", [x], [outputs(want, dtype, x, shape[0] == 2)], params,
                      name=f"ResizeBilinear_{dtype}_{how}")
            for dtype in ("f32", "uq8"):
                x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                want = resize(x.real, sizes, lambda n, m: triangle_matrix(n, m, how))  # noqa: B023
                f.add("ResizeBilinear", [x], [outputs(want, dtype, x, True)],
                      {**params, "antialias": ("b8", True)}, name=f"ResizeBilinear_antialias_{how}")
            pixel = {"asymmetric": lambda o, n, m: o * n // m,
                     "align_corners": lambda o, n, m: floor(source(o, n, m, "align_corners")
                                                            + F(1, 2)),
                     "half_pixel": lambda o, n, m: floor((o + F(1, 2)) * F(n, m))}[how]
            for dtype in ("f32", "uq8", "sq8", "uq16", "f16"):
                x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                want = resize(x.real, sizes, lambda n, m: matrix(
                    n, m, lambda o: [(pixel(o, n, m), 1.0)]))  # noqa: B023
                f.add("ResizeNearestNeighbor", [x], [outputs(want, dtype, x, shape[0] == 2)],
                      params, name=f"ResizeNearestNeighbor_{dtype}_{how}")


def special_cases(f):
    """A pixel with weight 0 is not read: infinity next to it must not become NaN."""
    x = np.array([1.0, np.inf, 2.0, -np.inf, 3.0]).reshape(1, 5, 1, 1)
    t = q.Tensor("x", x)
    f.add("ResizeBilinear", [t], [q.Tensor("y", x, tol=q.exact())], name="ResizeBilinear_infinity")
    want = x[:, ::2]
    f.add("ResizeBilinear", [t], [q.Tensor("y", want, tol=q.exact())],
          {"align_corners": ("b8", True)}, name="ResizeBilinear_infinity_skipped")
    big = f.rng.normal(size=(1, 37, 41, 67))  # long rows, several tasks
    t = q.Tensor("x", big)
    want = resize(t.real, (1, 50, 64, 67), lambda n, m: linear_matrix(n, m, "half_pixel"))
    f.add("ResizeBilinear", [t], [q.Tensor("y", want)], {"half_pixel_centers": ("b8", True)},
          name="ResizeBilinear_large")
    want = resize(t.real, (1, 74, 82, 67), lambda n, m: nearest_matrix(n, m, "asymmetric", "floor"))
    f.add("ResizeNearestNeighbor", [t], [q.Tensor("y", want, tol=q.exact())],
          name="ResizeNearestNeighbor_large")


def error_cases(f):
    x = q.Tensor("x", f.rng.normal(size=(1, 4, 4, 2)))
    both = {"align_corners": ("b8", True), "half_pixel_centers": ("b8", True)}
    for op in ("ResizeBilinear", "ResizeNearestNeighbor"):
        f.add(op, [x], [q.Tensor("y", dims=(1, 8, 8, 2))], both, name=f"{op}_two_grids",
              error=q.error())
    for op in ("Resize", "ResizeBilinear", "ResizeNearestNeighbor"):
        f.add(op, [x], [q.Tensor("y", dims=(2, 8, 8, 2))], name=f"{op}_batch", error=q.error())
        f.add(op, [x], [q.Tensor("y", dims=(1, 8, 8, 3))], name=f"{op}_channels", error=q.error())
    f.add("Resize", [x], [q.Tensor("y", dims=(1, 8, 2))], name="Resize_rank", error=q.error())
    y = q.Tensor("y", dims=(1, 8, 8, 2))
    f.add("Resize", [x], [y], {"interpolation_mode": ("u32", 1), "nearest_mode": ("u32", 0)},
          name="Resize_nearest_mode_of_linear", error=q.error())
    f.add("Resize", [x], [y], {"cubic_coeff": ("f32", -0.5)}, name="Resize_cubic_coeff_of_nearest",
          error=q.error())
    f.add("Resize", [x], [y], {"interpolation_mode": ("u32", 3)}, name="Resize_unknown_mode",
          error=q.error())


def cases(f):
    nearest_cases(f)
    smooth_cases(f)
    bilinear_cases(f)
    special_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
