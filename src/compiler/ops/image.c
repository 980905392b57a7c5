// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group image: attributes, and what makes a step safe to run. Images are
// [N, H, W, C]. Positions that come from data are made safe by the rows; tables of positions are
// constants, and their content is checked here.
#include "compiler/ops/check.h"

#include "kernels/image/color.h"
#include "kernels/image/resample.h"
#include "kernels/image/sample.h"
#include "kernels/image/window.h"

enum { N, H, W, C, IMAGE_RANK };

static bool is_image(const qrn_view *v) { return v->rank == IMAGE_RANK; }

// Images of any size with as many images and channels as x.
static bool images_of(const qrn_view *v, const qrn_view *x) {
    return is_image(v) && v->dims[N] == x->dims[N] && v->dims[C] == x->dims[C];
}

// --- colour

static const char *check_yuv_rgb(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *yuv = k->in[0], *rgb = k->out[0];
    QRN_NEED_ALSO(qrn_chk_all_real(k, domain));
    QRN_NEED(is_image(rgb) && rgb->dims[C] == 3, "out[0] is not an image of 3 channels");
    QRN_NEED(rgb->dims[H] % 2 == 0 && rgb->dims[W] % 2 == 0, "out[0] is not of even size");
    QRN_NEED(
        qrn_chk_dims(yuv, 2,
                     (const size_t[]){rgb->dims[N], (size_t)rgb->dims[H] * rgb->dims[W] / 2 * 3}),
        "in[0] is not of the size of out[0]");
    return NULL;
}

static const char *check_drop_alpha(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    (void)domain;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_bytes(x) && x->dtype == y->dtype, "the operands are not of one whole type");
    QRN_NEED(x->rank > 0 && qrn_chk_same_but(x, y, x->rank - 1), "the shapes differ");
    QRN_NEED(x->dims[x->rank - 1] == 4 && y->dims[y->rank - 1] == 3,
             "the last dimensions are not 4 and 3");
    return NULL;
}

// --- resample

// The table of positions along an axis, operand t, is constant and names positions of in[0] alone.
static const char *check_positions(const qrn_kcall *k, uint32_t axis, uint32_t t, bool alone) {
    const qrn_resample_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0], *table = k->in[t];
    QRN_NEED(axis < x->rank && x->rank == y->rank, "the axis does not exist");
    for (uint32_t d = 0; d < x->rank; d++)
        QRN_NEED(x->dims[d] == y->dims[d] || d == axis ||
                     (!alone && (d == a->axis || d == a->axis + 1)),
                 "the shapes differ beside the axis");
    QRN_NEED(a->taps >= 1 && a->taps <= INT32_MAX, "taps is out of range");
    QRN_NEED(qrn_chk_type(table, QRN_T(I32)) && table->data,
             "the positions are not a constant of type i32");
    size_t count = qrn_view_count(table);
    QRN_NEED(qrn_chk_product(y->dims[axis], a->taps, count), "there are too few or many positions");
    const int32_t *index = table->data;
    for (size_t i = 0; i < count; i++)
        QRN_NEED(index[i] >= 0 && (uint32_t)index[i] < x->dims[axis],
                 "a position is outside in[0]");
    return NULL;
}

static const char *check_weights(const qrn_kcall *k) {
    QRN_NEED(qrn_chk_type(k->in[2], QRN_T(F64)), "in[2] is not of type f64");
    QRN_NEED(qrn_chk_same_count(k->in[1], k->in[2]), "in[1] and in[2] differ in size");
    return NULL;
}

static const char *check_resample(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(k->in[0], domain) && qrn_chk_real(k->out[0], domain),
             "in[0] or out[0] is not of the domain's type");
    QRN_NEED_ALSO(check_positions(k, ((const qrn_resample_args *)k->args)->axis, 1, true));
    return check_weights(k);
}

static const char *check_resample_move(const qrn_kcall *k, qrn_domain domain) {
    const qrn_resample_args *a = k->args;
    (void)domain;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_bytes(k->in[0]) && k->in[0]->dtype == k->out[0]->dtype,
             "in[0] and out[0] are not of one whole type");
    QRN_NEED(a->taps == 1, "taps is not 1");
    if (k->n_in < 3 || !k->in[2])
        return check_positions(k, a->axis, 1, true);
    QRN_NEED(a->axis < UINT32_MAX, "the second axis does not exist");
    QRN_NEED_ALSO(check_positions(k, a->axis, 1, false));
    return check_positions(k, a->axis + 1, 2, false);
}

// One type, or quantized values and the type that their sums have between two axes.
static bool resamples(qrn_dtype from, qrn_dtype to) {
    const qrn_dtype_mask bytes = QRN_T(UQ8) | QRN_T(SQ8), words = QRN_T(UQ16) | QRN_T(SQ16);
    qrn_dtype_mask both = (qrn_dtype_mask)1 << from | (qrn_dtype_mask)1 << to;
    if (from == to)
        return (both & (bytes | words | QRN_T(F32) | QRN_T(F64))) != 0;
    return ((both & QRN_T(F32)) && (both & bytes)) || ((both & QRN_T(F64)) && (both & words));
}

