// SPDX-License-Identifier: MIT
//
// Lowering rows of the image group. A resize becomes one step for each axis whose length changes,
// with the positions and weights of that axis as constants: what output o reads is settled once.
#include "compiler/lower/groups.h"
#include "kernels/convert.h"
#include "kernels/image/color.h"
#include "kernels/image/resample.h"
#include "kernels/image/sample.h"
#include "kernels/image/taps.h"
#include "kernels/image/window.h"

#include <string.h>

// The tables of one axis as constants.
static qrn_status tap_tables(qrn_lowering *lo, const qrn_tap_rule *rule, uint32_t in, uint32_t out,
                             qrn_val *index, qrn_val *weight) {
    size_t taps = qrn_taps_count(rule, in, out);
    if (taps > INT32_MAX || taps * out > UINT32_MAX)
        return QRN_FAIL(QRN_E_SHAPE, "node '%s': resizing %u to %u needs too large a table",
                        qrn_lo_node(lo)->name, in, out);
    qrn_shape shape = {.rank = 1, .dims = {(uint32_t)(taps * out)}};
    void *positions, *weights;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_I32, &shape, NULL, index, &positions));
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F64, &shape, NULL, weight, &weights));
    qrn_taps_fill(rule, in, out, positions, weights);
    return QRN_OK;
}

// Axes in the order of their steps: those that shrink first, so that later steps have less to do,
// then outer before inner. Returns how many; one that keeps its length when none changes.
static uint32_t axes_to_resize(const qrn_shape *x, const qrn_shape *y, uint32_t *axes) {
    uint32_t n = 0;
    for (int grow = 0; grow < 2; grow++)
        for (uint32_t a = 0; a < x->rank; a++)
            if (grow ? y->dims[a] > x->dims[a] : y->dims[a] < x->dims[a])
                axes[n++] = a;
    if (n == 0)
        axes[n++] = 0;
    return n;
}

// How the values of a resize are held between its steps.
typedef struct resize_plan {
    const qrn_cop *emits;
    qrn_domain domain;
    qrn_dtype first, middle, last; // of the first step's input, between steps, of the last output
    uint32_t n_in;                 // operands of a step
} resize_plan;

static resize_plan plan_resize(const qrn_tensor *x, const qrn_tensor *y, bool nearest) {
    uint32_t bits = qrn_dtypes[y->dtype].bits;
    bool whole = y->quant.bits == 0 || y->quant.bits == bits; // every value of the type counts
    bool same = x->dtype == y->dtype && x->quant.kind == QRN_QUANT_TENSOR &&
                qrn_quant_equal(&x->quant, &y->quant);
    // Scales per axis or block belong to the output's shape: the input cannot be brought to them.
    if (nearest && y->quant.kind <= QRN_QUANT_TENSOR)
        return (resize_plan){
            &qrn_cop_resample_move, QRN_DOMAIN_RAW, y->dtype, y->dtype, y->dtype, 2};
    if (same && qrn_dtype_is_fixed(y->dtype) && (bits == 8 || bits == 16) && whole)
        return (resize_plan){&qrn_cop_resample_q,
                             QRN_DOMAIN_RAW,
                             y->dtype,
                             bits == 8 ? QRN_DTYPE_F32 : QRN_DTYPE_F64,
                             y->dtype,
                             3};
    if (qrn_dtype_is_float(x->dtype) && qrn_dtype_is_float(y->dtype))
        return (resize_plan){&qrn_cop_resample, QRN_DOMAIN_F32, QRN_DTYPE_F32,
                             QRN_DTYPE_F32,     QRN_DTYPE_F32,  3};
    return (resize_plan){&qrn_cop_resample, QRN_DOMAIN_F64, QRN_DTYPE_F64,
                         QRN_DTYPE_F64,     QRN_DTYPE_F64,  3};
}

