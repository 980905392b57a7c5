// SPDX-License-Identifier: MIT
//
// Importers: Attention and MultiHeadAttention of Microsoft's domain. Padded keys get
// mask_filter_value added to their scores, so a query all of whose keys are padding still has a
// result, as in ONNX Runtime.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/table.h"

#include <math.h>

static bool wanted(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

// Refuses input i with a reason if it is there.
static qrn_status refuse_input(const ox_import *im, const ox_node *n, uint32_t i,
                               const char *what) {
    return ox_input(im, n, i) ? ox_fail(im, n, QRN_E_UNSUPPORTED, "%s", what) : QRN_OK;
}

static qrn_status read_common(const ox_import *im, const ox_node *n, ox_attention *a) {
    int64_t heads = ox_attr_int(n, "num_heads", 0);
    if (heads <= 0 || heads > INT16_MAX)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "num_heads is %lld", (long long)heads);
    a->heads = a->kv_heads = (uint32_t)heads;
    a->softmax_type = QNN_DATATYPE_FLOAT_32;
    return QRN_OK;
}

static void set_scale(const ox_node *n, ox_attention *a) {
    float scale = ox_attr_float(n, "scale", 0);
    a->scale = scale == 0 ? 1 / sqrt(a->head_size) : (double)scale;
}

// Padding, by lengths [B], by keys [B, T] or by queries and keys [B, S, T].
static void add_padding(ox_expr *e, ox_attention *a, uint32_t i) {
    const ox_val *v = ox_input(e->im, e->n, i);
    float value = ox_attr_float(e->n, "mask_filter_value", -10000);
    uint32_t one[] = {a->batch, 1, 1, 1}, keys[] = {a->batch, 1, 1, a->keys};
    uint32_t both[] = {a->batch, 1, a->queries, a->keys};
    if (!v)
        return;
    bool fits = v->rank >= 1 && v->dims[0] == a->batch;
    if (v->rank > 1)
        fits = fits && v->rank <= 3 && v->dims[v->rank - 1] == a->keys;
    if (v->rank == 3)
        fits = fits && v->dims[1] == a->queries;
    if (!fits) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                       "a mask that is not [batch], [batch, keys] or [batch, queries, keys]");
        return;
    }
    qc_tensor *x = ox_in_i32(e, i), *zero = NULL;
    if (v->rank == 1) {
        ox_window all = {OX_UNBOUNDED, OX_UNBOUNDED};
        ox_mask_lengths(e, a, all, ox_reshape(e, x, 4, one), value);
    } else {
        x = ox_reshape(e, x, 4, v->rank == 2 ? keys : both);
        if (e->s == QRN_OK)
            e->s = ox_number(e->im, QNN_DATATYPE_INT_32, 0, &zero);
        qc_tensor *seen = ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, x, zero);
        ox_mask_add(e, a, ox_mask_bool(e, seen, value));
    }
    a->may_hide_all = false;
}

// Input i, added to the scores.
static void add_bias(ox_expr *e, ox_attention *a, uint32_t i) {
    const ox_val *v = ox_input(e->im, e->n, i);
    if (!v)
        return;
    bool fits = v->rank == 4 && (v->dims[0] == 1 || v->dims[0] == a->batch) &&
                (v->dims[1] == 1 || v->dims[1] == a->heads) && v->dims[2] == a->queries &&
                v->dims[3] == a->keys;
    if (!fits)
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "attention_bias has not the shape of the scores");
    ox_mask_add(e, a, ox_in_f32(e, i));
}

// Scores, softmax, values, and output 0 with the heads joined.
static void finish(ox_expr *e, ox_attention *a, qc_tensor *q, qc_tensor *k, qc_tensor *v) {
    if (ox_attr_int(e->n, "unidirectional", 0))
        ox_mask_window(e, a, (ox_window){OX_UNBOUNDED, 0}, a->past, -INFINITY);
    qc_tensor *x = ox_attend(e, a, q, k, v), *y = ox_out_f32(e, 0);
    ox_into(e, y);
    ox_join_heads(e, x);
    ox_end_f32(e, 0, y);
}

// --- MultiHeadAttention

enum { Q, K, V, BIAS, PADDING, SCORE_BIAS, PAST_KEY, PAST_VALUE, PAST_LENGTH, INDIRECTION };

