// SPDX-License-Identifier: MIT
//
// Rotary position embeddings. Frequencies and angles are rounded to float32 as where models are
// trained: at positions of thousands that decides the last digits of an angle.
#include "frontend/llm/rope.h"

#include <math.h>

#define PI 3.14159265358979323846

// Llama 3.1: long waves are stretched, short ones stay, those between are mixed.
static double llama3(const ql_rope *r, double f) {
    double wave = 2 * PI / f;
    if (wave < r->original_positions / r->high_freq)
        return f;
    if (wave > r->original_positions / r->low_freq)
        return f / r->factor;
    double smooth = (r->original_positions / wave - r->low_freq) / (r->high_freq - r->low_freq);
    return (1 - smooth) * f / r->factor + smooth * f;
}

// YaRN: the pair of a head whose frequency makes so many turns within the original length.
static double pair_of(const ql_rope *r, uint32_t n, double turns) {
    return n * log(r->original_positions / (turns * 2 * PI)) / log(r->theta);
}

// Pairs up to `low` stay, from `high` on they are stretched, those between are mixed.
static double yarn(const ql_rope *r, uint32_t n, uint32_t i, double f) {
    double low = fmax(floor(pair_of(r, n, r->beta_fast)), 0);
    double high = fmin(ceil(pair_of(r, n, r->beta_slow)), 2.0 * n - 1);
    double ramp = (i - low) / (low == high ? 0.001 : high - low);
    ramp = fmin(fmax(ramp, 0), 1);
    return f / r->factor * ramp + f * (1 - ramp);
}

float ql_rope_amplitude(const ql_rope *r) {
    if (r->scaling != QL_ROPE_YARN)
        return 1;
    if (r->amplitude > 0)
        return (float)r->amplitude;
    return r->factor > 1 ? (float)(0.1 * log(r->factor) + 1) : 1;
}

void ql_rope_frequencies(const ql_rope *r, uint32_t n, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        double f = pow(r->theta, -(double)i / n);
        out[i] = (float)(r->scaling == QL_ROPE_LINEAR   ? f / r->factor
                         : r->scaling == QL_ROPE_LLAMA3 ? llama3(r, f)
                         : r->scaling == QL_ROPE_YARN   ? yarn(r, n, i, f)
                                                        : f);
    }
}

void ql_rope_row(const float *frequencies, uint32_t n, float amplitude, uint32_t position,
                 uint32_t columns, float *cosines, float *sines) {
    for (uint32_t i = 0; i < columns; i++) {
        float angle = (float)position * frequencies[i % n];
        cosines[i] = amplitude * cosf(angle);
        sines[i] = amplitude * sinf(angle);
    }
}
