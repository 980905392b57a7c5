// SPDX-License-Identifier: MIT
//
// Generating text: a prompt is computed in chunks, then one token follows another until the model,
// a stop text, a limit or the caller ends it.
#ifndef QRN_FRONTEND_LLM_GENERATE_H
#define QRN_FRONTEND_LLM_GENERATE_H

#include "frontend/llm/cache.h"
#include "frontend/llm/sample.h"
#include "frontend/llm/tokenizer.h"

typedef enum ql_end {
    QL_END_TOKEN,   // a token that ends a text
    QL_END_STOP,    // a stop text
    QL_END_LIMIT,   // max_tokens
    QL_END_CONTEXT, // no position is left
    QL_END_ASKED    // the caller
} ql_end;
const char *ql_end_text(ql_end end); // in a word

typedef struct ql_generate_options {
    ql_sampling sampling;
    uint32_t max_tokens; // 0: as many as the context has room for
    const uint32_t *ends;
    uint32_t n_ends; // tokens that end a text
    const char *const *stops;
    uint32_t n_stops;           // texts that end it, and are not part of it
    bool inside;                // the text goes on from the prompt: a space at its begin stays
    bool (*is_over)(void *ctx); // (optional) asked after each token
    void (*text)(void *ctx, const char *text, size_t n);       // (optional) as it comes
    void (*token)(void *ctx, uint32_t token, uint32_t number); // (optional) as it is chosen
    double (*now_ms)(void);
    void *ctx;
} ql_generate_options;

typedef struct ql_generated {
    ql_bytes text;
    ql_ids tokens; // generated ones; that which ended the text is not among them
    ql_end end;
    uint32_t prompt_tokens;
    uint32_t prompt_executions, decode_executions;
    double prompt_ms;      // computing the prompt
    double first_token_ms; // from the begin to the first token
    double decode_ms;      // computing the tokens behind the first one
} ql_generated;

// Continues the model from its position. The prompt has at least one token. On failure what was
// generated so far is in *out, too.
qrn_status ql_generate(ql_model *m, const ql_tokenizer *t, const uint32_t *prompt, size_t n,
                       const ql_generate_options *options, ql_generated *out);
void ql_generated_free(ql_generated *g);

#endif
