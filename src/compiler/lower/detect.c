// SPDX-License-Identifier: MIT
//
// Lowering rows of the detect group.
#include "compiler/lower/groups.h"
#include "kernels/convert.h"
#include "kernels/detect/candidates.h"
#include "kernels/detect/detection_output.h"
#include "kernels/detect/nms.h"
#include "kernels/detect/proposals.h"
#include "kernels/detect/roi.h"

// Outputs (of the bits in `among`) whose first dimension becomes the number of rows.
static uint32_t reported(const qrn_node *n, uint32_t among) {
    uint32_t bits = 0;
    for (uint32_t o = 0; o < n->n_out; o++)
        if (among >> o & 1u && qrn_lo_reports_rows(n, o))
            bits |= 1u << o;
    return bits;
}

static double threshold(const qrn_node *n, const char *name) {
    return (double)qrn_node_f32(n, name, 0.0f);
}

static qrn_status box_deltas_args(const qrn_node *n, void *args) {
    qrn_box_deltas_args *a = args;
    for (uint32_t i = 0; i < 4; i++)
        a->weights[i] = 1.0f;
    qrn_node_f32s(n, "weights", a->weights, 4);
    return QRN_OK;
}

static qrn_status rotated_deltas_args(const qrn_node *n, void *args) {
    qrn_rotated_deltas_args *a = args;
    int32_t bounds[2] = {0, 0};
    qrn_node_f32s(n, "weights", a->weights, 4);
    a->bounded = qrn_node_i32s(n, "angle_bounds", bounds, 2) == 2;
    a->low = bounds[0];
    a->high = bounds[1];
    a->apply_scale = qrn_node_bool(n, "apply_scale", true);
    a->upright_degree = qrn_node_f32(n, "angle_clip_threshold", -1.0f);
    return QRN_OK;
}

static qrn_status nms_limit_args(const qrn_node *n, void *args) {
    static const uint32_t methods[] = {QRN_NMS_FROM, QRN_NMS_LINEAR, QRN_NMS_GAUSSIAN};
    const uint32_t rows = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5;
    qrn_nms_limit_args *a = args;
    a->method = methods[qrn_node_i32(n, "nms_kernel_method", 0)];
    a->iou_threshold = threshold(n, "iou_threshold");
    a->score_threshold = threshold(n, "score_threshold");
    a->nms_score_threshold = threshold(n, "nms_score_threshold");
    a->sigma = threshold(n, "sigma");
    a->pre_limit = qrn_node_i32(n, "pre_nms_limit", -1);
    a->report = reported(n, rows);
    return QRN_OK;
}

static qrn_status combined_nms_args(const qrn_node *n, void *args) {
    qrn_combined_nms_args *a = args;
    a->iou_threshold = threshold(n, "iou_threshold");
    a->score_threshold = threshold(n, "score_threshold");
    a->per_class = qrn_node_u32(n, "max_boxes_per_class", 0);
    a->clip = qrn_node_bool(n, "clip_boxes", false);
    return QRN_OK;
}

static qrn_status detection_output_args(const qrn_node *n, void *args) {
    enum { REGULAR = 1 };
    qrn_detection_output_args *a = args;
    qrn_node_f32s(n, "delta_scaling_factors", a->factors, 4);
    a->confidence = threshold(n, "confidence_threshold");
    a->iou_threshold = threshold(n, "iou_threshold");
    a->eta = (double)qrn_node_f32(n, "nms_eta", 1.0f);
    a->limit = qrn_node_i32(n, "detection_limit", -1);
    a->background = qrn_node_u32(n, "background_class_idx", 0);
    a->regular = qrn_node_u32(n, "nms_type", 0) == REGULAR;
    a->use_background = qrn_node_bool(n, "use_bg_in_nms", false);
    a->number_background = qrn_node_bool(n, "output_background", true);
    a->shared = qrn_node_bool(n, "share_location", true);
    return QRN_OK;
}

static qrn_status distribute_args(const qrn_node *n, void *args) {
    qrn_distribute_args *a = args;
    a->min_level = qrn_node_u32(n, "roi_min_level", 2);
    a->max_level = qrn_node_u32(n, "roi_max_level", 5);
    a->canonical_level = qrn_node_u32(n, "roi_canonical_level", 4);
    a->canonical_scale = qrn_node_u32(n, "roi_canonical_scale", 224);
    a->report = reported(n, ~1u);
    return QRN_OK;
}

static void image_ratio(const qrn_node *n, double *ratio) {
    float values[2] = {1.0f, 1.0f};
    qrn_node_f32s(n, "img_size_ratio", values, 2);
    ratio[0] = (double)values[0];
    ratio[1] = (double)values[1];
}

static qrn_status generate_args(const qrn_node *n, void *args) {
    qrn_generate_args *a = args;
    image_ratio(n, a->step);
    a->min_size = threshold(n, "min_size");
    a->iou_threshold = threshold(n, "iou_threshold");
    a->pre_limit = qrn_node_u32(n, "pre_nms_limit", UINT32_MAX);
    a->post_limit = qrn_node_u32(n, "post_nms_limit", UINT32_MAX);
    a->clip_deltas = qrn_node_bool(n, "bbox_xform_clip", false);
    a->report = reported(n, ~0u);
    return QRN_OK;
}

static qrn_status nms_args(const qrn_node *n, void *args) {
    qrn_nms_args *a = args;
    a->iou_threshold = threshold(n, "iou_threshold");
    a->score_threshold = threshold(n, "score_threshold");
    a->most = qrn_node_u32(n, "max_boxes_selected", 0);
    a->report = reported(n, 1u);
    return QRN_OK;
}

static qrn_status roi_args(const qrn_node *n, void *args) {
    qrn_roi_args *a = args;
    image_ratio(n, a->ratio);
    return QRN_OK;
}

