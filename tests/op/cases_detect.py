# SPDX-License-Identifier: MIT
"""Detection ops without suppression (and GenerateProposals): boxes, proposals, regions, key points.

Oracles: float64 numpy; the ONNX reference evaluator for RoiAlign.
"""
import numpy as np

import box_oracle as box
import onnx_oracle
import qcase as q


def corners(f, n, span=20.0):
    start = f.rng.uniform(0, span * 0.7, (n, 2))
    return np.concatenate([start, start + f.rng.uniform(1, span / 2, (n, 2))], 1)


def moved(roi, d):
    """roi x1, y1, x2, y2 after deltas dx, dy, dw, dh."""
    size = roi[2:] - roi[:2]
    centre = roi[:2] + size / 2 + d[:2] * size
    size = size * np.exp(d[2:])
    return np.concatenate([centre - size / 2, centre + size / 2])


def axis_aligned_cases(f):
    for rois, classes, images in ((6, 3, 2), (1, 1, 1), (17, 2, 4)):
        for size_type in ("f32", "i32", "u32", "uq16"):
            for weights in (None, [10.0, 10.0, 5.0, 5.0]):
                r = q.Tensor("rois", corners(f, rois))
                d = q.Tensor("deltas", f.rng.normal(size=(rois, 4 * classes)) * 0.4)
                n = q.Tensor("batch", f.rng.integers(0, images, rois), "i32")
                sizes = f.rng.integers(8, 24, (images, 2))
                if size_type in ("f32", "uq16"):
                    enc = q.scale_offset(0.125) if size_type == "uq16" else None
                    s = q.Tensor("sizes", sizes.astype(float), size_type, enc)
                else:
                    s = q.Tensor("sizes", sizes, size_type)
                want = np.zeros((rois, classes, 4))
                for i in range(rois):
                    h, w = s.real[n.real[i]]
                    for c in range(classes):
                        step = d.real[i, 4 * c:4 * c + 4] / (weights or 1.0)
                        want[i, c] = np.clip(moved(r.real[i], step), 0, [w, h, w, h])
                outs = [q.Tensor("boxes", want.reshape(rois, -1))]
                if weights:
                    outs.append(q.Tensor("splits", np.bincount(n.real, minlength=images), "i32"))
                f.add("AxisAlignedBboxTransform", [r, d, n, s], outs,
                      {"weights": ("f32", weights)} if weights else {})
    r = q.Tensor("rois", np.array([[0.0, 0, 4, 4]] * 3))
    d = q.Tensor("deltas", np.array([[0, 0, 1e9, 1e9], [np.nan] * 4, [np.inf, -np.inf, 0, 0]]))
    s = q.Tensor("sizes", np.array([[8.0, 9.0]]))
    want = np.array([[0, 0, 9, 8], [0, 0, 0, 0], [9, 0, 9, 0]])
    f.add("AxisAlignedBboxTransform", [r, d, q.Tensor("b", np.zeros(3, int), "i32"), s],
          [q.Tensor("boxes", want.astype(float))], name="AxisAlignedBboxTransform_hostile")
    for bad in (-1, 1):
        f.add("AxisAlignedBboxTransform", [r, d, q.Tensor("b", np.full(3, bad), "i32"), s],
              [q.Tensor("boxes", dims=(3, 4))], name="AxisAlignedBboxTransform_image_out_of_range",
              error=q.error(None, "execute"))


def rotated(roi, d, image, weights, apply_scale, bounds, upright):
    height, width, scale = image
    centre, size, angle = roi[:2] / scale, roi[2:4] / scale, roi[4] + np.degrees(d[4])
    centre = centre + d[:2] / weights[:2] * size
    size = size * np.exp(d[2:4] / weights[2:])
    if bounds:
        while angle < bounds[0]:
            angle += bounds[1] - bounds[0]
        while angle > bounds[1]:
            angle -= bounds[1] - bounds[0]
    if abs(angle) <= max(upright, 0):
        angle = 0.0
        ends = np.floor(np.array([width, height]) / scale + 0.5)
        low, high = np.clip(centre - size / 2, 0, ends), np.clip(centre + size / 2, 0, ends)
        centre, size = (low + high) / 2, high - low
    return np.concatenate([centre, size, [angle]]) * ([scale] * 4 + [1] if apply_scale else 1)


