# SPDX-License-Identifier: MIT
"""What the detection ops refuse."""
import numpy as np

import qcase as q


def tensor(*shape, dtype="f32"):
    return q.Tensor("x", np.zeros(shape, int if dtype[0] in "iu" else float), dtype)


def out(*shape, dtype="f32"):
    return q.Tensor("y", dims=shape, dtype=dtype)


class Op:
    """Valid operands of an op; each case breaks one of them."""

    def __init__(self, f, op, ins, outs, params):
        self.f, self.op, self.ins, self.outs, self.params = f, op, ins, outs, params

    def bad(self, name, ins=None, outs=None, **params):
        """ins and outs: {position: tensor or None to leave it off}; params: None leaves one off."""
        def changed(base, change):
            base = list(base)
            for i, t in (change or {}).items():
                if t is None:
                    del base[i]
                elif i < len(base):
                    base[i] = t
                else:
                    base.append(t)
            return base
        merged = {k: v for k, v in {**self.params, **params}.items() if v is not None}
        self.f.add(self.op, changed(self.ins, ins), changed(self.outs, outs), merged,
                   name=f"{self.op}_{name}", error=q.error())


def box_cases(f):
    op = Op(f, "AxisAlignedBboxTransform",
            [tensor(3, 4), tensor(3, 8), tensor(3, dtype="i32"), tensor(2, 2)],
            [out(3, 8), out(2, dtype="i32")], {})
    op.bad("corners", {0: tensor(3, 5)})
    op.bad("deltas", {1: tensor(3, 6)}, {0: out(3, 6)})
    op.bad("rois", {1: tensor(2, 8)}, {0: out(2, 8)})
    op.bad("images", {2: tensor(2, dtype="i32")})
    op.bad("size", {3: tensor(2, 3)})
    op.bad("out", outs={0: out(3, 4)})
    op.bad("splits", outs={1: out(3, dtype="i32")})
    op.bad("weights", weights=("f32", [1.0] * 3))
    op = Op(f, "BboxTransform",
            [tensor(3, 5), tensor(3, 10), tensor(2, 3), tensor(3, dtype="i32")],
            [out(3, 10), out(2)], {"weights": ("f32", [1.0] * 4)})
    op.bad("roi", {0: tensor(3, 4)})
    op.bad("deltas", {1: tensor(3, 8)}, {0: out(3, 8)})
    op.bad("rois", {1: tensor(2, 10)}, {0: out(2, 10)})
    op.bad("info", {2: tensor(2, 2)})
    op.bad("images", {3: tensor(2, dtype="i32")})
    op.bad("counts", outs={1: out(3)})
    op.bad("no_weights", weights=None)
    op.bad("weights", weights=("f32", [1.0] * 5))
    op.bad("bounds", angle_bounds=("i32", [90, -90]))
    op.bad("three_bounds", angle_bounds=("i32", [-90, 0, 90]))


