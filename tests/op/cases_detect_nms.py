# SPDX-License-Identifier: MIT
"""Non-maximum suppression in all its forms, and DetectionOutput.

Oracles: overlap matrices and masks in float64 (box_oracle); the ONNX reference evaluator for
NonMaxSuppression.
"""
import numpy as np

import box_oracle as box
import onnx_oracle
import qcase as q


def some_boxes(f, *shape):
    """Crowded boxes with corners in both diagonal orders."""
    corner = f.rng.uniform(0, 6, (*shape, 2))
    size = f.rng.uniform(1, 5, (*shape, 2)) * f.rng.choice([-1, 1], (*shape, 2))
    return np.concatenate([corner, corner + size], -1)


def nms_rows(boxes, scores, iou, least, most):
    rows, counts = [], []
    for n in range(len(scores)):
        before = len(rows)
        for c in range(scores.shape[1]):
            which = np.flatnonzero(scores[n, c] > least)
            kept = box.hard(boxes[n, which], scores[n, c, which], iou, most)
            rows += [(n, c, which[k]) for k in kept]
        counts.append(len(rows) - before)
    return np.array(rows, int).reshape(-1, 3), np.array(counts)


def nms_cases(f):
    for shape in ((1, 1, 12), (2, 3, 20), (1, 5, 1), (3, 2, 33)):
        for dtype in ("f32", "f16", "uq8", "uq16"):
            for iou, least, most in ((0.5, 0.2, 3), (0.3, 0.0, 40), (1.0, 0.5, 2), (0.0, 0.1, 5)):
                boxes = q.Tensor("boxes", some_boxes(f, shape[0], shape[2]), dtype)
                scores = q.Tensor("scores", f.rng.uniform(0, 1, shape), dtype)
                rows, counts = nms_rows(boxes.real, scores.real, np.float32(iou),
                                        np.float32(least), most)
                if dtype == "f32":
                    check = onnx_oracle.evaluate(
                        "NonMaxSuppression",
                        [boxes.real, scores.real, np.array([most]), np.array([iou], np.float32),
                         np.array([least], np.float32)], double=False)[0]
                    if not np.array_equal(check, rows):
                        raise ValueError("the oracles disagree")
                params = {"iou_threshold": ("f32", iou), "score_threshold": ("f32", least),
                          "max_boxes_selected": ("u32", most)}
                room = shape[0] * shape[1] * most
                kind = ("i32", "u32")[len(rows) % 2]
                outs = [q.Tensor("selected", rows, kind, dims=(room, 3))]
                if most != 40:
                    each = most != 3
                    outs.append(q.Tensor("count", counts if each else counts.sum()[None], "u32"))
                f.add("NonMaxSuppression", [boxes, scores], outs, params,
                      name=f"NonMaxSuppression_{dtype}")


