// SPDX-License-Identifier: MIT
//
// Gather ops and BatchPermutation.
#include "kernels/move/gather.h"

#include "kernels/move/strided.h"

#include <math.h>
#include <string.h>

static int64_t raw_index(const qrn_view *v, size_t i) {
    switch (v->dtype) {
    case QRN_DTYPE_I32:
        return ((const int32_t *)v->data)[i];
    case QRN_DTYPE_U32:
        return ((const uint32_t *)v->data)[i];
    default:
        break;
    }
    if (!qrn_dtype_is_fixed(v->dtype))
        return qrn_view_int(v, i);
    double real = floor(qrn_view_real(v, i) + 0.5);
    return real >= -0x1p62 && real <= 0x1p62 ? (int64_t)real : INT64_MAX;
}

int64_t qrn_index_at(const qrn_view *indices, size_t i, int64_t dim) {
    int64_t at = raw_index(indices, i);
    if (at < 0 && at >= -dim)
        at += dim;
    return at >= 0 && at < dim ? at : -1;
}

int64_t qrn_index_tuple(const qrn_view *indices, size_t tuple, uint32_t q, const uint32_t *dims) {
    int64_t at = 0;
    for (uint32_t d = 0; d < q; d++) {
        int64_t i = qrn_index_at(indices, tuple * q + d, dims[d]);
        if (i < 0)
            return -1;
        at = at * dims[d] + i;
    }
    return at;
}

// y[outer, i..., inner] = table[outer, indices[i...], inner]
static qrn_status gather_raw(const qrn_kcall *k) {
    const qrn_axis_args *a = k->args;
    const qrn_view *table = k->in[0];
    size_t n_index = qrn_view_count(k->in[1]), dim = table->dims[a->axis], begin, end;
    size_t run = qrn_view_elem(table) * qrn_view_span(table, a->axis + 1, table->rank);
    qrn_split(qrn_view_span(table, 0, a->axis) * n_index, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; row < end; row++) {
        int64_t i = qrn_index_at(k->in[1], row % n_index, (int64_t)dim);
        if (i < 0)
            return QRN_E_ARGUMENT;
        memcpy((char *)k->out[0]->data + row * run,
               (const char *)table->data + (row / n_index * dim + (size_t)i) * run, run);
    }
    return QRN_OK;
}

// y[i0...] = x[i0, .., indices[i0...] at the axis, ..]
static qrn_status gather_elements_raw(const qrn_kcall *k) {
    const qrn_axis_args *a = k->args;
    const qrn_view *x = k->in[0], *idx = k->in[1];
    size_t elem = qrn_view_elem(x), begin, end;
    qrn_split(qrn_view_count(idx), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t at = begin; at < end; at++) {
        size_t rest = at, from = 0, step = 1;
        for (uint32_t d = x->rank; d-- > 0;) {
            int64_t i = (int64_t)(rest % idx->dims[d]);
            rest /= idx->dims[d];
            if (d == a->axis)
                i = qrn_index_at(idx, at, x->dims[d]);
            if (i < 0)
                return QRN_E_ARGUMENT;
            from += (size_t)i * step;
            step *= x->dims[d];
        }
        memcpy((char *)k->out[0]->data + at * elem, (const char *)x->data + from * elem, elem);
    }
    return QRN_OK;
}

static qrn_status gather_nd_raw(const qrn_kcall *k) {
    const qrn_gather_nd_args *a = k->args;
    const qrn_view *table = k->in[0], *idx = k->in[1];
    uint32_t q = idx->dims[idx->rank - 1], b = a->batch_dims, begin_slice = b + q;
    size_t run = qrn_view_elem(table) * qrn_view_span(table, begin_slice, table->rank);
    size_t per_batch = qrn_view_span(idx, b, idx->rank - 1);
    size_t slices = qrn_view_span(table, b, begin_slice), begin, end;
    qrn_split(qrn_view_span(idx, 0, idx->rank - 1), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t tuple = begin; tuple < end; tuple++) {
        int64_t at = qrn_index_tuple(idx, tuple, q, table->dims + b);
        if (at < 0)
            return QRN_E_ARGUMENT;
        size_t from = tuple / per_batch * slices + (size_t)at;
        memcpy((char *)k->out[0]->data + tuple * run, (const char *)table->data + from * run, run);
    }
    return QRN_OK;
}

static qrn_status batch_permutation_raw(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    size_t n = qrn_view_count(k->in[1]), rows = 0;
    size_t run = qrn_view_elem(x) * qrn_view_span(x, 1, x->rank);
    char *dst = k->out[0]->data;
    for (size_t i = 0; i < n; i++) {
        int64_t row = raw_index(k->in[1], i); // a negative one is out of range here
        if (row >= 0 && row < x->dims[0])
            memcpy(dst + rows++ * run, (const char *)x->data + (size_t)row * run, run);
    }
    memset(dst + rows * run, 0, (n - rows) * run);
    return QRN_OK;
}

static const qrn_kernel gather_rows[] = {
    {.name = "gather_raw", .domain = QRN_DOMAIN_RAW, .fn = gather_raw, .tasks = qrn_move_tasks},
};
QRN_FAMILY_FAILS(gather, sizeof(qrn_axis_args), QRN_BAD_INDEX);

static const qrn_kernel gather_elements_rows[] = {
    {.name = "gather_elements_raw",
     .domain = QRN_DOMAIN_RAW,
     .fn = gather_elements_raw,
     .tasks = qrn_move_tasks},
};
QRN_FAMILY_FAILS(gather_elements, sizeof(qrn_axis_args), QRN_BAD_INDEX);

static const qrn_kernel gather_nd_rows[] = {
    {.name = "gather_nd_raw",
     .domain = QRN_DOMAIN_RAW,
     .fn = gather_nd_raw,
     .tasks = qrn_move_tasks},
};
QRN_FAMILY_FAILS(gather_nd, sizeof(qrn_gather_nd_args), QRN_BAD_INDEX);

static const qrn_kernel batch_permutation_rows[] = {
    {.name = "batch_permutation_raw", .domain = QRN_DOMAIN_RAW, .fn = batch_permutation_raw},
};
QRN_FAMILY(batch_permutation, 0);
