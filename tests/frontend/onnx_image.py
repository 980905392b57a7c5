# SPDX-License-Identifier: MIT
"""Resizing, sampling, regions, Fourier transforms: what ONNX's own cases lack."""
import itertools

import numpy as np
from case_onnx import case, node, quantized_case

RNG = np.random.default_rng(4)
HALF_TIES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def rand(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


def resize_modes():
    """Every mode, growing and shrinking, at different ratios."""
    x = rand(1, 2, 5, 7)
    for place, size in itertools.product(
            ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
             "half_pixel_symmetric"), ((3, 11), (10, 4), (1, 7))):
        for mode in ("linear", "cubic"):
            if (mode, place, size[0]) == ("cubic", "pytorch_half_pixel", 1):
                continue  # the standard says position 0, the evaluator -0.5
            yield case(f"resize_{mode}_{place}_{size}", node(
                "Resize", "x - - s", "y", mode=mode, coordinate_transformation_mode=place),
                {"x": x}, constants={"s": ints(1, 2, *size)})
        for ties in HALF_TIES:
            yield case(f"resize_{ties}_{place}_{size}", node(
                "Resize", "x - - s", "y", mode="nearest", nearest_mode=ties,
                coordinate_transformation_mode=place), {"x": x},
                constants={"s": ints(1, 2, *size)})
    for place, mode in itertools.product(("half_pixel", "asymmetric", "half_pixel_symmetric"),
                                         ("nearest", "linear", "cubic")):
        yield case(f"resize_odd_scale_{mode}_{place}", node(
            "Resize", "x - s", "y", mode=mode, coordinate_transformation_mode=place), {"x": x},
            constants={"s": floats(1, 1, 0.7, 1.3)})


def resize_forms():
    """Ranks, axes, element types, parts that no single QNN op has."""
    for shape, size in (((2, 3, 8), (2, 3, 13)), ((1, 2, 3, 4, 5), (1, 2, 6, 3, 7)),
                        ((2, 3, 4, 5), (3, 5, 4, 5)), ((6, 4), (3, 9)),
                        ((1, 2, 2, 2, 3, 3), (1, 2, 2, 2, 5, 4))):
        for mode in ("nearest", "linear"):
            yield case(f"resize_rank_{len(shape)}_{mode}",
                       node("Resize", "x - - s", "y", mode=mode), {"x": rand(*shape)},
                       constants={"s": ints(*size)})
    x = rand(1, 2, 6, 8)
    for policy in ("stretch", "not_larger", "not_smaller"):
        yield case(f"resize_{policy}", node(
            "Resize", "x - - s", "y", axes=[3, 2], keep_aspect_ratio_policy=policy,
            mode="linear"), {"x": x}, constants={"s": ints(5, 7)})
    yield case("resize_antialias", node("Resize", "x - - s", "y", mode="linear", antialias=1),
               {"x": x}, constants={"s": ints(1, 2, 3, 3)})
    yield case("resize_crop", node(
        "Resize", "x r - s", "y", mode="linear", extrapolation_value=3.0,
        coordinate_transformation_mode="tf_crop_and_resize"), {"x": x},
        constants={"r": floats(0, 0, 0.1, -0.2, 1, 1, 0.9, 1.3), "s": ints(1, 2, 4, 5)})
    yield case("resize_crop_between_two", node(  # a tenth of 5 is half way from 0 to 1
        "Resize", "x r - s", "y", coordinate_transformation_mode="tf_crop_and_resize"),
        {"x": rand(1, 1, 4, 6)},
        constants={"r": floats(0, 0, 0.1, 0.1, 1, 1, 0.9, 0.8), "s": ints(1, 1, 2, 5)})
    yield case("resize_outside", node("Resize", "x - - s", "y", mode="cubic", exclude_outside=1,
                                      cubic_coeff_a=-0.5), {"x": x},
               constants={"s": ints(1, 2, 9, 11)})
    for dtype in (np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16):
        data = (rand(1, 2, 4, 5) * 30).astype(dtype)
        yield case(f"resize_{dtype.__name__}", node("Resize", "x - - s", "y"), {"x": data},
                   constants={"s": ints(1, 2, 7, 3)})


