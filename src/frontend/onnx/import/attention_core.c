// SPDX-License-Identifier: MIT
//
// Attention on tensors with one dimension for the heads. Where several query heads share a key head
// their rows are put one after the other, so that keys and values are not repeated.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/fixed.h"

#include <math.h>

qrn_status ox_need_real(const ox_import *im, const ox_node *n, uint32_t i) {
    const ox_val *v = ox_input(im, n, i);
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    if (v->type == OX_F32 || v->type == OX_F16 || v->type == OX_BF16)
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "input %u is %s; convert the model to float32", i,
                   ox_type_name(v->type));
}

static qc_tensor *in_as(ox_expr *e, uint32_t i, Qnn_DataType_t dtype) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_in_as(e->im, e->n, i, OX_ONNX, dtype, &x);
    return e->s == QRN_OK ? x : NULL;
}

qc_tensor *ox_in_f32(ox_expr *e, uint32_t i) { return in_as(e, i, QNN_DATATYPE_FLOAT_32); }

qc_tensor *ox_in_i32(ox_expr *e, uint32_t i) { return in_as(e, i, QNN_DATATYPE_INT_32); }

qc_tensor *ox_out_f32(ox_expr *e, uint32_t i) {
    qc_tensor *y = NULL;
    if (e->s == QRN_OK)
        e->s = ox_out_as(e->im, e->n, i, OX_ONNX, QNN_DATATYPE_FLOAT_32, &y);
    return e->s == QRN_OK ? y : NULL;
}

void ox_end_f32(ox_expr *e, uint32_t i, const qc_tensor *y) {
    if (e->s == QRN_OK)
        e->s = ox_out_end(e->im, e->n, i, OX_ONNX, y);
}

void ox_copy_out(ox_expr *e, uint32_t i, qc_tensor *x) {
    qc_tensor *y = ox_out_f32(e, i);
    if (!x || !y)
        return;
    ox_into(e, y);
    ox_reshape(e, x, y->rank, y->dims);
    ox_end_f32(e, i, y);
}

// Dimensions 1 and 2 of four exchanged; no data moves when one of them is 1.
static qc_tensor *swap_middle(ox_expr *e, qc_tensor *x) {
    static const uint32_t perm[] = {0, 2, 1, 3};
    if (!x)
        return NULL;
    uint32_t dims[] = {x->dims[0], x->dims[2], x->dims[1], x->dims[3]};
    if (x->dims[1] == 1 || x->dims[2] == 1)
        return ox_reshape(e, x, 4, dims);
    return ox_transpose(e, x, perm);
}

qc_tensor *ox_split_heads(ox_expr *e, qc_tensor *x, uint32_t heads) {
    if (!x)
        return NULL;
    uint32_t b = x->dims[0], s = x->dims[1], d = x->dims[2] / heads;
    if (heads == 1 || s == 1)
        return ox_reshape(e, x, 4, (uint32_t[]){b, heads, s, d});
    return swap_middle(e, ox_reshape(e, x, 4, (uint32_t[]){b, s, heads, d}));
}

qc_tensor *ox_join_heads(ox_expr *e, qc_tensor *x) {
    qc_tensor *to = e->to;
    if (!x)
        return NULL;
    uint32_t dims[] = {x->dims[0], x->dims[2], x->dims[1] * x->dims[3]};
    e->to = NULL;
    if (x->dims[1] != 1 && x->dims[2] != 1)
        x = swap_middle(e, x);
    e->to = to;
    return ox_reshape(e, x, 3, dims);
}

#define VANISHES 12 // exp(-12) is less than half a step of 16 bits

float ox_hidden_score(ox_expr *e, const ox_attention *a, const qc_tensor *q, const qc_tensor *k) {
    if (!ox_is_fixed16(e->im) || !q || !k)
        return -INFINITY;
    ox_range r = ox_matmul_range(q, k, a->head_size);
    double width = (r.hi - r.lo) * fabs(a->scale);
    if (a->softcap > 0)
        width = fmin(width, 2 * (double)a->softcap);
    return (float)-(width + VANISHES);
}

