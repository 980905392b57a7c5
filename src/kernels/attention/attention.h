// SPDX-License-Identifier: MIT
//
// Attention and what surrounds it.
//
//   gqa     in: query [B,S,Hq*D], key and value [B,T,Hkv*D], past key and value [B,Hkv,P,D] or
//   NULL,
//           mask that broadcasts to [B,Hq,S,P+T] or NULL, valid keys per batch [B] or NULL
//           out: [B,S,Hq*D]; keys and values of all P+T positions [B,Hkv,P+T,D] or NULL
//           Query head h reads key head h / (Hq/Hkv). Scores are scale * q.k + mask; keys at and
//           behind the batch's count are left out, and with `causal` those behind the query's own
//           position (the last query stands at P+T-1). A query without any key gives 0.
//   rotary  in: x [B,H,S,D], cos and sin [B,S,R/2] or, with positions [B,S], [N,R/2]
//           out: x with its first R channels of each head rotated in pairs
//   attention  in: q, k, v, further k and v or NULL, mask or NULL; out: y. All are read and written
//           with strides, so that queries, caches and results may lie in any order, and keys may
//           lie in two places: a cache and what is new. Keys and values are f32, fp16 or quantized
//           values of 8 bits with one scale, the other operands f32. For each row of queries
//             s[j] = scale * sum_d q[d] * k[j,d] + mask[j],   y = sum_j e^(s[j] - max s) * v[j] /
//             sum
//           `causal`: query i of n sees the keys up to all - n + i. A row without keys, or with
//           -infinity for all of them, is 0 (fp16 of wide range: scores below -1e5). A key with a
//           mask of -infinity, or what a rule without infinities makes of it (-65504, in the wide
//           range -131008), has the weight 0 whatever its score and need not be read. With an fp16
//           rule operands are rounded as they are read, and the sum, its product with the scale,
//           the score and the result are rounded; weights are not, and neither are the reals of
//           quantized keys and values: their scale is applied to sums.
//           RAW: all are quantized values of 8 or 16 bits with one scale, those of both places of
//           keys with the same. y is to the bit what matmul, sum with the mask, softmax and matmul
//           make one after the other; out[1..4] have the encodings of what is between, and their
//           memory is the kernel's: [batch][row][key] of products, of the same quantized values
//           read with another scale (absent: with their own), of the sum (absent without a mask)
//           and of weights. scale is 1, causal and rule are not set.
#ifndef QRN_KERNELS_ATTENTION_ATTENTION_H
#define QRN_KERNELS_ATTENTION_ATTENTION_H

#include "kernels/kernel.h"

#define QRN_ATT_FEW 16 // most rows that share keys for which these are read where they lie

typedef struct qrn_gqa_args {
    uint32_t q_heads, kv_heads;
    double scale;
    bool causal;
} qrn_gqa_args;

typedef struct qrn_rotary_args {
    bool interleaved; // pairs are neighbours; else the second half follows the first
} qrn_rotary_args;

// Where an operand lies: its first element, and how far apart neighbours are. Of queries, mask and
// result by batch (two dimensions), row (two), column; of keys and values by batch, key, column.
enum { QRN_ATT_FIRST, QRN_ATT_BATCH0, QRN_ATT_BATCH1 };
enum { QRN_ATT_ROW0 = 3, QRN_ATT_ROW1, QRN_ATT_COL, QRN_ATT_ROW_STRIDES };
enum { QRN_ATT_KEY = 3, QRN_ATT_KEY_COL, QRN_ATT_KEY_STRIDES };
enum { QRN_ATT_Q, QRN_ATT_K, QRN_ATT_V, QRN_ATT_MORE_K, QRN_ATT_MORE_V, QRN_ATT_MASK, QRN_ATT_IN };
enum { QRN_ATT_Y, QRN_ATT_PRODUCTS, QRN_ATT_SCALED, QRN_ATT_MASKED, QRN_ATT_WEIGHTS, QRN_ATT_OUT };

typedef struct qrn_attention_args {
    uint32_t batch[2]; // matrices of keys
    uint32_t rows[2];  // that share one: heads of a group, queries
    uint32_t keys[2];  // of k and v; of what is in MORE_K and MORE_V, 0: absent
    uint32_t depth;    // of queries and keys
    uint32_t width;    // of values
    uint32_t q[QRN_ATT_ROW_STRIDES], mask[QRN_ATT_ROW_STRIDES], y[QRN_ATT_ROW_STRIDES];
    uint32_t k[QRN_ATT_KEY_STRIDES], v[QRN_ATT_KEY_STRIDES];
    uint32_t more_k[QRN_ATT_KEY_STRIDES], more_v[QRN_ATT_KEY_STRIDES];
    double scale;
    bool causal;
    uint32_t rule; // qrn_fp16_rule; OFF and AS_F32: nothing is rounded
} qrn_attention_args;

extern const qrn_family qrn_family_attention; // F32, RAW
// Is there a vector row for a RAW call, on CPUs that have vectors? Without one the separate steps
// are faster.
bool qrn_attention_q_works(const qrn_kcall *k);
extern const qrn_family qrn_family_gqa;    // F32, F64; in[6] of any integer type
extern const qrn_family qrn_family_rotary; // F32, F64; in[3] of any integer type

#endif