def old_resize():
    """Before opset 11: coordinates as they are; when enlarging the pixel before, else behind."""
    x = rand(1, 2, 4, 6)
    big = x.repeat(2, 2).repeat(3, 3)
    small = x[:, :, [0, 2]][:, :, :, [0, 2, 4]]
    yield case("upsample_7", node("Upsample", "x", "y", scales=[1.0, 1.0, 2.0, 3.0]), {"x": x},
               opset=7, expected=[big])
    yield case("upsample_9", node("Upsample", "x s", "y"), {"x": x}, opset=9, expected=[big],
               constants={"s": floats(1, 1, 2, 3)})
    yield case("resize_10", node("Resize", "x s", "y"), {"x": x}, opset=10, expected=[big],
               constants={"s": floats(1, 1, 2, 3)})
    yield case("resize_10_down", node("Resize", "x s", "y"), {"x": x}, opset=10, expected=[small],
               constants={"s": floats(1, 1, 0.5, 0.5)})
    at = np.minimum(np.arange(8) / 2, 3.0)
    low = at.astype(int)
    high, part = np.minimum(low + 1, 3), (at - low)[:, None]
    rows = x[:, :, low] * (1 - part) + x[:, :, high] * part
    yield case("upsample_9_linear", node("Upsample", "x s", "y", mode="linear"), {"x": x}, opset=9,
               expected=[rows.astype(np.float32)], constants={"s": floats(1, 1, 2, 1)})
    yield case("resize_11_nn", node(
        "Resize", "x r s", "y", coordinate_transformation_mode="tf_half_pixel_for_nn",
        nearest_mode="floor"), {"x": x}, opset=11, expected=[x[:, :, [0, 1, 2, 3]][..., [1, 3, 5]]],
        constants={"r": floats(), "s": floats(1, 1, 1, 0.5)})


def sampling():
    x = rand(2, 3, 5, 6)
    grid = RNG.uniform(-1.5, 1.5, (2, 4, 3, 2)).astype(np.float32)
    cube = RNG.uniform(-1.5, 1.5, (1, 2, 3, 4, 3)).astype(np.float32)
    for mode, padding, align in itertools.product(("linear", "nearest", "cubic"),
                                                  ("zeros", "border", "reflection"), (0, 1)):
        if (mode, padding) == ("cubic", "border"):
            continue  # the evaluator moves positions to the border first, torch does not
        settings = dict(mode=mode, padding_mode=padding, align_corners=align)
        yield case(f"grid_{mode}_{padding}_{align}", node("GridSample", "x g", "y", **settings),
                   {"x": x, "g": grid}, tol=1e-4)
        if mode != "cubic":
            yield case(f"grid3d_{mode}_{padding}_{align}",
                       node("GridSample", "x g", "y", **settings),
                       {"x": rand(1, 2, 3, 4, 5), "g": cube}, tol=1e-4)
    yield case("grid_cubic_3d", node("GridSample", "x g", "y", mode="cubic"),
               {"x": rand(1, 1, 3, 4, 5), "g": cube}, tol=1e-4)
    # The evaluator computes positions in fp16, up to 8e-3 off: it is asked in single precision.
    coarse = {"x": x.astype(np.float16), "g": grid.astype(np.float16)}
    fine = case("grid_f32", node("GridSample", "x g", "y"),
                {name: value.astype(np.float32) for name, value in coarse.items()})
    yield case("grid_f16", node("GridSample", "x g", "y"), coarse, tol=1e-3,
               expected=[fine.expected[0].astype(np.float16)])
    # Pixels that repeat at the border, with positions that are not moved: the same value.
    flat = np.full((1, 1, 3, 3), 2.5, np.float32)
    yield case("grid_cubic_border", node("GridSample", "x g", "y", mode="cubic",
                                         padding_mode="border"),
               {"x": flat, "g": grid[:1]}, expected=[np.full((1, 1, 4, 3), 2.5, np.float32)])
    theta = rand(2, 2, 3)
    for align in (0, 1):
        yield case(f"affine_{align}", node("AffineGrid", "t s", "y", align_corners=align),
                   {"t": theta}, constants={"s": ints(2, 3, 4, 5)})
    yield case("affine_run_time_size", node("AffineGrid", "t s", "y"),
               {"t": theta, "s": ints(2, 3, 4, 5)}, refusal="must be constant")


