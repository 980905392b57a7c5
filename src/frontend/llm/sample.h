// SPDX-License-Identifier: MIT
//
// Choosing the next token from logits. The same seed gives the same tokens on every machine.
#ifndef QRN_FRONTEND_LLM_SAMPLE_H
#define QRN_FRONTEND_LLM_SAMPLE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// Zeroed: always the most probable token.
typedef struct ql_sampling {
    double temperature;    // 0: greedy
    uint32_t top_k;        // 0: all
    double top_p;          // 0 or 1: all
    double repeat_penalty; // 0 or 1: none; logits of tokens that were there are divided by it
    uint64_t seed;
} ql_sampling;

typedef struct ql_sampler ql_sampler;

// The message of a failure names the option.
qrn_status ql_sampler_make(const ql_sampling *how, uint32_t vocab, ql_sampler **out);
void ql_sampler_close(ql_sampler *s); // NULL is fine
// A token that counts for the penalty: of the prompt, or chosen.
void ql_sampler_note(ql_sampler *s, uint32_t token);
// Chooses one; changes the logits. Fails on NaN, and where no token is left.
qrn_status ql_sampler_choose(ql_sampler *s, float *logits, uint32_t *token);

#endif