def nms_edge_cases(f):
    def add(name, boxes, scores, want, room=6, **more):
        params = {"iou_threshold": ("f32", 0.5), "max_boxes_selected": ("u32", 3)}
        params.update(more)
        f.add("NonMaxSuppression",
              [q.Tensor("boxes", np.array(boxes, float)),
               q.Tensor("scores", np.array(scores, float))],
              [q.Tensor("selected", np.array(want, int).reshape(-1, 3), "i32", dims=(room, 3)),
               q.Tensor("count", np.array([len(want)]), "u32")], params,
              name=f"NonMaxSuppression_{name}")
    apart = [[0, 0, 1, 1], [2, 0, 3, 1], [4, 0, 5, 1]]
    add("ties", [apart], [[[0.5, 0.5, 0.5]]], [(0, 0, 0), (0, 0, 1), (0, 0, 2)])
    add("same_box", [[[0, 0, 1, 1]] * 3], [[[0.5, 0.5, 0.5]]], [(0, 0, 0)])
    add("at_threshold", [apart], [[[0.25, 0.5, 0.0]]], [(0, 0, 1)], score_threshold=("f32", 0.25))
    half = [[0, 0, 4, 4], [0, 0, 4, 8], [9, 9, 8, 8]]  # an overlap of 0.5 is not above it
    add("at_overlap", [half], [[[0.3, 0.2, 0.1]]], [(0, 0, 0), (0, 0, 1), (0, 0, 2)])
    add("nothing", [apart], [[[0.1, 0.1, 0.1]]], [], score_threshold=("f32", 0.25))
    add("none_wanted", [apart], [[[0.1, 0.1, 0.1]]], [], max_boxes_selected=("u32", 0))
    add("little_room", [apart], [[[0.3, 0.2, 0.1]]], [(0, 0, 0), (0, 0, 1)], room=2)
    add("nan_scores", [apart], [[[np.nan, 0.2, np.nan]]], [(0, 0, 1)])
    add("infinite_scores", [apart], [[[-np.inf, 0.2, np.inf]]], [(0, 0, 2), (0, 0, 1)])
    add("no_area", [[[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 5, 1]]], [[[0.3, 0.2, 0.1]]],
        [(0, 0, 0), (0, 0, 1), (0, 0, 2)])
    add("negative_scores", [apart], [[[-0.3, -0.1, -0.2]]], [(0, 0, 1), (0, 0, 2)],
        score_threshold=("f32", -0.25))
    hostile = [[np.nan, 0, 1, np.nan], [-np.inf, -np.inf, np.inf, np.inf], [0, 0, 1e38, 1e38]]
    add("hostile_boxes", [hostile], [[[0.3, 0.2, 0.1]]], [(0, 0, 0), (0, 0, 1), (0, 0, 2)])

def row_count_cases(f):
    """A node behind gets all rows, the unused ones 0, unless the dimension between is dynamic."""
    boxes = q.Tensor("boxes", np.array([[[0.0, 0, 1, 1], [2, 0, 3, 1], [4, 0, 5, 1]]]))
    scores = q.Tensor("scores", np.array([[[0.1, 0.9, 0.5]]]))
    params = {"iou_threshold": ("f32", 0.5), "score_threshold": ("f32", 0.3),
              "max_boxes_selected": ("u32", 5)}
    want = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    for dynamic in (None, [1, 0]):
        rows = q.Tensor("rows", kind="native", dtype="i32", dims=(5, 3), dynamic=dynamic)
        y = q.Tensor("y", want[:2] if dynamic else want, "i64", dims=(5, 3), dynamic=dynamic)
        f.build([q.Node("NonMaxSuppression", [boxes, scores], [rows], params),
                 q.Node("Cast", [rows], [y])], name="NonMaxSuppression_then_Cast")

    def behind(op, ins, outs, more, name):
        """outs: (shape, dtype, wanted); f32 outputs go through Relu."""
        nodes, made = [], []
        for i, (shape, dtype, values) in enumerate(outs):
            if dtype != "f32":
                made.append(q.Tensor(f"o{i}", values, dtype, dims=shape))
                continue
            made.append(q.Tensor(f"o{i}", kind="native", dims=shape))
            nodes.append(q.Node("Relu", [made[-1]], [q.Tensor(f"y{i}", values)]))
        f.build([q.Node(op, ins, made, more), *nodes], name=name)

    flat = q.Tensor("boxes", boxes.real[0])
    column = q.Tensor("scores", scores.real[0].T)
    batch = q.Tensor("batch", np.zeros(3, int), "i32")
    kept, four = flat.real[[1, 2]], np.zeros((2, 4))
    behind("BoxWithNmsLimit", [flat, column, batch],
           [((4, 4), "f32", np.concatenate([kept, four])),
            ((4,), "f32", np.array([0.9, 0.5, 0, 0])),
            ((4,), "i32", np.zeros(2, int)), ((4,), "i32", np.zeros(2, int))],
           {"nms_kernel_method": ("i32", 0), "nms_score_threshold": ("f32", 0.0),
            "score_threshold": ("f32", 0.3), "iou_threshold": ("f32", 0.5), "sigma": ("f32", 1.0)},
           "BoxWithNmsLimit_then_Relu")
    behind("GenerateProposals",
           [q.Tensor("s", np.array([0.1, 0.9]).reshape(1, 1, 1, 2)),
            q.Tensor("d", np.zeros((1, 1, 1, 8))), q.Tensor("a", flat.real[:2]),
            q.Tensor("size", np.array([[9.0, 9.0]]))],
           [((3,), "f32", np.array([0.9, 0.1, 0])),
            ((3, 4), "f32", np.array([flat.real[1], flat.real[0], [0] * 4])),
            ((3,), "i32", np.zeros(2, int))],
           {"img_size_ratio": ("f32", [1.0, 1.0]), "iou_threshold": ("f32", 0.5)},
           "GenerateProposals_then_Relu")
    behind("DistributeFpnProposals", [flat],
           [((3,), "i32", np.array([0, 1, 2])),
            ((4, 4), "f32", np.concatenate([flat.real, [[0] * 4]])),
            ((1, 4), "f32", np.zeros((1, 4)))],
           {"roi_max_level": ("u32", 3)}, "DistributeFpnProposals_then_Relu")