def run_time_sizes():
    """Sizes that follow from shapes are constant; those that follow from values are not."""
    x, like = rand(1, 2, 5, 4), rand(1, 2, 8, 6)
    resize = node("Resize", "x - - n", "y", mode="linear")
    yield case("resize_like", [
        node("Shape", "x", "s"), node("Slice", "s zero two", "nc"), node("Shape", "l", "t"),
        node("Slice", "t two four", "hw"), node("Concat", "nc hw", "n", axis=0), resize],
        {"x": x, "l": like}, constants={"zero": ints(0), "two": ints(2), "four": ints(4)},
        tol=1e-4)
    yield case("resize_by_values", [
        node("ReduceMax", "x", "m", keepdims=0), node("Cast", "m", "i", to=7),
        node("Add", "i base", "n"), resize], {"x": x}, constants={"base": ints(1, 2, 8, 6)},
        refusal="must be constant: sizes; it is computed at run time from 'x'")
    yield case("resize_by_input", node("Resize", "x - f", "y"),
               {"x": x, "f": floats(1, 1, 2, 2)},
               refusal="input 2 ('f') must be constant: scales; it comes at run time")


def max_roi_pool(x, rois, size, scale):
    """Whole pixels, as ONNX Runtime does it."""
    out = np.zeros((len(rois), x.shape[1], *size), np.float32)
    for r, (image, *box) in enumerate(rois):
        x1, y1, x2, y2 = np.floor(np.array(box, np.float32) * np.float32(scale) + 0.5).astype(int)
        for i, j in itertools.product(*map(range, size)):
            spans = []
            for k, low, high, limit, bins in ((i, y1, y2, x.shape[2], size[0]),
                                              (j, x1, x2, x.shape[3], size[1])):
                cells = max(high - low + 1, 1) / bins
                begin = int(np.floor(k * cells)) + low
                end = int(np.ceil((k + 1) * cells)) + low
                spans.append(slice(min(max(begin, 0), limit), min(max(end, 0), limit)))
            part = x[int(image), :, spans[0], spans[1]].reshape(x.shape[1], -1)
            out[r, :, i, j] = part.max(1) if part.size else 0
    return out


def regions():
    x = rand(2, 3, 8, 9)
    rois = np.array([[0, 0, 0, 5, 4], [1, 2, 1, 6, 6], [0, 3, 2, 12, 3]], np.float32)
    for scale in (1.0, 0.5):
        want = max_roi_pool(x, rois, (2, 3), scale)
        settings = dict(pooled_shape=[2, 3], spatial_scale=scale)
        yield case(f"max_roi_pool_{scale}", node("MaxRoiPool", "x r", "y", **settings), {"x": x},
                   constants={"r": rois}, expected=[want])
        yield case(f"max_roi_pool_run_time_{scale}", node("MaxRoiPool", "x r", "y", **settings),
                   {"x": x, "r": rois}, expected=[want])
    boxes, images = np.ascontiguousarray(rois[:, 1:]), rois[:, 0].astype(np.int64)
    for mode, samples, place, scale in itertools.product(
            ("avg", "max"), (0, 2), ("half_pixel", "output_half_pixel"), (1.0, 0.3)):
        yield case(f"roi_align_{mode}_{samples}_{place}_{scale}", node(
            "RoiAlign", "x r b", "y", mode=mode, output_height=3, output_width=2,
            sampling_ratio=samples, spatial_scale=scale, coordinate_transformation_mode=place),
            {"x": x}, constants={"r": boxes, "b": images})
    yield case("roi_align_run_time", node("RoiAlign", "x r b", "y", output_height=2,
                                          output_width=2, sampling_ratio=2),
               {"x": x, "r": boxes, "b": images})
    yield case("roi_align_max_run_time", node("RoiAlign", "x r b", "y", mode="max"),
               {"x": x, "r": boxes, "b": images}, refusal="mode max needs constant rois")


def crop_and_resize(x, boxes, images, size, outside):
    """Bilinear, as TensorFlow does it."""
    out = np.full((len(boxes), x.shape[1], *size), outside, np.float64)
    for r, (box, image) in enumerate(zip(boxes.astype(float), images)):
        for i, j in itertools.product(*map(range, size)):
            p = [box[k] * (n - 1) + at * (box[k + 2] - box[k]) * (n - 1) / (m - 1)
                 for k, (n, at, m) in enumerate(((x.shape[2], i, size[0]),
                                                 (x.shape[3], j, size[1])))]
            if any(v < 0 or v > n - 1 for v, n in zip(p, x.shape[2:])):
                continue
            (y0, x0), (fy, fx) = np.floor(p).astype(int), np.array(p) % 1
            y1, x1 = min(y0 + 1, x.shape[2] - 1), min(x0 + 1, x.shape[3] - 1)
            a = x[image].astype(float)
            out[r, :, i, j] = (a[:, y0, x0] * (1 - fx) + a[:, y0, x1] * fx) * (1 - fy) + \
                (a[:, y1, x0] * (1 - fx) + a[:, y1, x1] * fx) * fy
    return out.astype(np.float32)


