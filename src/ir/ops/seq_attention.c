// SPDX-License-Identifier: MIT
//
// Rules of GroupedQueryAttention, RotaryEmbedding and Stft.
#include "ir/ops/seq.h"

// Sizes of an attention call, in the letters of the documentation.
typedef struct heads {
    uint32_t batch, queries, keys, past, q_heads, kv_heads, size;
} heads;

static qrn_status head_sizes(const qrn_op_call *c, heads *h) {
    const qrn_shape *q = &c->in_shape[0], *k = &c->in_shape[1];
    *h = (heads){.batch = q->dims[0],
                 .queries = q->dims[1],
                 .keys = k->dims[1],
                 .past = qrn_seq_has(c, 3) ? c->in_shape[3].dims[2] : 0,
                 .q_heads = qrn_op_u32(c, "num_heads", 0),
                 .kv_heads = qrn_op_u32(c, "kv_num_heads", 0)};
    if (h->q_heads == 0 || q->dims[2] % h->q_heads)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'num_heads': %u does not divide the %u "
                           "channels of the query",
                           h->q_heads, q->dims[2]);
    if (h->kv_heads == 0 || h->q_heads % h->kv_heads)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'kv_num_heads': %u does not divide %u heads",
                           h->kv_heads, h->q_heads);
    h->size = q->dims[2] / h->q_heads;
    if (h->keys > UINT32_MAX - h->past)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 3: %u past positions are too many", h->past);
    return QRN_OK;
}

// The mask broadcasts to [batch, heads, queries, all keys].
static qrn_status check_mask(const qrn_op_call *c, const heads *h) {
    if (!qrn_seq_has(c, 5))
        return QRN_OK;
    qrn_shape full = {4, {h->batch, h->q_heads, h->queries, h->past + h->keys}}, both;
    if (qrn_shape_broadcast(&c->in_shape[5], &full, &both) && qrn_shape_equal(&both, &full))
        return QRN_OK;
    char a[128], b[128];
    return qrn_op_fail(c, QRN_E_SHAPE, "input 5 '%s': shape %s does not broadcast to %s",
                       c->op->ins[5].name, qrn_shape_text(&c->in_shape[5], a, sizeof a),
                       qrn_shape_text(&full, b, sizeof b));
}

qrn_status qrn_rule_grouped_query_attention(const qrn_op_call *c) {
    heads h;
    QRN_TRY(head_sizes(c, &h));
    if (qrn_seq_has(c, 3) != qrn_seq_has(c, 4))
        return qrn_op_fail(c, QRN_E_OP_CONFIG, "inputs 3 and 4 belong together");
    const uint32_t fresh[] = {h.batch, h.keys, h.kv_heads * h.size};
    const uint32_t cache[] = {h.batch, h.kv_heads, h.past, h.size};
    QRN_TRY(qrn_seq_expect(c, 1, 3, fresh));
    QRN_TRY(qrn_seq_expect(c, 2, 3, fresh));
    QRN_TRY(qrn_seq_expect(c, 3, 4, cache));
    QRN_TRY(qrn_seq_expect(c, 4, 4, cache));
    QRN_TRY(check_mask(c, &h));
    QRN_TRY(qrn_seq_expect(c, 6, 1, &h.batch));
    if (qrn_op_bool(c, "is_causal", true) && h.queries > h.past + h.keys)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 0: %u positions, at most %u keys for a causal op",
                           h.queries, h.past + h.keys);
    c->out_shape[0] = c->in_shape[0];
    for (uint32_t o = 1; o < c->n_out; o++)
        c->out_shape[o] = (qrn_shape){4, {h.batch, h.kv_heads, h.past + h.keys, h.size}};
    return QRN_OK;
}

qrn_status qrn_rule_rotary_embedding(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0], *cache = &c->in_shape[1];
    uint32_t rotated = qrn_op_u32(c, "rotary_embedding_dim", 0), size = x->dims[3];
    if (rotated == 0) // as in ONNX
        rotated = size;
    if (rotated % 2 || rotated > size)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'rotary_embedding_dim': %u, expected an even number up to %u",
                           rotated, size);
    bool indexed = qrn_seq_has(c, 3);
    if (cache->rank != (indexed ? 2 : 3))
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1 '%s': rank %u, expected %u %s position_ids",
                           c->op->ins[1].name, cache->rank, indexed ? 2 : 3,
                           indexed ? "with" : "without");
    const uint32_t table[] = {cache->dims[0], rotated / 2};
    const uint32_t own[] = {x->dims[0], x->dims[2], rotated / 2};
    for (uint32_t i = 1; i <= 2; i++)
        QRN_TRY(qrn_seq_expect(c, i, cache->rank, indexed ? table : own));
    QRN_TRY(qrn_seq_expect(c, 3, 2, (const uint32_t[]){x->dims[0], x->dims[2]}));
    return qrn_rule_same_shape(c);
}

qrn_status qrn_rule_stft(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    uint32_t window = qrn_seq_has(c, 1) ? c->in_shape[1].dims[0] : 0;
    uint32_t length = qrn_op_u32(c, "frame_length", window), step = qrn_op_u32(c, "frame_step", 0);
    bool onesided = qrn_op_bool(c, "onesided", true);
    if (x->dims[2] != 1 && x->dims[2] != 2)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "input 0: last dimension is %u, expected 1 (real) or 2 (complex)",
                           x->dims[2]);
    if (onesided && x->dims[2] == 2)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'onesided': 1, expected 0 for a complex "
                           "signal");
    if (step == 0)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'frame_step': 0, expected at least 1");
    if (length == 0 || length > x->dims[1])
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'frame_length': %u, expected 1 to %u (the signal), by the "
                           "parameter or by a window",
                           length, x->dims[1]);
    QRN_TRY(qrn_seq_expect(c, 1, 1, &length));
    c->out_shape[0] = (qrn_shape){
        4, {x->dims[0], 1 + (x->dims[1] - length) / step, onesided ? length / 2 + 1 : length, 2}};
    return QRN_OK;
}