def rotated_cases(f):
    for rois, classes, images in ((6, 2, 2), (1, 1, 1), (9, 3, 3)):
        for apply_scale in (None, False, True):
            for bounds, upright in ((None, None), ([-90, 90], 10.0), ([0, 180], 0.0)):
                angles = f.rng.choice([-170.0, -45, -5, 0, 5, 60, 179], (rois, 1))
                r = q.Tensor("rois", np.concatenate([f.rng.uniform(0, 30, (rois, 2)),
                                                     f.rng.uniform(2, 20, (rois, 2)), angles], 1))
                turn = f.rng.normal(size=(rois, classes, 5)) * 0.3
                turn[0, 0, 4] = 0
                d = q.Tensor("deltas", turn.reshape(rois, -1))
                info = np.concatenate([f.rng.integers(20, 40, (images, 2)),
                                       f.rng.choice([0.5, 1.0, 1.6], (images, 1))], 1)
                s = q.Tensor("info", info)
                with_index = images > 1
                n = q.Tensor("batch", f.rng.integers(0, images, rois), "i32")
                index = n.real if with_index else np.zeros(rois, int)
                weights = np.array([10.0, 5.0, 2.0, 4.0])
                want = np.array([[rotated(r.real[i], d.real[i, 5 * c:5 * c + 5], s.real[index[i]],
                                          weights, apply_scale in (None, True), bounds,
                                          -1.0 if upright is None else upright)
                                  for c in range(classes)] for i in range(rois)])
                params = {"weights": ("f32", weights)}
                if apply_scale is not None:
                    params["apply_scale"] = ("b8", apply_scale)
                if bounds:
                    params["angle_bounds"] = ("i32", bounds)
                    params["angle_clip_threshold"] = ("f32", upright)
                counts = np.bincount(index, minlength=images).astype(float)
                f.add("BboxTransform", [r, d, s] + ([n] if with_index else []),
                      [q.Tensor("boxes", want.reshape(rois, -1)), q.Tensor("counts", counts)],
                      params)
    r, d = q.Tensor("rois", np.full((2, 5), np.nan)), q.Tensor("deltas", np.full((2, 5), np.inf))
    f.add("BboxTransform", [r, d, q.Tensor("info", np.zeros((1, 3)))],
          [q.Tensor("boxes", np.full((2, 5), np.nan), tol=q.fp32(nan_ok=True)),
           q.Tensor("counts", np.array([2.0]))],
          {"weights": ("f32", [0.0] * 4), "angle_bounds": ("i32", [-90, 90])},
          name="BboxTransform_hostile")
    for bad in (1, -1):
        f.add("BboxTransform", [r, d, q.Tensor("info", np.ones((1, 3))),
                                q.Tensor("b", np.full(2, bad), "i32")],
              [q.Tensor("boxes", dims=(2, 5)), q.Tensor("counts", dims=(1,))],
              {"weights": ("f32", [1.0] * 4)}, name="BboxTransform_image_out_of_range",
              error=q.error(None, "execute"))


def generated(scores, deltas, anchors, size, step, min_size, iou, pre, post, clip):
    height, width, count = scores.shape
    boxes, values = [], []
    for y in range(height):
        for x in range(width):
            for a in range(count):
                d = deltas[y, x, 4 * a:4 * a + 4].copy()
                if clip:
                    d[2:] = np.minimum(d[2:], np.log(1000 / 16))
                shifted = anchors[a] + np.tile([x * step[1], y * step[0]], 2)
                b = np.clip(moved(shifted, d), 0, [size[1], size[0]] * 2)
                if min(b[2:] - b[:2]) >= min_size:
                    boxes.append(b)
                    values.append(scores[y, x, a])
    boxes, values = np.array(boxes).reshape(-1, 4), np.array(values)
    best = np.argsort(-values, kind="stable")[:pre]
    kept = box.hard(boxes[best], values[best], iou, post, equal_drops=True)
    return values[best[kept]], boxes[best[kept]]