static qrn_status roi_align_args(const qrn_node *n, void *args) {
    qrn_roi_args *a = args;
    a->samples[0] = qrn_node_i32(n, "num_samples_y", -1);
    a->samples[1] = qrn_node_i32(n, "num_samples_x", -1);
    a->aligned = qrn_node_bool(n, "aligned", false);
    a->skip_empty = qrn_node_bool(n, "allow_invalid_roi", false);
    return roi_args(n, args);
}

// The value of an output in the format that the kernel writes: itself, or a temporary.
static qrn_status output_as(qrn_lowering *lo, const qrn_tensor *t, qrn_dtype dtype, qrn_val *final,
                            qrn_val *v) {
    QRN_TRY(qrn_lo_tensor(lo, t, final));
    *v = *final;
    return t->dtype == dtype ? QRN_OK : qrn_lo_temp(lo, dtype, &t->shape, NULL, v);
}

static bool all_f32(const qrn_node *n) {
    return n->in[0]->dtype == QRN_DTYPE_F32 && n->in[1]->dtype == QRN_DTYPE_F32 &&
           n->out[0]->dtype == QRN_DTYPE_F32 && n->out[1]->dtype == QRN_DTYPE_F32;
}

// The choice of boxes, then one step for each feature, which keeps its own type.
static qrn_status lower_multi_class_nms(qrn_lowering *lo, const qrn_node *n) {
    qrn_multi_nms_args args = {threshold(n, "iou_threshold"), threshold(n, "score_threshold"),
                               threshold(n, "soft_nms_sigma")};
    qrn_dtype real = all_f32(n) ? QRN_DTYPE_F32 : QRN_DTYPE_F64;
    const qrn_dtype types[4] = {real, real, QRN_DTYPE_I32, QRN_DTYPE_U32};
    qrn_val in[2], out[5], final[4];
    for (uint32_t i = 0; i < 2; i++) {
        QRN_TRY(qrn_lo_tensor(lo, n->in[i], &in[i]));
        QRN_TRY(qrn_lo_as(lo, in[i], real, NULL, &in[i]));
    }
    for (uint32_t o = 0; o < 4; o++)
        QRN_TRY(output_as(lo, n->out[o], types[o], &final[o], &out[o]));
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_I32, &n->out[1]->shape, NULL, &out[4]));
    QRN_TRY(qrn_lo_step(lo, &qrn_cop_multi_nms,
                        real == QRN_DTYPE_F32 ? QRN_DOMAIN_F32 : QRN_DOMAIN_F64, &args, in, 2, out,
                        5, 0));
    for (uint32_t o = 0; o < 4; o++)
        if (out[o] != final[o])
            QRN_TRY(qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &out[o], 1, &final[o],
                                1, 0));
    for (uint32_t i = 2; i < n->n_in; i++) {
        const qrn_tensor *y = n->out[2 + i];
        qrn_val pick[2] = {QRN_VAL_NONE, out[4]}, to, rows;
        // Scales per axis or block belong to the output's shape: the input cannot have them.
        bool parts = y->quant.kind > QRN_QUANT_TENSOR;
        qrn_dtype dtype = parts ? QRN_DTYPE_F64 : y->dtype;
        QRN_TRY(output_as(lo, y, dtype, &to, &rows));
        QRN_TRY(qrn_lo_tensor(lo, n->in[i], &pick[0]));
        QRN_TRY(qrn_lo_as(lo, pick[0], dtype, parts ? NULL : &y->quant, &pick[0]));
        QRN_TRY(qrn_lo_step(lo, &qrn_cop_pick_rows, QRN_DOMAIN_RAW, NULL, pick, 2, &rows, 1, 0));
        if (rows != to)
            QRN_TRY(qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &rows, 1, &to, 1, 0));
    }
    return QRN_OK;
}

// clang-format off
const qrn_lower_row qrn_lower_detect[] = {
    {.op = "AxisAlignedBboxTransform", .emits = &qrn_cop_box_deltas, .in = "rrx", .out = "rx",
     .args = box_deltas_args},
    {.op = "BboxTransform", .emits = &qrn_cop_rotated_deltas, .in = "rrrx", .out = "r",
     .args = rotated_deltas_args},
    {.op = "BoxWithNmsLimit", .emits = &qrn_cop_nms_limit, .in = "rrx", .out = "rrx",
     .args = nms_limit_args},
    {.op = "CollectRpnProposals", .emits = &qrn_cop_collect_proposals, .in = "r", .out = "r"},
    {.op = "CombinedNms", .emits = &qrn_cop_combined_nms, .in = "r", .out = "rrx",
     .args = combined_nms_args},
    {.op = "DetectionOutput", .emits = &qrn_cop_detection_output, .in = "r", .out = "rrx",
     .args = detection_output_args},
    {.op = "DistributeFpnProposals", .emits = &qrn_cop_distribute_proposals, .in = "r",
     .out = "xr", .args = distribute_args},
    {.op = "GenerateProposals", .emits = &qrn_cop_generate_proposals, .in = "r", .out = "rrx",
     .args = generate_args},
    {.op = "HeatMapMaxKeyPoint", .emits = &qrn_cop_keypoint, .in = "r", .out = "r"},
    {.op = "MultiClassNms", .custom = lower_multi_class_nms},
    {.op = "NonMaxSuppression", .emits = &qrn_cop_nms, .in = "r", .out = "x", .args = nms_args},
    {.op = "RoiAlign", .emits = &qrn_cop_roi_align, .in = "rrx", .out = "r",
     .args = roi_align_args},
    {.op = "RoiPooling", .emits = &qrn_cop_roi_pool, .in = "rrx", .out = "r", .args = roi_args},
    {0},
};
// clang-format on
