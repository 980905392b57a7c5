// SPDX-License-Identifier: MIT
//
// Models of the Llama family in a GGUF file: their sizes, and which tensor is what. Everything that
// would change a result is checked: a tensor or a setting that the graphs have no place for is an
// error, not left out.
#ifndef QRN_FRONTEND_LLM_LLAMA_H
#define QRN_FRONTEND_LLM_LLAMA_H

#include "frontend/llm/gguf.h"

// A matrix [rows, cols] that a row of activations of `cols` numbers is multiplied by.
typedef struct ql_linear {
    const ql_gguf_tensor *weight;
    const ql_gguf_tensor *bias; // or NULL
    uint32_t rows, cols;
    uint32_t heads; // whose rotated pairs of rows lie interleaved in the file; 0: as they are
} ql_linear;

typedef struct ql_llama_layer {
    const ql_gguf_tensor *attn_norm, *ffn_norm;
    ql_linear q, k, v, o, gate, up, down;
} ql_llama_layer;

typedef struct ql_llama {
    const ql_gguf *file;
    const char *arch;       // "llama"
    const char *class_name; // of Hugging Face: "LlamaForCausalLM"
    uint32_t hidden, ff, heads, kv_heads, head_dim, vocab, context;
    uint32_t layers; // that are used
    double eps, rope_theta;
    double rope_factor;  // of Llama 3's scaled positions (8192 before); 0: not scaled
    ql_linear embedding; // [vocab, hidden]
    ql_linear head;      // the same tensor where they are tied
    const ql_gguf_tensor *output_norm;
    ql_llama_layer *layer;
} ql_llama;

// Reads what is needed; the first `layers` layers alone unless it is 0. Lists are in the arena.
qrn_status ql_llama_read(const ql_gguf *g, uint32_t layers, qrn_arena *arena, ql_llama *out);

// Row of the file that becomes row r: rotated pairs are half a head apart in the graphs.
uint32_t ql_linear_row(const ql_linear *l, uint32_t r);

#endif
