// SPDX-License-Identifier: MIT
//
// Numbers of GGUF's tensors. Blocks of 32 have an fp16 scale (and minimum); those of 256 ("K") have
// scales of 6 or 8 bits for parts of the block, which are scaled themselves.
#ifndef QRN_FRONTEND_LLM_GGUF_DECODE_H
#define QRN_FRONTEND_LLM_GGUF_DECODE_H

#include "frontend/llm/gguf.h"

// Can the type be decoded? The failure lists those that can.
qrn_status ql_gguf_decodable(const ql_gguf *g, const ql_gguf_tensor *t);
// One row of a tensor that can be decoded: dims[0] numbers. `row` counts over all other dimensions.
void ql_gguf_row(const ql_gguf_tensor *t, uint64_t row, float *out);

// A block of 32 of Q4_1 or Q4_K: its numbers are scale * q + min, q from 0 to 15.
typedef struct ql_block_min {
    float scale, min;
} ql_block_min;
ql_block_min ql_gguf_min(const ql_gguf_tensor *t, uint64_t row, uint64_t block);

#endif
