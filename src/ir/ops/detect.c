// SPDX-License-Identifier: MIT
//
// Op table: detection ops.
// Rows in alphabetical order, their shape rules above them.
#include "ir/ops/row.h"

// Enumerators that rules look at.
enum { NMS_GAUSSIAN = 2 };

static bool has_out(const qrn_op_call *c, uint32_t o) { return o < c->n_out && c->out[o]; }

static bool has_in(const qrn_op_call *c, uint32_t i) { return i < c->n_in && c->in[i]; }

static qrn_status check_dim(const qrn_op_call *c, uint32_t input, uint32_t dim, uint32_t want,
                            const char *why) {
    if (!has_in(c, input) || c->in_shape[input].dims[dim] == want)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE, "input %u: dimension %u is %u, expected %u (%s)", input, dim,
                       c->in_shape[input].dims[dim], want, why);
}

// Outputs whose first dimension is a limit are not compared by the table's own check.
static qrn_status check_out_dim(const qrn_op_call *c, uint32_t output, uint32_t dim, uint32_t want,
                                const char *why) {
    if (!has_out(c, output) || c->out[output]->shape.dims[dim] == want)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE, "output %u: dimension %u is %u, expected %u (%s)", output,
                       dim, c->out[output]->shape.dims[dim], want, why);
}

static qrn_status check_values(const qrn_op_call *c, const char *name, uint32_t want) {
    const qrn_tensor *t = qrn_op_param(c, name)->tensor;
    if (!t || t->shape.dims[0] == want)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %u values, expected %u", name,
                       t->shape.dims[0], want);
}

static qrn_status check_ratio(const qrn_op_call *c) {
    size_t n;
    QRN_TRY(check_values(c, "img_size_ratio", 2));
    const float *v = qrn_op_f32s(c, "img_size_ratio", &n);
    for (size_t i = 0; v && i < n; i++)
        if (!(v[i] > 0.0f))
            return qrn_op_fail(c, QRN_E_PARAM,
                               "parameter 'img_size_ratio': %g, expected more than 0",
                               (double)v[i]);
    return QRN_OK;
}

static qrn_status check_iou(const qrn_op_call *c) {
    float iou = qrn_op_f32(c, "iou_threshold", 0.0f);
    if (iou >= 0.0f && iou <= 1.0f)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter 'iou_threshold': %g, expected 0 to 1",
                       (double)iou);
}

static qrn_status check_multiple(const qrn_op_call *c, uint32_t input, uint32_t unit) {
    uint32_t have = c->in_shape[input].dims[1];
    if (have % unit == 0)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE, "input %u: dimension 1 is %u, expected a multiple of %u",
                       input, have, unit);
}

static void set_shape(const qrn_op_call *c, uint32_t o, uint32_t rank, uint32_t d0, uint32_t d1,
                      uint32_t d2) {
    if (has_out(c, o))
        c->out_shape[o] = (qrn_shape){.rank = rank, .dims = {d0, d1, d2}};
}

static qrn_status rule_axis_aligned_bbox_transform(const qrn_op_call *c) {
    uint32_t rois = c->in_shape[0].dims[0];
    QRN_TRY(check_dim(c, 0, 1, 4, "corners of a box"));
    QRN_TRY(check_dim(c, 1, 0, rois, "rois of input 0"));
    QRN_TRY(check_multiple(c, 1, 4));
    QRN_TRY(check_dim(c, 2, 0, rois, "rois of input 0"));
    QRN_TRY(check_dim(c, 3, 1, 2, "height and width"));
    QRN_TRY(check_values(c, "weights", 4));
    c->out_shape[0] = c->in_shape[1];
    set_shape(c, 1, 1, c->in_shape[3].dims[0], 0, 0);
    return QRN_OK;
}