def generate_cases(f):
    for shape, limits in (((1, 3, 4, 2), (None, None)), ((2, 2, 5, 3), (8, 4)),
                          ((3, 1, 1, 1), (0, 3)),
                          ((1, 4, 4, 3), (20, None)), ((2, 3, 3, 1), (None, 1))):
        for min_size in (None, 5.0):
            for clip in (False, True):
                n, count = shape[0], shape[3]
                s = q.Tensor("scores", f.rng.uniform(0, 1, shape))
                spread = 3.0 if clip else 0.3
                d = q.Tensor("deltas", f.rng.normal(size=(*shape[:3], 4 * count)) * spread)
                a = q.Tensor("anchors", np.concatenate([-f.rng.uniform(2, 9, (count, 2)),
                                                        f.rng.uniform(2, 9, (count, 2))], 1))
                sizes = q.Tensor("sizes", f.rng.uniform(12, 24, (n, 2)))
                parts = [generated(s.real[i], d.real[i], a.real, sizes.real[i], (4.0, 5.0),
                                   min_size or 0, 0.5, *limits, clip) for i in range(n)]
                images = np.repeat(np.arange(n), [len(p[0]) for p in parts])
                room = int(np.prod(shape)) + 1
                params = {"img_size_ratio": ("f32", [4.0, 5.0]), "iou_threshold": ("f32", 0.5),
                          "bbox_xform_clip": ("b8", clip)}
                for name, value in zip(("pre_nms_limit", "post_nms_limit"), limits):
                    if value is not None:
                        params[name] = ("u32", value)
                if min_size:
                    params["min_size"] = ("f32", min_size)
                f.add("GenerateProposals", [s, d, a, sizes],
                      [q.Tensor("scores", np.concatenate([p[0] for p in parts]), dims=(room,)),
                       q.Tensor("boxes", np.concatenate([p[1] for p in parts]), dims=(room, 4)),
                       q.Tensor("images", images, "i32", dims=(room,))], params)
    # More boxes than rows: the best of the first images. NaN never counts.
    s = q.Tensor("scores", np.array([0.5, np.nan, 0.7, -np.inf]).reshape(1, 2, 2, 1))
    d = q.Tensor("deltas", np.zeros((1, 2, 2, 4)))
    a = q.Tensor("anchors", np.array([[0.0, 0, 4, 4]]))
    f.add("GenerateProposals", [s, d, a, q.Tensor("sizes", np.array([[20.0, 20.0]]))],
          [q.Tensor("scores", np.array([0.7, 0.5])),
           q.Tensor("boxes", np.array([[0.0, 8, 4, 12], [0, 0, 4, 4]])),
           q.Tensor("images", np.zeros(2, int), "i32")],
          {"img_size_ratio": ("f32", [8.0, 8.0]), "iou_threshold": ("f32", 0.5)},
          name="GenerateProposals_little_room")


def generate_edge_cases(f):
    params = {"img_size_ratio": ("f32", [1.0, 1.0]), "iou_threshold": ("f32", 0.5)}
    s = q.Tensor("scores", np.array([0.5, 0.7]).reshape(1, 1, 1, 2))
    wide = q.Tensor("sizes", np.array([[1e4, 1e4]]))
    a = q.Tensor("anchors", np.array([[0.0, 0, 4, 4], [0, 0, 4, 8]]))  # overlap 0.5: the limit
    f.add("GenerateProposals", [s, q.Tensor("deltas", np.zeros((1, 1, 1, 8))), a, wide],
          [q.Tensor("scores", np.array([0.7]), dims=(2,)),
           q.Tensor("boxes", np.array([[0.0, 0, 4, 8]]), dims=(2, 4)),
           q.Tensor("images", np.zeros(1, int), "i32", dims=(2,))], params,
          name="GenerateProposals_at_limit")
    a = q.Tensor("anchors", np.array([[1000.0, 1000, 1016, 1016], [5000, 5000, 5016, 5016]]))
    d = np.array([0, 0, 9, 0, 0, 0, 0, 9.0]).reshape(1, 1, 1, 8)
    half = 8 * np.array([1000 / 16, np.exp(9.0)])  # with and without the limit of the growth
    for clip in (True, False):
        size = half[0] if clip else half[1]
        want = np.array([[5008 - 8, 5008 - size, 5008 + 8, 5008 + size],
                         [1008 - size, 1000, 1008 + size, 1016]])
        f.add("GenerateProposals", [s, q.Tensor("deltas", d), a, wide],
              [q.Tensor("scores", np.array([0.7, 0.5])),
               q.Tensor("boxes", np.clip(want, 0, 1e4)),
               q.Tensor("images", np.zeros(2, int), "i32")],
              {**params, "bbox_xform_clip": ("b8", clip)}, name="GenerateProposals_growth")