static qrn_status resize_axes(qrn_lowering *lo, const qrn_node *n, const qrn_tap_rule *rule) {
    const qrn_tensor *x = n->in[0], *y = n->out[0];
    resize_plan plan = plan_resize(x, y, rule->interpolation == QRN_TAP_NEAREST);
    uint32_t axes[QRN_MAX_RANK], n_axes = axes_to_resize(&x->shape, &y->shape, axes);
    bool direct = y->dtype == plan.last; // the last step writes the output itself
    qrn_shape shape = x->shape;
    qrn_val out, step[3];
    QRN_TRY(qrn_lo_tensor(lo, y, &out));
    QRN_TRY(qrn_lo_tensor(lo, x, &step[0]));
    QRN_TRY(
        qrn_lo_as(lo, step[0], plan.first, plan.first == y->dtype ? &y->quant : NULL, &step[0]));
    for (uint32_t i = 0; i < n_axes; i++) {
        uint32_t axis = axes[i], length = shape.dims[axis];
        qrn_resample_args args = {axis,
                                  (uint32_t)qrn_taps_count(rule, length, y->shape.dims[axis])};
        QRN_TRY(tap_tables(lo, rule, length, y->shape.dims[axis], &step[1], &step[2]));
        shape.dims[axis] = y->shape.dims[axis];
        qrn_val to = out;
        if (i + 1 < n_axes || !direct) {
            qrn_dtype dtype = i + 1 < n_axes ? plan.middle : plan.last;
            QRN_TRY(qrn_lo_temp(lo, dtype, &shape, dtype == y->dtype ? &y->quant : NULL, &to));
        }
        QRN_TRY(qrn_lo_step(lo, plan.emits, plan.domain, &args, step, plan.n_in, &to, 1, 0));
        step[0] = to;
    }
    return direct ? QRN_OK
                  : qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, step, 1, &out, 1, 0);
}

static qrn_status lower_resize(qrn_lowering *lo, const qrn_node *n) {
    qrn_tap_rule rule = {
        .coordinate = qrn_node_u32(n, "transformation_mode", QRN_TAP_HALF_PIXEL),
        .interpolation = qrn_node_u32(n, "interpolation_mode", QRN_TAP_NEAREST),
        .rounding = qrn_node_u32(n, "nearest_mode", QRN_TAP_ROUND_PREFER_FLOOR),
        .cubic = (double)qrn_node_f32(n, "cubic_coeff", -0.75f),
        .exclude_outside = qrn_node_bool(n, "exclude_outside", false),
    };
    return resize_axes(lo, n, &rule);
}

static uint32_t grid_of(const qrn_node *n, uint32_t half_pixel) {
    if (qrn_node_bool(n, "align_corners", false))
        return QRN_TAP_ALIGN_CORNERS;
    return qrn_node_bool(n, "half_pixel_centers", false) ? half_pixel : QRN_TAP_ASYMMETRIC;
}

static qrn_status lower_resize_bilinear(qrn_lowering *lo, const qrn_node *n) {
    qrn_tap_rule rule = {
        .coordinate = grid_of(n, QRN_TAP_HALF_PIXEL),
        .interpolation = qrn_node_bool(n, "antialias", false) ? QRN_TAP_TRIANGLE : QRN_TAP_LINEAR,
    };
    return resize_axes(lo, n, &rule);
}

static qrn_status lower_resize_nearest(qrn_lowering *lo, const qrn_node *n) {
    qrn_tap_rule rule = {.coordinate = grid_of(n, QRN_TAP_PIXEL_CENTER),
                         .interpolation = QRN_TAP_NEAREST,
                         .rounding = QRN_TAP_FLOOR};
    if (rule.coordinate == QRN_TAP_ALIGN_CORNERS)
        rule.rounding = QRN_TAP_ROUND_PREFER_CEIL;
    return resize_axes(lo, n, &rule);
}

static qrn_status argb_args(const qrn_node *n, void *args) {
    enum { RGBA = 1 };
    qrn_drop_alpha_args *a = args;
    a->alpha_last = qrn_node_u32(n, "input_order", 0) == RGBA;
    a->bgr = qrn_node_bool(n, "reverse_output", false);
    return QRN_OK;
}

static qrn_status yuv_args(const qrn_node *n, void *args) {
    enum { BGR = 1 };
    qrn_yuv_rgb_args *a = args;
    a->v_first = strcmp(n->type, "Nv21ToRgb") == 0;
    a->bgr = qrn_node_i32(n, "output_order", 0) == BGR;
    return QRN_OK;
}