static qrn_status rule_bbox_transform(const qrn_op_call *c) {
    uint32_t rois = c->in_shape[0].dims[0];
    QRN_TRY(check_dim(c, 0, 1, 5, "centre, size, angle"));
    QRN_TRY(check_dim(c, 1, 0, rois, "rois of input 0"));
    QRN_TRY(check_multiple(c, 1, 5));
    QRN_TRY(check_dim(c, 2, 1, 3, "height, width, scale"));
    QRN_TRY(check_dim(c, 3, 0, rois, "rois of input 0"));
    QRN_TRY(check_values(c, "weights", 4));
    QRN_TRY(check_values(c, "angle_bounds", 2));
    size_t n;
    const int32_t *bounds = qrn_op_i32s(c, "angle_bounds", &n);
    if (bounds && bounds[0] >= bounds[1])
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'angle_bounds': %d to %d, expected low, high",
                           bounds[0], bounds[1]);
    c->out_shape[0] = c->in_shape[1];
    set_shape(c, 1, 1, c->in_shape[2].dims[0], 0, 0);
    return QRN_OK;
}

static qrn_status rule_box_with_nms_limit(const qrn_op_call *c) {
    uint32_t rois = c->in_shape[1].dims[0], classes = c->in_shape[1].dims[1];
    uint32_t most = c->out[0]->shape.dims[0];
    float sigma = qrn_op_f32(c, "sigma", 0.0f);
    QRN_TRY(check_dim(c, 0, 0, rois, "rois of input 1"));
    if (c->in_shape[0].dims[1] != 4ull * classes)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 0: dimension 1 is %u, expected 4 for each of %u",
                           c->in_shape[0].dims[1], classes);
    QRN_TRY(check_dim(c, 2, 0, rois, "rois of input 1"));
    if (qrn_op_i32(c, "nms_kernel_method", 0) == NMS_GAUSSIAN && !(sigma > 0.0f))
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'sigma': %g, expected more than 0",
                           (double)sigma);
    set_shape(c, 0, 2, most, 4, 0);
    for (uint32_t o = 1; o < 6; o++)
        if (o != 4)
            QRN_TRY(check_out_dim(c, o, 0, most, "rows of output 0"));
    if (has_in(c, 3))
        QRN_TRY(check_out_dim(c, 4, 0, c->in_shape[3].dims[0], "images of input 3"));
    return check_out_dim(c, 6, 0, classes, "classes");
}

static qrn_status check_levels(const qrn_op_call *c, const char *low, const char *high,
                               uint32_t most, uint32_t *extra) {
    uint32_t min = qrn_op_u32(c, low, 2), max = qrn_op_u32(c, high, most);
    if (min < 2 || max > most || min > max)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameters '%s' and '%s': %u to %u, expected in 2 to %u", low, high,
                           min, max, most);
    *extra = max - min;
    return QRN_OK;
}

static qrn_status rule_collect_rpn_proposals(const qrn_op_call *c) {
    uint32_t extra = 0, most = qrn_op_u32(c, "post_nms_top", 2000);
    uint64_t rows = 0;
    QRN_TRY(check_levels(c, "rpn_min_level", "rpn_max_level", 6, &extra));
    for (uint32_t l = 0; l < 5; l++) {
        if (has_in(c, l) != (l <= extra) || has_in(c, 5 + l) != (l <= extra))
            return qrn_op_fail(c, QRN_E_OP_CONFIG, "inputs %u and %u: %s, there are %u levels", l,
                               5 + l, l <= extra ? "missing" : "given", extra + 1);
        if (l > extra)
            continue;
        QRN_TRY(check_dim(c, l, 1, 5, "image and corners"));
        QRN_TRY(check_dim(c, 5 + l, 0, c->in_shape[l].dims[0], "rois of the level"));
        rows += c->in_shape[l].dims[0];
    }
    if (most == 0)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'post_nms_top': 0, expected at least 1");
    set_shape(c, 0, 2, rows < most ? (uint32_t)rows : most, 5, 0);
    return QRN_OK;
}