def combined(boxes, scores, per_class, most, iou, least, clip):
    n_boxes, n_classes = scores.shape
    pairs = [(s, b * n_classes + c, boxes[b, c if boxes.shape[1] > 1 else 0], c)
             for b in range(n_boxes) for c in range(n_classes)
             for s in [scores[b, c]] if s >= least]
    chosen = []
    if boxes.shape[1] == 1 and n_classes > 1:
        room = dict.fromkeys(range(n_classes), per_class)
        for s, at, corners, c in sorted(pairs, key=lambda p: (-p[0], p[1])):
            hit = any(box.overlaps([corners, other[2]])[0, 1] > iou for other in chosen)
            if not hit and room[c] and len(chosen) < most:
                room[c] -= 1
                chosen.append((s, at, corners, c))
    else:
        for c in range(n_classes):
            mine = [p for p in pairs if p[3] == c]
            chosen += [mine[k] for k in box.hard([p[2] for p in mine], [p[0] for p in mine], iou,
                                                 per_class)]
        chosen = sorted(chosen, key=lambda p: (-p[0], p[1]))[:most]
    corners = [np.clip(p[2], 0, 1) if clip else p[2] for p in chosen]
    return (box.pad(corners, most, 4), box.pad([p[0] for p in chosen], most),
            box.pad([p[3] for p in chosen], most).astype(int), len(chosen))


def combined_cases(f):
    for n, n_boxes, classes, per_class in ((1, 10, 3, 2), (2, 25, 4, 5), (1, 7, 1, 3),
                                           (3, 1, 2, 1)):
        for own in (False, True):
            for pad, clip, least, most in ((False, False, None, 8), (True, False, 0.4, 9),
                                           (True, True, 0.1, 30), (False, True, 0.7, 1)):
                corners = some_boxes(f, n, n_boxes, classes if own else 1) / 4 - 0.5
                boxes = q.Tensor("boxes", corners)
                scores = q.Tensor("scores", f.rng.uniform(0, 1, (n, n_boxes, classes)))
                room = min(per_class * classes, most) if pad else most
                least32 = np.float64(np.float32(least or 0))
                parts = [combined(boxes.real[i], scores.real[i], per_class, room,
                                  np.float64(np.float32(0.4)), least32, clip) for i in range(n)]
                outs = [q.Tensor(name, np.stack([p[k] for p in parts]), kind, tol=tol)
                        for k, (name, kind, tol) in enumerate((
                            ("boxes", "f32", None), ("scores", "f32", q.exact()),
                            ("classes", "u32", None), ("count", "u32", None)))]
                params = {"max_boxes_per_class": ("u32", per_class),
                          "max_total_boxes": ("u32", most),
                          "iou_threshold": ("f32", 0.4), "pad_per_class": ("b8", pad),
                          "clip_boxes": ("b8", clip)}
                if least is not None:
                    params["score_threshold"] = ("f32", least)
                f.add("CombinedNms", [boxes, scores], outs, params,
                      name=f"CombinedNms_{'own' if own else 'shared'}")


