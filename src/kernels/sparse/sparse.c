// SPDX-License-Identifier: MIT
//
// The sparse families. One task each: the work is small and order matters.
#include "kernels/sparse/sparse.h"

#include "kernels/convert.h"

#include <string.h>

// Elements of one value: the product of the dimensions that are not indexed.
static size_t value_count(const qrn_view *v) { return qrn_view_span(v, v->n_sparse_dims, v->rank); }

static int32_t *indices_of(const qrn_view *v) { return v->data; }

// The values behind `room` index rows, as a plain run of elements.
static qrn_view values_of(const qrn_view *v, size_t room) {
    return (qrn_view){.data = (char *)v->data + room * v->n_sparse_dims * sizeof(int32_t),
                      .dtype = v->dtype,
                      .quant = v->quant};
}

// Copies `count` elements between runs, converting the encoding when it differs.
static void copy_run(qrn_view dst, size_t to, const qrn_view *src, size_t from, size_t count) {
    size_t e = qrn_view_elem(src);
    qrn_view s = *src;
    s.data = (char *)s.data + from * e;
    dst.data = (char *)dst.data + to * qrn_view_elem(&dst);
    qrn_convert_range(&s, &dst, 0, count, false);
}

static void fill_zero(qrn_view dst, size_t first, size_t count) {
    static const double zero = 0.0;
    qrn_view src = {.data = (void *)(uintptr_t)&zero, .dtype = QRN_DTYPE_F64};
    size_t e = qrn_view_elem(&dst);
    char *at = (char *)dst.data + first * e;
    for (size_t i = 0; i < count; i++) {
        if (i == 0) {
            dst.data = at;
            qrn_convert_range(&src, &dst, 0, 1, false);
        } else {
            memcpy(at + i * e, at, e);
        }
    }
}

// Cell of element i of a list of indices: its place among the indexed dimensions; -1: outside.
static int64_t cell_of(const int32_t *indices, size_t i, const qrn_view *shape, uint32_t n_dims) {
    int64_t cell = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        int32_t at = indices[i * n_dims + d];
        if (at < 0 || (uint32_t)at >= shape->dims[d])
            return -1;
        cell = cell * shape->dims[d] + at;
    }
    return cell;
}

static qrn_status sparse_create(const qrn_kcall *k) {
    const qrn_sparse_make_args *a = k->args;
    const qrn_view *indices = k->in[0], *values = k->in[1];
    qrn_view *y = k->out[0];
    size_t n = indices->dims[0];
    if (n > a->limit)
        return QRN_E_ARGUMENT;
    y->n_sparse = (uint32_t)n;
    memcpy(y->data, indices->data, n * y->n_sparse_dims * sizeof(int32_t)); // u32: the same bits
    for (size_t i = 0; i < n; i++)
        if (cell_of(indices_of(y), i, y, y->n_sparse_dims) < 0)
            return QRN_E_ARGUMENT;
    copy_run(values_of(y, n), 0, values, 0, n * value_count(y));
    return QRN_OK;
}

// Gives the output n rows of its own limit; false when they do not fit.
static bool set_rows(const qrn_kcall *k, size_t n, size_t *left_over) {
    const qrn_sparse_read_args *a = k->args;
    size_t limit = k->out[0]->dims[0];
    *left_over = a->write_dims || n > limit ? 0 : limit - n;
    if (a->write_dims && n <= limit)
        k->out[0]->dims[0] = (uint32_t)n;
    return n <= limit;
}

static qrn_status sparse_indices(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    size_t n = x->n_sparse, width = x->n_sparse_dims, left;
    if (!set_rows(k, n, &left))
        return QRN_E_ARGUMENT;
    memcpy(k->out[0]->data, x->data, n * width * sizeof(int32_t));
    memset((int32_t *)k->out[0]->data + n * width, 0xFF, left * width * sizeof(int32_t));
    return QRN_OK;
}