def collect_cases(f):
    for levels in range(1, 6):
        for top in (None, 1, 7, 1000):
            rois = [q.Tensor(f"r{i}", f.rng.normal(size=(int(f.rng.integers(1, 7)), 5)))
                    for i in range(levels)]
            scores = [q.Tensor(f"s{i}", f.rng.choice([0.1, 0.2, 0.3, 0.4], r.real.shape[0]))
                      for i, r in enumerate(rois)]
            rows, values = (np.concatenate([t.real for t in part]) for part in (rois, scores))
            want = rows[np.argsort(-values, kind="stable")[:top or 2000]]
            params = {"rpn_max_level": ("u32", 1 + levels)}
            if levels == 5 and top is None:
                params = {}
            if levels == 2:
                params = {"rpn_min_level": ("u32", 4), "rpn_max_level": ("u32", 5)}
            if top:
                params["post_nms_top"] = ("u32", top)
            f.add("CollectRpnProposals",
                  rois + [q.NULL] * (5 - levels) + scores, [q.Tensor("rois", want)], params)
    r = q.Tensor("r", np.arange(20.0).reshape(4, 5))
    s = q.Tensor("s", np.array([np.nan, -np.inf, np.inf, 0.0]))
    f.add("CollectRpnProposals", [r] + [q.NULL] * 4 + [s], [q.Tensor("rois", r.real[[2, 3, 0, 1]])],
          {"rpn_max_level": ("u32", 2)}, name="CollectRpnProposals_nan")


