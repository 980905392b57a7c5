// SPDX-License-Identifier: MIT
//
// Requantization to 8 bits by AVX-512: four vectors of accumulators at a time become 64 bytes, in
// the form for vectors of requant8.h. Sums of which some result is not sure are kept aside; the
// double decides on them when the tile is done, so that no accumulator has to survive a call.
#ifndef QRN_KERNELS_GEMM_REQUANT8_AVX512_H
#define QRN_KERNELS_GEMM_REQUANT8_AVX512_H

#include "kernels/gemm/epilogue/requant8.h"

#include <immintrin.h>

// Constants of a panel.
typedef struct qrn_requant8_vectors {
    __m512 m[2], base;
    __m512i sure, ones, low, high, flip, order;
    bool plain; // u is the result
} qrn_requant8_vectors;

static inline __attribute__((always_inline)) qrn_requant8_vectors qrn_requant8_vectors_of(
    const qrn_requant8 *r) {
    // Packing leaves dword v of each quarter to vector v.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return (qrn_requant8_vectors){
        .m = {_mm512_loadu_ps(r->m), _mm512_loadu_ps(r->m + 16)},
        .base = _mm512_set1_ps(r->base),
        .sure = _mm512_set1_epi32((int32_t)r->sure),
        .ones = _mm512_set1_epi16((int16_t)QRN_REQUANT8_ONES),
        .low = _mm512_set1_epi8((char)r->low),
        .high = _mm512_set1_epi8((char)r->high),
        .flip = _mm512_set1_epi8((char)r->flip),
        .order = order,
        .plain = r->low == 0 && r->high == UINT8_MAX && r->flip == 0,
    };
}

// The bits of t but the fraction; lanes that are not sure leave *sure.
static inline __attribute__((always_inline)) __m512i qrn_requant8_bits(
    const qrn_requant8_vectors *c, __m512i acc, __m512 m, __mmask16 *sure) {
    __m512i bits = _mm512_castps_si512(_mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), m, c->base));
    *sure = _mm512_mask_test_epi32_mask(*sure, bits, c->sure);
    return _mm512_srai_epi32(bits, QRN_REQUANT8_FRACTION);
}

// u of acc[0], acc[1], acc[2], acc[3], but not in order and not clamped to less than 256 values.
// vectors: of a row, 1 or 2, which have multipliers in turn. *sure: the lanes in which all four
// results are sure.
static inline __attribute__((always_inline)) __m512i qrn_requant8_four(
    const qrn_requant8_vectors *c, const __m512i *acc, const int vectors, __mmask16 *sure) {
    *sure = 0xffff;
    __m512i q0 = qrn_requant8_bits(c, acc[0], c->m[0], sure);
    __m512i q1 = qrn_requant8_bits(c, acc[1], c->m[vectors - 1], sure);
    __m512i q2 = qrn_requant8_bits(c, acc[2], c->m[0], sure);
    __m512i q3 = qrn_requant8_bits(c, acc[3], c->m[vectors - 1], sure);
    __m512i words = _mm512_subs_epu16(_mm512_packus_epi32(q0, q1), c->ones);
    __m512i more = _mm512_subs_epu16(_mm512_packus_epi32(q2, q3), c->ones);
    return _mm512_packus_epi16(words, more);
}

// The same in order: for the whole range of unsigned bytes, and for any range.
static inline __attribute__((always_inline)) __m512i qrn_requant8_order(
    const qrn_requant8_vectors *c, __m512i bytes) {
    return _mm512_permutexvar_epi32(c->order, bytes);
}
static inline __attribute__((always_inline)) __m512i qrn_requant8_clamp(
    const qrn_requant8_vectors *c, __m512i bytes) {
    bytes = _mm512_min_epu8(_mm512_max_epu8(bytes, c->low), c->high);
    return qrn_requant8_order(c, _mm512_xor_si512(bytes, c->flip));
}

// The results of some lanes of a vector of sums by the definition; m: the number of their
// multiplier.
static inline void qrn_requant8_exact_lanes(const qrn_requant8 *r, __m512i acc, size_t m,
                                            __mmask16 lanes, uint8_t *y) {
    const __m512d zero_half = _mm512_set1_pd(r->zero_half);
    const __m512d lo = _mm512_set1_pd((double)r->lo), hi = _mm512_set1_pd((double)r->hi);
    __m256i half[2] = {_mm512_castsi512_si256(acc), _mm512_extracti64x4_epi64(acc, 1)};
    for (int i = 0; i < 2; i++) {
        __m512d t = _mm512_cvtepi32_pd(half[i]);
        t = _mm512_fmadd_pd(t, _mm512_loadu_pd(r->exact + m + 8 * i), zero_half);
        t = _mm512_roundscale_pd(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        t = _mm512_min_pd(_mm512_max_pd(t, lo), hi); // a NaN becomes lo
        half[i] = _mm512_cvttpd_epi32(t);
    }
    __m512i bytes = _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
    _mm_mask_storeu_epi8(y, lanes, _mm512_cvtepi32_epi8(bytes));
}

#endif