static qrn_status rule_combined_nms(const qrn_op_call *c) {
    const qrn_shape *boxes = &c->in_shape[0], *scores = &c->in_shape[1];
    uint32_t batch = scores->dims[0], classes = scores->dims[2];
    uint32_t per_class = qrn_op_u32(c, "max_boxes_per_class", 0);
    uint32_t most = qrn_op_u32(c, "max_total_boxes", 0);
    QRN_TRY(check_dim(c, 0, 0, batch, "batch of input 1"));
    QRN_TRY(check_dim(c, 0, 1, scores->dims[1], "boxes of input 1"));
    if (boxes->dims[2] != 1)
        QRN_TRY(check_dim(c, 0, 2, classes, "1 or the classes of input 1"));
    QRN_TRY(check_dim(c, 0, 3, 4, "corners of a box"));
    QRN_TRY(check_iou(c));
    if (per_class == 0 || most == 0)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameters 'max_boxes_per_class', 'max_total_boxes': %u and %u, "
                           "expected at least 1",
                           per_class, most);
    uint64_t padded = (uint64_t)per_class * classes;
    if (qrn_op_bool(c, "pad_per_class", false) && padded < most)
        most = (uint32_t)padded;
    set_shape(c, 0, 3, batch, most, 4);
    set_shape(c, 1, 2, batch, most, 0);
    set_shape(c, 2, 2, batch, most, 0);
    set_shape(c, 3, 1, batch, 0, 0);
    return QRN_OK;
}

static qrn_status rule_detection_output(const qrn_op_call *c) {
    const qrn_shape *scores = &c->in_shape[0];
    uint32_t batch = scores->dims[0], anchors = scores->dims[1], most = c->out_shape[0].dims[1];
    uint64_t boxes =
        qrn_op_bool(c, "share_location", true) ? anchors : (uint64_t)anchors * scores->dims[2];
    QRN_TRY(check_dim(c, 1, 0, batch, "batch of input 0"));
    if (c->in_shape[1].dims[1] != boxes)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: dimension 1 is %u, expected %llu",
                           c->in_shape[1].dims[1], (unsigned long long)boxes);
    QRN_TRY(check_dim(c, 1, 2, 4, "centre and size"));
    if (c->in_shape[2].dims[0] != anchors && c->in_shape[2].dims[0] != (uint64_t)anchors * batch)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 2: dimension 0 is %u, expected %u for each image",
                           c->in_shape[2].dims[0], anchors);
    QRN_TRY(check_dim(c, 2, 1, 4, "centre and size"));
    QRN_TRY(check_values(c, "delta_scaling_factors", 4));
    set_shape(c, 0, 2, batch, most, 0);
    set_shape(c, 1, 3, batch, most, 4);
    set_shape(c, 2, 2, batch, most, 0);
    set_shape(c, 3, 1, batch, 0, 0);
    return QRN_OK;
}

static qrn_status rule_distribute_fpn_proposals(const qrn_op_call *c) {
    const qrn_shape *rois = &c->in_shape[0];
    uint32_t extra = 0;
    QRN_TRY(check_levels(c, "roi_min_level", "roi_max_level", 5, &extra));
    if (rois->dims[1] != 4)
        QRN_TRY(check_dim(c, 0, 1, 5, "corners, or image and corners"));
    if (qrn_op_u32(c, "roi_canonical_scale", 224) == 0)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'roi_canonical_scale': 0");
    QRN_TRY(check_out_dim(c, 0, 0, rois->dims[0], "rois"));
    for (uint32_t l = 0; l < 4; l++) {
        if (has_out(c, 1 + l) != (l <= extra))
            return qrn_op_fail(c, QRN_E_OP_CONFIG, "output %u: %s, there are %u levels", 1 + l,
                               l <= extra ? "missing" : "given", extra + 1);
        if (l <= extra)
            set_shape(c, 1 + l, 2, c->out_shape[1 + l].dims[0], rois->dims[1], 0);
    }
    return QRN_OK;
}

