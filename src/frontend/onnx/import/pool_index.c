// SPDX-License-Identifier: MIT
//
// Maxima with their positions (MaxPool with two outputs, MaxUnpool). QNN's pools give values alone:
// the taps of the window are compared one after the other, and the index of the winner is carried
// along.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/window.h"

#include <math.h>
#include <string.h>

#define MAX_TAPS 121 // of a window: each takes five ops

// --- MaxPool

// Index of the cell that a tap of the window reads, for every output cell: [1, out..., 1]. Spatial
// cells are counted row by row, or column by column.
static qc_tensor *cells_of(ox_expr *e, const ox_pool *p, const uint32_t *tap, const uint32_t *in,
                           bool columns) {
    uint32_t dims[OX_MAX_RANK] = {1}, n = p->w.n, index[OX_MAX_SPATIAL] = {0};
    size_t total = 1;
    for (uint32_t i = 0; i < n; i++)
        total *= dims[1 + i] = p->out[i];
    dims[n + 1] = 1;
    int32_t *values = ox_alloc(e->im, total * sizeof *values);
    if (!values) {
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
        return NULL;
    }
    for (size_t at = 0; at < total; at++) {
        int64_t cell = 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t i = columns ? n - 1 - k : k;
            int64_t x = (int64_t)index[i] * p->w.stride[i] + (int64_t)tap[i] * p->w.dilation[i] -
                        p->w.pad[2 * i];
            cell = cell * in[i] + x;
        }
        values[at] = (int32_t)cell; // outside the input it never wins
        for (uint32_t i = n; i-- > 0 && ++index[i] == p->out[i];)
            index[i] = 0;
    }
    return ox_ints(e, n + 2, dims, values);
}

// What comes before the image of batch b and channel c: [N, 1..., C].
static qc_tensor *images_before(ox_expr *e, const ox_pool *p, uint32_t batch, uint32_t channels,
                                uint32_t cells) {
    uint32_t dims[OX_MAX_RANK] = {batch, 1, 1, 1, 1};
    int32_t *values = ox_alloc(e->im, (size_t)batch * channels * sizeof *values);
    if (!values) {
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
        return NULL;
    }
    for (uint32_t i = 0; i < batch * channels; i++)
        values[i] = (int32_t)(i * cells);
    dims[p->w.n + 1] = channels;
    return ox_ints(e, p->w.n + 2, dims, values);
}

// The padded input: what lies outside loses against everything.
static qc_tensor *padded(ox_expr *e, const ox_pool *p, qc_tensor *x) {
    uint32_t pad[2 * OX_MAX_RANK] = {0};
    for (uint32_t i = 0; x && i < p->w.n; i++) {
        uint64_t need = (uint64_t)(p->out[i] - 1) * p->w.stride[i] +
                        (uint64_t)(p->w.kernel[i] - 1) * p->w.dilation[i] + 1;
        uint64_t have = (uint64_t)x->dims[1 + i] + p->w.pad[2 * i];
        pad[2 * (1 + i)] = p->w.pad[2 * i];
        pad[2 * (1 + i) + 1] = need > have ? (uint32_t)(need - have) : 0;
    }
    return ox_pad(e, x, pad, -INFINITY);
}

static qc_tensor *tap_of(ox_expr *e, const ox_pool *p, qc_tensor *x, const uint32_t *tap) {
    for (uint32_t i = 0; i < p->w.n; i++)
        x = ox_slice(e, x, 1 + i, tap[i] * p->w.dilation[i], p->out[i], (int32_t)p->w.stride[i]);
    return x;
}

// Both results for images x: the first of equal values wins.
static void best_taps(ox_expr *e, const ox_pool *p, qc_tensor *x, qc_tensor **value,
                      qc_tensor **index) {
    uint32_t tap[OX_MAX_SPATIAL] = {0}, taps = 1, in[OX_MAX_SPATIAL] = {0};
    bool columns = ox_attr_int(e->n, "storage_order", 0) != 0;
    for (uint32_t i = 0; i < p->w.n; i++) {
        taps *= p->w.kernel[i];
        in[i] = x->dims[1 + i];
    }
    qc_tensor *wide = padded(e, p, x);
    *value = tap_of(e, p, wide, tap);
    *index = cells_of(e, p, tap, in, columns);
    for (uint32_t k = 1; k < taps && e->s == QRN_OK; k++) {
        for (uint32_t i = p->w.n; i-- > 0 && ++tap[i] == p->w.kernel[i];)
            tap[i] = 0;
        qc_tensor *v = tap_of(e, p, wide, tap);
        qc_tensor *more = ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, v, *value);
        *index = ox_select(e, more, cells_of(e, p, tap, in, columns), *index);
        *value = ox_binary(e, QNN_OP_ELEMENT_WISE_MAXIMUM, *value, v);
    }
}

