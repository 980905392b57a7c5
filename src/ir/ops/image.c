// SPDX-License-Identifier: MIT
//
// Op table: image ops.
// Rows in alphabetical order, their shape rules above them.
#include "ir/ops/row.h"

// Enumerators that rules look at.
enum { RESIZE_NEAREST = 0, RESIZE_CUBIC = 2, PATCHES_SAME = 1 };

// Every dimension of a list must be at least 1.
static qrn_status check_positive(const qrn_op_call *c, const char *name, size_t want) {
    size_t n;
    const qrn_tensor *t = qrn_op_param(c, name)->tensor;
    if (t && t->shape.dims[0] != want)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %u values, expected %zu", name,
                           t->shape.dims[0], want);
    const int32_t *v = qrn_op_i32s(c, name, &n);
    for (size_t i = 0; v && i < n; i++)
        if (v[i] < 1)
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': value %d, expected at least 1",
                               name, v[i]);
    return QRN_OK;
}

static qrn_status check_dim(const qrn_op_call *c, uint32_t input, uint32_t dim, uint32_t want,
                            const char *why) {
    uint32_t have = c->in_shape[input].dims[dim];
    if (have == want)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE, "input %u: dimension %u is %u, expected %u (%s)", input, dim,
                       have, want, why);
}

static qrn_status rule_argb_to_rgb(const qrn_op_call *c) {
    QRN_TRY(check_dim(c, 0, 3, 4, "channels with alpha"));
    c->out_shape[0] = c->in_shape[0];
    c->out_shape[0].dims[3] = 3;
    return QRN_OK;
}

// Height and width are those of the output.
static qrn_status rule_yuv_to_rgb(const qrn_op_call *c) {
    qrn_shape *y = &c->out_shape[0];
    uint64_t values = (uint64_t)y->dims[1] * y->dims[2] / 2 * 3;
    if (y->dims[1] % 2 || y->dims[2] % 2)
        return qrn_op_fail(c, QRN_E_SHAPE, "output 0: %u x %u pixels, expected even numbers",
                           y->dims[1], y->dims[2]);
    if (c->in_shape[0].dims[1] != values)
        return qrn_op_fail(
            c, QRN_E_SHAPE, "input 0: %u values in a row, expected %llu for %u x %u pixels",
            c->in_shape[0].dims[1], (unsigned long long)values, y->dims[1], y->dims[2]);
    y->dims[0] = c->in_shape[0].dims[0];
    y->dims[3] = 3;
    return QRN_OK;
}

static qrn_status rule_correlation1d(const qrn_op_call *c) {
    uint32_t displacement = qrn_op_u32(c, "displacement", 0);
    char a[128], b[128];
    if (!qrn_shape_equal(&c->in_shape[0], &c->in_shape[1]))
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: shape %s, expected %s as input 0",
                           qrn_shape_text(&c->in_shape[1], a, sizeof a),
                           qrn_shape_text(&c->in_shape[0], b, sizeof b));
    if (displacement > INT32_MAX / 2)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'displacement': %u is too large",
                           displacement);
    c->out_shape[0] = c->in_shape[0];
    c->out_shape[0].dims[3] = 2 * displacement + 1;
    return QRN_OK;
}

static qrn_status rule_crop_and_resize(const qrn_op_call *c) {
    size_t n;
    QRN_TRY(check_dim(c, 1, 1, 4, "box corners"));
    QRN_TRY(check_dim(c, 2, 0, c->in_shape[1].dims[0], "one for each box"));
    QRN_TRY(check_positive(c, "resize_dims", 2));
    const uint32_t *size = qrn_op_u32s(c, "resize_dims", &n);
    qrn_shape *y = &c->out_shape[0];
    y->dims[0] = c->in_shape[1].dims[0];
    y->dims[3] = c->in_shape[0].dims[3];
    for (uint32_t i = 0; size && i < 2; i++)
        y->dims[1 + i] = size[i];
    return QRN_OK;
}

static qrn_status rule_extract_glimpse(const qrn_op_call *c) {
    size_t n;
    QRN_TRY(check_dim(c, 1, 0, c->in_shape[0].dims[0], "one offset for each image"));
    QRN_TRY(check_dim(c, 1, 1, 2, "y and x"));
    QRN_TRY(check_positive(c, "size", 2));
    const uint32_t *size = qrn_op_u32s(c, "size", &n);
    qrn_shape *y = &c->out_shape[0];
    y->dims[0] = c->in_shape[0].dims[0];
    y->dims[3] = c->in_shape[0].dims[3];
    for (uint32_t i = 0; size && i < 2; i++)
        y->dims[1 + i] = size[i];
    return QRN_OK;
}