static qrn_status rule_generate_proposals(const qrn_op_call *c) {
    const qrn_shape *scores = &c->in_shape[0];
    uint32_t most = c->out[0]->shape.dims[0];
    for (uint32_t d = 0; d < 3; d++)
        QRN_TRY(check_dim(c, 1, d, scores->dims[d], "as input 0"));
    if (c->in_shape[1].dims[3] != 4ull * scores->dims[3])
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: dimension 3 is %u, expected 4 for each of %u",
                           c->in_shape[1].dims[3], scores->dims[3]);
    QRN_TRY(check_dim(c, 2, 0, scores->dims[3], "anchors of input 0"));
    QRN_TRY(check_dim(c, 2, 1, 4, "corners of a box"));
    QRN_TRY(check_dim(c, 3, 0, scores->dims[0], "batch of input 0"));
    QRN_TRY(check_dim(c, 3, 1, 2, "height and width"));
    QRN_TRY(check_ratio(c));
    QRN_TRY(check_out_dim(c, 1, 0, most, "rows of output 0"));
    QRN_TRY(check_out_dim(c, 2, 0, most, "rows of output 0"));
    set_shape(c, 1, 2, most, 4, 0);
    return QRN_OK;
}

static qrn_status rule_heat_map(const qrn_op_call *c) {
    uint32_t boxes = c->in_shape[0].dims[0], points = c->in_shape[0].dims[3];
    QRN_TRY(check_dim(c, 1, 0, boxes, "heat maps of input 0"));
    QRN_TRY(check_dim(c, 1, 1, 4, "corners of a box"));
    set_shape(c, 0, 2, boxes, points, 0);
    set_shape(c, 1, 3, boxes, points, 2);
    return QRN_OK;
}

static qrn_status rule_multi_class_nms(const qrn_op_call *c) {
    const qrn_shape *scores = &c->in_shape[1];
    uint32_t batch = scores->dims[0], most = c->out_shape[0].dims[1];
    QRN_TRY(check_dim(c, 0, 0, batch, "batch of input 1"));
    QRN_TRY(check_dim(c, 0, 1, scores->dims[1], "boxes of input 1"));
    QRN_TRY(check_dim(c, 0, 2, 4, "corners of a box"));
    if (c->n_out - 4 != c->n_in - 2)
        return qrn_op_fail(c, QRN_E_OP_CONFIG, "%u feature outputs, expected %u as feature inputs",
                           c->n_out - 4, c->n_in - 2);
    set_shape(c, 0, 3, batch, most, 4);
    set_shape(c, 1, 2, batch, most, 0);
    set_shape(c, 2, 2, batch, most, 0);
    set_shape(c, 3, 1, batch, 0, 0);
    for (uint32_t i = 2; i < c->n_in; i++) {
        QRN_TRY(check_dim(c, i, 0, batch, "batch of input 1"));
        QRN_TRY(check_dim(c, i, 1, scores->dims[1], "boxes of input 1"));
        c->out_shape[2 + i] = c->in_shape[i];
        c->out_shape[2 + i].dims[1] = most;
    }
    return QRN_OK;
}

static qrn_status rule_non_max_suppression(const qrn_op_call *c) {
    const qrn_shape *scores = &c->in_shape[1];
    QRN_TRY(check_dim(c, 0, 0, scores->dims[0], "batch of input 1"));
    QRN_TRY(check_dim(c, 0, 1, scores->dims[2], "boxes of input 1"));
    QRN_TRY(check_dim(c, 0, 2, 4, "corners of a box"));
    QRN_TRY(check_iou(c));
    c->out_shape[0].dims[1] = 3;
    if (has_out(c, 1) && c->out[1]->shape.dims[0] != 1)
        return check_out_dim(c, 1, 0, scores->dims[0], "1 or the images of input 1");
    return QRN_OK;
}

// Samples cost time as their square: more than any use is refused.
static qrn_status check_samples(const qrn_op_call *c, const char *name) {
    enum { MOST = 256 };
    int32_t n = qrn_op_i32(c, name, -1);
    if (n <= MOST)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %d, expected at most %d", name, n, MOST);
}