// softmax(biased), with rows of 0 where nothing may be seen: there softmax is not a number.
static qc_tensor *weights_of(ox_expr *e, const ox_attention *a) {
    uint32_t last;
    bool fixed = ox_is_fixed16(e->im); // the lowest number is not -inf but `hidden`
    qc_tensor *x = ox_as(e, a->biased, a->softmax_type), *zero = NULL;
    if (!x)
        return NULL;
    if (fixed && a->weights_like && e->s == QRN_OK) {
        qc_tensor *narrow = NULL;
        e->s = ox_temp(e->im, a->weights_like, x->rank, x->dims, &narrow);
        ox_into(e, narrow);
    }
    qc_tensor *y = ox_softmax(e, QNN_OP_SOFTMAX, x, x->rank - 1);
    if (!a->bias || !a->may_hide_all || !y)
        return ox_as(e, y, QNN_DATATYPE_FLOAT_32);
    last = a->bias->rank - 1;
    qc_tensor *most = ox_reduce(e, QNN_OP_REDUCE_MAX, a->bias, &last, 1, true), *none = NULL;
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, QNN_DATATYPE_FLOAT_32, fixed ? (double)a->hidden * 0.75 : -INFINITY,
                         &none);
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, a->softmax_type, 0, &zero);
    qc_tensor *hidden =
        ox_compare(e, fixed ? QNN_OP_ELEMENT_WISE_LESS : QNN_OP_ELEMENT_WISE_EQUAL, most, none);
    return ox_as(e, ox_select(e, hidden, zero, y), QNN_DATATYPE_FLOAT_32);
}

#define COARSEST 4e-4 // steps of scores whose exponentials are within 4 steps of 16 bits

static double step_of(const qc_tensor *x) {
    return x && !x->values ? (double)x->t.v1.quantizeParams.scaleOffsetEncoding.scale : 0;
}

// In 16 bits the scores have the range that queries and keys allow, which may be far too wide.
static void check_steps(ox_expr *e, const ox_attention *a) {
    if (!ox_is_fixed16(e->im) || e->s != QRN_OK || !a->biased)
        return;
    double steps = step_of(a->scores);
    if (a->bias)
        steps += step_of(a->bias) + step_of(a->biased);
    if (steps > COARSEST)
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                       "its scores, as wide as queries and keys allow, would be too coarse in 16 "
                       "bits (steps of %.2g, at most %.2g)",
                       steps, COARSEST);
}

qc_tensor *ox_attend(ox_expr *e, ox_attention *a, qc_tensor *q, qc_tensor *k, qc_tensor *v) {
    uint32_t rows = a->heads / a->kv_heads * a->queries;
    uint32_t stacked[] = {a->batch, a->kv_heads, rows, a->head_size};
    uint32_t scores[] = {a->batch, a->heads, a->queries, a->keys};
    uint32_t result[] = {a->batch, a->heads, a->queries, a->v_head_size};
    q = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, q, a->scale);
    qc_tensor *x = ox_matmul(e, ox_reshape(e, q, 4, stacked), k, false, true);
    a->scores = a->capped = ox_reshape(e, x, 4, scores);
    if (a->softcap > 0) {
        x = ox_with(e, QNN_OP_ELEMENT_WISE_DIVIDE, a->scores, (double)a->softcap);
        x = ox_unary(e, QNN_OP_TANH, x);
        a->capped = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, (double)a->softcap);
    }
    a->biased = a->bias ? ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, a->capped, a->bias) : a->capped;
    check_steps(e, a);
    a->weights = weights_of(e, a);
    stacked[3] = a->keys;
    x = ox_reshape(e, a->weights, 4, stacked);
    bool shared = a->heads != a->kv_heads;
    if (!shared && a->to)
        ox_into(e, a->to);
    else if (ox_is_fixed16(e->im) && a->like && e->s == QRN_OK) {
        // A mean of values: its range is theirs, not that of any sum.
        qc_tensor *y = NULL;
        uint32_t dims[] = {a->batch, a->kv_heads, rows, a->v_head_size};
        e->s = ox_temp(e->im, a->like, 4, dims, &y);
        ox_into(e, y);
    }
    x = ox_matmul(e, x, v, false, false);
    if (shared && a->to)
        ox_into(e, a->to);
    return ox_reshape(e, x, 4, result);
}