def multi(boxes, scores, iou, least, sigma, room):
    found = []
    for c in range(scores.shape[1]):
        which = np.flatnonzero(scores[:, c] >= least)
        if sigma:
            kept = box.soft(boxes[which], scores[which, c],
                            lambda v: None if v > iou else np.exp(-v * v / (2 * sigma)), least)
        else:
            kept = [(k, scores[which[k], c]) for k in box.hard(boxes[which], scores[which, c], iou)]
        found += [(s, which[k], c) for k, s in kept]
    found.sort(key=lambda p: (-p[0], p[1] * scores.shape[1] + p[2]))
    found = found[:room]
    index = np.array([p[1] for p in found], int)
    return (box.pad(boxes[index], room, 4), box.pad([p[0] for p in found], room),
            box.pad([p[2] for p in found], room).astype(int), len(found), index)


def multi_cases(f):
    kinds = (("f32", "f32", "i32", "u32"), ("uq8", "uq8", "uq8", "uq8"),
             ("uq16", "uq16", "i32", "u32"))
    for n, n_boxes, classes, room in ((1, 12, 3, 6), (2, 20, 2, 50), (1, 1, 1, 2)):
        for real, score, label, count in kinds:
            for sigma in (None, 0.3):
                boxes = q.Tensor("boxes", some_boxes(f, n, n_boxes), real)
                scores = q.Tensor("scores", f.rng.uniform(0.05, 1, (n, n_boxes, classes)), real)
                features = [q.Tensor("f0", f.rng.normal(size=(n, n_boxes)), real),
                            q.Tensor("f1", f.rng.integers(-9, 9, (n, n_boxes, 2, 3)), "i32")]
                least = float(np.float32(0.3))
                parts = [multi(boxes.real[i], scores.real[i], float(np.float32(0.4)), least,
                               sigma and float(np.float32(sigma)), room) for i in range(n)]
                ones = q.scale_offset(1.0) if label == "uq8" else None
                box_type = "uq8" if real == "uq8" else "f32"
                outs = [q.Tensor("boxes", np.stack([p[0] for p in parts]), box_type),
                        q.Tensor("scores", np.stack([p[1] for p in parts]), score,
                                 scores.enc),
                        q.Tensor("classes", np.stack([p[2] for p in parts]).astype(
                            float if ones else int), label, ones),
                        q.Tensor("count", np.array([p[3] for p in parts]).astype(
                            float if ones else int), count, ones)]
                for feature in features:
                    want = np.zeros((n, room, *feature.real.shape[2:]))
                    for i, p in enumerate(parts):
                        want[i, :p[3]] = feature.real[i, p[4]]
                    kind = feature.dtype
                    outs.append(q.Tensor("g", want.astype(int) if kind == "i32" else want, kind,
                                         feature.enc))
                params = {"iou_threshold": ("f32", 0.4), "score_threshold": ("f32", 0.3)}
                if sigma:
                    params["soft_nms_sigma"] = ("f32", sigma)
                f.add("MultiClassNms", [boxes, scores, *features], outs, params,
                      name=f"MultiClassNms_{real}_{'soft' if sigma else 'hard'}")
    boxes = q.Tensor("boxes", some_boxes(f, 1, 6))
    scores = q.Tensor("scores", f.rng.uniform(0.05, 1, (1, 6, 2)))
    p = multi(boxes.real[0], scores.real[0], 0.5, 0.0, None, 4)
    f.add("MultiClassNms", [boxes, scores],
          [q.Tensor(name, np.array(p[i])[None], kind) for i, (name, kind) in enumerate(
              (("boxes", "f32"), ("scores", "f32"), ("classes", "i32"), ("count", "u32")))],
          {"iou_threshold": ("f32", 0.5)}, name="MultiClassNms_no_features")


METHODS = ("hard", "linear", "gaussian")


def limited(boxes, scores, batch, method, iou, sigma, least, nms_least, limit):
    """Rows (image, class, row, score) in output order."""
    factor = {"hard": lambda v: None if v >= iou else 1.0,
              "linear": lambda v: 1.0 if v < iou else 1 - v,
              "gaussian": lambda v: np.exp(-v * v / sigma)}[method]
    rows = []
    for image in sorted(set(batch)):
        for c in range(scores.shape[1]):
            which = np.flatnonzero((batch == image) & (scores[:, c] >= least))
            best = which[np.argsort(-scores[which, c], kind="stable")]
            which = np.sort(best[:limit]) if limit >= 0 else which
            floor = -np.inf if method == "hard" else nms_least
            kept = box.soft(boxes[which, 4 * c:4 * c + 4], scores[which, c], factor, floor)
            rows += [(image, c, which[k], s) for k, s in kept]
    return rows