static const char *check_resample_q(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(resamples(k->in[0]->dtype, k->out[0]->dtype),
             "there is no resampling between these types");
    QRN_NEED_ALSO(check_positions(k, ((const qrn_resample_args *)k->args)->axis, 1, true));
    return check_weights(k);
}

// --- windows

static const char *check_glimpse(const qrn_kcall *k, qrn_domain domain) {
    const qrn_glimpse_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(x, domain) && qrn_chk_real(y, domain),
             "in[0] or out[0] is not of the domain's type");
    QRN_NEED(qrn_chk_bytes(k->in[1]), "in[1] is not of a numeric type of whole bytes");
    QRN_NEED(is_image(x) && images_of(y, x), "in[0] and out[0] are not images of one kind");
    QRN_NEED(qrn_chk_dims(k->in[1], 2, (const size_t[]){x->dims[N], 2}),
             "in[1] is not a position for each image");
    QRN_NEED(a->noise <= QRN_GLIMPSE_ZEROS, "noise is unknown");
    return NULL;
}

static const char *check_patches(const qrn_kcall *k, qrn_domain domain) {
    const qrn_patches_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    size_t window;
    QRN_NEED_ALSO(qrn_chk_all_real(k, domain));
    QRN_NEED(is_image(x) && is_image(y) && x->dims[N] == y->dims[N],
             "in[0] and out[0] are not equally many images");
    for (size_t i = 0; i < 2; i++)
        QRN_NEED(a->size[i] && a->stride[i] && a->rate[i], "a size, stride or rate is 0");
    QRN_NEED(qrn_mul_size(a->size[0], a->size[1], &window) &&
                 qrn_chk_product(window, x->dims[C], y->dims[C]),
             "the channels of out[0] are not those of a patch");
    return NULL;
}

static const char *check_correlation1d(const qrn_kcall *k, qrn_domain domain) {
    const qrn_correlation1d_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    QRN_NEED_ALSO(qrn_chk_all_real(k, domain));
    QRN_NEED(is_image(x) && qrn_chk_same_shape(x, k->in[1]),
             "in[0] and in[1] are not equal images");
    QRN_NEED(qrn_chk_same_but(x, y, C), "in[0] and out[0] differ in size");
    QRN_NEED(y->dims[C] == 2 * (uint64_t)a->displacement + 1,
             "the channels of out[0] are not those of the displacement");
    return NULL;
}

// --- samples

static const char *check_grid_sample(const qrn_kcall *k, qrn_domain domain) {
    const qrn_grid_sample_args *a = k->args;
    const qrn_view *x = k->in[0], *grid = k->in[1], *y = k->out[0];
    QRN_NEED_ALSO(qrn_chk_all_real(k, domain));
    QRN_NEED(x->rank == 4 || x->rank == 5, "the rank of in[0] is not 4 or 5");
    uint32_t last = x->rank - 1;
    QRN_NEED(qrn_chk_same_but(grid, y, last) && grid->rank == x->rank,
             "in[1] is not a position for each pixel of out[0]");
    QRN_NEED(grid->dims[last] == x->rank - 2, "in[1] has not one coordinate for each axis");
    QRN_NEED(y->dims[0] == x->dims[0] && y->dims[last] == x->dims[last],
             "in[0] and out[0] differ in images or channels");
    QRN_NEED(a->border <= QRN_SAMPLE_REFLECT, "border is unknown");
    return NULL;
}

static const char *check_crop_resize(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *boxes = k->in[1], *y = k->out[0];
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(x, domain) && qrn_chk_real(boxes, domain) && qrn_chk_real(y, domain),
             "in[0], in[1] or out[0] is not of the domain's type");
    QRN_NEED(qrn_chk_type(k->in[2], QRN_T(I32) | QRN_T(U32)), "in[2] is not of type i32 or u32");
    QRN_NEED(is_image(x) && is_image(y) && x->dims[C] == y->dims[C],
             "in[0] and out[0] are not images of equal channels");
    QRN_NEED(qrn_chk_dims(boxes, 2, (const size_t[]){y->dims[N], 4}),
             "in[1] is not a box for each image of out[0]");
    QRN_NEED(qrn_chk_vector(k->in[2], y->dims[N]), "in[2] is not a number for each box");
    return NULL;
}

static const char *check_project(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    size_t values = qrn_view_count(k->in[1]);
    QRN_NEED_ALSO(qrn_chk_all_real(k, domain));
    QRN_NEED(is_image(x) && images_of(y, x), "in[0] and out[0] are not images of one kind");
    QRN_NEED(values == 8 || values == 8 * (size_t)x->dims[N],
             "in[1] has not 8 values, or 8 for each image");
    return NULL;
}

// --- the ops