def nms_cases(f):
    rows = [out(6, 4), out(6), out(6, dtype="i32"), out(6, dtype="i32")]
    op = Op(f, "BoxWithNmsLimit", [tensor(3, 8), tensor(3, 2), tensor(3, dtype="i32")], rows,
            {"nms_kernel_method": ("i32", 0), "nms_score_threshold": ("f32", 0.0),
             "iou_threshold": ("f32", 0.5), "sigma": ("f32", 0.5)})
    op.bad("boxes", {0: tensor(3, 6)})
    op.bad("rois", {0: tensor(2, 8)})
    op.bad("images", {2: tensor(4, dtype="i32")})
    op.bad("corners", outs={0: out(6, 5)})
    for i in (1, 2, 3):
        op.bad("rows", outs={i: out(5, dtype=rows[i].dtype)})
    splits, keeps = out(2, dtype="i32"), out(6, dtype="i32")
    op.bad("splits", {3: tensor(3, dtype="i32")}, {4: splits})
    op.bad("keeps", outs={4: splits, 5: out(4, dtype="i32")})
    op.bad("sizes", outs={4: splits, 5: keeps, 6: out(3, dtype="i32")})
    op.bad("method", nms_kernel_method=("i32", 3))
    op.bad("sigma", nms_kernel_method=("i32", 2), sigma=("f32", 0.0))
    op.bad("nan_sigma", nms_kernel_method=("i32", 2), sigma=("f32", np.nan))

    op = Op(f, "CombinedNms", [tensor(2, 5, 3, 4), tensor(2, 5, 3)],
            [out(2, 4, 4), out(2, 4), out(2, 4, dtype="u32"), out(2, dtype="u32")],
            {"max_boxes_per_class": ("u32", 1), "max_total_boxes": ("u32", 4),
             "iou_threshold": ("f32", 0.5)})
    op.bad("batch", {0: tensor(1, 5, 3, 4)})
    op.bad("boxes", {0: tensor(2, 6, 3, 4)})
    op.bad("q", {0: tensor(2, 5, 2, 4)})
    op.bad("corners", {0: tensor(2, 5, 3, 5)})
    op.bad("padded", pad_per_class=("b8", True))
    op.bad("room", outs={0: out(2, 5, 4)})
    op.bad("count", outs={3: out(1, dtype="u32")})
    op.bad("iou", iou_threshold=("f32", 1.5))
    op.bad("nan_iou", iou_threshold=("f32", np.nan))
    op.bad("no_boxes", max_total_boxes=("u32", 0))
    op.bad("no_class_boxes", max_boxes_per_class=("u32", 0))

    op = Op(f, "MultiClassNms", [tensor(2, 5, 4), tensor(2, 5, 3), tensor(2, 5, 7)],
            [out(2, 6, 4), out(2, 6), out(2, 6, dtype="i32"), out(2, dtype="u32"), out(2, 6, 7)],
            {"iou_threshold": ("f32", 0.5)})
    op.bad("batch", {0: tensor(1, 5, 4)})
    op.bad("boxes", {0: tensor(2, 4, 4)})
    op.bad("corners", {0: tensor(2, 5, 5)})
    op.bad("feature_boxes", {2: tensor(2, 4, 7)})
    op.bad("feature_out", outs={4: out(2, 6, 8)})
    op.bad("feature_missing", outs={4: None})
    op.bad("feature_extra", {2: None})
    op.bad("room", outs={1: out(2, 5)})
    op.bad("no_iou", iou_threshold=None)

    op = Op(f, "NonMaxSuppression", [tensor(3, 5, 4), tensor(3, 2, 5)],
            [out(12, 3, dtype="i32"), out(3, dtype="u32")],
            {"iou_threshold": ("f32", 0.5), "max_boxes_selected": ("u32", 2)})
    op.bad("batch", {0: tensor(2, 5, 4)})
    op.bad("boxes", {0: tensor(3, 4, 4)})
    op.bad("corners", {0: tensor(3, 5, 3)})
    op.bad("columns", outs={0: out(12, 4, dtype="i32")})
    op.bad("count", outs={1: out(2, dtype="u32")})
    op.bad("iou", iou_threshold=("f32", -0.1))


def detection_cases(f):
    op = Op(f, "DetectionOutput", [tensor(2, 5, 3), tensor(2, 5, 4), tensor(10, 4)],
            [out(2, 6), out(2, 6, 4), out(2, 6, dtype="i32"), out(2, dtype="u32")],
            {"delta_scaling_factors": ("f32", [1.0] * 4), "confidence_threshold": ("f32", 0.1),
             "iou_threshold": ("f32", 0.5)})
    op.bad("batch", {1: tensor(1, 5, 4)})
    op.bad("boxes", {1: tensor(2, 15, 4)})
    op.bad("own_boxes", share_location=("b8", False))
    op.bad("deltas", {1: tensor(2, 5, 5)})
    op.bad("anchors", {2: tensor(15, 4)})
    op.bad("anchor", {2: tensor(10, 5)})
    op.bad("factors", delta_scaling_factors=("f32", [1.0] * 3))
    op.bad("room", outs={1: out(2, 5, 4)})
    op.bad("labels", outs={2: out(2, 5, dtype="i32")})
    op.bad("count", outs={3: out(1, dtype="u32")})
    op.bad("type", nms_type=("u32", 2))