def limit_cases(f):
    for n_rows, classes, images in ((15, 3, 2), (8, 1, 1), (1, 2, 3), (40, 2, 4)):
        for number, method in enumerate(METHODS):
            for limit, optional in ((-1, 0), (5, 3), (0, 1), (3, 2)):
                boxes = some_boxes(f, n_rows, classes)
                boxes = np.concatenate([np.minimum(boxes[..., :2], boxes[..., 2:]),
                                        np.maximum(boxes[..., :2], boxes[..., 2:])], -1)
                b = q.Tensor("boxes", boxes.reshape(n_rows, -1))
                s = q.Tensor("scores", f.rng.uniform(0, 1, (n_rows, classes)))
                batch = np.sort(f.rng.integers(0, images, n_rows))
                n = q.Tensor("batch", batch, "i32")
                numbers = [float(np.float32(v)) for v in (0.45, 0.5, 0.2, 0.1)]
                rows = limited(b.real, s.real, batch, method, *numbers, limit)
                count = len(rows)
                room = n_rows * classes + 2
                chosen = np.array([b.real[r, 4 * c:4 * c + 4] for _, c, r, _ in rows])

                def column(k):
                    return np.array([r[k] for r in rows], int)  # noqa: B023
                outs = [q.Tensor("boxes", chosen.reshape(count, 4), dims=(room, 4)),
                        q.Tensor("scores", np.array([r[3] for r in rows]), dims=(room,)),
                        q.Tensor("classes", column(1), "i32", dims=(room,)),
                        q.Tensor("images", column(0), "i32", dims=(room,))]
                splits = np.bincount([r[0] for r in rows], minlength=images)
                extra = [q.Tensor("splits", splits, "i32"),
                         q.Tensor("keeps", column(2), "i32", dims=(room,)),
                         q.Tensor("sizes", np.bincount([r[1] for r in rows], minlength=classes),
                                  "i32")]
                ins = [b, s, n]
                if optional == 2:
                    ins.append(q.Tensor("in_splits", np.bincount(batch, minlength=images), "i32"))
                    extra[0] = q.NULL
                f.add("BoxWithNmsLimit", ins, outs + (extra if optional == 2 else extra[:optional]),
                      {"nms_kernel_method": ("i32", number), "iou_threshold": ("f32", 0.45),
                       "sigma": ("f32", 0.5), "score_threshold": ("f32", 0.2),
                       "nms_score_threshold": ("f32", 0.1), "pre_nms_limit": ("i32", limit)},
                      name=f"BoxWithNmsLimit_{method}")


def limit_edge_cases(f):
    params = {"nms_kernel_method": ("i32", 0), "nms_score_threshold": ("f32", 0.0),
              "iou_threshold": ("f32", 0.5), "sigma": ("f32", 0.5)}
    square = q.Tensor("boxes", np.tile([0.0, 0, 2, 2], (3, 1)))
    scores = q.Tensor("scores", np.array([[0.5], [np.nan], [0.5]]))

    def outs(rows, room):
        return [q.Tensor("boxes", np.tile([0.0, 0, 2, 2], (len(rows), 1)), dims=(room, 4)),
                q.Tensor("scores", np.full(len(rows), 0.5), dims=(room,)),
                q.Tensor("classes", np.zeros(len(rows), int), "i32", dims=(room,)),
                q.Tensor("images", np.array(rows, int), "i32", dims=(room,))]
    for name, batch, rows, room in (("nan", [0, 0, 0], [0], 3), ("far", [7, 0, 2 ** 31 - 1],
                                                                 [7, 2 ** 31 - 1], 3),
                                    ("little_room", [0, 0, 1], [0], 1)):
        f.add("BoxWithNmsLimit", [square, scores, q.Tensor("batch", np.array(batch), "i32")],
              outs(rows, room), params, name=f"BoxWithNmsLimit_{name}")
    splits = q.Tensor("splits", dtype="i32", dims=(2,))
    for bad in ([0, -1, 0], [0, 2, 0]):
        f.add("BoxWithNmsLimit", [square, scores, q.Tensor("batch", np.array(bad), "i32")],
              outs([0], 3) + [splits], params, name="BoxWithNmsLimit_image_out_of_range",
              error=q.error(None, "execute"))


