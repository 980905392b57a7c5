// SPDX-License-Identifier: MIT
//
// Rounding of 8-bit results by AVX2: four vectors of sums, of two rows by 16 columns, become 32
// codes, in the form for wide vectors of round8.h.
#ifndef QRN_KERNELS_GEMM_ROUND8_AVX2_H
#define QRN_KERNELS_GEMM_ROUND8_AVX2_H

#include "kernels/gemm/epilogue/round8.h"

#include <immintrin.h>
#include <string.h>

// The bits of t but the fraction; lanes that are not sure become -1 in *unsure.
static inline __m256i qrn_round8_bits(const qrn_round8 *r, __m256i acc, const float *m,
                                      __m256i *unsure) {
    __m256 t =
        _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc), _mm256_loadu_ps(m), _mm256_set1_ps(r->base));
    __m256i bits = _mm256_castps_si256(t);
    __m256i fraction = _mm256_and_si256(bits, _mm256_set1_epi32((int32_t)r->sure));
    *unsure = _mm256_or_si256(*unsure, _mm256_cmpeq_epi32(fraction, _mm256_setzero_si256()));
    return _mm256_srai_epi32(bits, QRN_ROUND8_FRACTION);
}

static inline void qrn_round8_put(uint8_t *y, const uint8_t *codes, uint32_t n) {
    if (n == 16)
        memcpy(y, codes, 16);
    else
        memcpy(y, codes, n);
}

// Codes of columns [first, first + n) of two rows, n <= 16; sums: of row 0, then of row 1. The
// second row is left out unless y1.
static inline void qrn_round8_two_rows(const qrn_round8 *r, const __m256i *sums, uint32_t first,
                                       uint32_t n, uint8_t *y0, uint8_t *y1) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i ones = _mm256_set1_epi16((int16_t)QRN_ROUND8_ONES);
    __m256i unsure = _mm256_setzero_si256(), q[4];
    for (int i = 0; i < 4; i++)
        q[i] = qrn_round8_bits(r, sums[i], r->m + first + 8 * (i % 2), &unsure);
    __m256i codes = _mm256_packus_epi16(_mm256_subs_epu16(_mm256_packus_epi32(q[0], q[1]), ones),
                                        _mm256_subs_epu16(_mm256_packus_epi32(q[2], q[3]), ones));
    codes = _mm256_max_epu8(codes, _mm256_set1_epi8((char)r->low));
    codes = _mm256_min_epu8(codes, _mm256_set1_epi8((char)r->high));
    codes = _mm256_xor_si256(codes, _mm256_set1_epi8((char)r->flip));
    uint8_t out[32];
    _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(codes, order));
    uint32_t lanes = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(unsure));
    int32_t acc[32];
    if (lanes)
        memcpy(acc, sums, sizeof acc);
    for (uint32_t i = 0; lanes && i < 32; i++)
        if (lanes >> i % 8 & 1)
            out[i] = qrn_round8_exact(r, first + i % 16, acc[i]);
    qrn_round8_put(y0, out, n);
    if (y1)
        qrn_round8_put(y1, out + 16, n);
}

#endif