static qrn_status correlation_args(const qrn_node *n, void *args) {
    qrn_correlation1d_args *a = args;
    a->displacement = qrn_node_u32(n, "displacement", 0);
    a->shift = qrn_node_i32(n, "shift", 0);
    return QRN_OK;
}

static qrn_status crop_args(const qrn_node *n, void *args) {
    qrn_crop_resize_args *a = args;
    a->outside = qrn_node_f32(n, "extrapolation_value", 0.0f);
    a->nearest = qrn_node_u32(n, "interpolation_mode", 0) == 1;
    return QRN_OK;
}

static qrn_status glimpse_args(const qrn_node *n, void *args) {
    qrn_glimpse_args *a = args;
    a->noise = qrn_node_u32(n, "noise", QRN_GLIMPSE_UNIFORM);
    a->centered = qrn_node_bool(n, "centered", true);
    a->normalized = qrn_node_bool(n, "normalized", true);
    return QRN_OK;
}

// SAME splits its padding in two, the smaller half in front.
static qrn_status patches_args(const qrn_node *n, void *args) {
    enum { SAME = 1 };
    qrn_patches_args *a = args;
    qrn_node_u32s(n, "size", a->size, 2);
    qrn_node_u32s(n, "stride", a->stride, 2);
    qrn_node_u32s(n, "rate", a->rate, 2);
    for (uint32_t i = 0; i < 2 && qrn_node_u32(n, "padding", 0) == SAME; i++) {
        uint64_t in = n->in[0]->shape.dims[1 + i], out = n->out[0]->shape.dims[1 + i];
        uint64_t span = (out - 1) * a->stride[i] + (uint64_t)(a->size[i] - 1) * a->rate[i] + 1;
        uint64_t before = span > in ? (span - in) / 2 : 0;
        if (before > UINT32_MAX)
            return QRN_FAIL(QRN_E_PARAM, "node '%s': patches of %llu pixels are too large", n->name,
                            (unsigned long long)span);
        a->before[i] = (uint32_t)before;
    }
    return QRN_OK;
}

static qrn_status grid_args(const qrn_node *n, void *args) {
    qrn_grid_sample_args *a = args;
    a->border = qrn_node_u32(n, "padding_mode", QRN_SAMPLE_ZEROS);
    a->align_corners = qrn_node_bool(n, "align_corners", false);
    a->nearest = qrn_node_u32(n, "mode", 0) == 1;
    return QRN_OK;
}

static qrn_status project_args(const qrn_node *n, void *args) {
    ((qrn_project_args *)args)->nearest = qrn_node_u32(n, "interpolation_mode", 0) == 1;
    return QRN_OK;
}

// clang-format off
const qrn_lower_row qrn_lower_image[] = {
    {.op = "ArgbToRgb", .emits = &qrn_cop_drop_alpha, .in = "m", .out = "m", .args = argb_args},
    {.op = "Correlation1D", .emits = &qrn_cop_correlation1d, .in = "r", .out = "r",
     .args = correlation_args},
    {.op = "CropAndResize", .emits = &qrn_cop_crop_resize, .in = "rrx", .out = "r",
     .args = crop_args},
    {.op = "ExtractGlimpse", .emits = &qrn_cop_glimpse, .in = "rx", .out = "r",
     .args = glimpse_args},
    {.op = "ExtractPatches", .emits = &qrn_cop_patches, .in = "r", .out = "r",
     .args = patches_args},
    {.op = "GridSample", .emits = &qrn_cop_grid_sample, .in = "r", .out = "r",
     .args = grid_args},
    {.op = "ImageProjectionTransform", .emits = &qrn_cop_project, .in = "r", .out = "r",
     .args = project_args},
    {.op = "Nv12ToRgb", .emits = &qrn_cop_yuv_rgb, .in = "r", .out = "r", .args = yuv_args},
    {.op = "Nv21ToRgb", .emits = &qrn_cop_yuv_rgb, .in = "r", .out = "r", .args = yuv_args},
    {.op = "Resize", .custom = lower_resize},
    {.op = "ResizeBilinear", .custom = lower_resize_bilinear},
    {.op = "ResizeNearestNeighbor", .custom = lower_resize_nearest},
    {0},
};
// clang-format on