def proposal_cases(f):
    op = Op(f, "CollectRpnProposals",
            [tensor(3, 5), tensor(4, 5), q.NULL, q.NULL, q.NULL, tensor(3), tensor(4)],
            [out(7, 5)], {"rpn_max_level": ("u32", 3)})
    op.bad("levels", rpn_max_level=("u32", 4))
    op.bad("fewer_levels", rpn_max_level=("u32", 2))
    op.bad("level_range", rpn_max_level=("u32", 7))
    op.bad("level_order", rpn_min_level=("u32", 4))
    op.bad("level_low", rpn_min_level=("u32", 1), rpn_max_level=("u32", 2))
    op.bad("columns", {1: tensor(4, 4)})
    op.bad("scores", {6: tensor(3)})
    op.bad("rows", outs={0: out(6, 5)})
    op.bad("top", post_nms_top=("u32", 5))
    op.bad("top_0", post_nms_top=("u32", 0))
    op = Op(f, "DistributeFpnProposals", [tensor(6, 5)],
            [out(6, dtype="i32"), out(6, 5), out(6, 5)], {"roi_max_level": ("u32", 3)})
    op.bad("columns", {0: tensor(6, 6)}, {1: out(6, 6), 2: out(6, 6)})
    op.bad("levels", roi_max_level=("u32", 4))
    op.bad("fewer_levels", roi_max_level=("u32", 2))
    op.bad("level_range", roi_max_level=("u32", 6))
    op.bad("restore", outs={0: out(5, dtype="i32")})
    op.bad("width", outs={1: out(6, 4)})
    op.bad("scale", roi_canonical_scale=("u32", 0))
    op = Op(f, "GenerateProposals",
            [tensor(2, 3, 4, 2), tensor(2, 3, 4, 8), tensor(2, 4), tensor(2, 2)],
            [out(9), out(9, 4), out(9, dtype="i32")],
            {"img_size_ratio": ("f32", [4.0, 4.0]), "iou_threshold": ("f32", 0.5)})
    op.bad("grid", {1: tensor(2, 4, 4, 8)})
    op.bad("deltas", {1: tensor(2, 3, 4, 4)})
    op.bad("anchors", {2: tensor(3, 4)})
    op.bad("corners", {2: tensor(2, 5)})
    op.bad("images", {3: tensor(1, 2)})
    op.bad("size", {3: tensor(2, 3)})
    op.bad("boxes", outs={1: out(8, 4)})
    op.bad("box", outs={1: out(9, 5)})
    op.bad("indices", outs={2: out(8, dtype="i32")})
    op.bad("ratio", img_size_ratio=("f32", [4.0]))
    op.bad("ratio_0", img_size_ratio=("f32", [4.0, 0.0]))


def region_cases(f):
    for name in ("RoiAlign", "RoiPooling"):
        op = Op(f, name, [tensor(2, 6, 6, 3), tensor(4, 4), tensor(4, dtype="u32")],
                [out(4, 2, 2, 3)], {"img_size_ratio": ("f32", [4.0, 4.0])})
        op.bad("corners", {1: tensor(4, 5)})
        op.bad("images", {2: tensor(3, dtype="u32")})
        op.bad("rois", outs={0: out(3, 2, 2, 3)})
        op.bad("channels", outs={0: out(4, 2, 2, 4)})
        op.bad("no_ratio", img_size_ratio=None)
        op.bad("ratio", img_size_ratio=("f32", [4.0, 4.0, 4.0]))
        op.bad("negative_ratio", img_size_ratio=("f32", [-4.0, 4.0]))
        op.bad("nan_ratio", img_size_ratio=("f32", [4.0, np.nan]))
        for side in "yx" if name == "RoiAlign" else "":
            op.bad(f"samples_{side}", **{f"num_samples_{side}": ("i32", 257)})
    op = Op(f, "HeatMapMaxKeyPoint", [tensor(2, 4, 4, 3), tensor(2, 4)],
            [out(2, 3), out(2, 3, 2)], {})
    op.bad("boxes", {1: tensor(3, 4)})
    op.bad("corners", {1: tensor(2, 5)})
    op.bad("scores", outs={0: out(2, 4)})
    op.bad("places", outs={1: out(2, 3, 3)})


def cases(f):
    box_cases(f)
    nms_cases(f)
    detection_cases(f)
    proposal_cases(f)
    region_cases(f)


if __name__ == "__main__":
    q.run(cases)
