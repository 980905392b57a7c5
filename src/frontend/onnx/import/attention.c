// SPDX-License-Identifier: MIT
//
// Importer: ONNX's Attention, in every form of opsets 23 to 25.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/table.h"

#include <math.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };

static bool wanted(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

// A past of no keys is no past.
static const ox_val *past_of(const ox_import *im, const ox_node *n, uint32_t i) {
    const ox_val *v = ox_input(im, n, i);
    return v && v->rank == 4 && v->dims[2] == 0 ? NULL : v;
}

static qrn_status bad_shape(const ox_import *im, const ox_node *n, const char *what) {
    return ox_fail(im, n, QRN_E_SHAPE, "%s", what);
}

// Heads, lengths and sizes of inputs of rank 3 or 4.
static qrn_status read_shapes(const ox_import *im, const ox_node *n, ox_attention *a) {
    const ox_val *q = ox_input(im, n, Q), *k = ox_input(im, n, K), *v = ox_input(im, n, V);
    if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank)
        return bad_shape(im, n, "query, key and value must have rank 3, or all rank 4");
    int64_t heads = ox_attr_int(n, "q_num_heads", 0), kv = ox_attr_int(n, "kv_num_heads", 0);
    uint32_t at = q->rank - 2; // of the sequence
    a->batch = q->dims[0];
    a->queries = q->dims[at];
    a->keys = k->dims[at];
    if (q->rank == 4) {
        heads = q->dims[1];
        kv = k->dims[1];
    }
    if (heads <= 0 || kv <= 0 || heads % kv != 0)
        return bad_shape(im, n, "the number of query heads is not a multiple of that of key heads");
    a->heads = (uint32_t)heads;
    a->kv_heads = (uint32_t)kv;
    bool split = q->rank == 3;
    if (split && (q->dims[2] % heads || k->dims[2] % kv || v->dims[2] % kv))
        return bad_shape(im, n, "the last dimension of an input is not a multiple of its heads");
    a->head_size = split ? q->dims[2] / a->heads : q->dims[3];
    a->v_head_size = split ? v->dims[2] / a->kv_heads : v->dims[3];
    uint32_t k_size = split ? k->dims[2] / a->kv_heads : k->dims[3];
    if (k->dims[0] != a->batch || v->dims[0] != a->batch || v->dims[at] != a->keys ||
        k_size != a->head_size || (!split && v->dims[1] != a->kv_heads))
        return bad_shape(im, n, "query, key and value do not fit together");
    return QRN_OK;
}

static qrn_status read_past(const ox_import *im, const ox_node *n, ox_attention *a) {
    const ox_val *k = past_of(im, n, PAST_KEY), *v = past_of(im, n, PAST_VALUE);
    const ox_val *lengths = ox_input(im, n, LENGTHS);
    if (!k != !v)
        return bad_shape(im, n, "past_key and past_value must be given together");
    if (k && lengths)
        return bad_shape(im, n, "nonpad_kv_seqlen and a past cannot be given together");
    if (lengths && (lengths->rank != 1 || lengths->dims[0] != a->batch))
        return bad_shape(im, n, "nonpad_kv_seqlen must have one number for each batch");
    if (!k)
        return QRN_OK;
    if (k->rank != 4 || v->rank != 4 || k->dims[0] != a->batch || v->dims[0] != a->batch ||
        k->dims[1] != a->kv_heads || v->dims[1] != a->kv_heads || k->dims[3] != a->head_size ||
        v->dims[3] != a->v_head_size || k->dims[2] != v->dims[2])
        return bad_shape(im, n, "the past does not fit the keys and values");
    a->past = k->dims[2];
    a->keys += a->past;
    return QRN_OK;
}

static qrn_status set_outputs(ox_import *im, const ox_node *n, const ox_attention *a) {
    const ox_val *q = ox_input(im, n, Q);
    int k_type = ox_input(im, n, K)->type, v_type = ox_input(im, n, V)->type;
    uint32_t y[] = {a->batch, a->heads, a->queries, a->v_head_size};
    uint32_t joined[] = {a->batch, a->queries, a->heads * a->v_head_size};
    uint32_t k[] = {a->batch, a->kv_heads, a->keys, a->head_size};
    uint32_t v[] = {a->batch, a->kv_heads, a->keys, a->v_head_size};
    uint32_t scores[] = {a->batch, a->heads, a->queries, a->keys};
    QRN_TRY(ox_set_output(im, n, Y, q->type, q->rank, q->rank == 3 ? joined : y));
    if (wanted(n, PRESENT_KEY))
        QRN_TRY(ox_set_output(im, n, PRESENT_KEY, k_type, 4, k));
    if (wanted(n, PRESENT_VALUE))
        QRN_TRY(ox_set_output(im, n, PRESENT_VALUE, v_type, 4, v));
    if (wanted(n, SCORES))
        QRN_TRY(ox_set_output(im, n, SCORES, q->type, 4, scores));
    return QRN_OK;
}

