// SPDX-License-Identifier: MIT
//
// Importer: GroupQueryAttention of Microsoft's domain. The new keys and values go behind those of
// the past: by a Concat when the past holds exactly the keys so far, else into a buffer at the
// places that seqlens_k says. A place beyond the buffer, or a length below 0, fails the execution.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/table.h"

#include <math.h>

enum { Q, K, V, PAST_KEY, PAST_VALUE, LAST, TOTAL, COS, SIN, POSITIONS, SCORE_BIAS, SINK };

typedef struct grouped {
    ox_attention a;
    bool packed;      // query, key and value in one input
    uint32_t buffer;  // keys that the past has room for
    bool placed;      // new keys go to places known only while running
    qc_tensor *start; // i32 [B]: place of the first new key, when placed
} grouped;

static bool wanted(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

static qrn_status read_inputs(const ox_import *im, const ox_node *n, grouped *g) {
    const ox_val *q = ox_input(im, n, Q), *k = ox_input(im, n, K), *v = ox_input(im, n, V);
    const ox_val *past = ox_input(im, n, PAST_KEY), *past_v = ox_input(im, n, PAST_VALUE);
    const ox_val *last = ox_input(im, n, LAST);
    int64_t heads = ox_attr_int(n, "num_heads", 0), kv = ox_attr_int(n, "kv_num_heads", 0);
    ox_attention *a = &g->a;
    if (q->rank != 3 || heads <= 0 || heads > INT16_MAX || kv <= 0 || heads % kv != 0 || !k != !v)
        return ox_fail(im, n, QRN_E_SHAPE, "query, key, value and heads do not fit together");
    g->packed = !k;
    int64_t parts = g->packed ? heads + 2 * kv : heads;
    a->heads = (uint32_t)heads;
    a->kv_heads = (uint32_t)kv;
    a->batch = q->dims[0];
    a->queries = q->dims[1];
    a->head_size = a->v_head_size = q->dims[2] / (uint32_t)parts;
    bool fits = q->dims[2] % parts == 0 && last && last->rank >= 1 && last->dims[0] == a->batch;
    const ox_val *const news[] = {k, v}, *const olds[] = {past, past_v}; // may be one value
    for (uint32_t i = 0; fits && k && i < 2; i++) {
        const ox_val *x = news[i];
        fits = x->rank == 3 && x->dims[0] == a->batch && x->dims[1] == a->queries &&
               x->dims[2] == a->kv_heads * a->head_size;
    }
    g->buffer = past && past->rank == 4 ? past->dims[2] : 0;
    for (uint32_t i = 0; fits && past && past_v && i < 2; i++) {
        const ox_val *x = olds[i];
        fits = x->rank == 4 && x->dims[0] == a->batch && x->dims[1] == a->kv_heads &&
               x->dims[2] == g->buffer && x->dims[3] == a->head_size;
    }
    if (!fits || !past != !past_v)
        return ox_fail(im, n, QRN_E_SHAPE, "query, key, value, past or seqlens_k do not fit");
    return QRN_OK;
}

static qrn_status refuse_rest(const ox_import *im, const ox_node *n) {
    if (ox_attr_int(n, "smooth_softmax", 0) > 0 || ox_input(im, n, SINK))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "smooth_softmax or head_sink");
    for (uint32_t i = SINK + 1; i < n->n_in; i++)
        if (ox_input(im, n, i))
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "input %u: a quantized past", i);
    if (wanted(n, 3))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "output 3, the scores");
    return QRN_OK;
}

// The number of keys, where they go, and the outputs.
static qrn_status read_lengths(ox_import *im, const ox_node *n, grouped *g) {
    ox_attention *a = &g->a;
    int64_t total = 0;
    uint32_t count = 0;
    bool known = ox_const_ints(im, n, TOTAL, &total, 1, &count) && count == 1;
    if (known && (total <= 0 || total > INT32_MAX))
        return ox_fail(im, n, QRN_E_OP_CONFIG, "total_sequence_length %lld", (long long)total);
    a->keys = known ? (uint32_t)total : g->buffer ? g->buffer : a->queries;
    if (a->keys < g->buffer)
        a->keys = g->buffer;
    if (a->keys < a->queries)
        a->keys = a->queries;
    bool follows = known && a->keys == g->buffer + a->queries && a->batch == 1;
    bool prompt = g->buffer == 0 && a->keys == a->queries;
    g->placed = !follows && !prompt;
    a->past = g->placed ? 0 : g->buffer;
    int type = ox_input(im, n, Q)->type;
    uint32_t y[] = {a->batch, a->queries, a->heads * a->head_size};
    uint32_t present[] = {a->batch, a->kv_heads, a->keys, a->head_size};
    QRN_TRY(ox_set_output(im, n, 0, type, 3, y));
    for (uint32_t i = 1; i <= 2; i++)
        if (wanted(n, i))
            QRN_TRY(ox_set_output(im, n, i, type, 4, present));
    return QRN_OK;
}