def crops():
    x, images = rand(2, 3, 8, 9), np.array([0, 1, 1], np.int32)
    boxes = np.array([[0, 0, 1, 1], [.1, .2, .7, .9], [-.2, .3, 1.3, .6]], np.float32)
    want = crop_and_resize(x, boxes, images, (4, 5), 2.5)
    crop = node("CropAndResize", "x r b s", "y", "com.microsoft", extrapolation_value=2.5)
    size = {"s": np.array([4, 5], np.int32)}
    yield case("crop_constant", crop, {"x": x}, constants={"r": boxes, "b": images, **size},
               microsoft=True, expected=[want])
    yield case("crop_run_time", crop, {"x": x, "r": boxes, "b": images}, constants=size,
               microsoft=True, expected=[want])


def overlap(a, b):
    """Intersection over union of boxes [y1, x1, y2, x2]."""
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.maximum(high - low, 0))
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def chosen(boxes, scores, most, iou, least):
    rows = []
    for n, c in np.ndindex(*scores.shape[:2]):
        kept = []
        for i in np.argsort(-scores[n, c], kind="stable"):
            if len(kept) < most and scores[n, c, i] > least and all(
                    overlap(boxes[n, i], boxes[n, j]) <= iou for j in kept):
                kept.append(i)
        rows += [[n, c, i] for i in kept]
    return np.array(rows, np.int64).reshape(-1, 3)


def suppression():
    """How many rows there are depends on the data; nodes of the graph cannot read them."""
    corner = RNG.uniform(0, 8, (2, 9, 2))
    boxes = np.concatenate([corner, corner + RNG.uniform(1, 5, (2, 9, 2))], 2).astype(np.float32)
    scores = RNG.uniform(0, 1, (2, 3, 9)).astype(np.float32)
    for most, iou, least in ((9, 0.5, 0.3), (2, 0.1, 0.0), (20, 0.9, 0.0), (3, 0.5, 2.0)):
        yield case(f"nms_{most}_{iou}_{least}", node("NonMaxSuppression", "b s m i l", "y"),
                   {"b": boxes, "s": scores}, constants={
                       "m": ints(most), "i": floats(iou), "l": floats(least)},
                   expected=[chosen(boxes.astype(float), scores, most, iou, least)])
    centre = (boxes[..., :2] + boxes[..., 2:]) / 2
    sizes = boxes[..., 2:] - boxes[..., :2]
    yield case("nms_centres", node("NonMaxSuppression", "b s m i", "y", center_point_box=1),
               {"b": np.concatenate([centre[..., ::-1], sizes[..., ::-1]], 2), "s": scores},
               constants={"m": ints(4), "i": floats(0.4)},
               expected=[chosen(boxes.astype(float), scores, 4, 0.4, -1)])
    yield case("nms_read_by_a_node", [node("NonMaxSuppression", "b s m", "r"),
                                      node("Cast", "r", "y", to=1)], {"b": boxes, "s": scores},
               constants={"m": ints(4)}, refusal="known after an execution only")


def pairs(z):
    return np.stack([z.real, z.imag], -1).astype(np.float32)


