# SPDX-License-Identifier: MIT
"""Image ops other than the resizes.

Oracles: float64 numpy, written pixel by pixel; the ONNX reference evaluator for GridSample.
"""
import numpy as np

import onnx_oracle
import qcase as q


def argb_cases(f):
    for dtype in ("f32", "f16", "uq8"):
        for shape in ((1, 3, 5, 4), (2, 4, 1, 4)):
            x = q.Tensor("x", f.rng.uniform(0, 255, shape), dtype)
            for order in (None, 0, 1):
                for reverse in (False, True):
                    colours = x.real[..., :3] if order == 1 else x.real[..., 1:]
                    want = colours[..., ::-1] if reverse else colours
                    params = {"reverse_output": ("b8", reverse)}
                    if order is not None:
                        params["input_order"] = ("u32", order)
                    f.add("ArgbToRgb", [x], [q.Tensor("y", want, dtype, x.enc)], params)
    x = q.Tensor("x", f.rng.uniform(0, 255, (1, 3, 3, 4)), "uq8")
    f.add("ArgbToRgb", [x], [q.Tensor("y", x.real[..., 1:], "uq8", q.scale_offset(2.5, -3))],
          {"reverse_output": ("b8", False)}, name="ArgbToRgb_other_encoding")


def yuv_pixel(y, u, v):
    y = 1.164 * max(y - 16.0, 0.0)
    rgb = (y + 1.596 * (v - 128), y - 0.813 * (v - 128) - 0.391 * (u - 128), y + 2.018 * (u - 128))
    return [min(max(c, 0.0), 255.0) for c in rgb]