qrn_status ox_pool_indices(ox_import *im, const ox_node *n, const ox_pool *p) {
    const ox_val *v = ox_input(im, n, 0);
    uint64_t taps = 1, cells = 1, total = 1;
    for (uint32_t i = 0; i < p->w.n; i++)
        taps *= p->w.kernel[i];
    for (uint32_t i = 0; i < v->rank; i++) {
        cells *= i < 2 ? 1 : v->dims[i];
        total *= v->dims[i];
    }
    if (taps > MAX_TAPS || total > INT32_MAX)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "the output Indices of a window of %llu cells; up to %d are written out",
                       (unsigned long long)taps, MAX_TAPS);
    QRN_TRY(ox_set_output(im, n, 1, OX_I64, v->rank, p->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_image_in(&e, ox_in_real(&e, 0, OX_LAST)), *value, *index, *at;
    if (!x)
        return e.s;
    best_taps(&e, p, x, &value, &index);
    index = ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, index,
                      images_before(&e, p, v->dims[0], v->dims[1], (uint32_t)cells));
    if (n->out[0][0]) {
        qc_tensor *y = ox_out_real(&e, 0, OX_LAST);
        ox_image_end(&e, value, y);
        QRN_TRY(ox_end_real(&e, 0, OX_LAST, y));
    }
    QRN_TRY(ox_out(im, n, 1, OX_LAST, &at));
    ox_image_end(&e, index, at);
    return ox_done(&e);
}

// --- MaxUnpool

static qrn_status unpool_dims(ox_import *im, const ox_node *n, const ox_val *x, uint32_t *dims) {
    ox_window w;
    int64_t want[OX_MAX_RANK];
    uint32_t count;
    QRN_TRY(ox_window_read(im, n, x, NULL, &w));
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (uint32_t i = 0; i < w.n; i++) {
        int64_t size = (int64_t)(x->dims[2 + i] - 1) * w.stride[i] + w.kernel[i] - w.pad[2 * i] -
                       w.pad[2 * i + 1];
        if (size <= 0 || size > INT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "spatial dimension %u of the output is %lld", i,
                           (long long)size);
        dims[2 + i] = (uint32_t)size;
    }
    if (!ox_input(im, n, 2))
        return QRN_OK;
    if (!ox_const_ints(im, n, 2, want, OX_MAX_RANK, &count) || count != x->rank)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "output_shape must be constant");
    for (uint32_t i = 0; i < count; i++)
        if (want[i] != dims[i])
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "output_shape differs from what the window implies: what the indices "
                           "then count is not defined");
    return QRN_OK;
}

// Indices count cells of the whole output.
static qrn_status import_max_unpool(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *at = ox_input(im, n, 1);
    uint32_t dims[OX_MAX_RANK], total = 1, count = 1;
    if (!x || !at)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "two inputs are needed");
    QRN_TRY(unpool_dims(im, n, x, dims));
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, dims));
    for (uint32_t i = 0; i < x->rank; i++) {
        total *= dims[i];
        count *= x->dims[i];
    }
    ox_expr e = ox_begin(im, n);
    qc_tensor *data = ox_reshape(&e, ox_in_real(&e, 0, OX_ONNX), 1, &count), *index = NULL;
    qc_tensor *y = ox_out_real(&e, 0, OX_ONNX);
    if (e.s == QRN_OK)
        e.s = ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_INT_32, &index);
    index = ox_reshape(&e, index, 1, &count);
    float *zeros = ox_alloc(im, total * sizeof *zeros);
    if (!zeros)
        return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", n->name);
    qc_tensor *empty = ox_floats(&e, data, 1, &total, zeros);
    qc_tensor *full = empty ? ox_result_like(&e, empty, 1, &total) : NULL;
    if (!full || !index)
        return e.s;
    qc_op o;
    ox_op(im, &o, n, QNN_OP_SCATTER_ELEMENTS);
    qc_in(&o, empty);
    qc_in(&o, index);
    qc_in(&o, data);
    qc_out(&o, full);
    qc_u32(&o, QNN_OP_SCATTER_ELEMENTS_PARAM_AXIS, 0);
    ox_end(&e, &o);
    ox_into(&e, y);
    ox_reshape(&e, full, y->rank, y->dims);
    return ox_end_real(&e, 0, OX_ONNX, y);
}

const ox_importer ox_import_pool_index[] = {
    {"MaxUnpool", "", import_max_unpool},
    {0},
};