def decoded(deltas, anchors, factors):
    d = deltas * factors
    centre = anchors[:, :2] + d[:, :2] * anchors[:, 2:]
    size = anchors[:, 2:] * np.exp(d[:, 2:])
    return np.concatenate([centre - size / 2, centre + size / 2], 1)


def detections(scores, boxes, o):
    """scores [A, C], boxes [A, C, 4]; o: options. Returns (score, box, label), best first."""
    n_anchors, n_classes = scores.shape
    usable = [c for c in range(n_classes) if c != o["bg"] or o["use_bg"]]
    good = scores >= o["conf"]
    found = []
    if o["regular"]:
        for c in usable:
            which = np.flatnonzero(good[:, c])
            iou = box.overlaps(boxes[which, c])
            limit, kept = o["iou"], []
            alive = dict.fromkeys(np.argsort(-scores[which, c], kind="stable").tolist())
            while alive and (o["limit"] < 0 or len(kept) < o["limit"]):
                best = next(iter(alive))
                kept.append(best)
                alive = {i: None for i in alive if i != best and not iou[best, i] > limit}
                if o["eta"] < 1 and limit > 0.5:
                    limit *= o["eta"]
            found += [(which[k], c) for k in kept]
    else:
        best = {}
        for i in range(n_anchors):
            mine = [c for c in usable if good[i, c]]
            if mine:
                best[i] = min(mine, key=lambda c: (-scores[i, c], c))
        which = list(best)
        top = [scores[i, best[i]] for i in which]
        for k in box.hard([boxes[i, best[i]] for i in which], top, o["iou"]):
            i = which[k]
            mine = sorted((c for c in usable if good[i, c]), key=lambda c: (-scores[i, c], c))
            found += [(i, c) for c in (mine if o["limit"] < 0 else mine[:o["limit"]])]
    found.sort(key=lambda p: (-scores[p], p[0] * n_classes + p[1]))
    rows = []
    for i, c in found:
        label = c
        if not o["show_bg"]:
            if c == o["bg"]:
                continue
            label = c - (c > o["bg"])
        rows.append((scores[i, c], boxes[i, c], label))
    return rows


