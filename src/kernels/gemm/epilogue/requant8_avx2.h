// SPDX-License-Identifier: MIT
//
// Requantization to 8 bits by AVX2: four vectors of accumulators, of two rows by 16 columns, become
// 32 bytes, in the form for vectors of requant8.h.
#ifndef QRN_KERNELS_GEMM_REQUANT8_AVX2_H
#define QRN_KERNELS_GEMM_REQUANT8_AVX2_H

#include "kernels/gemm/epilogue/requant8.h"

#include <immintrin.h>
#include <string.h>

// The bits of t but the fraction; lanes that are not sure become -1 in *unsure.
static inline __m256i qrn_requant8_bits(const qrn_requant8 *r, __m256i acc, const float *m,
                                        __m256i *unsure) {
    __m256 t =
        _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc), _mm256_loadu_ps(m), _mm256_set1_ps(r->base));
    __m256i bits = _mm256_castps_si256(t);
    __m256i fraction = _mm256_and_si256(bits, _mm256_set1_epi32((int32_t)r->sure));
    *unsure = _mm256_or_si256(*unsure, _mm256_cmpeq_epi32(fraction, _mm256_setzero_si256()));
    return _mm256_srai_epi32(bits, QRN_REQUANT8_FRACTION);
}

static inline void qrn_requant8_put(uint8_t *y, const uint8_t *bytes, uint32_t n) {
    if (n == 16)
        memcpy(y, bytes, 16);
    else
        memcpy(y, bytes, n);
}

// Results of columns [first, first + n) of two rows, n <= 16; sums: of row 0, then of row 1. The
// second row is left out unless y1.
static inline void qrn_requant8_two_rows(const qrn_requant8 *r, const __m256i *sums, uint32_t first,
                                         uint32_t n, uint8_t *y0, uint8_t *y1) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i ones = _mm256_set1_epi16((int16_t)QRN_REQUANT8_ONES);
    __m256i unsure = _mm256_setzero_si256(), q[4];
    for (int i = 0; i < 4; i++)
        q[i] = qrn_requant8_bits(r, sums[i], r->m + first + 8 * (i % 2), &unsure);
    __m256i bytes = _mm256_packus_epi16(_mm256_subs_epu16(_mm256_packus_epi32(q[0], q[1]), ones),
                                        _mm256_subs_epu16(_mm256_packus_epi32(q[2], q[3]), ones));
    bytes = _mm256_max_epu8(bytes, _mm256_set1_epi8((char)r->low));
    bytes = _mm256_min_epu8(bytes, _mm256_set1_epi8((char)r->high));
    bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)r->flip));
    uint8_t out[32];
    _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(bytes, order));
    uint32_t lanes = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(unsure));
    int32_t acc[32];
    if (lanes)
        memcpy(acc, sums, sizeof acc);
    for (uint32_t i = 0; lanes && i < 32; i++)
        if (lanes >> i % 8 & 1)
            out[i] = qrn_requant8_exact(r, first + i % 16, acc[i]);
    qrn_requant8_put(y0, out, n);
    if (y1)
        qrn_requant8_put(y1, out + 16, n);
}

#endif