def distribute_cases(f):
    for columns in (4, 5):
        for low, high, scale, level, count in ((2, 5, 224, 4, 30), (3, 4, 16, 3, 9),
                                               (2, 2, 64, 2, 1), (2, 4, 7, 4, 12)):
            sides = np.exp2(f.rng.uniform(0, 9, (count, 2)))
            start = f.rng.uniform(0, 100, (count, 2))
            rois = np.concatenate([start, start + sides], 1)
            rois[count // 2:count // 2 + 1] = 0  # empty
            if columns == 5:
                rois = np.concatenate([f.rng.integers(0, 3, (count, 1)), rois], 1)
            r = q.Tensor("rois", rois)
            side = r.real[:, -2:] - r.real[:, -4:-2]
            levels = np.full(count, -1)
            for i in np.flatnonzero(side.any(1)):
                exact = level + np.log2(np.sqrt(side[i].prod()) / scale)
                levels[i] = np.clip(np.floor(exact), low, high)
            index, outs, at = np.full(count, -1), [], 0
            for one in range(low, high + 1):
                mine = np.flatnonzero(levels == one)
                index[mine] = at + np.arange(len(mine))
                at += len(mine)
                outs.append(q.Tensor(f"l{one}", r.real[mine], dims=(count, columns)))
            kind = ("i32", "u32")[columns == 5]
            restore = index if kind == "i32" else index % 2 ** 32
            f.add("DistributeFpnProposals", [r], [q.Tensor("restore", restore, kind), *outs],
                  {"roi_min_level": ("u32", low), "roi_max_level": ("u32", high),
                   "roi_canonical_scale": ("u32", scale), "roi_canonical_level": ("u32", level)})
    hostile = np.array([[0, 0, np.nan, 5], [0, 0, np.inf, np.inf], [5, 5, 1, 1], [0, 3, 5, 1]])
    r = q.Tensor("rois", hostile)
    f.add("DistributeFpnProposals", [r],
          [q.Tensor("restore", np.array([0, 2, -1, 1]), "i32"),
           q.Tensor("l2", hostile[[0, 3]], dims=(4, 4)), q.Tensor("l3", hostile[1:2], dims=(4, 4))],
          {"roi_max_level": ("u32", 3)}, name="DistributeFpnProposals_hostile")
    f.add("DistributeFpnProposals", [r],
          [q.Tensor("restore", dtype="i32", dims=(4,)), q.Tensor("l2", dims=(1, 4)),
           q.Tensor("l3", dims=(4, 4))], {"roi_max_level": ("u32", 3)},
          name="DistributeFpnProposals_no_room", error=q.error(None, "execute"))


def roi_inputs(f, dtype, shape, count, ratio, kind):
    x = q.Tensor("x", f.rng.normal(size=shape), dtype)
    # height, width of the image
    span = np.array([shape[2] * ratio[1], shape[1] * ratio[0]])
    start = f.rng.uniform(-0.3, 0.8, (count, 2)) * span
    rois = np.concatenate([start, start + f.rng.uniform(0.02, 0.9, (count, 2)) * span], 1)
    fixed = "uq8" if dtype == "uq8" and count % 2 else "uq16"
    r = q.Tensor("rois", rois, fixed if q.is_fixed(dtype) else dtype)
    return x, r, q.Tensor("batch", f.rng.integers(0, shape[0], count), kind)


def roi_align_cases(f):
    for shape, count, out in (((2, 7, 6, 3), 5, (3, 2)), ((1, 5, 9, 1), 3, (1, 1)),
                              ((3, 4, 4, 70), 2, (2, 3)), ((1, 1, 1, 2), 2, (2, 2))):
        for dtype in ("f32", "f16", "uq8", "uq16"):
            for samples in (None, -1, 1, 3):
                for aligned in (False, True):
                    ratio = 4.0 if samples else 2.5
                    x, r, n = roi_inputs(f, dtype, shape, count, (ratio, ratio), "i32")
                    mode = "half_pixel" if aligned else "output_half_pixel"
                    want = onnx_oracle.evaluate(
                        "RoiAlign", [np.moveaxis(x.real, -1, 1), r.real / ratio,
                                     n.real.astype(np.int64)],
                        output_height=out[0], output_width=out[1], mode="avg", spatial_scale=1.0,
                        sampling_ratio=max(samples or 0, 0), coordinate_transformation_mode=mode)[0]
                    params = {"img_size_ratio": ("f32", [ratio, ratio]), "aligned": ("b8", aligned)}
                    if samples is not None:
                        params.update(num_samples_y=("i32", samples),
                                      num_samples_x=("i32", samples))
                    f.add("RoiAlign", [x, r, n],
                          [q.Tensor("y", np.moveaxis(want, 1, -1), dtype, x.enc)], params,
                          name=f"RoiAlign_{dtype}")


def linear_at(plane, y, x):
    """plane [H, W, C] at (y, x) by the weights 1 - distance; clamped up to a pixel outside."""
    height, width = plane.shape[:2]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(plane.shape[2])
    wy = np.clip(1 - np.abs(np.arange(height) - np.clip(y, 0, height - 1)), 0, 1)
    wx = np.clip(1 - np.abs(np.arange(width) - np.clip(x, 0, width - 1)), 0, 1)
    return np.einsum("h,w,hwc->c", wy, wx, plane)


def roi_align_more_cases(f):
    """What ONNX has no words for: two ratios, two sample counts, empty and absurd rois."""
    ratio, samples = (2.0, 3.0), (2, 1)
    for aligned in (False, True):
        x, r, n = roi_inputs(f, "f32", (2, 6, 5, 3), 4, ratio, "u32")
        want = np.zeros((4, 2, 3, 3))
        for i, (x1, y1, x2, y2) in enumerate(r.real):
            off = 0.5 if aligned else 0.0
            y1, y2, x1, x2 = y1 / ratio[0] - off, y2 / ratio[0] - off, x1 / ratio[1] - off, \
                x2 / ratio[1] - off
            h, w = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1), max(x2 - x1, 1))
            for a in range(2):
                for b in range(3):
                    points = [(y1 + h / 2 * (a + (s + 0.5) / samples[0]),
                               x1 + w / 3 * (b + (t + 0.5) / samples[1]))
                              for s in range(samples[0]) for t in range(samples[1])]
                    want[i, a, b] = np.mean([linear_at(x.real[n.real[i]], *p) for p in points], 0)
        f.add("RoiAlign", [x, r, n], [q.Tensor("y", want)],
              {"img_size_ratio": ("f32", ratio), "num_samples_y": ("i32", samples[0]),
               "num_samples_x": ("i32", samples[1]), "aligned": ("b8", aligned)},
              name="RoiAlign_two_ratios")
    x = q.Tensor("x", np.ones((1, 4, 4, 1)))
    one = {"img_size_ratio": ("f32", [1.0, 1.0])}
    rois = np.array([[np.nan, 0, 1, 1], [0, 0, np.inf, 2], [-1e30, -1e30, 1e30, 1e30],
                     [1e37, 1e37, 1e38, 1e38], [1e30, 0, 1e30, 0]])
    n = q.Tensor("n", np.zeros(5, int), "i32")
    for aligned in (False, True):
        f.add("RoiAlign", [x, q.Tensor("r", rois), n],
              [q.Tensor("y", np.zeros((5, 2, 2, 1)), tol=q.fp32(atol=1e-6))],
              {**one, "aligned": ("b8", aligned)}, name="RoiAlign_hostile")
    rois = np.array([[2.0, 2, 2, 3], [3, 1, 1, 3], [1, 1, 3, 3]])
    n = q.Tensor("n", np.zeros(3, int), "i32")
    want = np.array([0.0, 0, 1]).reshape(3, 1, 1, 1) * np.ones((3, 2, 2, 1))
    f.add("RoiAlign", [x, q.Tensor("r", rois), n], [q.Tensor("y", want)],
          {**one, "allow_invalid_roi": ("b8", True)}, name="RoiAlign_empty")
    f.add("RoiAlign", [x, q.Tensor("r", rois), n], [q.Tensor("y", np.ones((3, 2, 2, 1)))], one,
          name="RoiAlign_empty_counts")
    for op, kind, bad in (("RoiAlign", "i32", -1), ("RoiAlign", "u32", 1),
                          ("RoiPooling", "u32", 9)):
        f.add(op, [x, q.Tensor("r", rois), q.Tensor("n", np.full(3, bad), kind)],
              [q.Tensor("y", dims=(3, 2, 2, 1))], one, name=f"{op}_image_out_of_range",
              error=q.error(None, "execute"))


