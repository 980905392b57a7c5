// SPDX-License-Identifier: MIT
//
// What the files of depthwise16.h for AVX-512 VNNI share: products, rounding and stores.
//
// Sums and results pass between 32 bits and doubles by the bits of numbers from 2^52 on, whose last
// ones are a whole number.
#ifndef QRN_KERNELS_CONV_DEPTHWISE16_AVX512_H
#define QRN_KERNELS_CONV_DEPTHWISE16_AVX512_H

#include "kernels/conv/depthwise16.h"
#include "kernels/conv/depthwise_avx512.h"

#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define SUMS_AT 0x1.000008p52 // 2^52 + 2^31: a sum of 0
#define RESULTS_AT 0x1.8p52   // a result of 0

// _mm512_dpwssd_epi32, around which gcc 12 copies accumulators.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i w) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}

typedef struct constants {
    __m512i flip;
    __m512i high;  // dword of SUMS_AT
    __m512i cells; // of quadwords: those of two cells that lie in one vector
    // Copies of what a strip says: stores of words might change it, as far as the compiler knows.
    const qrn_depthwise16_terms *terms;
    size_t cell, channels;
} constants;

INLINE constants constants_of(const qrn_strip *s, const int units) {
    (void)units;
    return (constants){
        .flip = _mm512_set1_epi16((short)((const qrn_depthwise16_job *)s->plan->job)->y_flip),
        .high = _mm512_set1_epi32(0x43300000),
        .cells = _mm512_setr_epi64(0, 4, 2, 6, 1, 5, 3, 7),
        .terms = s->terms,
        .cell = s->cell,
        .channels = s->block->channels,
    };
}

// Eight results, as the lower halves of quadwords; they fit 32 bits.
INLINE __m512 round_eight(__m512i sums, const double *m, const double *start) {
    __m512d v = _mm512_sub_pd(_mm512_castsi512_pd(sums), _mm512_set1_pd(SUMS_AT));
    v = _mm512_fmadd_pd(v, _mm512_load_pd(m), _mm512_load_pd(start));
    return _mm512_castpd_ps(_mm512_add_round_pd(v, _mm512_set1_pd(RESULTS_AT), DOWN));
}

INLINE __m512i rounded(const qrn_depthwise16_terms *b, const constants *c, const int unit,
                       __m512i acc) {
    __m512 low = round_eight(_mm512_unpacklo_epi32(acc, c->high), b->m[unit][0], b->start[unit][0]);
    __m512 more =
        round_eight(_mm512_unpackhi_epi32(acc, c->high), b->m[unit][1], b->start[unit][1]);
    return _mm512_castps_si512(_mm512_shuffle_ps(low, more, 0x88));
}

INLINE void store_unit(const constants *c, uint8_t *y, __m256i v) {
    if (c->channels == 16) // masked stores are slow
        _mm256_storeu_si256((__m256i *)y, v);
    else
        _mm256_mask_storeu_epi16(y, (__mmask16)((1u << c->channels) - 1), v);
}

// Results of 2 / units cells, of which only the first counts where `one`: of two units, or cells.
INLINE void store(const constants *c, const int units, const bool one, uint8_t *y, __m512i a,
                  __m512i b) {
    __m512i v = _mm512_xor_si512(_mm512_packus_epi32(a, b), c->flip);
    if (units == 2) {
        _mm512_storeu_si512(y, v);
        return;
    }
    v = _mm512_permutexvar_epi64(c->cells, v);
    store_unit(c, y, _mm512_castsi512_si256(v));
    if (!one)
        store_unit(c, y + c->cell, _mm512_extracti64x4_epi64(v, 1));
}

#endif