static qrn_status sparse_values(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    size_t n = x->n_sparse, width = value_count(x), left;
    if (!set_rows(k, n, &left))
        return QRN_E_ARGUMENT;
    qrn_view src = values_of(x, n);
    copy_run(*k->out[0], 0, &src, 0, n * width);
    fill_zero(*k->out[0], n * width, left * width);
    return QRN_OK;
}

static qrn_status sparse_dense(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    size_t width = value_count(x);
    qrn_view src = values_of(x, x->n_sparse);
    fill_zero(*k->out[0], 0, qrn_view_count(k->out[0]));
    for (size_t i = 0; i < x->n_sparse; i++) {
        int64_t cell = cell_of(indices_of(x), i, x, x->n_sparse_dims);
        if (cell < 0)
            return QRN_E_ARGUMENT;
        copy_run(*k->out[0], (size_t)cell * width, &src, i * width, width);
    }
    return QRN_OK;
}

// --- sparse_pick

// Appends the cells of a sparse operand to a list.
static qrn_status list_cells(const qrn_view *x, int64_t *cells, size_t *n) {
    for (size_t i = 0; x && i < x->n_sparse; i++) {
        cells[*n] = cell_of(indices_of(x), i, x, x->n_sparse_dims);
        if (cells[(*n)++] < 0)
            return QRN_E_ARGUMENT;
    }
    return QRN_OK;
}

static void sift(int64_t *v, size_t i, size_t n) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && v[child] < v[child + 1])
            child++;
        if (v[i] >= v[child])
            return;
        int64_t held = v[i];
        v[i] = v[child];
        v[child] = held;
    }
}

// Sorts in place (heap sort: no allocation) and drops what occurs twice.
static size_t sort_once(int64_t *v, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift(v, i, n);
    for (size_t last = n; last-- > 1;) {
        int64_t held = v[0];
        v[0] = v[last];
        v[last] = held;
        sift(v, 0, last);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[kept - 1] != v[i])
            v[kept++] = v[i];
    return kept;
}

static void put_index(qrn_view *y, size_t i, int64_t cell) {
    for (uint32_t d = y->n_sparse_dims; d-- > 0;) {
        indices_of(y)[i * y->n_sparse_dims + d] = (int32_t)(cell % y->dims[d]);
        cell /= y->dims[d];
    }
}

static qrn_status sparse_pick(const qrn_kcall *k) {
    const qrn_sparse_make_args *a = k->args;
    qrn_view *y = k->out[0];
    int64_t *cells = k->scratch;
    size_t n = 0, width = value_count(y);
    const qrn_view *other = k->n_in > 2 ? k->in[2] : NULL;
    QRN_TRY(list_cells(k->in[1], cells, &n));
    QRN_TRY(list_cells(other, cells, &n));
    if (other)
        n = sort_once(cells, n);
    if (n > a->limit)
        return QRN_E_ARGUMENT;
    y->n_sparse = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        put_index(y, i, cells[i]);
        copy_run(values_of(y, n), i * width, k->in[0], (size_t)cells[i] * width, width);
    }
    return QRN_OK;
}

static size_t pick_scratch(const qrn_kcall *k) {
    size_t n = k->in[1]->n_sparse;
    if (k->n_in > 2 && k->in[2])
        n += k->in[2]->n_sparse;
    return n * sizeof(int64_t);
}

#define ROW(fam, ...)                                                                              \
    static const qrn_kernel fam##_rows[] = {                                                       \
        {.name = #fam "_raw", .domain = QRN_DOMAIN_RAW, .fn = fam, __VA_ARGS__},                   \
    }

ROW(sparse_create, );
QRN_FAMILY(sparse_create, sizeof(qrn_sparse_make_args));
ROW(sparse_indices, );
QRN_FAMILY(sparse_indices, sizeof(qrn_sparse_read_args));
ROW(sparse_values, );
QRN_FAMILY(sparse_values, sizeof(qrn_sparse_read_args));
ROW(sparse_dense, );
QRN_FAMILY(sparse_dense, 0);
ROW(sparse_pick, .scratch = pick_scratch);
QRN_FAMILY(sparse_pick, sizeof(qrn_sparse_make_args));