def away(v):
    return int(np.copysign(np.floor(abs(v) + 0.5), v))


def roi_pool_cases(f):
    for shape, count, out in (((2, 7, 6, 3), 6, (3, 2)), ((1, 5, 9, 1), 3, (1, 1)),
                              ((3, 4, 4, 5), 4, (2, 3)), ((1, 9, 8, 2), 5, (4, 5))):
        for ratio in ((1.0, 1.0), (4.0, 2.0), (16.0, 16.0)):
            x, r, n = roi_inputs(f, "f32", shape, count, ratio, "u32")
            want = np.zeros((count, *out, shape[3]))
            for i, roi in enumerate(r.real):
                begin = [away(roi[1] / ratio[0]), away(roi[0] / ratio[1])]
                end = [away(roi[3] / ratio[0]), away(roi[2] / ratio[1])]
                size = [max(e - b + 1, 1) for b, e in zip(begin, end)]
                for a in range(out[0]):
                    for b in range(out[1]):
                        part = x.real[n.real[i]]
                        rows = [t for t in range(begin[0] + a * size[0] // out[0],
                                                 begin[0] - (-(a + 1) * size[0] // out[0]))
                                if 0 <= t < shape[1]]
                        cols = [t for t in range(begin[1] + b * size[1] // out[1],
                                                 begin[1] - (-(b + 1) * size[1] // out[1]))
                                if 0 <= t < shape[2]]
                        if rows and cols:
                            want[i, a, b] = part[np.ix_(rows, cols)].max((0, 1))
            f.add("RoiPooling", [x, r, n], [q.Tensor("y", want, tol=q.exact())],
                  {"img_size_ratio": ("f32", ratio)})
    x = q.Tensor("x", -np.ones((1, 4, 4, 1)))
    rois = np.array([[np.nan] * 4, [np.inf, 0, np.inf, 2], [-1e30, -1e30, 1e30, 1e30],
                     [1e37, 1e37, 1e38, 1e38]])
    want = np.array([0.0, 0, -1, 0]).reshape(4, 1, 1, 1)
    f.add("RoiPooling", [x, q.Tensor("r", rois), q.Tensor("n", np.zeros(4, int), "u32")],
          [q.Tensor("y", want, tol=q.exact())], {"img_size_ratio": ("f32", [1.0, 1.0])},
          name="RoiPooling_hostile")


def key_point(plane):
    """Offset (x, y) and height of the second-order fit around the maximum of plane [H, W]."""
    height, width = plane.shape
    at = np.unravel_index(plane.argmax(), plane.shape)
    framed = np.pad(plane, 1, mode="reflect") if min(plane.shape) > 1 else None
    if framed is None:
        framed = np.pad(np.pad(plane, ((1, 1), (0, 0)), mode="reflect" if height > 1 else "edge"),
                        ((0, 0), (1, 1)), mode="reflect" if width > 1 else "edge")
    g = framed[at[0]:at[0] + 3, at[1]:at[1] + 3]
    slope = np.array([g[1, 2] - g[1, 0], g[2, 1] - g[0, 1]]) / 2
    cross = (g[2, 2] + g[0, 0] - g[2, 0] - g[0, 2]) / 4
    bend = np.array([[g[1, 2] + g[1, 0] - 2 * g[1, 1], cross],
                     [cross, g[2, 1] + g[0, 1] - 2 * g[1, 1]]])
    if abs(np.linalg.det(bend)) < 1e-12:
        step = np.zeros(2)
    else:
        step = -np.linalg.solve(bend, slope)
    step *= min(1.0, 1.5 / max(np.abs(step).max(), 1e-30))
    return at, step, g[1, 1] + slope @ step + step @ bend @ step / 2


def key_point_cases(f):
    kinds = (("f32", "i32"), ("f32", "f32"), ("uq8", "uq16"), ("f16", "f16"))
    for boxes, height, width, points in ((3, 6, 5, 2), (1, 4, 4, 1), (2, 2, 3, 4), (1, 1, 4, 2)):
        for map_type, place_type in kinds:
            scale = 64 if place_type == "i32" else 1  # whole places are coarse
            start = f.rng.integers(0, 20, (boxes, 2)) * scale
            where = np.concatenate([start, start + f.rng.integers(4, 30, (boxes, 2)) * scale], 1)
            heat = f.rng.normal(size=(boxes, height, width, points))
            x = q.Tensor("map", heat, map_type)
            enc = q.scale_offset(0.125) if place_type == "uq16" else None
            b = q.Tensor("boxes", where if place_type == "i32" else where.astype(float), place_type,
                         enc)
            scores, places = np.zeros((boxes, points)), np.zeros((boxes, points, 2))
            for i in range(boxes):
                for p in range(points):
                    at, step, scores[i, p] = key_point(x.real[i, :, :, p])
                    cell = np.array([at[1], at[0]]) + step + 0.5
                    size = b.real[i, 2:] - b.real[i, :2]
                    places[i, p] = cell * size / [width, height] + b.real[i, :2]
            out_enc = q.scale_offset(x.enc.scale[0] * 1.5, x.enc.offset[0]) if x.enc else None
            if place_type == "i32":
                places = np.trunc(places).astype(int)
            f.add("HeatMapMaxKeyPoint", [x, b],
                  [q.Tensor("scores", scores, map_type, out_enc),
                   q.Tensor("places", places, place_type, enc)],
                  name=f"HeatMapMaxKeyPoint_{map_type}_{place_type}")
    # Ridges: the fit's top is far away, the step is cut to 1.5 cells.
    ridge = np.array([[1, 6, 6], [6, 7.25, 7], [4, 1, 0]])
    for turn in range(4):
        heat = np.rot90(ridge, turn)
        at, step, score = key_point(heat)
        if np.abs(step).max() < 1.5:
            raise ValueError("not a ridge")
        place = (np.array([at[1], at[0]]) + step + 0.5) * 2
        f.add("HeatMapMaxKeyPoint", [q.Tensor("map", heat.reshape(1, 3, 3, 1)),
                                     q.Tensor("boxes", np.array([[0.0, 0, 6, 6]]))],
              [q.Tensor("scores", np.array([[score]])), q.Tensor("places", place.reshape(1, 1, 2))],
              name="HeatMapMaxKeyPoint_ridge")
    flat = q.Tensor("map", np.full((1, 3, 3, 1), 0.5))
    b = q.Tensor("boxes", np.array([[0.0, 0, 6, 6]]))
    f.add("HeatMapMaxKeyPoint", [flat, b],
          [q.Tensor("scores", np.array([[0.5]])), q.Tensor("places", np.array([[[1.0, 1.0]]]))],
          name="HeatMapMaxKeyPoint_flat")
    for bad in (np.nan, np.inf, -np.inf):
        f.add("HeatMapMaxKeyPoint", [q.Tensor("map", np.full((1, 3, 3, 1), bad)), b],
              [q.Tensor("scores", np.full((1, 1), np.nan), tol=q.fp32(nan_ok=True)),
               q.Tensor("places", np.array([[[1.0, 1.0]]]))], name="HeatMapMaxKeyPoint_hostile")


def cases(f):
    axis_aligned_cases(f)
    rotated_cases(f)
    generate_cases(f)
    generate_edge_cases(f)
    collect_cases(f)
    distribute_cases(f)
    roi_align_cases(f)
    roi_align_more_cases(f)
    roi_pool_cases(f)
    key_point_cases(f)


if __name__ == "__main__":
    q.run(cases)