def detection_cases(f):
    options = [dict(regular=regular, bg=bg, use_bg=use, show_bg=show, limit=limit, eta=eta,
                    iou=iou, conf=float(np.float32(0.3)))
               for regular in (False, True)
               for bg, use, show, limit, eta, iou in ((0, False, True, -1, 1.0, 0.5),
                                                      (0, False, False, 2, 1.0, 0.25),
                                                      (1, True, True, 3, 0.875, 0.75),
                                                      (2, True, False, 1, 1.0, 0.5),
                                                      (9, False, True, 0, 0.5, 0.5),
                                                      (9, False, True, -1, 0.5, 0.5))]
    for n, n_anchors, classes, room in ((1, 10, 3, 20), (2, 24, 4, 7)):
        for shared in (True, False):
            for each, o in enumerate(options):
                for dtype in ("f32", ("uq8", "f16", "uq16")[each % 3]):
                    scores = q.Tensor("scores", f.rng.uniform(0, 1, (n, n_anchors, classes)), dtype)
                    count = n_anchors * (1 if shared else classes)
                    deltas = q.Tensor("deltas", f.rng.normal(size=(n, count, 4)), dtype)
                    repeat = n if each % 2 else 1
                    centred = np.concatenate([f.rng.uniform(0, 5, (n_anchors * repeat, 2)),
                                              f.rng.uniform(1, 4, (n_anchors * repeat, 2))], 1)
                    anchors = q.Tensor("anchors", centred, dtype)
                    factors = np.array([0.125, 0.25, 0.5, 0.25])
                    parts = []
                    for i in range(n):
                        mine = anchors.real[i * n_anchors:(i + 1) * n_anchors] if repeat > 1 \
                            else anchors.real
                        per = count // n_anchors
                        boxes = decoded(deltas.real[i], np.repeat(mine, per, 0), factors)
                        boxes = np.broadcast_to(boxes.reshape(n_anchors, per, 4),
                                                (n_anchors, classes, 4))
                        parts.append(detections(scores.real[i], boxes, o)[:room])
                    outs = [q.Tensor("scores", np.stack([box.pad([r[0] for r in p], room)
                                                         for p in parts]), dtype, scores.enc),
                            q.Tensor("boxes", np.stack([box.pad([r[1] for r in p], room, 4)
                                                        for p in parts])),
                            q.Tensor("labels", np.stack([box.pad([r[2] for r in p], room)
                                                         for p in parts]).astype(int), "i32"),
                            q.Tensor("count", np.array([len(p) for p in parts]), "u32")]
                    params = {"delta_scaling_factors": ("f32", factors),
                              "confidence_threshold": ("f32", 0.3),
                              "iou_threshold": ("f32", o["iou"]),
                              "nms_type": ("u32", o["regular"]),
                              "background_class_idx": ("u32", o["bg"]),
                              "use_bg_in_nms": ("b8", o["use_bg"]),
                              "output_background": ("b8", o["show_bg"]),
                              "share_location": ("b8", shared), "nms_eta": ("f32", o["eta"]),
                              "detection_limit": ("i32", o["limit"])}
                    f.add("DetectionOutput", [scores, deltas, anchors], outs, params,
                          name=f"DetectionOutput_{dtype}_{'regular' if o['regular'] else 'fast'}")
    one = q.Tensor("anchors", np.array([[1.0, 1, 2, 2]]))
    for regular in (0, 1):
        f.add("DetectionOutput", [q.Tensor("scores", np.array([[[0.5, 0.25]]])),
                                  q.Tensor("deltas", np.zeros((1, 1, 4))), one],
              [q.Tensor("scores", np.array([[0.25]])),
               q.Tensor("boxes", np.array([[[0.0, 0, 2, 2]]])),
               q.Tensor("labels", np.array([[1]]), "i32"), q.Tensor("count", np.array([1]), "u32")],
              {"delta_scaling_factors": ("f32", [1.0] * 4), "confidence_threshold": ("f32", 0.25),
               "iou_threshold": ("f32", 0.5), "nms_type": ("u32", regular)},
              name="DetectionOutput_at_threshold")
    hostile = q.Tensor("scores", np.array([[[0.9, np.nan], [0.2, np.inf], [0.1, 0.8]]]))
    deltas = q.Tensor("deltas", np.array([[[np.nan] * 4, [0, 0, 1e30, 1e30], [0.0] * 4]]))
    anchors = q.Tensor("anchors", np.array([[0.0, 0, 1, 1]] * 3))
    f.add("DetectionOutput", [hostile, deltas, anchors],
          [q.Tensor("scores", np.array([[np.inf, 0.8, 0, 0]])),
           q.Tensor("boxes", np.array([[[-np.inf, -np.inf, np.inf, np.inf], [-.5, -.5, .5, .5],
                                        [0] * 4, [0] * 4]])),
           q.Tensor("labels", np.array([[1, 1, 0, 0]]), "i32"),
           q.Tensor("count", np.array([2]), "u32")],
          {"delta_scaling_factors": ("f32", [1.0] * 4), "confidence_threshold": ("f32", 0.3),
           "iou_threshold": ("f32", 0.5)}, name="DetectionOutput_hostile")


def cases(f):
    nms_cases(f)
    nms_edge_cases(f)
    row_count_cases(f)
    combined_cases(f)
    multi_cases(f)
    limit_cases(f)
    limit_edge_cases(f)
    detection_cases(f)


if __name__ == "__main__":
    q.run(cases)