static const qrn_attr yuv_rgb_attrs[] = {
    QRN_ATTR(qrn_yuv_rgb_args, v_first),
    QRN_ATTR(qrn_yuv_rgb_args, bgr),
};
const qrn_cop qrn_cop_yuv_rgb = {QRN_COP_HEAD(yuv_rgb), QRN_COP_ATTRS(yuv_rgb_attrs),
                                 QRN_COP_IN(1, 1, 1), QRN_COP_OUT(1, 1, 1), .check = check_yuv_rgb};

static const qrn_attr drop_alpha_attrs[] = {
    QRN_ATTR(qrn_drop_alpha_args, alpha_last),
    QRN_ATTR(qrn_drop_alpha_args, bgr),
};
const qrn_cop qrn_cop_drop_alpha = {QRN_COP_HEAD(drop_alpha), QRN_COP_ATTRS(drop_alpha_attrs),
                                    QRN_COP_IN(1, 1, 1), QRN_COP_OUT(1, 1, 1),
                                    .check = check_drop_alpha};

static const qrn_attr resample_attrs[] = {
    QRN_ATTR(qrn_resample_args, axis),
    QRN_ATTR(qrn_resample_args, taps),
};
const qrn_cop qrn_cop_resample = {QRN_COP_HEAD(resample), QRN_COP_ATTRS(resample_attrs),
                                  QRN_COP_IN(3, 3, 7), QRN_COP_OUT(1, 1, 1),
                                  .check = check_resample};
const qrn_cop qrn_cop_resample_move = {QRN_COP_HEAD(resample_move), QRN_COP_ATTRS(resample_attrs),
                                       QRN_COP_IN(2, 3, 3), QRN_COP_OUT(1, 1, 1),
                                       .check = check_resample_move};
const qrn_cop qrn_cop_resample_q = {QRN_COP_HEAD(resample_q), QRN_COP_ATTRS(resample_attrs),
                                    QRN_COP_IN(3, 3, 7), QRN_COP_OUT(1, 1, 1),
                                    .check = check_resample_q};

static const qrn_attr glimpse_attrs[] = {
    QRN_ATTR(qrn_glimpse_args, noise),
    QRN_ATTR(qrn_glimpse_args, centered),
    QRN_ATTR(qrn_glimpse_args, normalized),
};
const qrn_cop qrn_cop_glimpse = {QRN_COP_HEAD(glimpse), QRN_COP_ATTRS(glimpse_attrs),
                                 QRN_COP_IN(2, 2, 3), QRN_COP_OUT(1, 1, 1), .check = check_glimpse};

static const qrn_attr patches_attrs[] = {
    QRN_ATTR_ARRAY(qrn_patches_args, size),
    QRN_ATTR_ARRAY(qrn_patches_args, stride),
    QRN_ATTR_ARRAY(qrn_patches_args, rate),
    QRN_ATTR_ARRAY(qrn_patches_args, before),
};
const qrn_cop qrn_cop_patches = {QRN_COP_HEAD(patches), QRN_COP_ATTRS(patches_attrs),
                                 QRN_COP_IN(1, 1, 1), QRN_COP_OUT(1, 1, 1), .check = check_patches};

static const qrn_attr correlation1d_attrs[] = {
    QRN_ATTR(qrn_correlation1d_args, displacement),
    QRN_ATTR(qrn_correlation1d_args, shift),
};
const qrn_cop qrn_cop_correlation1d = {QRN_COP_HEAD(correlation1d),
                                       QRN_COP_ATTRS(correlation1d_attrs), QRN_COP_IN(2, 2, 3),
                                       QRN_COP_OUT(1, 1, 1), .check = check_correlation1d};

static const qrn_attr grid_sample_attrs[] = {
    QRN_ATTR(qrn_grid_sample_args, border),
    QRN_ATTR(qrn_grid_sample_args, align_corners),
    QRN_ATTR(qrn_grid_sample_args, nearest),
};
const qrn_cop qrn_cop_grid_sample = {QRN_COP_HEAD(grid_sample), QRN_COP_ATTRS(grid_sample_attrs),
                                     QRN_COP_IN(2, 2, 3), QRN_COP_OUT(1, 1, 1),
                                     .check = check_grid_sample};

static const qrn_attr crop_resize_attrs[] = {
    QRN_ATTR(qrn_crop_resize_args, outside),
    QRN_ATTR(qrn_crop_resize_args, nearest),
};
const qrn_cop qrn_cop_crop_resize = {QRN_COP_HEAD(crop_resize), QRN_COP_ATTRS(crop_resize_attrs),
                                     QRN_COP_IN(3, 3, 7), QRN_COP_OUT(1, 1, 1),
                                     .check = check_crop_resize};

static const qrn_attr project_attrs[] = {QRN_ATTR(qrn_project_args, nearest)};
const qrn_cop qrn_cop_project = {QRN_COP_HEAD(project), QRN_COP_ATTRS(project_attrs),
                                 QRN_COP_IN(2, 2, 3), QRN_COP_OUT(1, 1, 1), .check = check_project};