// --- emitting

static qc_tensor *number_of(ox_expr *e, double value) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, QNN_DATATYPE_INT_32, value, &x);
    return x;
}

// Keys before the new ones of each batch: seqlens_k + 1 - S, but not below 0 (a padded prompt). A
// length below 0 becomes a place behind the buffer, which fails the execution.
static qc_tensor *start_of(ox_expr *e, const grouped *g) {
    qc_tensor *last = ox_reshape(e, ox_in_i32(e, LAST), 1, &g->a.batch);
    qc_tensor *zero = number_of(e, 0), *behind = number_of(e, g->a.keys);
    qc_tensor *x = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, last, 1 - (double)g->a.queries);
    // The HTP has no maximum of integers, but it compares and selects them.
    x = ox_select(e, ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, x, zero), x, zero);
    return ox_select(e, ox_compare(e, QNN_OP_ELEMENT_WISE_LESS, last, zero), behind, x);
}

static int32_t *ints_of(ox_expr *e, size_t n) {
    int32_t *values = e->s == QRN_OK ? ox_alloc(e->im, n * sizeof *values) : NULL;
    if (!values && e->s == QRN_OK)
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
    return values;
}

// Positions of the new tokens, i32 [B or 1, S].
static qc_tensor *positions_of(ox_expr *e, const grouped *g) {
    uint32_t row[] = {1, g->a.queries}, column[] = {g->a.batch, 1};
    const ox_val *given = ox_input(e->im, e->n, POSITIONS);
    if (given) {
        if (given->rank == 2 && given->dims[1] == g->a.queries &&
            (given->dims[0] == g->a.batch || given->dims[0] == 1))
            return ox_in_i32(e, POSITIONS);
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "position_ids must be one number for each token");
        return NULL;
    }
    int32_t *values = ints_of(e, g->a.queries);
    for (uint32_t i = 0; values && i < g->a.queries; i++)
        values[i] = (int32_t)(g->a.past + i);
    qc_tensor *x = values ? ox_ints(e, 2, row, values) : NULL;
    if (!g->placed)
        return x;
    return ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, ox_reshape(e, g->start, 2, column), x);
}

static void rotate_both(ox_expr *e, const grouped *g, qc_tensor **q, qc_tensor **k) {
    const ox_val *c = ox_input(e->im, e->n, COS), *s = ox_input(e->im, e->n, SIN);
    if (!c || !s || c->rank != 2 || s->rank != 2 || c->dims[1] != s->dims[1] ||
        2 * c->dims[1] > g->a.head_size) {
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "do_rotary needs caches of cos and sin");
        return;
    }
    bool neighbours = ox_attr_int(e->n, "rotary_interleaved", 0) != 0;
    qc_tensor *at = positions_of(e, g);
    if (!at)
        return;
    uint32_t dims[] = {at->dims[0], 1, g->a.queries, c->dims[1]};
    qc_tensor *cos = ox_reshape(e, ox_gather(e, ox_in_f32(e, COS), at, 0), 4, dims);
    qc_tensor *sin = ox_reshape(e, ox_gather(e, ox_in_f32(e, SIN), at, 0), 4, dims);
    *q = ox_rotate(e, *q, cos, sin, neighbours);
    *k = ox_rotate(e, *k, cos, sin, neighbours);
}

// Places (b, h, start[b] + s) of the new keys in the buffer: i32 [B, Hkv, S, 3].
static qc_tensor *places_of(ox_expr *e, const grouped *g) {
    const ox_attention *a = &g->a;
    uint32_t dims[] = {a->batch, a->kv_heads, a->queries, 3}, one[] = {a->batch, 1, 1, 1},
             three = 3;
    size_t n = (size_t)a->batch * a->kv_heads * a->queries;
    int32_t *values = ints_of(e, 3 * n);
    for (size_t i = 0; values && i < n; i++) {
        values[3 * i] = (int32_t)(i / a->queries / a->kv_heads);
        values[3 * i + 1] = (int32_t)(i / a->queries % a->kv_heads);
        values[3 * i + 2] = (int32_t)(i % a->queries);
    }
    if (!values)
        return NULL;
    qc_tensor *last = ox_ints(e, 1, &three, (const int32_t[]){0, 0, 1});
    qc_tensor *move =
        ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, ox_reshape(e, g->start, 4, one), last);
    return ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, ox_ints(e, 4, dims, values), move);
}