def yuv_cases(f):
    for op, u_at in (("Nv12ToRgb", 0), ("Nv21ToRgb", 1)):
        for batch, height, width in ((1, 2, 2), (2, 4, 6), (1, 6, 10)):
            for dtype in ("f32", "uq8") + (("f16",) if op == "Nv12ToRgb" else ()):
                raw = f.rng.integers(0, 256, (batch, height * width * 3 // 2))
                if dtype == "uq8":
                    x = q.Tensor("x", raw, dtype, q.scale_offset(1.0))
                else:
                    x = q.Tensor("x", raw.astype(np.float64), dtype)
                luma = x.real[:, :height * width].reshape(batch, height, width)
                chroma = x.real[:, height * width:].reshape(batch, height // 2, width // 2, 2)
                want = np.array([[[yuv_pixel(luma[b, i, j], chroma[b, i // 2, j // 2, u_at],
                                             chroma[b, i // 2, j // 2, 1 - u_at])
                                   for j in range(width)] for i in range(height)]
                                 for b in range(batch)])
                for order in (0, 1):
                    y = want[..., ::-1] if order else want
                    enc = q.scale_offset(1.0) if dtype == "uq8" else None
                    f.add(op, [x], [q.Tensor("y", y, dtype, enc)], {"output_order": ("i32", order)})


def crop(image, boxes, index, height, width, nearest, outside):
    rows, cols = image.shape[1:3]
    out = np.full((len(boxes), height, width, image.shape[3]), float(outside))
    for b, (y1, x1, y2, x2) in enumerate(boxes):
        for i in range(height):
            for j in range(width):
                y = y1 + i * (y2 - y1) / (height - 1) if height > 1 else (y1 + y2) / 2
                x = x1 + j * (x2 - x1) / (width - 1) if width > 1 else (x1 + x2) / 2
                y, x = y * (rows - 1), x * (cols - 1)
                if not (0 <= y <= rows - 1 and 0 <= x <= cols - 1):
                    continue
                picture = image[index[b]]
                if nearest:
                    out[b, i, j] = picture[int(y + 0.5), int(x + 0.5)]
                    continue
                r, c = min(int(y), rows - 2), min(int(x), cols - 2)
                if rows == 1:
                    r = 0
                if cols == 1:
                    c = 0
                r2, c2 = min(r + 1, rows - 1), min(c + 1, cols - 1)
                top = picture[r, c] + (x - c) * (picture[r, c2] - picture[r, c])
                bottom = picture[r2, c] + (x - c) * (picture[r2, c2] - picture[r2, c])
                out[b, i, j] = top + (y - r) * (bottom - top)
    return out


def crop_cases(f):
    for shape, n_boxes, size in (((2, 5, 6, 3), 4, (3, 4)), ((1, 4, 4, 1), 2, (1, 1)),
                                 ((3, 1, 7, 2), 3, (2, 9)), ((1, 8, 1, 5), 1, (1, 4))):
        for kind in ("i32", "u32"):
            for nearest in (None, False, True):
                image = q.Tensor("image", f.rng.normal(size=shape))
                # Multiples of 1/64, offset so that no sample lies at a border or half way.
                corners = f.rng.integers(-10, 74, (n_boxes, 4)) / 64 + 1 / 256
                boxes = q.Tensor("boxes", corners)
                index = q.Tensor("index", f.rng.integers(0, shape[0], n_boxes), kind)
                outside = -7.5 if nearest else 0.0
                want = crop(image.real, boxes.real, index.real, *size, bool(nearest), outside)
                params = {"resize_dims": ("u32", list(size))}
                if nearest is not None:
                    params["interpolation_mode"] = ("u32", int(nearest))
                    params["extrapolation_value"] = ("f32", outside)
                f.add("CropAndResize", [image, boxes, index], [q.Tensor("y", want)], params)
    image = q.Tensor("image", f.rng.normal(size=(1, 4, 5, 2)))
    hostile = q.Tensor("boxes", np.array([[np.nan, 0, 1, 1], [-np.inf, 0, np.inf, 1],
                                          [1e30, 1e30, -1e30, -1e30], [0, 0, 1, np.nan]]))
    index = q.Tensor("index", np.zeros(4, int), "i32")
    f.add("CropAndResize", [image, hostile, index], [q.Tensor("y", np.full((4, 2, 2, 2), 3.0))],
          {"resize_dims": ("u32", [2, 2]), "extrapolation_value": ("f32", 3.0)},
          name="CropAndResize_hostile")
    for bad in (1, -1):
        index = q.Tensor("index", np.full(4, bad), "i32")
        f.add("CropAndResize", [image, hostile, index], [q.Tensor("y", dims=(4, 2, 2, 2))],
              {"resize_dims": ("u32", [2, 2])}, name="CropAndResize_image_out_of_range",
              error=q.error(None, "execute"))


def glimpse_corner(offset, size, window, centered, normalized):
    at = float(offset) * (size if normalized else 1)
    if centered and normalized:
        at = (at + size) / 2 - window / 2
    elif centered:
        at = at + size / 2
    return int(np.trunc(at))


def glimpse_cases(f):
    for shape, size in (((2, 7, 6, 3), (3, 4)), ((1, 4, 5, 1), (6, 7)), ((3, 5, 5, 2), (5, 5))):
        for centered in (False, True):
            for normalized in (False, True):
                for dtype, offset_type in (("f32", "f32"), ("f16", "f16"), ("uq8", "f32")):
                    x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                    low, high = (-1, 1) if centered else (0, 1)
                    offsets = f.rng.uniform(low, high, (shape[0], 2))
                    if not normalized:
                        offsets *= np.array(shape[1:3]) / (2 if centered else 1)
                    o = q.Tensor("o", offsets, offset_type)
                    want = np.zeros((shape[0], *size, shape[3]))
                    padded = np.pad(x.real, ((0, 0), (40, 40), (40, 40), (0, 0)))
                    for n in range(shape[0]):
                        top, left = (glimpse_corner(o.real[n, i], shape[1 + i], size[i], centered,
                                                    normalized) + 40 for i in range(2))
                        want[n] = padded[n, top:top + size[0], left:left + size[1]]
                    params = {"size": ("i32", list(size)), "noise": ("i32", 2),
                              "centered": ("b8", centered), "normalized": ("b8", normalized)}
                    f.add("ExtractGlimpse", [x, o], [q.Tensor("y", want, dtype, x.enc)], params)
    x = q.Tensor("x", f.rng.uniform(2, 5, (1, 16, 16, 4)))
    o = q.Tensor("o", np.array([[100.0, 100.0]]))  # nothing but noise
    size = {"size": ("i32", [30, 30])}
    f.add("ExtractGlimpse", [x, o], [q.Tensor("y", dims=(1, 30, 30, 4))], size,
          tol=q.stats(x.real.min(), x.real.max(), (3.4, 3.6), (0.82, 0.92)), name="Glimpse_uniform")
    f.add("ExtractGlimpse", [x, o], [q.Tensor("y", dims=(1, 30, 30, 4))],
          {**size, "noise": ("i32", 1)}, tol=q.stats(-2, 9, (3.4, 3.6), (0.82, 0.92)),
          name="Glimpse_gaussian")
    for bad in (np.nan, np.inf, -1e30):
        o = q.Tensor("o", np.full((1, 2), bad))
        f.add("ExtractGlimpse", [x, o], [q.Tensor("y", np.zeros((1, 3, 3, 4)))],
              {"size": ("i32", [3, 3]), "noise": ("i32", 2)}, name="Glimpse_hostile")


def patches(x, size, stride, rate, same):
    window = [(size[i] - 1) * rate[i] + 1 for i in range(2)]
    if same:
        outs = [-(-x.shape[1 + i] // stride[i]) for i in range(2)]
        total = [max((outs[i] - 1) * stride[i] + window[i] - x.shape[1 + i], 0) for i in range(2)]
        x = np.pad(x, [(0, 0)] + [(t // 2, t - t // 2) for t in total] + [(0, 0)])
    views = np.lib.stride_tricks.sliding_window_view(x, window, (1, 2))
    views = views[:, ::stride[0], ::stride[1], :, ::rate[0], ::rate[1]]
    views = views.transpose(0, 1, 2, 4, 5, 3)
    return views.reshape(*views.shape[:3], -1)


def patches_cases(f):
    for shape, size, stride, rate in (((1, 6, 7, 3), (2, 3), (1, 2), (1, 1)),
                                      ((2, 9, 8, 2), (3, 2), (3, 1), (2, 3)),
                                      ((1, 5, 5, 1), (5, 5), (2, 2), (1, 1)),
                                      ((1, 4, 3, 4), (1, 1), (3, 3), (1, 1))):
        for same in (0, 1):
            for dtype in ("f32", "f16", "uq8"):
                x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                want = patches(x.real, size, stride, rate, same)
                f.add("ExtractPatches", [x], [q.Tensor("y", want, dtype, x.enc)],
                      {"size": ("u32", list(size)), "stride": ("u32", list(stride)),
                       "rate": ("u32", list(rate)), "padding": ("u32", same)})


def fold(p, low, high):
    """Mirrors p at low and high by walking, one reflection at a time."""
    while low < high and not low <= p <= high:
        p = 2 * low - p if p < low else 2 * high - p
    return p if low < high else 0.0


def grid_axis(g, size, mode, border, corners):
    """Weights [size] of the pixels of one axis for coordinate g."""
    p = (g + 1) / 2 * (size - 1) if corners else ((g + 1) * size - 1) / 2
    if border == "reflection":
        p = fold(p, 0, size - 1) if corners else fold(p, -0.5, size - 0.5)
    if border != "zeros":
        p = min(max(p, 0.0), size - 1.0)
    if mode == "nearest":
        return (np.arange(size) == np.rint(p)).astype(float)
    return np.clip(1 - np.abs(np.arange(size) - p), 0, None)


def grid_sample(x, grid, mode, border, corners):
    y = np.zeros((*grid.shape[:-1], x.shape[-1]))
    for at in np.ndindex(*grid.shape[:-1]):
        pixel = x[at[0]]
        for axis, size in enumerate(x.shape[1:-1]):  # outermost axis first, last coordinate
            w = grid_axis(grid[at][-1 - axis], size, mode, border, corners)
            pixel = np.tensordot(w, pixel, 1)
        y[at] = pixel
    return y


def check_grid_sample(want, x, grid, mode, border, corners):
    """The evaluator computes in float32 and cannot reflect in an axis of size 1: doubled there."""
    for axis in range(1, x.ndim - 1):
        if border == "reflection" and x.shape[axis] == 1:
            x = np.repeat(x, 2, axis)
    y = onnx_oracle.evaluate("GridSample", [np.moveaxis(x, -1, 1), grid], mode=mode,
                             padding_mode=border, align_corners=int(corners))[0]
    if not np.allclose(np.moveaxis(y, 1, -1), want, atol=1e-4):
        raise ValueError("the oracles disagree")


def grid_cases(f):
    modes, borders = ("linear", "nearest"), ("zeros", "border", "reflection")
    for shape, out in (((2, 5, 4, 3), (3, 6)), ((1, 1, 7, 2), (4, 4)), ((1, 6, 6, 1), (1, 1)),
                       ((1, 3, 4, 5, 2), (2, 3, 2)), ((2, 2, 1, 3, 3), (3, 1, 4))):
        for mode, name in enumerate(modes):
            for padding, border in enumerate(borders):
                for corners in (False, True):
                    for dtype, grid_type in (("f32", "f32"), ("f16", "f32"), ("uq8", "uq8"),
                                             ("uq16", "uq16")):
                        x = q.Tensor("x", f.rng.normal(size=shape), dtype)
                        grid = q.Tensor("grid", f.rng.uniform(
                            -1.6, 1.6, (shape[0], *out, len(out))), grid_type)
                        call = (x.real, grid.real, name, border, corners)
                        want = grid_sample(*call)
                        if grid_type == "f32":
                            check_grid_sample(want, *call)
                        f.add("GridSample", [x, grid], [q.Tensor("y", want, dtype, x.enc)],
                              {"mode": ("u32", mode), "padding_mode": ("u32", padding),
                               "align_corners": ("b8", corners)},
                              name=f"GridSample_{dtype}_{name}_{border}")
    x = q.Tensor("x", f.rng.normal(size=(1, 3, 3, 1)))
    grid = q.Tensor("grid", np.array([np.nan, 0, np.inf, 0, -np.inf, 0, 1e38, -1e38],
                                     np.float32).reshape(1, 2, 2, 2))
    line = q.Tensor("line", np.arange(5.0).reshape(1, 1, 5, 1))  # half way between two pixels
    halves = np.array([[g, 0] for g in (-0.75, -0.25, 0.25, 0.75)]).reshape(1, 1, 4, 2)
    want = np.array([0.0, 2, 2, 4]).reshape(1, 1, 4, 1)
    f.add("GridSample", [line, q.Tensor("grid", halves)], [q.Tensor("y", want, tol=q.exact())],
          {"align_corners": ("b8", True), "mode": ("u32", 1)}, name="GridSample_halves")
    f.add("GridSample", [x, grid], [q.Tensor("y", np.zeros((1, 2, 2, 1)))],
          name="GridSample_hostile")
    p = x.real[0, :, :, 0]
    want = np.array([p[1, 0], p[1, 2], p[1, 0], p[0, 2]]).reshape(1, 2, 2, 1)
    f.add("GridSample", [x, grid], [q.Tensor("y", want, tol=q.exact())],
          {"padding_mode": ("u32", 1)}, name="GridSample_hostile_border")
    f.add("GridSample", [x, grid], [q.Tensor("y", dims=(1, 2, 2, 1))], {"padding_mode": ("u32", 2)},
          tol=q.stats(p.min(), p.max()), name="GridSample_hostile_reflection")


def project(x, m, nearest):
    """Reads pixels through a dictionary, 0 where there is none."""
    n, height, width, channels = x.shape
    pixel = {(b, i, j): x[b, i, j] for b in range(n) for i in range(height) for j in range(width)}
    zero = np.zeros(channels)
    out = np.zeros_like(x)
    for b, i, j in pixel:
        a = m[b % len(m)]
        k = a[6] * j + a[7] * i + 1
        px, py = (a[0] * j + a[1] * i + a[2]) / k, (a[3] * j + a[4] * i + a[5]) / k
        if nearest:
            away = [int(np.copysign(np.floor(abs(t) + 0.5), t)) for t in (py, px)]
            out[b, i, j] = pixel.get((b, *away), zero)
            continue
        y0, x0 = int(np.floor(py)), int(np.floor(px))
        for y1, wy in ((y0, 1 - (py - y0)), (y0 + 1, py - y0)):
            for x1, wx in ((x0, 1 - (px - x0)), (x0 + 1, px - x0)):
                out[b, i, j] += wy * wx * pixel.get((b, y1, x1), zero)
    return out


def projection_cases(f):
    for shape in ((1, 5, 6, 3), (3, 4, 4, 1)):
        for dims in ((8,), (1, 8), (shape[0], 8), (shape[0], 2, 4)):
            for nearest in (None, 0, 1):
                if int(np.prod(dims)) not in (8, 8 * shape[0]):
                    continue
                x = q.Tensor("x", f.rng.normal(size=shape))
                m = f.rng.normal(size=(int(np.prod(dims)) // 8, 8))
                m *= [.3, .3, 1, .3, .3, 1, .02, .02]
                m += [1, 0, 0, 0, 1, 0, 0, 0]
                t = q.Tensor("transform", m.reshape(dims))
                want = project(x.real, t.real.reshape(-1, 8), nearest == 1)
                params = {} if nearest is None else {"interpolation_mode": ("u32", nearest)}
                f.add("ImageProjectionTransform", [x, t], [q.Tensor("y", want)], params)
    x = q.Tensor("x", f.rng.normal(size=(1, 3, 3, 2)))
    for mode in (0, 1):
        for values in ([1, 0, np.nan, 0, 1, 0, 0, 0], [1, 0, 1e38, 0, 1, np.inf, 0, 0]):
            t = q.Tensor("transform", np.array(values))
            f.add("ImageProjectionTransform", [x, t], [q.Tensor("y", np.zeros((1, 3, 3, 2)))],
                  {"interpolation_mode": ("u32", mode)}, name="Projection_hostile")
    # The denominator is 0 in column 1; column 2 reads (-2, -i), which no row has.
    t = q.Tensor("transform", np.array([1.0, 0, 0, 0, 1, 0, -1, 0]))
    want = x.real * np.array([1, 0, 0]).reshape(1, 1, 3, 1)
    f.add("ImageProjectionTransform", [x, t], [q.Tensor("y", want)],
          name="Projection_no_denominator")


def correlation_cases(f):
    for shape in ((1, 3, 7, 4), (2, 2, 5, 1), (1, 1, 1, 3)):
        for displacement, shift in ((0, 0), (2, 0), (2, 1), (1, -2), (9, 3)):
            a = q.Tensor("a", f.rng.normal(size=shape))
            b = q.Tensor("b", f.rng.normal(size=shape))
            reach = displacement + abs(shift)
            padded = np.pad(b.real, ((0, 0), (0, 0), (reach, reach), (0, 0)))
            columns = []
            for d in range(2 * displacement + 1):
                start = reach + d - displacement + shift
                moved = padded[:, :, start:start + shape[2]]
                columns.append(np.einsum("nhwc,nhwc->nhw", a.real, moved) / shape[3])
            f.add("Correlation1D", [a, b], [q.Tensor("y", np.stack(columns, -1))],
                  {"displacement": ("u32", displacement), "shift": ("i32", shift)})


def error_cases(f):
    def bad(op, name, ins, out, params=None):
        f.add(op, ins, [q.Tensor("y", dims=out)], params, name=f"{op}_{name}", error=q.error())

    def x(*shape, dtype="f32"):
        return q.Tensor("x", np.zeros(shape), dtype)

    keep = {"reverse_output": ("b8", False)}
    bad("ArgbToRgb", "three_channels", [x(1, 2, 2, 3)], (1, 2, 2, 3), keep)
    bad("ArgbToRgb", "four_out", [x(1, 2, 2, 4)], (1, 2, 2, 4), keep)
    bad("ArgbToRgb", "no_reverse", [x(1, 2, 2, 4)], (1, 2, 2, 3))
    for op in ("Nv12ToRgb", "Nv21ToRgb"):
        order = {"output_order": ("i32", 0)}
        bad(op, "count", [x(1, 25)], (1, 4, 4, 3), order)
        bad(op, "odd", [x(1, 18)], (1, 3, 4, 3), order)
        bad(op, "batch", [x(2, 24)], (1, 4, 4, 3), order)
        bad(op, "order", [x(1, 24)], (1, 4, 4, 3), {"output_order": ("i32", 2)})
    index, boxes = q.Tensor("i", np.zeros(2, int), "i32"), x(2, 4)
    size = {"resize_dims": ("u32", [2, 2])}
    bad("CropAndResize", "boxes", [x(1, 3, 3, 1), x(2, 5), index], (2, 2, 2, 1), size)
    bad("CropAndResize", "index", [x(1, 3, 3, 1), x(3, 4), index], (3, 2, 2, 1), size)
    bad("CropAndResize", "out", [x(1, 3, 3, 1), boxes, index], (2, 2, 3, 1), size)
    bad("CropAndResize", "size_0", [x(1, 3, 3, 1), boxes, index], (2, 2, 2, 1),
        {"resize_dims": ("u32", [0, 2])})
    bad("CropAndResize", "size_3", [x(1, 3, 3, 1), boxes, index], (2, 2, 2, 1),
        {"resize_dims": ("u32", [2, 2, 2])})
    for name, ins, out, window in (("offsets", [x(2, 3, 3, 1), x(1, 2)], (2, 2, 2, 1), [2, 2]),
                                   ("pairs", [x(1, 3, 3, 1), x(1, 3)], (1, 2, 2, 1), [2, 2]),
                                   ("negative", [x(1, 3, 3, 1), x(1, 2)], (1, 2, 2, 1), [-2, 2]),
                                   ("out", [x(1, 3, 3, 1), x(1, 2)], (1, 2, 2, 1), [2, 3])):
        bad("ExtractGlimpse", name, ins, out, {"size": ("i32", window)})
    for name, window, stride, out in (("size_0", [0, 1], [1, 1], (1, 3, 3, 1)),
                                      ("stride_0", [1, 1], [1, 0], (1, 3, 3, 1)),
                                      ("too_large", [4, 1], [1, 1], (1, 1, 3, 4)),
                                      ("depth", [2, 2], [1, 1], (1, 2, 2, 2))):
        bad("ExtractPatches", name, [x(1, 3, 3, 1)], out,
            {"size": ("u32", window), "stride": ("u32", stride), "rate": ("u32", [1, 1]),
             "padding": ("u32", 0)})
    bad("GridSample", "rank", [x(1, 3, 3, 1), x(1, 2, 2, 2, 2)], (1, 2, 2, 1))
    bad("GridSample", "batch", [x(1, 3, 3, 1), x(2, 2, 2, 2)], (2, 2, 2, 1))
    bad("GridSample", "coordinates", [x(1, 3, 3, 1), x(1, 2, 2, 3)], (1, 2, 2, 1))
    bad("GridSample", "channels", [x(1, 3, 3, 1), x(1, 2, 2, 2)], (1, 2, 2, 2))
    bad("ImageProjectionTransform", "nine", [x(1, 3, 3, 1), x(9)], (1, 3, 3, 1))
    bad("ImageProjectionTransform", "two_for_one", [x(1, 3, 3, 1), x(2, 8)], (1, 3, 3, 1))
    bad("ImageProjectionTransform", "out", [x(1, 3, 3, 1), x(8)], (1, 3, 4, 1))
    both = {"displacement": ("u32", 1), "shift": ("i32", 0)}
    bad("Correlation1D", "shapes", [x(1, 3, 3, 1), x(1, 3, 4, 1)], (1, 3, 3, 3), both)
    bad("Correlation1D", "depth", [x(1, 3, 3, 1), x(1, 3, 3, 1)], (1, 3, 3, 2), both)
    bad("Correlation1D", "huge", [x(1, 3, 3, 1), x(1, 3, 3, 1)], (1, 3, 3, 1),
        {"displacement": ("u32", 2 ** 31), "shift": ("i32", 0)})


def cases(f):
    argb_cases(f)
    yuv_cases(f)
    crop_cases(f)
    glimpse_cases(f)
    patches_cases(f)
    grid_cases(f)
    projection_cases(f)
    correlation_cases(f)
    error_cases(f)


if __name__ == "__main__":
    q.run(cases)
