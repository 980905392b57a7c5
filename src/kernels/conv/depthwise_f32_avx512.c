// SPDX-License-Identifier: MIT
//
// Lines of depthwise convolutions for AVX-512: sixteen channels a vector, eight cells at a time.
// Windows of 3 or 5 columns next to each other are unrolled: each input vector is read once for all
// the windows it lies in, and weights stay in registers for a line of the window.
#include "kernels/conv/depthwise_f32.h"

#include <immintrin.h>

#define VECTOR 16
typedef __m512 vector;
typedef __mmask16 mask;

static inline mask mask_of(size_t n) { return (mask)(n < VECTOR ? (1u << n) - 1 : 0xffff); }
static inline vector load(bool whole, mask m, const float *p) {
    return whole ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(m, p);
}
static inline void store(bool whole, mask m, float *p, vector v) {
    if (whole)
        _mm512_storeu_ps(p, v);
    else
        _mm512_mask_storeu_ps(p, m, v);
}
static inline vector clamped(vector v, float low, float high) {
    v = _mm512_max_ps(_mm512_set1_ps(low), v); // the second one where they are equal or one is NaN
    return _mm512_min_ps(_mm512_set1_ps(high), v);
}
static inline vector zeros(void) { return _mm512_setzero_ps(); }
static inline vector fused(vector x, vector w, vector acc) { return _mm512_fmadd_ps(x, w, acc); }

#define FN qrn_depthwise_line_avx512
#include "kernels/conv/depthwise_f32.inc"
