// SPDX-License-Identifier: MIT
//
// What the files of depthwise8.h for AVX-512 VNNI share: products, rounding and stores.
#ifndef QRN_KERNELS_CONV_DEPTHWISE8_AVX512_H
#define QRN_KERNELS_CONV_DEPTHWISE8_AVX512_H

#include "kernels/conv/depthwise8.h"
#include "kernels/conv/depthwise_avx512.h"

// _mm512_dpbusd_epi32, around which gcc 12 copies accumulators.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i w) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}

typedef struct constants {
    __m512 start;
    __m512i edge;
    __m512i words; // the upper words of two vectors of 16 sums, in the order of channels
    __m512i cells; // of quadwords: those of cells that lie in one vector
    __m512i flip;
    // Copies of what a strip says: stores of bytes might change it, as far as the compiler knows.
    const qrn_depthwise8_terms *terms;
    size_t cell, channels;
} constants;

// Words of the 16 sums of units a and b, or of cells a and b; the highest bit of an index says
// which. See qrn_depthwise8_lane.
static const uint8_t word_order[5][32] = {
    [1] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
           33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63},
    [2] = {1, 3,  5,  7,  17, 19, 21, 23, 33, 35, 37, 39, 49, 51, 53, 55,
           9, 11, 13, 15, 25, 27, 29, 31, 41, 43, 45, 47, 57, 59, 61, 63},
    [4] = {1,  3,  5,  7,  33, 35, 37, 39, 9,  11, 13, 15, 41, 43, 45, 47,
           17, 19, 21, 23, 49, 51, 53, 55, 25, 27, 29, 31, 57, 59, 61, 63},
};

INLINE constants constants_of(const qrn_strip *s, const int units) {
    const qrn_depthwise8_job *j = s->plan->job;
    return (constants){
        .start = _mm512_set1_ps(j->start),
        .edge = _mm512_set1_epi16((short)j->edge),
        .words = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)word_order[units])),
        .cells = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
        .flip = _mm512_set1_epi8((char)j->flip),
        .terms = s->terms,
        .cell = s->cell,
        .channels = s->block->channels,
    };
}

// Too large or too small a number becomes INT32_MIN, whose fraction is not sure.
INLINE __m512i fixed_point(const constants *c, __m512i acc, const float *m) {
    return _mm512_cvtps_epi32(
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), _mm512_load_ps(m), c->start));
}

// Whole parts of two vectors.
INLINE __m512i whole(const constants *c, __m512i a, __m512i b) {
    return _mm512_permutex2var_epi16(a, c->words, b);
}

INLINE void store_unit(const constants *c, uint8_t *y, __m128i v) {
    if (c->channels == 16) // masked stores are slow
        _mm_storeu_si128((__m128i *)y, v);
    else
        _mm_mask_storeu_epi8(y, (__mmask16)((1u << c->channels) - 1), v);
}

// Results of 4 / units cells, of which only the first counts where `one`.
INLINE void store(const constants *c, const int units, const bool one, uint8_t *y, __m512i a,
                  __m512i b) {
    __m512i v = _mm512_xor_si512(_mm512_packus_epi16(a, b), c->flip);
    if (units < 4)
        v = _mm512_permutexvar_epi64(c->cells, v);
    if (units == 4 || (!one && c->cell * (4 / units) == 64)) {
        _mm512_storeu_si512(y, v);
    } else if (units == 2) {
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(v));
        if (!one)
            _mm256_storeu_si256((__m256i *)(y + c->cell), _mm512_extracti64x4_epi64(v, 1));
    } else {
        store_unit(c, y, _mm512_castsi512_si128(v));
        if (one)
            return;
        store_unit(c, y + c->cell, _mm512_extracti32x4_epi32(v, 1));
        store_unit(c, y + 2 * c->cell, _mm512_extracti32x4_epi32(v, 2));
        store_unit(c, y + 3 * c->cell, _mm512_extracti32x4_epi32(v, 3));
    }
}

// Eight results of the definition, as fixed-point numbers.
INLINE __m256i decided(const qrn_requant8 *r, __m256i acc, const double *exact) {
    __m512d v = _mm512_fmadd_pd(_mm512_cvtepi32_pd(acc), _mm512_load_pd(exact),
                                _mm512_set1_pd(r->zero_half));
    v = _mm512_max_pd(v, _mm512_set1_pd((double)r->lo));
    v = _mm512_min_pd(v, _mm512_set1_pd((double)r->hi));
    return _mm512_cvt_roundpd_epi32(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

// Sixteen of them.
INLINE __m512i decided_unit(const qrn_depthwise8_job *j, const double *exact, __m512i acc) {
    __m256i low = decided(&j->requant, _mm512_castsi512_si256(acc), exact);
    __m256i high = decided(&j->requant, _mm512_extracti64x4_epi64(acc, 1), exact + 8);
    __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return _mm512_slli_epi32(_mm512_add_epi32(v, _mm512_set1_epi32(j->flip)), 16);
}

#endif
