// SPDX-License-Identifier: MIT
//
// Masks of attention as numbers added to the scores: 0 where a key may be seen, `value` (-inf, or a
// large negative number) where not. Masks by position are constants unless the lengths of the
// sequences are inputs.
#include "frontend/onnx/import/attention.h"

#include <math.h>

#define LESS_EQUAL QNN_OP_ELEMENT_WISE_LESS_EQUAL
#define AND QNN_OP_ELEMENT_WISE_AND

void ox_mask_add(ox_expr *e, ox_attention *a, qc_tensor *bias) {
    a->bias = a->bias ? ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, a->bias, bias) : bias;
}

qc_tensor *ox_mask_bool(ox_expr *e, qc_tensor *mask, float value) {
    qc_tensor *seen = NULL, *hidden = NULL;
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, QNN_DATATYPE_FLOAT_32, 0, &seen);
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, QNN_DATATYPE_FLOAT_32, (double)value, &hidden);
    return ox_select(e, mask, seen, hidden);
}

static bool sees(ox_window w, int64_t at, int64_t key) {
    return (w.left < 0 || at - key <= w.left) && (w.right < 0 || key - at <= w.right);
}

void ox_mask_window(ox_expr *e, ox_attention *a, ox_window w, uint32_t offset, float value) {
    uint32_t dims[] = {a->queries, a->keys};
    bool any = false;
    if (e->s != QRN_OK)
        return;
    float *values = ox_alloc(e->im, (size_t)a->queries * a->keys * sizeof *values);
    if (!values) {
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < a->queries; i++) {
        uint32_t seen = 0;
        for (uint32_t j = 0; j < a->keys; j++) {
            bool yes = sees(w, (int64_t)offset + i, j);
            values[(size_t)i * a->keys + j] = yes ? 0 : value;
            seen += yes;
        }
        any |= seen < a->keys;
        a->may_hide_all |= seen == 0 && (isinf(value) || value == a->hidden);
    }
    if (!any)
        return; // nothing is hidden
    qc_tensor *mask = NULL;
    e->s = ox_static(e->im, QNN_DATATYPE_FLOAT_32, 2, dims, values,
                     (size_t)a->queries * a->keys * sizeof *values, &mask);
    ox_mask_add(e, a, mask);
}

// first, first + 1, ... as i32.
static qc_tensor *count_up(ox_expr *e, uint32_t rank, const uint32_t *dims, uint32_t n,
                           int64_t first) {
    int32_t *values = ox_alloc(e->im, n * sizeof *values);
    if (!values) {
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        values[i] = (int32_t)(first + i);
    return ox_ints(e, rank, dims, values);
}

void ox_mask_lengths(ox_expr *e, ox_attention *a, ox_window w, qc_tensor *lengths, float value) {
    uint32_t per_batch[] = {a->batch, 1, 1, 1}, column[] = {a->queries, 1}, row[] = {a->keys};
    qc_tensor *len = ox_reshape(e, lengths, 4, per_batch);
    qc_tensor *key = count_up(e, 1, row, a->keys, 0);
    qc_tensor *query = count_up(e, 2, column, a->queries, -(int64_t)a->queries);
    // Limits of ONNX are 64 bits; beyond the keys they do not differ.
    int64_t far = INT32_MAX / 4, left = w.left > far ? far : w.left,
            right = w.right > far ? far : w.right;
    qc_tensor *seen = ox_compare(e, QNN_OP_ELEMENT_WISE_LESS, key, len);
    qc_tensor *at = ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, len, query);
    if (right >= 0) {
        qc_tensor *end = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, at, (double)right);
        seen = ox_compare(e, AND, seen, ox_compare(e, LESS_EQUAL, key, end));
    }
    if (left >= 0) {
        qc_tensor *begin = ox_with(e, QNN_OP_ELEMENT_WISE_SUBTRACT, at, (double)left);
        seen = ox_compare(e, AND, seen, ox_compare(e, LESS_EQUAL, begin, key));
    }
    a->may_hide_all = true;
    ox_mask_add(e, a, ox_mask_bool(e, seen, value));
}
