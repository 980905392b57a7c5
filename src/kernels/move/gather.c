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

// As qrn_index_at, for loops: 32-bit indices without a call.
static inline int64_t index_in(const qrn_view *indices, size_t i, int64_t dim) {
    int64_t at = indices->dtype == QRN_DTYPE_I32 ? ((const int32_t *)indices->data)[i]
                                                 : raw_index(indices, i);
    if (at < 0 && at >= -dim)
        at += dim;
    return at >= 0 && at < dim ? at : -1;
}

int64_t qrn_index_at(const qrn_view *indices, size_t i, int64_t dim) {
    return index_in(indices, i, dim);
}

// Plain int32 indices, as most are; one check for all, so that the loops become vectors.
static bool plain_places(const int32_t *index, size_t n, int32_t dim, size_t base, size_t step,
                         size_t each, size_t *to) {
    unsigned bad = 0;
    bool last = step == 1 && each == 0; // dimension
    for (size_t j = 0; last && j < n; j++) {
        int32_t i = index[j] + (index[j] < 0 ? dim : 0);
        bad |= (uint32_t)i >= (uint32_t)dim;
        to[j] = base + (size_t)(uint32_t)i;
    }
    for (size_t j = 0; !last && j < n; j++) {
        int32_t i = index[j] + (index[j] < 0 ? dim : 0);
        bad |= (uint32_t)i >= (uint32_t)dim;
        to[j] = base + (size_t)(uint32_t)i * step + j * each;
    }
    return !bad;
}

bool qrn_index_places(const qrn_view *indices, size_t i, size_t n, uint32_t dim, size_t base,
                      size_t step, size_t each, size_t *to) {
    if (indices->dtype == QRN_DTYPE_I32 && dim <= INT32_MAX)
        return plain_places((const int32_t *)indices->data + i, n, (int32_t)dim, base, step, each,
                            to);
    for (size_t j = 0; j < n; j++) {
        int64_t at = index_in(indices, i + j, dim);
        if (at < 0)
            return false;
        to[j] = base + (size_t)at * step + j * each;
    }
    return true;
}

const int32_t *qrn_index_plain(const qrn_view *indices, size_t i, size_t n, uint32_t dim) {
    if (indices->dtype != QRN_DTYPE_I32 || dim > INT32_MAX)
        return NULL;
    const int32_t *index = (const int32_t *)indices->data + i;
    uint32_t outside = 0; // the sign bit of index or of dim - 1 - index
    for (size_t j = 0; j < n; j++)
        outside |= (uint32_t)index[j] | (dim - 1 - (uint32_t)index[j]);
    return outside >> 31 ? NULL : index;
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
    size_t outer = n_index ? begin / n_index : 0, at = n_index ? begin % n_index : 0;
    for (size_t row = begin; row < end; row++) {
        int64_t i = index_in(k->in[1], at, (int64_t)dim);
        if (i < 0)
            return QRN_E_ARGUMENT;
        char *to = (char *)k->out[0]->data + row * run;
        const char *from = (const char *)table->data + (outer * dim + (size_t)i) * run;
        if (run == 4) // single elements are not worth a call
            memcpy(to, from, 4);
        else if (run == 2)
            memcpy(to, from, 2);
        else if (run == 1)
            *to = *from;
        else
            memcpy(to, from, run);
        if (++at == n_index) {
            at = 0;
            outer++;
        }
    }
    return QRN_OK;
}

// Elements of x that row `row` of the indices (all but the last dimension) begins at, but for the
// axis, and the step of the axis.
static size_t row_begins(const qrn_view *x, const qrn_view *idx, uint32_t axis, size_t row,
                         size_t *axis_step) {
    size_t at = 0, step = x->dims[x->rank - 1];
    *axis_step = 1;
    for (uint32_t d = x->rank - 1; d-- > 0;) {
        if (d == axis)
            *axis_step = step;
        else
            at += row % idx->dims[d] * step;
        row /= idx->dims[d];
        step *= x->dims[d];
    }
    return at;
}

#define PICK(T)                                                                                    \
    for (size_t j = 0; j < n; j++)                                                                 \
        ((T *)y)[j] = ((const T *)x)[from[j]];                                                     \
    break
#define PICK_BY(name, type)                                                                        \
    static void name(const void *x, size_t elem, const type *from, size_t n, void *y) {            \
        switch (elem) {                                                                            \
        case 1:                                                                                    \
            PICK(uint8_t);                                                                         \
        case 2:                                                                                    \
            PICK(uint16_t);                                                                        \
        case 4:                                                                                    \
            PICK(uint32_t);                                                                        \
        default:                                                                                   \
            PICK(uint64_t);                                                                        \
        }                                                                                          \
    }
PICK_BY(pick, size_t)
PICK_BY(pick_plain, int32_t)

// y[i0...] = x[i0, .., indices[i0...] at the axis, ..]
static qrn_status gather_elements_raw(const qrn_kcall *k) {
    const qrn_axis_args *a = k->args;
    const qrn_view *x = k->in[0], *idx = k->in[1];
    size_t elem = qrn_view_elem(x), row = idx->dims[idx->rank - 1], begin, end;
    size_t places[QRN_PLACES];
    uint32_t dim = x->dims[a->axis];
    bool last = a->axis == x->rank - 1;
    qrn_split(qrn_view_count(idx), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t at = begin, n; at < end; at += n) {
        size_t step, within = at % row, from = row_begins(x, idx, a->axis, at / row, &step);
        n = row - within < end - at ? row - within : end - at;
        n = n < QRN_PLACES ? n : QRN_PLACES;
        char *y = (char *)k->out[0]->data + at * elem;
        const int32_t *plain = last ? qrn_index_plain(idx, at, n, dim) : NULL;
        if (plain) {
            pick_plain((const char *)x->data + from * elem, elem, plain, n, y);
            continue;
        }
        if (!qrn_index_places(idx, at, n, dim, last ? from : from + within, step, last ? 0 : 1,
                              places))
            return QRN_E_ARGUMENT;
        pick(x->data, elem, places, n, y);
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