// Height and width of the bins are those of the output.
static qrn_status rule_roi(const qrn_op_call *c) {
    QRN_TRY(check_dim(c, 1, 1, 4, "corners of a box"));
    QRN_TRY(check_dim(c, 2, 0, c->in_shape[1].dims[0], "rois of input 1"));
    QRN_TRY(check_ratio(c));
    c->out_shape[0].dims[0] = c->in_shape[1].dims[0];
    c->out_shape[0].dims[3] = c->in_shape[0].dims[3];
    return QRN_OK;
}

static qrn_status rule_roi_align(const qrn_op_call *c) {
    QRN_TRY(check_samples(c, "num_samples_y"));
    QRN_TRY(check_samples(c, "num_samples_x"));
    return rule_roi(c);
}

// clang-format off
const qrn_op_def qrn_ops_detect[] = {
    {
        .name = "AxisAlignedBboxTransform",
        .category = "detection",
        INS(REQUIRED("rois", 2, 2, F32),
            REQUIRED("deltas", 2, 2, F32),
            REQUIRED("batch_index", 1, 1, I32),
            REQUIRED("image_size", 2, 2, F32 | UQ16 | I32 | U32)),
        OUTS(REQUIRED("boxes", 2, 2, F32),
             OPTIONAL("batch_splits", 1, 1, I32)),
        PARAMS(TENSOR_OPT("weights", F32, 1, "[1, 1, 1, 1]")),
        .rule = rule_axis_aligned_bbox_transform,
    },
    {
        .name = "BboxTransform",
        .category = "detection",
        INS(REQUIRED("rois", 2, 2, F32),
            REQUIRED("deltas", 2, 2, F32),
            REQUIRED("image_info", 2, 2, F32),
            OPTIONAL("batch_index", 1, 1, I32)),
        OUTS(REQUIRED("boxes", 2, 2, F32),
             REQUIRED("rois_per_batch", 1, 1, F32)),
        PARAMS(TENSOR("weights", F32, 1),
               SCALAR_OPT("apply_scale", B8, "1"),
               TENSOR_OPT("angle_bounds", I32, 1, "unset"),
               SCALAR_OPT("angle_clip_threshold", F32, "-1.0")),
        .rule = rule_bbox_transform,
    },
    {
        .name = "BoxWithNmsLimit",
        .category = "detection",
        INS(REQUIRED("boxes", 2, 2, F32),
            REQUIRED("scores", 2, 2, F32),
            REQUIRED("batch_index", 1, 1, I32),
            OPTIONAL("batch_splits", 1, 1, I32)),
        OUTS(REQUIRED("boxes", 2, 2, F32),
             REQUIRED("scores", 1, 1, F32),
             REQUIRED("classes", 1, 1, I32),
             REQUIRED("batch_index", 1, 1, I32),
             OPTIONAL("batch_splits", 1, 1, I32),
             OPTIONAL("keeps", 1, 1, I32),
             OPTIONAL("keeps_size", 1, 1, I32)),
        PARAMS(ENUM("nms_kernel_method", I32, {"HARD", 0}, {"LINEAR", 1}, {"GAUSSIAN", 2}),
               SCALAR("nms_score_threshold", F32),
               SCALAR_OPT("score_threshold", F32, "0.0"),
               SCALAR_OPT("pre_nms_limit", I32, "-1"),
               SCALAR("iou_threshold", F32),
               SCALAR("sigma", F32)),
        .flags = QRN_OP_OUT_MAX,
        .rule = rule_box_with_nms_limit,
    },
    {
        .name = "CollectRpnProposals",
        .category = "detection",
        INS(REQUIRED("rois_l0", 2, 2, F32),
            OPTIONAL("rois_l1", 2, 2, F32),
            OPTIONAL("rois_l2", 2, 2, F32),
            OPTIONAL("rois_l3", 2, 2, F32),
            OPTIONAL("rois_l4", 2, 2, F32),
            REQUIRED("scores_l0", 1, 1, F32),
            OPTIONAL("scores_l1", 1, 1, F32),
            OPTIONAL("scores_l2", 1, 1, F32),
            OPTIONAL("scores_l3", 1, 1, F32),
            OPTIONAL("scores_l4", 1, 1, F32)),
        OUTS(REQUIRED("rois", 2, 2, F32)),
        PARAMS(SCALAR_OPT("rpn_min_level", U32, "2"),
               SCALAR_OPT("rpn_max_level", U32, "6"),
               SCALAR_OPT("post_nms_top", U32, "2000")),
        .rule = rule_collect_rpn_proposals,
    },
    {
        .name = "CombinedNms",
        .category = "detection",
        INS(REQUIRED("boxes", 4, 4, F32),
            REQUIRED("scores", 3, 3, F32)),
        OUTS(REQUIRED("boxes", 3, 3, F32),
             REQUIRED("scores", 2, 2, F32),
             REQUIRED("classes", 2, 2, U32),
             REQUIRED("valid_count", 1, 1, U32)),
        PARAMS(SCALAR("max_boxes_per_class", U32),
               SCALAR("max_total_boxes", U32),
               SCALAR("iou_threshold", F32),
               SCALAR_OPT("score_threshold", F32, "0.0"),
               SCALAR_OPT("pad_per_class", B8, "0"),
               SCALAR_OPT("clip_boxes", B8, "0")),
        .rule = rule_combined_nms,
    },
    {
        .name = "DetectionOutput",
        .category = "detection",
        INS(REQUIRED("scores", 3, 3, F32 | F16 | UQ8 | UQ16),
            REQUIRED("deltas", 3, 3, F32 | F16 | UQ8 | UQ16),
            REQUIRED("anchors", 2, 2, F32 | F16 | UQ8 | UQ16)),
        OUTS(REQUIRED("scores", 2, 2, F32 | F16 | UQ8 | UQ16),
             REQUIRED("boxes", 3, 3, F32),
             REQUIRED("labels", 2, 2, I32),
             REQUIRED("valid_count", 1, 1, U32)),
        PARAMS(TENSOR("delta_scaling_factors", F32, 1),
               SCALAR("confidence_threshold", F32),
               SCALAR("iou_threshold", F32),
               ENUM_OPT("nms_type", U32, "0", {"FAST", 0}, {"REGULAR", 1}),
               SCALAR_OPT("background_class_idx", U32, "0"),
               SCALAR_OPT("use_bg_in_nms", B8, "0"),
               SCALAR_OPT("output_background", B8, "1"),
               SCALAR_OPT("share_location", B8, "1"),
               SCALAR_OPT("nms_eta", F32, "1.0"),
               SCALAR_OPT("detection_limit", I32, "-1")),
        .rule = rule_detection_output,
    },
    {
        .name = "DistributeFpnProposals",
        .category = "detection",
        INS(REQUIRED("rois", 2, 2, F32)),
        OUTS(REQUIRED("restore_index", 1, 1, I32 | U32),
             REQUIRED("rois_min_level", 2, 2, F32),
             OPTIONAL("rois_min_level_plus1", 2, 2, F32),
             OPTIONAL("rois_min_level_plus2", 2, 2, F32),
             OPTIONAL("rois_min_level_plus3", 2, 2, F32)),
        PARAMS(SCALAR_OPT("roi_min_level", U32, "2"),
               SCALAR_OPT("roi_max_level", U32, "5"),
               SCALAR_OPT("roi_canonical_scale", U32, "224"),
               SCALAR_OPT("roi_canonical_level", U32, "4")),
        .flags = QRN_OP_OUT_MAX,
        .rule = rule_distribute_fpn_proposals,
    },
    {
        .name = "GenerateProposals",
        .category = "detection",
        INS(REQUIRED("scores", 4, 4, F32),
            REQUIRED("deltas", 4, 4, F32),
            REQUIRED("anchors", 2, 2, F32),
            REQUIRED("image_size", 2, 2, F32)),
        OUTS(REQUIRED("scores", 1, 1, F32),
             REQUIRED("boxes", 2, 2, F32),
             REQUIRED("batch_index", 1, 1, I32)),
        PARAMS(TENSOR("img_size_ratio", F32, 1),
               SCALAR_OPT("min_size", F32, "0"),
               SCALAR_OPT("pre_nms_limit", U32, "no limit"),
               SCALAR_OPT("post_nms_limit", U32, "no limit"),
               SCALAR("iou_threshold", F32),
               SCALAR_OPT("bbox_xform_clip", B8, "0")),
        .flags = QRN_OP_OUT_MAX,
        .rule = rule_generate_proposals,
    },
    {
        .name = "HeatMapMaxKeyPoint",
        .category = "detection",
        INS(REQUIRED("heatmap", 4, 4, F32 | F16 | UQ8),
            REQUIRED("boxes", 2, 2, F32 | F16 | UQ16 | I32)),
        OUTS(REQUIRED("scores", 2, 2, F32 | F16 | UQ8),
             REQUIRED("locations", 3, 3, F32 | F16 | UQ16 | I32)),
        .rule = rule_heat_map,
    },
    {
        .name = "MultiClassNms",
        .category = "detection",
        INS(REQUIRED("boxes", 3, 3, F32 | UQ8 | UQ16),
            REQUIRED("scores", 3, 3, F32 | UQ8 | UQ16),
            VARIADIC_ANY("features", 2, MAX, F32 | UQ8 | SQ8 | UQ16 | SQ16 | I32 | U32)),
        OUTS(REQUIRED("boxes", 3, 3, F32 | UQ8),
             REQUIRED("scores", 2, 2, F32 | UQ8 | UQ16),
             REQUIRED("classes", 2, 2, UQ8 | I32),
             REQUIRED("valid_count", 1, 1, UQ8 | U32),
             VARIADIC_ANY("features", 2, MAX, F32 | UQ8 | SQ8 | UQ16 | SQ16 | I32 | U32)),
        PARAMS(SCALAR("iou_threshold", F32),
               SCALAR_OPT("score_threshold", F32, "0.0"),
               SCALAR_OPT("soft_nms_sigma", F32, "0.0")),
        .rule = rule_multi_class_nms,
    },
    {
        .name = "NonMaxSuppression",
        .category = "detection",
        INS(REQUIRED("boxes", 3, 3, F32 | F16 | UQ8 | UQ16),
            REQUIRED("scores", 3, 3, F32 | F16 | UQ8 | UQ16)),
        OUTS(REQUIRED("selected", 2, 2, I32 | U32),
             OPTIONAL("valid_count", 1, 1, U32)),
        PARAMS(SCALAR("iou_threshold", F32),
               SCALAR_OPT("score_threshold", F32, "0.0"),
               SCALAR_OPT("max_boxes_selected", U32, "0")),
        .flags = QRN_OP_OUT_MAX,
        .rule = rule_non_max_suppression,
    },
    {
        .name = "RoiAlign",
        .category = "detection",
        INS(REQUIRED("x", 4, 4, F32 | F16 | UQ8 | UQ16),
            REQUIRED("rois", 2, 2, F32 | F16 | UQ8 | UQ16),
            REQUIRED("batch_index", 1, 1, I32 | U32)),
        OUTS(REQUIRED("y", 4, 4, F32 | F16 | UQ8 | UQ16)),
        PARAMS(TENSOR("img_size_ratio", F32, 1),
               SCALAR_OPT("num_samples_y", I32, "-1"),
               SCALAR_OPT("num_samples_x", I32, "-1"),
               SCALAR_OPT("aligned", B8, "0"),
               SCALAR_OPT("allow_invalid_roi", B8, "0")),
        .rule = rule_roi_align,
    },
    {
        .name = "RoiPooling",
        .category = "detection",
        INS(REQUIRED("x", 4, 4, F32),
            REQUIRED("rois", 2, 2, F32),
            REQUIRED("batch_index", 1, 1, U32)),
        OUTS(REQUIRED("y", 4, 4, F32)),
        PARAMS(TENSOR("img_size_ratio", F32, 1)),
        .rule = rule_roi,
    },
};
// clang-format on

const size_t qrn_ops_detect_count = sizeof(qrn_ops_detect) / sizeof(qrn_ops_detect[0]);