def signals():
    x = rand(2, 10, 3, 1)
    z = rand(2, 10, 3, 2)
    c = z[..., 0] + 1j * z[..., 1].astype(np.float64)
    for axis in (0, 1, 2, -3):
        yield case(f"dft_axis_{axis}", node("DFT", "x - a", "y"), {"x": z},
                   constants={"a": ints(axis)[0]}, expected=[pairs(np.fft.fft(c, axis=axis % 4))],
                   tol=1e-6)
    for length in (6, 10, 16):
        for onesided in (0, 1):
            full = np.fft.fft(x[..., 0].astype(np.float64), length, 1)
            yield case(f"dft_{length}_{onesided}", node("DFT", "x n a", "y", onesided=onesided),
                       {"x": x}, constants={"n": ints(length)[0], "a": ints(1)[0]}, tol=1e-6,
                       expected=[pairs(full[:, :length // 2 + 1] if onesided else full)])
        yield case(f"dft_inverse_{length}", node("DFT", "x n a", "y", inverse=1), {"x": z},
                   constants={"n": ints(length)[0], "a": ints(1)[0]}, tol=1e-6,
                   expected=[pairs(np.fft.ifft(c, length, 1))])
        yield case(f"dft_real_inverse_{length}",
                   node("DFT", "x n a", "y", inverse=1, onesided=1), {"x": z},
                   constants={"n": ints(length)[0], "a": ints(1)[0]}, tol=1e-6,
                   expected=[np.fft.irfft(c, length, 1)[..., None].astype(np.float32)])
    yield case("dft_17", node("DFT", "x", "y", axis=1), {"x": z}, opset=17, tol=1e-6,
               expected=[pairs(np.fft.fft(c, axis=1))])
    s, w = rand(2, 20, 1), np.hanning(8).astype(np.float32)
    frames = np.stack([s[:, i:i + 8, 0] for i in range(0, 13, 3)], 1).astype(np.float64)
    for onesided in (0, 1):
        for window in (None, w):
            spectrum = np.fft.fft(frames * (1 if window is None else window))
            yield case(f"stft_{onesided}_{window is None}", node(
                "STFT", "x p - l" if window is None else "x p w l", "y", onesided=onesided),
                {"x": s}, tol=1e-6, constants={"p": ints(3)[0], "l": ints(8)[0], "w": w},
                expected=[pairs(spectrum[..., :5] if onesided else spectrum)])
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for periodic in (0, 1):
            yield case(f"{op}_{periodic}", [node(op, "n", "w", periodic=periodic),
                                            node("Mul", "x w", "y")], {"x": rand(2, 9)},
                       constants={"n": ints(9)[0]})
    yield case("mel", [node("MelWeightMatrix", "b d r l u", "m"), node("MatMul", "x m", "y")],
               {"x": rand(3, 9)}, constants={"b": ints(8)[0], "d": ints(16)[0],
                                             "r": ints(8192)[0], "l": np.float32(0),
                                             "u": np.float32(4096)})
    yield case("window_run_time", node("HannWindow", "n", "y"), {"n": ints(9)},
               refusal="must be constant")


def context():
    """Between convolutions images stay channel last: transposes at the edges only."""
    w, v = rand(4, 3, 3, 3), rand(2, 4, 3, 3)
    for name, middle, constants in (
            ("nearest", node("Resize", "a - - s", "b"), {"s": ints(1, 4, 12, 10)}),
            ("cubic", node("Resize", "a - - s", "b", mode="cubic"), {"s": ints(1, 4, 12, 10)}),
            ("antialias", node("Resize", "a - - s", "b", mode="linear", antialias=1),
             {"s": ints(1, 4, 4, 4)}),
            ("grid", node("GridSample", "a g", "b"),
             {"g": RNG.uniform(-1, 1, (1, 6, 5, 2)).astype(np.float32)}),
            ("roi", node("RoiAlign", "a r i", "b", output_height=4, output_width=4),
             {"r": floats(0, 0, 5, 5)[None], "i": ints(0)})):
        yield case(f"context_{name}",
                   [node("Conv", "x w", "a"), middle, node("Conv", "b v", "y")],
                   {"x": rand(1, 3, 9, 8)}, constants={"w": w, "v": v, **constants}, tol=1e-4,
                   transposes=2)


def units():
    for bits, mode in itertools.product((8, 16), ("nearest", "linear", "cubic")):
        yield quantized_case(f"unit_resize_{mode}_{bits}", "Resize", {"x": rand(1, 2, 5, 7)},
                             bits=bits, steps=1, plain={"s": ints(1, 2, 8, 5)}, more="- - s",
                             mode=mode)
    yield quantized_case("unit_resize_odd", "Resize", {"x": rand(1, 2, 5, 7)}, steps=1,
                         plain={"s": floats(1, 1, 0.7, 1.3)}, more="- s", mode="linear")
    for signed in (False, True):
        yield quantized_case(f"unit_grid_{signed}", "GridSample", {
            "x": rand(1, 2, 5, 7), "g": RNG.uniform(-1, 1, (1, 3, 4, 2)).astype(np.float32)},
            signed=signed, steps=1)


def cases():
    for make in (resize_modes, resize_forms, old_resize, sampling, regions, crops, suppression,
                 signals, context, units, run_time_sizes):
        yield from make()