static qrn_status read_multi_head(const ox_import *im, const ox_node *n, ox_attention *a) {
    const ox_val *q = ox_input(im, n, Q), *k = ox_input(im, n, K), *v = ox_input(im, n, V);
    const ox_val *bias = ox_input(im, n, BIAS), *past = ox_input(im, n, PAST_KEY),
                 *past_v = ox_input(im, n, PAST_VALUE);
    if (q->rank != 3 || !k || !v || (k->rank != 3 && k->rank != 4) || v->rank != k->rank)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "packed query, key and value; give them as three inputs");
    bool split = k->rank == 3;
    uint32_t h = a->heads, at = split ? 1 : 2;
    bool fits = q->dims[2] % h == 0 && k->dims[0] == q->dims[0] && v->dims[0] == q->dims[0] &&
                v->dims[at] == k->dims[at];
    a->batch = q->dims[0];
    a->queries = q->dims[1];
    a->keys = k->dims[at];
    a->head_size = q->dims[2] / h;
    a->v_head_size = split ? v->dims[2] / h : v->dims[3];
    fits = fits && (split ? k->dims[2] == q->dims[2] && v->dims[2] % h == 0
                          : k->dims[1] == h && v->dims[1] == h && k->dims[3] == a->head_size);
    if (past && past_v && past->rank == 4 && past->dims[2]) {
        a->past = past->dims[2];
        a->keys += a->past;
        fits = fits && past->dims[0] == a->batch && past->dims[1] == h &&
               past->dims[3] == a->head_size && past_v->rank == 4 && past_v->dims[2] == a->past;
    } else if (past || past_v) {
        fits = fits && past && past_v && past->rank == 4;
    }
    if (bias)
        fits = fits && split && bias->rank == 1 &&
               bias->dims[0] == 2 * q->dims[2] + h * a->v_head_size;
    if (!fits)
        return ox_fail(im, n, QRN_E_SHAPE, "query, key, value, bias or past do not fit together");
    return QRN_OK;
}

// Query, key or value with its part of the bias, and with heads.
static qc_tensor *projected(ox_expr *e, const ox_attention *a, uint32_t i, uint32_t first) {
    qc_tensor *x = ox_in_f32(e, i);
    if (!x || x->rank == 4)
        return x;
    if (ox_input(e->im, e->n, BIAS)) {
        qc_tensor *bias = ox_slice(e, ox_in_f32(e, BIAS), 0, first, x->dims[2], 1);
        x = ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, x, bias);
    }
    return ox_split_heads(e, x, a->heads);
}

static qc_tensor *after_past(ox_expr *e, const ox_attention *a, qc_tensor *x, uint32_t past,
                             uint32_t present) {
    if (a->past) {
        qc_tensor *parts[] = {ox_in_f32(e, past), x};
        x = ox_concat(e, parts, 2, 2);
    }
    if (wanted(e->n, present))
        ox_copy_out(e, present, x);
    return x;
}

static qrn_status import_multi_head(ox_import *im, const ox_node *n) {
    ox_attention a = {0};
    QRN_TRY(ox_need_real(im, n, Q));
    QRN_TRY(read_common(im, n, &a));
    QRN_TRY(read_multi_head(im, n, &a));
    QRN_TRY(refuse_input(im, n, PAST_LENGTH, "past_sequence_length: a past in a larger buffer"));
    QRN_TRY(refuse_input(im, n, INDIRECTION, "cache_indirection, which is for beam search"));
    if (wanted(n, 3))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "output 3, the scores");
    if (ox_attr_int(n, "unidirectional", 0) && a.keys - a.past != a.queries)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "unidirectional with %u queries and %u keys",
                       a.queries, a.keys - a.past);
    set_scale(n, &a);
    int type = ox_input(im, n, Q)->type;
    uint32_t y[] = {a.batch, a.queries, a.heads * a.v_head_size};
    uint32_t present[] = {a.batch, a.heads, a.keys, a.head_size};
    QRN_TRY(ox_set_output(im, n, 0, type, 3, y));
    if (wanted(n, 1))
        QRN_TRY(ox_set_output(im, n, 1, type, 4, present));
    present[3] = a.v_head_size;
    if (wanted(n, 2))
        QRN_TRY(ox_set_output(im, n, 2, type, 4, present));
    ox_expr e = ox_begin(im, n);
    uint32_t hidden = a.heads * a.head_size;
    qc_tensor *q = projected(&e, &a, Q, 0);
    qc_tensor *k = after_past(&e, &a, projected(&e, &a, K, hidden), PAST_KEY, 1);
    qc_tensor *v = after_past(&e, &a, projected(&e, &a, V, 2 * hidden), PAST_VALUE, 2);
    add_padding(&e, &a, PADDING);
    add_bias(&e, &a, SCORE_BIAS);
    finish(&e, &a, q, k, v);
    return ox_done(&e);
}

// --- Attention

enum { X, WEIGHTS, X_BIAS, MASK, PAST, X_SCORE_BIAS, X_PAST_LENGTH };

