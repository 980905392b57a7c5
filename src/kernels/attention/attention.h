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
#ifndef QRN_KERNELS_ATTENTION_ATTENTION_H
#define QRN_KERNELS_ATTENTION_ATTENTION_H

#include "kernels/kernel.h"

typedef struct qrn_gqa_args {
    uint32_t q_heads, kv_heads;
    double scale;
    bool causal;
} qrn_gqa_args;

typedef struct qrn_rotary_args {
    bool interleaved; // pairs are neighbours; else the second half follows the first
} qrn_rotary_args;

extern const qrn_family qrn_family_gqa;    // F32, F64; in[6] of any integer type
extern const qrn_family qrn_family_rotary; // F32, F64; in[3] of any integer type

#endif
