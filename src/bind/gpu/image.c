// SPDX-License-Identifier: MIT
//
// Images: resampling, colours, windows, samples on the GPU.
#include "bind/gpu/rows.h"

#include "kernels/image/color.h"
#include "kernels/image/resample.h"
#include "kernels/image/sample.h"
#include "kernels/image/window.h"

// The weights of the taps are constants in double: kernels read them as floats.
static qrn_status weights(qrn_gpu_binder *b, const qrn_cstep *s, qrn_val *out) {
    size_t n = qrn_gpu_count(b, s->in[2]);
    const double *from = qrn_compiled_data(b->cg, s->in[2]);
    void *to;
    if (!from || qrn_gpu_value(b, s->in[2])->dtype != QRN_DTYPE_F64)
        return qrn_gpu_reject(b, s, "its weights are not constants");
    QRN_TRY(qrn_gpu_make_packed(b, s, s->in[2], QRN_GPU_PACKING_F32, QRN_DTYPE_F32, n, out, &to));
    for (size_t i = 0; to && i < n; i++)
        ((float *)to)[i] = (float)from[i];
    return QRN_OK;
}

static qrn_status bind_resample(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_resample_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *y = qrn_gpu_shape(b, s->out[0]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    qrn_val w = QRN_VAL_NONE;
    if (s->op == &qrn_cop_resample)
        QRN_TRY(weights(b, s, &w));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_image, "resample");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "I", s->in[1]);
    qrn_gpu_in(&k, "W", w);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    QRN_GPU_INTS(&k, x->dims[a->axis], qrn_gpu_span(x, a->axis + 1, x->rank), y->dims[a->axis],
                 a->taps, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

// A kernel over the elements of the output that reads in[0] as X and, when it has one, in[1].
static qrn_gpu_kernel begin(qrn_gpu_binder *b, const qrn_cstep *s, const char *entry,
                            const char *second) {
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_image, entry);
    qrn_gpu_in(&k, "X", s->in[0]);
    if (second)
        qrn_gpu_in(&k, second, s->in[1]);
    return k;
}

static qrn_status end(qrn_gpu_kernel *k, const qrn_cstep *s) {
    size_t total = qrn_gpu_count(k->b, s->out[0]);
    qrn_gpu_int(k, (int64_t)total);
    return qrn_gpu_kernel_items(k, total);
}

static qrn_status bind_yuv_rgb(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_yuv_rgb_args *a = s->args;
    const qrn_shape *y = qrn_gpu_shape(b, s->out[0]);
    qrn_gpu_kernel k = begin(b, s, "yuv_rgb", NULL);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    QRN_GPU_INTS(&k, y->dims[1], y->dims[2], a->v_first, a->bgr);
    return end(&k, s);
}

static qrn_status bind_drop_alpha(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_drop_alpha_args *a = s->args;
    qrn_gpu_kernel k = begin(b, s, "drop_alpha", NULL);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    QRN_GPU_INTS(&k, !a->alpha_last, a->bgr);
    return end(&k, s);
}

static void add_params(qrn_gpu_kernel *k, const uint32_t *values, uint32_t n) {
    int32_t p[16];
    for (uint32_t i = 0; i < n; i++)
        p[i] = (int32_t)values[i];
    qrn_gpu_params(k, "P", p, n);
}

static qrn_status bind_patches(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_patches_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims, *y = qrn_gpu_shape(b, s->out[0])->dims;
    const uint32_t p[] = {x[1],       x[2],         x[3],         y[1],         y[2],
                          a->size[0], a->size[1],   a->stride[0], a->stride[1], a->rate[0],
                          a->rate[1], a->before[0], a->before[1]};
    qrn_gpu_kernel k = begin(b, s, "patches", NULL);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    add_params(&k, p, 13);
    return end(&k, s);
}

static qrn_status bind_correlation1d(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_correlation1d_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims;
    qrn_gpu_kernel k = begin(b, s, "correlation1d", "B");
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    QRN_GPU_INTS(&k, x[2], x[3], qrn_gpu_shape(b, s->out[0])->dims[3],
                 (int64_t)a->shift - (int64_t)a->displacement);
    return end(&k, s);
}