// Keys or values of the past and the new ones.
static qc_tensor *with_past(ox_expr *e, const grouped *g, qc_tensor *x, uint32_t past,
                            qc_tensor *places) {
    const ox_attention *a = &g->a;
    if (!g->placed && !g->buffer)
        return x;
    qc_tensor *old = g->buffer ? ox_in_f32(e, past) : NULL;
    if (!g->placed) {
        qc_tensor *parts[] = {old, x};
        return ox_concat(e, parts, 2, 2);
    }
    uint32_t more[] = {0, 0, 0, 0, 0, a->keys - g->buffer, 0, 0};
    if (!old) // new keys that are overwritten where they belong
        more[5] = a->keys - a->queries;
    old = ox_pad(e, old ? old : x, more, 0);
    qc_tensor *y = old ? ox_result_like(e, old, 4, old->dims) : NULL;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_SCATTER_ND);
    qc_in(&o, old);
    qc_in(&o, places);
    qc_in(&o, x);
    qc_out(&o, y);
    return ox_ended(e, &o, y);
}

// Query, key or value with heads.
static qc_tensor *heads_of(ox_expr *e, const grouped *g, uint32_t i) {
    const ox_attention *a = &g->a;
    uint32_t heads = i == Q ? a->heads : a->kv_heads;
    uint32_t first = i == Q ? 0 : a->heads + (i - K) * a->kv_heads;
    qc_tensor *x = ox_in_f32(e, g->packed ? (uint32_t)Q : i);
    if (g->packed)
        x = ox_slice(e, x, 2, first * a->head_size, heads * a->head_size, 1);
    return ox_split_heads(e, x, heads);
}

static void add_masks(ox_expr *e, grouped *g) {
    ox_attention *a = &g->a;
    const ox_val *bias = ox_input(e->im, e->n, SCORE_BIAS);
    int64_t local = ox_attr_int(e->n, "local_window_size", OX_UNBOUNDED);
    ox_window w = {local > 0 ? local - 1 : OX_UNBOUNDED, 0};
    if (g->placed) {
        qc_tensor *end = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, g->start, a->queries);
        ox_mask_lengths(e, a, w, end, -INFINITY);
    } else {
        ox_mask_window(e, a, w, a->past, -INFINITY);
    }
    a->may_hide_all = false; // every query sees its own key
    if (!bias)
        return;
    if (bias->rank != 4 || (bias->dims[0] != 1 && bias->dims[0] != a->batch) ||
        (bias->dims[1] != 1 && bias->dims[1] != a->heads) || bias->dims[2] != a->queries ||
        bias->dims[3] != a->keys)
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "attention_bias has not the shape of the scores");
    ox_mask_add(e, a, ox_in_f32(e, SCORE_BIAS));
}

static qrn_status import_grouped(ox_import *im, const ox_node *n) {
    grouped g = {0};
    ox_attention *a = &g.a;
    QRN_TRY(ox_need_real(im, n, Q));
    QRN_TRY(read_inputs(im, n, &g));
    QRN_TRY(refuse_rest(im, n));
    QRN_TRY(read_lengths(im, n, &g));
    float scale = ox_attr_float(n, "scale", 0);
    a->scale = scale == 0 ? 1 / sqrt(a->head_size) : (double)scale;
    a->softcap = ox_attr_float(n, "softcap", 0);
    a->softmax_type = QNN_DATATYPE_FLOAT_32;
    ox_expr e = ox_begin(im, n);
    qc_tensor *q = heads_of(&e, &g, Q), *k = heads_of(&e, &g, K), *v = heads_of(&e, &g, V);
    g.start = g.placed ? start_of(&e, &g) : NULL;
    if (ox_attr_int(n, "do_rotary", 0))
        rotate_both(&e, &g, &q, &k);
    qc_tensor *places = g.placed ? places_of(&e, &g) : NULL;
    k = with_past(&e, &g, k, PAST_KEY, places);
    v = with_past(&e, &g, v, PAST_VALUE, places);
    if (wanted(n, 1))
        ox_copy_out(&e, 1, k);
    if (wanted(n, 2))
        ox_copy_out(&e, 2, v);
    add_masks(&e, &g);
    qc_tensor *x = ox_attend(&e, a, q, k, v), *y = ox_out_f32(&e, 0);
    ox_into(&e, y);
    ox_join_heads(&e, x);
    ox_end_f32(&e, 0, y);
    return ox_done(&e);
}

const ox_importer ox_import_attention_grouped[] = {
    {"GroupQueryAttention", "com.microsoft", import_grouped},
    {0},
};