static qrn_status rule_extract_patches(const qrn_op_call *c) {
    static const char *const names[] = {"size", "stride", "rate"};
    const qrn_shape *x = &c->in_shape[0];
    const uint32_t *v[3];
    size_t n;
    for (uint32_t i = 0; i < 3; i++) {
        QRN_TRY(check_positive(c, names[i], 2));
        v[i] = qrn_op_u32s(c, names[i], &n);
    }
    c->out_shape[0].dims[0] = x->dims[0];
    if (!v[0] || !v[1] || !v[2])
        return QRN_OK;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t covered = (uint64_t)(v[0][i] - 1) * v[2][i] + 1, in = x->dims[1 + i];
        if (qrn_op_u32(c, "padding", 0) == PATCHES_SAME) {
            c->out_shape[0].dims[1 + i] = (uint32_t)((in + v[1][i] - 1) / v[1][i]);
        } else {
            if (covered > in)
                return qrn_op_fail(c, QRN_E_SHAPE,
                                   "input 0: dimension %u is %u, a patch covers %llu", 1 + i,
                                   x->dims[1 + i], (unsigned long long)covered);
            c->out_shape[0].dims[1 + i] = (uint32_t)((in - covered) / v[1][i] + 1);
        }
    }
    uint64_t depth = (uint64_t)v[0][0] * v[0][1];
    if (depth > UINT32_MAX / x->dims[3])
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'size': %u x %u is too large", v[0][0],
                           v[0][1]);
    c->out_shape[0].dims[3] = (uint32_t)depth * x->dims[3];
    return QRN_OK;
}

static qrn_status rule_grid_sample(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0], *grid = &c->in_shape[1];
    if (grid->rank != x->rank)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: rank %u, expected %u as input 0", grid->rank,
                           x->rank);
    QRN_TRY(check_dim(c, 1, 0, x->dims[0], "batch of input 0"));
    QRN_TRY(check_dim(c, 1, grid->rank - 1, x->rank - 2, "coordinates"));
    c->out_shape[0] = *grid;
    c->out_shape[0].dims[grid->rank - 1] = x->dims[x->rank - 1];
    return QRN_OK;
}

static qrn_status rule_projection(const qrn_op_call *c) {
    size_t n;
    uint64_t batch = c->in_shape[0].dims[0];
    if (!qrn_shape_count(&c->in_shape[1], &n) || (n != 8 && n != 8 * batch))
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "input 1: expected 8 values, or 8 for each of %llu images",
                           (unsigned long long)batch);
    return qrn_rule_same_shape(c);
}

// Batch and channels stay; the other dimensions come from the output.
static qrn_status keep_ends(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    qrn_shape *y = &c->out_shape[0];
    if (y->rank != x->rank)
        return qrn_op_fail(c, QRN_E_SHAPE, "output 0: rank %u, expected %u as input 0", y->rank,
                           x->rank);
    y->dims[0] = x->dims[0];
    y->dims[y->rank - 1] = x->dims[y->rank - 1];
    return QRN_OK;
}

static qrn_status rule_resize(const qrn_op_call *c) {
    uint32_t mode = qrn_op_u32(c, "interpolation_mode", RESIZE_NEAREST);
    if (qrn_op_param(c, "nearest_mode")->present && mode != RESIZE_NEAREST)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'nearest_mode': for NEAREST only");
    if (qrn_op_param(c, "cubic_coeff")->present && mode != RESIZE_CUBIC)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'cubic_coeff': for CUBIC only");
    return keep_ends(c);
}

static qrn_status rule_resize_one_grid(const qrn_op_call *c) {
    if (qrn_op_bool(c, "align_corners", false) && qrn_op_bool(c, "half_pixel_centers", false))
        return qrn_op_fail(
            c, QRN_E_PARAM,
            "parameters 'align_corners' and 'half_pixel_centers': both set, expected at most one");
    return keep_ends(c);
}

