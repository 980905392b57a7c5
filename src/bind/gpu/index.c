// SPDX-License-Identifier: MIT
//
// Steps whose data name elements: gathers, scatters, one-hot on the GPU. Indices that are out of
// range touch nothing and fail the execution.
#include "bind/gpu/binder.h"

#include "kernels/move/gather.h"
#include "kernels/move/generate.h"

#include <string.h>

static void add_indices(qrn_gpu_kernel *k, qrn_val v) {
    qrn_gpu_in(k, "I", v);
    qrn_gpu_define_real(k, "I_REAL", v);
}

// The table, the indices, the output: how all kernels that gather begin.
static qrn_gpu_kernel begin_gather(qrn_gpu_binder *b, const qrn_cstep *s, const char *entry) {
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_index, entry);
    qrn_gpu_in(&k, "X", s->in[0]);
    add_indices(&k, s->in[1]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    return k;
}

static qrn_status bind_gather(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_axis_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    qrn_gpu_kernel k = begin_gather(b, s, "gather");
    qrn_gpu_fault(&k, s);
    QRN_GPU_INTS(&k, qrn_gpu_span(x, a->axis + 1, x->rank), (int64_t)qrn_gpu_count(b, s->in[1]),
                 x->dims[a->axis], (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status bind_gather_elements(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_axis_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *index = qrn_gpu_shape(b, s->in[1]);
    size_t total = qrn_gpu_count(b, s->in[1]);
    int32_t p[1 + 3 * QRN_MAX_RANK] = {(int32_t)x->rank};
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t from = x->rank - 1 - d;
        p[1 + 3 * d] = (int32_t)index->dims[from];
        p[2 + 3 * d] = (int32_t)x->dims[from];
        p[3 + 3 * d] = (int32_t)qrn_gpu_span(x, from + 1, x->rank);
    }
    qrn_gpu_kernel k = begin_gather(b, s, "gather_elements");
    qrn_gpu_fault(&k, s);
    qrn_gpu_params(&k, "P", p, 1 + 3 * x->rank);
    QRN_GPU_INTS(&k, x->rank - 1 - a->axis, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static void add_dims(qrn_gpu_kernel *k, const uint32_t *dims, uint32_t n) {
    int32_t p[QRN_MAX_RANK + 1] = {0};
    for (uint32_t d = 0; d < n; d++)
        p[d] = (int32_t)dims[d];
    qrn_gpu_params(k, "P", p, n ? n : 1);
}

static qrn_status bind_gather_nd(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_gather_nd_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *index = qrn_gpu_shape(b, s->in[1]);
    uint32_t q = index->dims[index->rank - 1], batch = a->batch_dims;
    size_t total = qrn_gpu_count(b, s->out[0]);
    qrn_gpu_kernel k = begin_gather(b, s, "gather_nd");
    qrn_gpu_fault(&k, s);
    add_dims(&k, x->dims + batch, q);
    QRN_GPU_INTS(&k, q, qrn_gpu_span(x, batch + q, x->rank),
                 qrn_gpu_span(index, batch, index->rank - 1), qrn_gpu_span(x, batch, batch + q),
                 (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status bind_batch_permutation(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    qrn_gpu_kernel k = begin_gather(b, s, "batch_permutation");
    QRN_GPU_INTS(&k, qrn_gpu_span(x, 1, x->rank), (int64_t)qrn_gpu_count(b, s->in[1]), x->dims[0],
                 (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status bind_one_hot(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_one_hot_args *a = s->args;
    const qrn_shape *index = qrn_gpu_shape(b, s->in[0]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    size_t bytes = qrn_dtypes[qrn_gpu_value(b, s->out[0])->dtype].bits / 8;
    int32_t words[4] = {0};
    memcpy(words, a->on, bytes);
    memcpy(words + 2, a->off, bytes);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_index, "one_hot");
    add_indices(&k, s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_define_real(&k, "Y_REAL", s->out[0]);
    QRN_GPU_INTS(&k, qrn_gpu_span(index, a->axis, index->rank),
                 qrn_gpu_shape(b, s->out[0])->dims[a->axis], words[0], words[1], words[2], words[3],
                 (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status bind_lut(qrn_gpu_binder *b, const qrn_cstep *s) {
    size_t total = qrn_gpu_count(b, s->out[0]);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_index, "lut");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "T", s->in[1]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    QRN_GPU_INTS(&k, (int64_t)qrn_gpu_count(b, s->in[1]) - 1, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

// --- scatters: a copy of the tensor, then the updates

static void add_lines(qrn_gpu_kernel *k, const qrn_shape *x, const qrn_shape *index,
                      uint32_t axis) {
    int32_t p[1 + 3 * QRN_MAX_RANK] = {0};
    for (uint32_t d = x->rank; d-- > 0;) {
        int32_t *row = &p[1 + 3 * p[0]];
        if (d == axis)
            continue;
        row[0] = (int32_t)index->dims[d];
        row[1] = (int32_t)qrn_gpu_span(index, d + 1, index->rank);
        row[2] = (int32_t)qrn_gpu_span(x, d + 1, x->rank);
        p[0]++;
    }
    qrn_gpu_params(k, "P", p, 1 + 3 * (uint32_t)p[0]);
}

#define SHORT_SLICE 64 // elements; so many tuples at least are worth three launches

// Without a reduction the last update of a slice counts: all tuples at once, in three launches.
static qrn_status update_at_once(qrn_gpu_binder *b, const qrn_cstep *s, qrn_val y) {
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *index = qrn_gpu_shape(b, s->in[1]);
    uint32_t q = index->dims[index->rank - 1];
    size_t tuples = qrn_gpu_count(b, s->in[1]) / q, slices = (size_t)qrn_gpu_span(x, 0, q);
    int64_t inner = qrn_gpu_span(x, q, x->rank);
    qrn_val last;
    QRN_TRY(qrn_gpu_scratch(b, QRN_DTYPE_I32, slices, &last));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_index, "scatter_clear");
    qrn_gpu_out(&k, "W", last);
    qrn_gpu_int(&k, (int64_t)slices);
    QRN_TRY(qrn_gpu_kernel_items(&k, slices));
    k = qrn_gpu_kernel_begin(b, qrn_cl_index, "scatter_claim");
    add_indices(&k, s->in[1]);
    qrn_gpu_out(&k, "W", last);
    qrn_gpu_fault(&k, s);
    add_dims(&k, x->dims, q);
    QRN_GPU_INTS(&k, q, (int64_t)tuples);
    QRN_TRY(qrn_gpu_kernel_items(&k, tuples));
    k = qrn_gpu_kernel_begin(b, qrn_cl_index, "scatter_put");
    add_indices(&k, s->in[1]);
    qrn_gpu_in(&k, "W", last);
    qrn_gpu_in(&k, "U", s->in[2]);
    qrn_gpu_out(&k, "Y", y);
    add_dims(&k, x->dims, q);
    QRN_GPU_INTS(&k, q, inner, (int64_t)tuples * inner);
    return qrn_gpu_kernel_items(&k, tuples * (size_t)inner);
}

static qrn_status update(qrn_gpu_binder *b, const qrn_cstep *s, qrn_val y) {
    const qrn_scatter_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *index = qrn_gpu_shape(b, s->in[1]);
    bool nd = s->op == &qrn_cop_scatter_nd;
    uint32_t q = index->dims[index->rank - 1];
    size_t count = qrn_gpu_count(b, s->in[1]);
    if (count == 0 || qrn_gpu_count(b, s->in[0]) == 0)
        return QRN_OK;
    size_t total = nd ? (size_t)qrn_gpu_span(x, q, x->rank) : count / index->dims[a->axis];
    if (nd && a->reduction == QRN_REDUCE_NONE && total < SHORT_SLICE && count / q >= SHORT_SLICE)
        return update_at_once(b, s, y);
    qrn_gpu_kernel k =
        qrn_gpu_kernel_begin(b, qrn_cl_index, nd ? "scatter_nd" : "scatter_elements");
    add_indices(&k, s->in[1]);
    qrn_gpu_in(&k, "U", s->in[2]);
    qrn_gpu_out(&k, "Y", y);
    qrn_gpu_define_real(&k, "Y_REAL", y);
    qrn_gpu_fault(&k, s);
    if (nd) {
        add_dims(&k, x->dims, q);
        QRN_GPU_INTS(&k, q, (int64_t)count / q, a->reduction, (int64_t)total);
    } else {
        add_lines(&k, x, index, a->axis);
        QRN_GPU_INTS(&k, index->dims[a->axis], qrn_gpu_span(index, a->axis + 1, index->rank),
                     x->dims[a->axis], qrn_gpu_span(x, a->axis + 1, x->rank), a->reduction,
                     (int64_t)total);
    }
    return qrn_gpu_kernel_items(&k, total);
}

// Updates add up in 32 bits, whatever the result is stored in.
static qrn_status bind_scatter(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_scatter_args *a = s->args;
    size_t count = qrn_gpu_count(b, s->out[0]);
    qrn_val sum = s->out[0];
    bool apart = a->reduction != QRN_REDUCE_NONE && b->plan->places[sum].type == QRN_DTYPE_F16;
    if (apart)
        QRN_TRY(qrn_gpu_scratch(b, QRN_DTYPE_F32, count, &sum));
    if (sum != s->in[0])
        QRN_TRY(qrn_gpu_copy(b, s->in[0], sum, count));
    QRN_TRY(update(b, s, sum));
    return apart ? qrn_gpu_copy(b, sum, s->out[0], count) : QRN_OK;
}

#define NONZERO_BLOCK 256 // as in index.cl

static qrn_status bind_nonzero(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    size_t total = qrn_gpu_count(b, s->in[0]), blocks = (total + NONZERO_BLOCK - 1) / NONZERO_BLOCK;
    int32_t p[1 + QRN_MAX_RANK] = {(int32_t)x->rank};
    qrn_val counts;
    QRN_TRY(qrn_gpu_scratch(b, QRN_DTYPE_I32, blocks, &counts));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_index, "nonzero_count");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "N", counts);
    QRN_GPU_INTS(&k, (int64_t)total, (int64_t)blocks);
    QRN_TRY(qrn_gpu_kernel_items(&k, blocks));
    for (uint32_t d = 0; d < x->rank; d++)
        p[1 + d] = (int32_t)x->dims[d];
    k = qrn_gpu_kernel_begin(b, qrn_cl_index, "nonzero");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "N", counts);
    qrn_gpu_out(&k, "Y", s->out[0]);
    qrn_gpu_fault(&k, s);
    qrn_gpu_rows_slot(&k, s, ((const qrn_nonzero_args *)s->args)->write_dims);
    qrn_gpu_params(&k, "P", p, 1 + x->rank);
    QRN_GPU_INTS(&k, (int64_t)total, qrn_gpu_shape(b, s->out[0])->dims[0], (int64_t)blocks);
    return qrn_gpu_kernel_items(&k, blocks);
}

const qrn_gpu_op qrn_gpu_ops_index[] = {
    {.op = &qrn_cop_gather, .bind = bind_gather, .epilogue = true},
    {.op = &qrn_cop_gather_elements, .bind = bind_gather_elements, .epilogue = true},
    {.op = &qrn_cop_gather_nd, .bind = bind_gather_nd, .epilogue = true},
    {.op = &qrn_cop_batch_permutation, .bind = bind_batch_permutation, .epilogue = true},
    {.op = &qrn_cop_lut, .bind = bind_lut, .epilogue = true},
    {.op = &qrn_cop_one_hot, .bind = bind_one_hot, .epilogue = true},
    {.op = &qrn_cop_scatter_elements, .bind = bind_scatter},
    {.op = &qrn_cop_scatter_nd, .bind = bind_scatter},
    {.op = &qrn_cop_nonzero, .bind = bind_nonzero},
    {0},
};