static qrn_status read_fused(const ox_import *im, const ox_node *n, ox_attention *a) {
    const ox_val *x = ox_input(im, n, X), *w = ox_input(im, n, WEIGHTS),
                 *bias = ox_input(im, n, X_BIAS), *past = ox_input(im, n, PAST);
    int64_t sizes[3] = {0};
    if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2])
        return ox_fail(im, n, QRN_E_SHAPE, "the weights do not fit the input");
    if (!ox_attr_ints(n, "qkv_hidden_sizes", sizes, 3))
        sizes[0] = sizes[1] = sizes[2] = w->dims[1] / 3;
    uint32_t h = a->heads, most = w->dims[1];
    if (sizes[0] <= 0 || sizes[0] > most || sizes[2] > most || sizes[0] != sizes[1] ||
        sizes[2] <= 0 || sizes[0] % h || sizes[2] % h ||
        sizes[0] + sizes[1] + sizes[2] != w->dims[1] ||
        (bias && (bias->rank != 1 || bias->dims[0] != w->dims[1])))
        return ox_fail(im, n, QRN_E_SHAPE, "weights, bias and heads do not fit together");
    a->batch = x->dims[0];
    a->queries = a->keys = x->dims[1];
    a->head_size = (uint32_t)sizes[0] / h;
    a->v_head_size = (uint32_t)sizes[2] / h;
    if ((past || wanted(n, 1)) && a->v_head_size != a->head_size)
        return ox_fail(im, n, QRN_E_SHAPE, "a past with values of another size than keys");
    if (past && (past->rank != 5 || past->dims[0] != 2 || past->dims[1] != a->batch ||
                 past->dims[2] != h || past->dims[4] != a->head_size))
        return ox_fail(im, n, QRN_E_SHAPE, "the past has not the shape [2, B, H, P, D]");
    a->past = past ? past->dims[3] : 0;
    a->keys += a->past;
    return QRN_OK;
}

// Columns of the projection as [B, H, S, D], after the keys (part 0) or values (1) of the past.
static qc_tensor *part_of(ox_expr *e, const ox_attention *a, qc_tensor *all, uint32_t first,
                          uint32_t size, uint32_t part) {
    qc_tensor *x = ox_split_heads(e, ox_slice(e, all, 2, first, size, 1), a->heads);
    if (!a->past)
        return x;
    uint32_t dims[] = {a->batch, a->heads, a->past, size / a->heads};
    qc_tensor *past = ox_slice(e, ox_in_f32(e, PAST), 0, part, 1, 1);
    qc_tensor *parts[] = {ox_reshape(e, past, 4, dims), x};
    return ox_concat(e, parts, 2, 2);
}

static qrn_status emit_fused(ox_expr *e, ox_attention *a) {
    uint32_t hidden = a->heads * a->head_size, v_hidden = a->heads * a->v_head_size;
    uint32_t state[] = {1, a->batch, a->heads, a->keys, a->head_size};
    ox_attention no_past = *a;
    no_past.past = 0;
    qc_tensor *all = ox_matmul(e, ox_in_f32(e, X), ox_in_f32(e, WEIGHTS), false, false);
    if (ox_input(e->im, e->n, X_BIAS))
        all = ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, all, ox_in_f32(e, X_BIAS));
    qc_tensor *q = part_of(e, &no_past, all, 0, hidden, 0);
    qc_tensor *k = part_of(e, a, all, hidden, hidden, 0);
    qc_tensor *v = part_of(e, a, all, 2 * hidden, v_hidden, 1);
    if (wanted(e->n, 1)) {
        qc_tensor *both[] = {ox_reshape(e, k, 5, state), ox_reshape(e, v, 5, state)};
        ox_copy_out(e, 1, ox_concat(e, both, 2, 0));
    }
    add_padding(e, a, MASK);
    add_bias(e, a, X_SCORE_BIAS);
    finish(e, a, q, k, v);
    return ox_done(e);
}

static qrn_status import_fused(ox_import *im, const ox_node *n) {
    ox_attention a = {0};
    QRN_TRY(ox_need_real(im, n, X));
    QRN_TRY(ox_need_real(im, n, WEIGHTS));
    QRN_TRY(read_common(im, n, &a));
    QRN_TRY(read_fused(im, n, &a));
    QRN_TRY(refuse_input(im, n, X_PAST_LENGTH, "past_sequence_length: a past in a larger buffer"));
    if (ox_attr_int(n, "do_rotary", 0))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "do_rotary; use RotaryEmbedding");
    set_scale(n, &a);
    int type = ox_input(im, n, X)->type;
    uint32_t y[] = {a.batch, a.queries, a.heads * a.v_head_size};
    uint32_t present[] = {2, a.batch, a.heads, a.keys, a.head_size};
    QRN_TRY(ox_set_output(im, n, 0, type, 3, y));
    if (wanted(n, 1))
        QRN_TRY(ox_set_output(im, n, 1, type, 5, present));
    ox_expr e = ox_begin(im, n);
    return emit_fused(&e, &a);
}

const ox_importer ox_import_attention_fused[] = {
    {"Attention", "com.microsoft", import_fused},
    {"MultiHeadAttention", "com.microsoft", import_multi_head},
    {0},
};
