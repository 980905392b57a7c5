// SPDX-License-Identifier: MIT
//
// Strips of depthwise16.h for AVX-512 VNNI: an instruction adds two taps to each of sixteen sums.
// Windows of 3 by 3 and 5 by 5 are unrolled, four output vectors at a time, and each input column
// is unpacked once for all the windows it lies in; other windows take a plain loop.
#include "kernels/conv/depthwise16.h"
#include "kernels/conv/depthwise_avx512.h"
#include "kernels/conv/depthwise_wide.h"

#include <string.h>

#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

// _mm512_dpwssd_epi32, around which gcc 12 copies accumulators.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i w) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}

// Eight results; sums and multipliers are such that they fit 32 bits.
INLINE __m256i round_eight(__m256i acc, const double *m, const double *start) {
    __m512d v = _mm512_fmadd_pd(_mm512_cvtepi32_pd(acc), _mm512_load_pd(m), _mm512_load_pd(start));
    return _mm512_cvt_roundpd_epi32(v, DOWN);
}

INLINE __m512i rounded(const qrn_depthwise16_block *b, const int h, __m512i acc) {
    __m256i low = round_eight(_mm512_castsi512_si256(acc), b->m[h], b->start[h]);
    __m256i high = round_eight(_mm512_extracti64x4_epi64(acc, 1), b->m[h] + 8, b->start[h] + 8);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

typedef struct constants {
    __m512i flip;
} constants;

INLINE constants constants_of(const qrn_strip *s) {
    return (constants){_mm512_set1_epi16((short)((const qrn_depthwise16_job *)s->job)->y_flip)};
}

INLINE void finish(const constants *c, const target *to, const bool whole,
                   const qrn_depthwise16_block *b, size_t cell, const __m512i acc[2]) {
    __m512i v = _mm512_packus_epi32(rounded(b, 0, acc[0]), rounded(b, 1, acc[1]));
    store(to, whole, cell, _mm512_xor_si512(v, c->flip));
}

// A tile of a window of k by k.
INLINE void tile(const qrn_strip *s, const constants *c, const target *to, const bool whole,
                 size_t cell, const int n, const int k, const int share) {
    const qrn_depthwise16_block *b = qrn_depthwise16_block_of(s->job, s->index);
    const int groups = (k + 1) / 2;
    const uint8_t *x[5];
    __m512i acc[LONG][2];
#pragma GCC unroll 5
    for (int m = 0; m < k; m++)
        x[m] = s->x[m] + cell * (64 / to->pieces);
#pragma GCC unroll 7
    for (int o = 0; o < n; o++)
        for (int h = 0; h < 2; h++)
            acc[o][h] = _mm512_load_si512(b->bias[h]);
#pragma GCC unroll 20
    for (int i = 0; i < columns_of(n, k, share); i++)
#pragma GCC unroll 3
        for (int g = 0; g < groups; g++) {
            const size_t at = column_at(s, n, k, share, i);
            __m512i r0 = _mm512_loadu_si512(x[2 * g] + at), r1 = r0;
            if (2 * g + 1 < k) // else it meets weights of 0
                r1 = _mm512_loadu_si512(x[2 * g + 1] + at);
            __m512i low = _mm512_unpacklo_epi16(r0, r1), high = _mm512_unpackhi_epi16(r0, r1);
#pragma GCC unroll 7
            for (int o = 0; o < n; o++) {
                const int t = tap_of(n, k, share, i, o);
                if (t < 0 || t >= k)
                    continue;
                const int16_t *w = b->w + (t * groups + g) * 64;
                acc[o][0] = dot(acc[o][0], low, _mm512_load_si512(w));
                acc[o][1] = dot(acc[o][1], high, _mm512_load_si512(w + 32));
            }
        }
#pragma GCC unroll 7
    for (int o = 0; o < n; o++)
        finish(c, to, whole, b, cell + (size_t)o * to->pieces, acc[o]);
}

// Any window, one output vector.
static __attribute__((noinline)) void single(const qrn_strip *s, size_t cell) {
    const qrn_depthwise16_job *j = s->job;
    const qrn_depthwise16_block *b = qrn_depthwise16_block_of(j, s->index);
    __m512i acc[2] = {_mm512_load_si512(b->bias[0]), _mm512_load_si512(b->bias[1])};
    const int16_t *w = b->w;
    for (size_t t = 0; t < s->taps; t++)
        for (size_t g = 0; g < j->groups; g++, w += 64) {
            size_t at = cell * (64 / s->block->pieces) + s->tap[t];
            __m512i r0 = _mm512_loadu_si512(s->x[2 * g] + at), r1 = r0;
            if (2 * g + 1 < s->rows)
                r1 = _mm512_loadu_si512(s->x[2 * g + 1] + at);
            acc[0] = dot(acc[0], _mm512_unpacklo_epi16(r0, r1), _mm512_load_si512(w));
            acc[1] = dot(acc[1], _mm512_unpackhi_epi16(r0, r1), _mm512_load_si512(w + 32));
        }
    const constants c = constants_of(s);
    const target to = target_of(s);
    finish(&c, &to, to.whole, b, cell, acc);
}

STRIP_FUNCTIONS

#define STRIP strip
#include "kernels/conv/depthwise_strips.inc"

static void pack(const int8_t *const *rows, void *packed) {
    __m512i r0 = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)rows[0]));
    __m512i r1 = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)rows[1]));
    _mm512_store_si512(packed, _mm512_unpacklo_epi16(r0, r1));
    _mm512_store_si512((int8_t *)packed + 64, _mm512_unpackhi_epi16(r0, r1));
}

qrn_status qrn_depthwise16_avx512vnni(const qrn_kcall *k) {
    static const qrn_strip_kernel kernel = {strip_rows, strip_channels, pack};
    return qrn_depthwise16_run(k, &kernel, qrn_depthwise_wide_avx512);
}
