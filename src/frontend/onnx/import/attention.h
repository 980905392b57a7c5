// SPDX-License-Identifier: MIT
//
// What the attention importers share: softmax(scale Q K^T + bias) V on tensors with one dimension
// for the heads, and the masks that go into the bias. Everything is f32, also where the
// model is f16: scores, exponents and sums lose too much there.
#ifndef QRN_FRONTEND_ONNX_IMPORT_ATTENTION_H
#define QRN_FRONTEND_ONNX_IMPORT_ATTENTION_H

#include "frontend/onnx/import/compose.h"

#define OX_UNBOUNDED (-1) // a window that does not end

typedef struct ox_attention {
    uint32_t batch, heads, kv_heads; // kv_heads divides heads
    uint32_t queries, keys, past;    // keys counts those of the past too
    uint32_t head_size, v_head_size;
    double scale;
    float softcap;               // 0: none
    Qnn_DataType_t softmax_type; // in which softmax is computed, f32 or f16
    qc_tensor *bias;             // added to the scores, broadcast to [B, H, S, T]; NULL: none
    float hidden;                // what `bias` has for keys that are not seen: -inf, or enough
    bool may_hide_all;           // a row of `bias` may be hidden throughout: its result is 0
    qc_tensor *to;               // where the result goes, NULL: a new tensor
    // (optional) In 16 bits: whose encodings the result and the weights have.
    const qc_tensor *like, *weights_like;
    // The steps on the way, set by ox_attend: [B, H, S, T].
    qc_tensor *scores, *capped, *biased, *weights;
} ox_attention;

// Fails unless input i is float32, float16 or bfloat16.
qrn_status ox_need_real(const ox_import *im, const ox_node *n, uint32_t i);
qc_tensor *ox_in_f32(ox_expr *e, uint32_t i);
qc_tensor *ox_in_i32(ox_expr *e, uint32_t i);
// f32 tensor that output i is computed in; ended by ox_end_f32.
qc_tensor *ox_out_f32(ox_expr *e, uint32_t i);
void ox_end_f32(ox_expr *e, uint32_t i, const qc_tensor *y);

// [B, S, H * D] as [B, H, S, D], and back (the last op of which may be sent to a tensor).
qc_tensor *ox_split_heads(ox_expr *e, qc_tensor *x, uint32_t heads);
qc_tensor *ox_join_heads(ox_expr *e, qc_tensor *x);

// What is added to scores that must not count: in 16 bits so much that their exponentials vanish.
float ox_hidden_score(ox_expr *e, const ox_attention *a, const qc_tensor *q, const qc_tensor *k);

// q [B, H, S, D], k [B, Hkv, T, D], v [B, Hkv, T, Dv] -> [B, H, S, Dv]
qc_tensor *ox_attend(ox_expr *e, ox_attention *a, qc_tensor *q, qc_tensor *k, qc_tensor *v);

// A copy of x as output i.
void ox_copy_out(ox_expr *e, uint32_t i, qc_tensor *x);

// --- masks: each adds to a->bias

// Which keys a query may see by position. Query s stands at p = offset + s and sees the keys from
// p - left to p + right.
typedef struct ox_window {
    int64_t left, right; // OX_UNBOUNDED: to the end
} ox_window;

// offset is the number of keys before the first query; hidden keys get `value`.
void ox_mask_window(ox_expr *e, ox_attention *a, ox_window w, uint32_t offset, float value);
// The same for sequences that end at lengths[b] (i32, [B]): offset is lengths[b] - queries, and
// keys from lengths[b] on are hidden.
void ox_mask_lengths(ox_expr *e, ox_attention *a, ox_window w, qc_tensor *lengths, float value);
// Booleans: what is false is hidden.
qc_tensor *ox_mask_bool(ox_expr *e, qc_tensor *mask, float value);
void ox_mask_add(ox_expr *e, ox_attention *a, qc_tensor *bias);

// Rotation of pairs (x1, x2) of the first 2 * (last dimension of cos) elements of the last
// dimension of x by angles whose cos and sin are broadcast; halves or neighbours form the pairs.
qc_tensor *ox_rotate(ox_expr *e, qc_tensor *x, qc_tensor *cos, qc_tensor *sin, bool neighbours);

#endif