static qrn_status bind_grid_sample(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_grid_sample_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *y = qrn_gpu_shape(b, s->out[0]);
    uint32_t p[4] = {x->rank - 2};
    for (uint32_t i = 0; i < p[0]; i++)
        p[1 + i] = x->dims[1 + i];
    qrn_gpu_kernel k = begin(b, s, "grid_sample", "G");
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    add_params(&k, p, 1 + p[0]);
    QRN_GPU_INTS(&k, x->dims[x->rank - 1], qrn_gpu_span(y, 1, y->rank - 1), a->border,
                 a->align_corners, a->nearest);
    return end(&k, s);
}

static qrn_status bind_crop_resize(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_crop_resize_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims, *y = qrn_gpu_shape(b, s->out[0])->dims;
    qrn_gpu_kernel k = begin(b, s, "crop_resize", "B");
    qrn_gpu_in(&k, "I", s->in[2]);
    qrn_gpu_define_real(&k, "I_REAL", s->in[2]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_fault(&k, s);
    add_params(&k, (const uint32_t[]){x[0], x[1], x[2], x[3], y[1], y[2]}, 6);
    qrn_gpu_int(&k, a->nearest);
    qrn_gpu_float(&k, a->outside);
    return end(&k, s);
}

static qrn_status bind_project(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_project_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims, *y = qrn_gpu_shape(b, s->out[0])->dims;
    qrn_gpu_kernel k = begin(b, s, "project", "M");
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    add_params(&k, (const uint32_t[]){x[1], x[2], x[3], y[1], y[2]}, 5);
    QRN_GPU_INTS(&k, qrn_gpu_count(b, s->in[1]) > 8 ? 8 : 0, a->nearest);
    return end(&k, s);
}

// Range or mean and deviation of each image; without noise nothing.
static qrn_status glimpse_noise(qrn_gpu_binder *b, const qrn_cstep *s, qrn_val *noise) {
    const qrn_glimpse_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    size_t image = (size_t)qrn_gpu_span(x, 1, 4), one = 1;
    qrn_walk outer, inner;
    qrn_gpu_rows r;
    if (a->noise == QRN_GLIMPSE_ZEROS)
        return QRN_OK;
    QRN_TRY(qrn_gpu_scratch(b, QRN_DTYPE_F32, 2u * (size_t)x->dims[0], noise));
    qrn_walk_init(&outer, 1);
    qrn_walk_init(&inner, 1);
    qrn_walk_push(&outer, x->dims[0], &image);
    qrn_walk_push(&inner, image, &one);
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_image, "glimpse_noise", &outer, &inner, &r);
    qrn_gpu_define(&k, "UNIFORM", "%d", a->noise == QRN_GLIMPSE_UNIFORM);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Z", *noise);
    qrn_gpu_rows_args(&k, &r, &outer, &inner);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_glimpse(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_glimpse_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims, *y = qrn_gpu_shape(b, s->out[0])->dims;
    qrn_val noise = QRN_VAL_NONE;
    bool doubles = b->opt->device && b->opt->device->info->fp64;
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    QRN_TRY(glimpse_noise(b, s, &noise));
    qrn_gpu_kernel k = begin(b, s, "glimpse", "B");
    qrn_gpu_define(&k, "NOISE", "%u", a->noise);
    qrn_gpu_define(&k, "REAL", "%s", doubles ? "double" : "float");
    qrn_gpu_in(&k, "Z", noise);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    add_params(&k, (const uint32_t[]){x[1], x[2], x[3], y[1], y[2]}, 5);
    QRN_GPU_INTS(&k, a->centered, a->normalized);
    return end(&k, s);
}

const qrn_gpu_op qrn_gpu_ops_image[] = {
    {.op = &qrn_cop_resample, .bind = bind_resample, .epilogue = true},
    {.op = &qrn_cop_resample_move, .bind = bind_resample, .epilogue = true},
    {.op = &qrn_cop_yuv_rgb, .bind = bind_yuv_rgb, .epilogue = true},
    {.op = &qrn_cop_drop_alpha, .bind = bind_drop_alpha, .epilogue = true},
    {.op = &qrn_cop_patches, .bind = bind_patches, .epilogue = true},
    {.op = &qrn_cop_correlation1d, .bind = bind_correlation1d, .epilogue = true},
    {.op = &qrn_cop_grid_sample, .bind = bind_grid_sample, .epilogue = true},
    {.op = &qrn_cop_crop_resize, .bind = bind_crop_resize, .epilogue = true},
    {.op = &qrn_cop_project, .bind = bind_project, .epilogue = true},
    {.op = &qrn_cop_glimpse, .bind = bind_glimpse, .epilogue = true},
    {0},
};
