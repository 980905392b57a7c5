// SPDX-License-Identifier: MIT
//
// What the inputs and outputs of a language model's graph are for, found by their names and shapes:
//
//   inputs   ids [1,T]; cos, sin [1,1,T,hd]; mask [1,..,T,P+T]; past_k_i, past_v_i [1,kv,P,hd]
//   outputs  logits [1,T,vocab]; new_k_i, new_v_i [1,kv,T,hd]
//
// In place of cos and sin there may be positions [1,T]. Where the graph says so, keys lie with the
// numbers of a head before the positions: past_k_i [1,kv,hd,P], new_k_i [1,kv,hd,T]. The mask may
// be integers, 1 for what is seen, with one row for all tokens [1,P+T]: the graph then hides later
// tokens from earlier ones itself. Outputs may hold the past before the new rows [1,kv,P+T,hd], and
// the logits of one token alone [1,1,vocab]: that of the last row, or the one whose row is in the
// input last [1].
//
// A graph may update its past in place: outputs [1,kv,P,hd] as the inputs, with the new rows where
// the position is. Its mask has P columns, and the P positions include the new tokens. It may have,
// instead of a mask, lengths (the position of the last token), and total (of all tokens); it may
// rotate by positions that it finds in them.
// T tokens are computed by an execution, P are remembered from before (0: the graph has no past),
// i counts the layers. The caller writes the new rows into its cache.
#ifndef QRN_FRONTEND_LLM_SIGNATURE_H
#define QRN_FRONTEND_LLM_SIGNATURE_H

#include "base/arena.h"
#include "base/status.h"

#include "QnnTypes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QL_MAX_RANK 8
#define QL_ABSENT UINT32_MAX

// An input or output. Fixed-point types: real = scale * (value + offset).
typedef struct ql_tensor {
    const char *name;
    Qnn_DataType_t type;
    uint32_t rank, dims[QL_MAX_RANK];
    float scale;
    int32_t offset;
} ql_tensor;

// A graph that can be executed, whoever does it.
typedef struct ql_graph {
    const char *name, *file; // for messages
    const ql_tensor *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    bool key_columns; // keys are [kv, hd, positions]
    void *ctx;
    // Buffers in the order of the inputs and outputs, dense and aligned to 64 bytes. A failure has
    // its message.
    qrn_status (*execute)(void *ctx, const void *const *inputs, void *const *outputs);
} ql_graph;

typedef struct ql_signature {
    uint32_t tokens, past; // T, P
    uint32_t layers, kv_heads, head_dim, vocab;
    uint32_t logit_rows;                             // T, or 1: of the last token
    uint32_t last;                                   // input that chooses it, or QL_ABSENT
    uint32_t new_rows;                               // of new_k_i: T, P + T, or P if in place
    uint32_t mask_rows;                              // T, or 1: for all tokens
    uint32_t ids, cos, sin, positions, mask, logits; // among inputs or outputs, or QL_ABSENT
    uint32_t lengths, total;                         // inputs, or QL_ABSENT
    bool key_columns;
    bool in_place;                   // outputs of the cache belong into the memory of the inputs
    const uint32_t *past_k, *past_v; // by layer; NULL without a past
    const uint32_t *new_k, *new_v;   // by layer
} ql_signature;

// The message of a failure names the graph, what is missing or of another shape, and what is there.
qrn_status ql_signature_find(const ql_graph *g, qrn_arena *arena, ql_signature *out);
// Do two graphs belong to one model? The message says in what they differ.
qrn_status ql_signature_match(const ql_graph *a, const ql_signature *x, const ql_graph *b,
                              const ql_signature *y);

// Elements and bytes of a dense tensor; 0 bytes: of a type that is not supported here.
size_t ql_tensor_count(const ql_tensor *t);
size_t ql_tensor_bytes(const ql_tensor *t);
// Bytes of one element.
size_t ql_element_bytes(Qnn_DataType_t type);
// Plain integers of 32 or 64 bits.
bool ql_is_integer(Qnn_DataType_t type);
void ql_integer_store(Qnn_DataType_t type, uint32_t value, void *buffer, size_t at);
// Real numbers into elements from `at` on, rounded and clamped to what the type has, and back.
void ql_tensor_store(const ql_tensor *t, const float *from, size_t n, void *buffer, size_t at);
void ql_tensor_load(const ql_tensor *t, const void *buffer, size_t at, size_t n, float *to);
// Do both hold a real number as the same bits?
bool ql_tensor_same_numbers(const ql_tensor *a, const ql_tensor *b);

#endif