// clang-format off
const qrn_op_def qrn_ops_image[] = {
    {
        .name = "ArgbToRgb",
        .category = "image",
        INS(REQUIRED("image", 4, 4, F32 | F16 | UQ8)),
        OUTS(REQUIRED("rgb", 4, 4, F32 | F16 | UQ8)),
        PARAMS(ENUM_OPT("input_order", U32, "0", {"ARGB", 0}, {"RGBA", 1}),
               SCALAR("reverse_output", B8)),
        .rule = rule_argb_to_rgb,
    },
    {
        .name = "Correlation1D",
        .category = "vision",
        INS(REQUIRED("a", 4, 4, F32),
            REQUIRED("b", 4, 4, F32)),
        OUTS(REQUIRED("y", 4, 4, F32)),
        PARAMS(SCALAR("displacement", U32),
               SCALAR("shift", I32)),
        .rule = rule_correlation1d,
    },
    {
        .name = "CropAndResize",
        .category = "image",
        INS(REQUIRED("image", 4, 4, F32),
            REQUIRED("boxes", 2, 2, F32),
            REQUIRED("box_index", 1, 1, I32 | U32)),
        OUTS(REQUIRED("crops", 4, 4, F32)),
        PARAMS(TENSOR("resize_dims", U32, 1),
               ENUM_OPT("interpolation_mode", U32, "0", {"BILINEAR", 0}, {"NEAREST_NEIGHBOR", 1}),
               SCALAR_OPT("extrapolation_value", F32, "0")),
        .rule = rule_crop_and_resize,
    },
    {
        .name = "ExtractGlimpse",
        .category = "image",
        INS(REQUIRED("x", 4, 4, F32 | F16 | UQ8),
            REQUIRED("offsets", 2, 2, FLOATS)),
        OUTS(REQUIRED("glimpses", 4, 4, F32 | F16 | UQ8)),
        PARAMS(TENSOR("size", I32, 1),
               SCALAR_OPT("centered", B8, "1"),
               SCALAR_OPT("normalized", B8, "1"),
               ENUM_OPT("noise", I32, "0", {"UNIFORM", 0}, {"GAUSSIAN", 1}, {"ZEROES", 2})),
        .flags = QRN_OP_RANDOM,
        .rule = rule_extract_glimpse,
    },
    {
        .name = "ExtractPatches",
        .category = "image",
        INS(REQUIRED("x", 4, 4, F32 | F16 | UQ8)),
        OUTS(REQUIRED("patches", 4, 4, F32 | F16 | UQ8)),
        PARAMS(TENSOR("size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("rate", U32, 1),
               ENUM("padding", U32, {"VALID", 0}, {"SAME", 1})),
        .rule = rule_extract_patches,
    },
    {
        .name = "GridSample",
        .category = "image",
        INS(REQUIRED("x", 4, 5, F32 | F16 | UQ8 | UQ16),
            REQUIRED("grid", 4, 5, F32 | F16 | UQ8 | UQ16)),
        OUTS(REQUIRED("y", 4, 5, F32 | F16 | UQ8 | UQ16)),
        PARAMS(SCALAR_OPT("align_corners", B8, "0"),
               ENUM_OPT("mode", U32, "0", {"BILINEAR", 0}, {"NEAREST", 1}),
               ENUM_OPT("padding_mode", U32, "0", {"ZEROS", 0}, {"BORDER", 1}, {"REFLECTION", 2})),
        .rule = rule_grid_sample,
    },
    {
        .name = "ImageProjectionTransform",
        .category = "image",
        INS(REQUIRED("x", 4, 4, F32),
            REQUIRED("transform", 1, MAX, F32)),
        OUTS(REQUIRED("y", 4, 4, F32)),
        PARAMS(ENUM_OPT("interpolation_mode", U32, "0", {"BILINEAR", 0}, {"NEAREST_NEIGHBOR", 1})),
        .rule = rule_projection,
    },
    {
        .name = "Nv12ToRgb",
        .category = "image",
        INS(REQUIRED("yuv", 2, 2, F32 | F16 | UQ8)),
        OUTS(REQUIRED("rgb", 4, 4, F32 | F16 | UQ8)),
        PARAMS(ENUM("output_order", I32, {"RGB", 0}, {"BGR", 1})),
        .rule = rule_yuv_to_rgb,
    },
    {
        .name = "Nv21ToRgb",
        .category = "image",
        INS(REQUIRED("yuv", 2, 2, F32 | UQ8)),
        OUTS(REQUIRED("rgb", 4, 4, F32 | UQ8)),
        PARAMS(ENUM("output_order", I32, {"RGB", 0}, {"BGR", 1})),
        .rule = rule_yuv_to_rgb,
    },
    {
        .name = "Resize",
        .category = "image",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        PARAMS(SCALAR_OPT("exclude_outside", B8, "0"),
               ENUM_OPT("transformation_mode", U32, "0", {"HALF_PIXEL", 0},
                   {"PYTORCH_HALF_PIXEL", 1}, {"ALIGN_CORNERS", 2}, {"ASYMMETRIC", 3}),
               ENUM_OPT("interpolation_mode", U32, "0", {"NEAREST", 0}, {"LINEAR", 1},
                   {"CUBIC", 2}),
               ENUM_OPT("nearest_mode", U32, "0", {"ROUND_PREFER_FLOOR", 0},
                   {"ROUND_PREFER_CEIL", 1}, {"FLOOR", 2}, {"CEIL", 3}),
               SCALAR_OPT("cubic_coeff", F32, "-0.75")),
        .rule = rule_resize,
    },
    {
        .name = "ResizeBilinear",
        .category = "image",
        INS(REQUIRED("x", 4, 4, ACT16)),
        OUTS(REQUIRED("y", 4, 4, ACT16)),
        PARAMS(SCALAR_OPT("align_corners", B8, "0"),
               SCALAR_OPT("half_pixel_centers", B8, "0"),
               SCALAR_OPT("antialias", B8, "0")),
        .rule = rule_resize_one_grid,
    },
    {
        .name = "ResizeNearestNeighbor",
        .category = "image",
        INS(REQUIRED("x", 4, 4, ACT)),
        OUTS(REQUIRED("y", 4, 4, ACT)),
        PARAMS(SCALAR_OPT("align_corners", B8, "0"),
               SCALAR_OPT("half_pixel_centers", B8, "0")),
        .rule = rule_resize_one_grid,
    },
};
// clang-format on

const size_t qrn_ops_image_count = sizeof(qrn_ops_image) / sizeof(qrn_ops_image[0]);
