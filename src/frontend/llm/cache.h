// SPDX-License-Identifier: MIT
//
// A language model in progress: its graphs, the keys and values of all positions so far, and the
// buffers of an execution, all allocated once. Graphs with a past of the same length read one
// cache; others have one of their own, and new rows go to all of them.
#ifndef QRN_FRONTEND_LLM_CACHE_H
#define QRN_FRONTEND_LLM_CACHE_H

#include "frontend/llm/rope.h"
#include "frontend/llm/signature.h"

typedef struct ql_model ql_model;

// Memory for the cache that the accelerator shares; zeroed: ordinary memory.
typedef struct ql_memory {
    void *ctx;
    void *(*alloc)(void *ctx, size_t bytes); // 64-byte aligned, cleared; NULL: no memory
    void (*free)(void *ctx, void *p);
    void (*written)(void *ctx, uint32_t n); // (optional) new rows of n positions are in it
} ql_memory;

typedef struct ql_model_info {
    uint32_t vocab, layers, kv_heads, head_dim;
    uint32_t positions;     // the most that a conversation can have
    uint32_t largest_chunk; // tokens that one execution computes at most
    size_t cache_bytes;
    bool shared; // the cache is in `memory`
} ql_model_info;

// The graphs must outlive it. The message of a failure says what the graphs lack.
qrn_status ql_model_make(const ql_graph *graphs, uint32_t n, const ql_rope *rope,
                         const ql_memory *memory, ql_model **out);
void ql_model_close(ql_model *m); // NULL is fine
ql_model_info ql_model_describe(const ql_model *m);

// Computes the next tokens, in as many executions as that takes; fewer where `is_over` (optional)
// says so between two of them. *done is how many were. `logits`: of the last one, vocab numbers
// that the caller may change until the next call.
typedef struct ql_fed {
    uint32_t done, executions;
    float *logits;
} ql_fed;
qrn_status ql_model_feed(ql_model *m, const uint32_t *tokens, uint32_t n, bool (*is_over)(void *),
                         void *ctx, ql_fed *out);
// Positions so far.
uint32_t ql_model_position(const ql_model *m);
// Forgets all positions from here on.
void ql_model_rewind(ql_model *m, uint32_t position);

#endif
