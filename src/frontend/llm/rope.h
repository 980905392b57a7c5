// SPDX-License-Identifier: MIT
//
// Angles of rotary position embeddings, as a model's configuration says.
#ifndef QRN_FRONTEND_LLM_ROPE_H
#define QRN_FRONTEND_LLM_ROPE_H

#include "base/status.h"

#include <stdint.h>

typedef enum ql_rope_scaling {
    QL_ROPE_PLAIN,
    QL_ROPE_LINEAR,
    QL_ROPE_LLAMA3,
    QL_ROPE_YARN
} ql_rope_scaling;

typedef struct ql_rope {
    double theta; // base of the frequencies; 0: not known
    ql_rope_scaling scaling;
    double factor;              // all but PLAIN
    double low_freq, high_freq; // LLAMA3: factors of the original length
    double original_positions;  // LLAMA3, YARN
    // YARN: turns within the original length from which a frequency stays, and up to which it is
    // divided by the factor; what cos and sin are multiplied by, 0: 0.1 ln(factor) + 1.
    double beta_fast, beta_slow, amplitude;
} ql_rope;

// Frequencies of one head: n is half its length.
void ql_rope_frequencies(const ql_rope *r, uint32_t n, float *out);
// What cos and sin are multiplied by.
float ql_rope_amplitude(const ql_rope *r);
// cos and sin of a position, in rows of `columns` numbers (n, or 2 n: repeated).
void ql_rope_row(const float *frequencies, uint32_t n, float amplitude, uint32_t position,
                 uint32_t columns, float *cosines, float *sines);

#endif