static qrn_status read_numbers(const ox_import *im, const ox_node *n, ox_attention *a) {
    int64_t precision = ox_attr_int(n, "softmax_precision", 0);
    a->softcap = ox_attr_float(n, "softcap", 0);
    a->scale = (double)ox_attr_float(n, "scale", (float)(1 / sqrt(a->head_size)));
    a->softmax_type = precision == OX_F16 ? QNN_DATATYPE_FLOAT_16 : QNN_DATATYPE_FLOAT_32;
    if (precision != 0 && precision != OX_F32 && precision != OX_F64 && precision != OX_F16 &&
        precision != OX_BF16)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "softmax_precision %lld", (long long)precision);
    int64_t mode = ox_attr_int(n, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "qk_matmul_output_mode %lld", (long long)mode);
    return QRN_OK;
}

// --- emitting

// Mask input: brought to the number of keys, what is missing is hidden.
static void add_mask(ox_expr *e, ox_attention *a) {
    const ox_val *v = ox_input(e->im, e->n, MASK);
    uint32_t whole[] = {a->batch, a->heads, a->queries, a->keys};
    bool fits = v->rank >= 1 && v->rank <= 4 && v->dims[v->rank - 1] <= a->keys;
    for (uint32_t i = 0; fits && i + 1 < v->rank; i++)
        fits = v->dims[i] == 1 || v->dims[i] == whole[4 - v->rank + i];
    if (!fits) {
        e->s = bad_shape(e->im, e->n, "the mask does not broadcast to the scores");
        return;
    }
    qc_tensor *x = NULL;
    if (v->type != OX_BOOL) {
        x = ox_in_f32(e, MASK);
    } else {
        if (e->s == QRN_OK)
            e->s = ox_in(e->im, e->n, MASK, OX_ONNX, &x);
        x = ox_mask_bool(e, x, a->hidden);
    }
    uint32_t pad[2 * OX_MAX_RANK] = {0};
    pad[2 * v->rank - 1] = a->keys - v->dims[v->rank - 1];
    a->may_hide_all = true;
    ox_mask_add(e, a, ox_pad(e, x, pad, a->hidden));
}

static void add_masks(ox_expr *e, ox_attention *a) {
    ox_window w = {ox_attr_int(e->n, "left_window_size", OX_UNBOUNDED),
                   ox_attr_int(e->n, "right_window_size", OX_UNBOUNDED)};
    if (ox_attr_int(e->n, "is_causal", 0))
        w.right = 0;
    if (ox_input(e->im, e->n, MASK))
        add_mask(e, a);
    if (ox_input(e->im, e->n, LENGTHS))
        ox_mask_lengths(e, a, w, ox_in_i32(e, LENGTHS), a->hidden);
    else if (w.left >= 0 || w.right >= 0)
        ox_mask_window(e, a, w, a->past, a->hidden);
}

// Keys or values with those of the past before them; also the output that holds them.
static qc_tensor *with_past(ox_expr *e, const ox_attention *a, uint32_t i, uint32_t past,
                            uint32_t present) {
    qc_tensor *x = ox_in_f32(e, i), *y = NULL;
    if (x && x->rank == 3)
        x = ox_split_heads(e, x, a->kv_heads);
    if (!a->past) {
        if (wanted(e->n, present))
            ox_copy_out(e, present, x);
        return x;
    }
    qc_tensor *parts[] = {ox_in_f32(e, past), x};
    if (wanted(e->n, present))
        y = ox_out_f32(e, present);
    ox_into(e, y);
    x = ox_concat(e, parts, 2, 2);
    if (y)
        ox_end_f32(e, present, y);
    return x;
}

static qrn_status emit(ox_expr *e, ox_attention *a) {
    bool joined = ox_input(e->im, e->n, Q)->rank == 3;
    qc_tensor *q = ox_in_f32(e, Q), *y = NULL;
    if (joined)
        q = ox_split_heads(e, q, a->heads);
    qc_tensor *k = with_past(e, a, K, PAST_KEY, PRESENT_KEY);
    qc_tensor *v = with_past(e, a, V, PAST_VALUE, PRESENT_VALUE);
    a->hidden = ox_hidden_score(e, a, q, k);
    add_masks(e, a);
    y = ox_out_f32(e, Y);
    a->to = joined ? NULL : y;
    a->like = y;
    if (ox_is_fixed16(e->im) && wanted(e->n, SCORES) &&
        ox_attr_int(e->n, "qk_matmul_output_mode", 0) == 3)
        a->weights_like = ox_out_f32(e, SCORES);
    qc_tensor *x = ox_attend(e, a, q, k, v);
    if (joined) {
        ox_into(e, y);
        ox_join_heads(e, x);
    }
    ox_end_f32(e, Y, y);
    if (e->s == QRN_OK && wanted(e->n, SCORES)) {
        qc_tensor *const steps[] = {a->scores, a->capped, a->biased, a->weights};
        ox_copy_out(e, SCORES, steps[ox_attr_int(e->n, "qk_matmul_output_mode", 0)]);
    }
    return ox_done(e);
}

static qrn_status import_attention(ox_import *im, const ox_node *n) {
    ox_attention a = {0};
    ox_expr e = ox_begin(im, n);
    for (uint32_t i = Q; i <= V; i++)
        QRN_TRY(ox_need_real(im, n, i));
    QRN_TRY(read_shapes(im, n, &a));
    QRN_TRY(read_past(im, n, &a));
    QRN_TRY(set_outputs(im, n, &a));
    QRN_TRY(read_numbers(im, n, &a));
    return emit(&e, &a);
}

const ox_importer ox_import_attention[] = {
    {"Attention", "", import_attention},
    {0},
};
