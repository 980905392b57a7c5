// SPDX-License-Identifier: MIT
//
// Pooling, columns of windows and the Hadamard transform on the GPU.
#include "bind/gpu/rows.h"
#include "kernels/columns/columns.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/pooling/pooling.h"
#include "kernels/reduce/reduce.h"

#define WHOLE_CELLS 32 // windows of at least so many cells that are the whole input are reductions

static const char *const pool_kinds[] = {"POOL_MAX", "POOL_AVG", "POOL_L2"};

// Is the window the whole input, so that each channel is a row to reduce?
static bool is_whole(const qrn_pooling_args *a, const qrn_shape *x, const qrn_shape *y) {
    size_t cells = 1;
    for (uint32_t d = 0; d < a->n_spatial; d++) {
        if (a->size[d] != x->dims[1 + d] || a->before[d] || y->dims[1 + d] != 1)
            return false;
        cells *= a->size[d];
    }
    return cells >= WHOLE_CELLS;
}

static qrn_status bind_whole(qrn_gpu_binder *b, const qrn_cstep *s, uint32_t op) {
    const qrn_shape *x = &qrn_gpu_value(b, s->in[0])->shape;
    size_t channels = x->dims[x->rank - 1], one = 1;
    size_t cells = qrn_gpu_count(b, s->in[0]) / channels / x->dims[0], image = cells * channels;
    qrn_walk outer, inner;
    qrn_walk_init(&outer, 1);
    qrn_walk_init(&inner, 1);
    qrn_walk_push(&outer, x->dims[0], &image);
    qrn_walk_push(&outer, channels, &one);
    qrn_walk_push(&inner, cells, &channels);
    return qrn_gpu_reduce(b, s, op, &outer, &inner);
}

static qrn_status bind_pool(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_pooling_args *a = s->args;
    const qrn_shape *x = &qrn_gpu_value(b, s->in[0])->shape,
                    *y = &qrn_gpu_value(b, s->out[0])->shape;
    uint32_t kind = s->op == &qrn_cop_pool_avg ? 1 : s->op == &qrn_cop_pool_l2 ? 2 : 0;
    uint32_t channels = x->dims[x->rank - 1];
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    if (kind < 2 && is_whole(a, x, y))
        return bind_whole(b, s, kind ? QRN_REDUCE_MEAN : QRN_REDUCE_MAX);
    int32_t p[18];
    for (uint32_t i = 0; i < 3; i++) {
        int64_t d = (int64_t)i - 3 + a->n_spatial; // leading ones where there are fewer than three
        const uint32_t sizes[] = {d < 0 ? 1 : x->dims[1 + d], d < 0 ? 1 : y->dims[1 + d],
                                  d < 0 ? 1 : a->size[d],     d < 0 ? 1 : a->stride[d],
                                  d < 0 ? 0 : a->before[d],   d < 0 ? 0 : a->after[d]};
        for (int q = 0; q < 6; q++)
            p[3 * q + (int)i] = (int32_t)sizes[q];
    }
    uint32_t width = channels % 4 == 0 ? 4 : 1;
    size_t items = qrn_gpu_count(b, s->out[0]) / width;
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_pool, "pool");
    qrn_gpu_define(&k, pool_kinds[kind], "1");
    qrn_gpu_define(&k, "WIDTH", "%u", width);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, "P", p, 18);
    qrn_gpu_int(&k, (int64_t)items);
    qrn_gpu_int(&k, channels);
    qrn_gpu_int(&k, a->count_pad);
    return qrn_gpu_kernel_items(&k, items);
}

static qrn_status bind_columns(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_columns_args *a = s->args;
    bool back = s->op == &qrn_cop_col2im;
    const qrn_shape *image = &qrn_gpu_value(b, back ? s->out[0] : s->in[0])->shape,
                    *columns = &qrn_gpu_value(b, back ? s->in[0] : s->out[0])->shape;
    size_t total = qrn_gpu_count(b, s->out[0]);
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    int32_t p[10];
    for (uint32_t d = 0; d < 2; d++) {
        const uint32_t sizes[] = {image->dims[1 + d], a->kernel[d], a->stride[d], a->dilation[d],
                                  a->before[d]};
        for (int q = 0; q < 5; q++)
            p[2 * q + (int)d] = (int32_t)sizes[q];
    }
    int64_t room = (int64_t)a->before[1] + image->dims[2] + a->after[1] - 1 -
                   (int64_t)(a->kernel[1] - 1) * a->dilation[1];
    int64_t across = room < 0 ? 0 : room / a->stride[1] + 1;
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_columns, back ? "col2im" : "im2col");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, "P", p, 10);
    qrn_gpu_int(&k, (int64_t)total);
    qrn_gpu_int(&k, image->dims[3]);
    qrn_gpu_int(&k, columns->dims[2]);
    qrn_gpu_int(&k, across > 0 ? across : 1);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status bind_hadamard(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_hadamard_args *a = s->args;
    const qrn_shape *x = &qrn_gpu_value(b, s->in[0])->shape;
    size_t total = qrn_gpu_count(b, s->in[0]);
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_columns, "hadamard");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_int(&k, (int64_t)total);
    qrn_gpu_int(&k, x->dims[x->rank - 1]);
    qrn_gpu_float(&k, a->scale);
    return qrn_gpu_kernel_items(&k, total);
}

const qrn_gpu_op qrn_gpu_ops_pool[] = {
    {.op = &qrn_cop_pool_max, .bind = bind_pool, .epilogue = true},
    {.op = &qrn_cop_pool_avg, .bind = bind_pool, .epilogue = true},
    {.op = &qrn_cop_pool_l2, .bind = bind_pool, .epilogue = true},
    {.op = &qrn_cop_im2col, .bind = bind_columns, .epilogue = true},
    {.op = &qrn_cop_col2im, .bind = bind_columns, .epilogue = true},
    {.op = &qrn_cop_hadamard, .bind = bind_hadamard, .epilogue = true},
    {0},
};
