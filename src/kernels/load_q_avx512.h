// SPDX-License-Identifier: MIT
//
// Quantized values of 8 or 16 bits as integers of 32 bits, for AVX512.
#ifndef QRN_KERNELS_LOAD_Q_AVX512_H
#define QRN_KERNELS_LOAD_Q_AVX512_H

#include "kernels/kernel.h"

#include <immintrin.h>

#define QRN_LOAD_Q 64 // values

// Values [at, at + QRN_LOAD_Q) of x in 4 vectors.
static inline void qrn_load_q_avx512(const qrn_view *x, size_t at, __m512i *v) {
    const uint8_t *bytes = (const uint8_t *)x->data + at;
    const uint16_t *words = (const uint16_t *)x->data + at;
#define EACH(convert, load)                                                                        \
    for (size_t j = 0; j < QRN_LOAD_Q / 16; j++)                                                   \
        v[j] = convert(load);                                                                      \
    break
    switch (x->dtype) {
    case QRN_DTYPE_UQ8:
        EACH(_mm512_cvtepu8_epi32, _mm_loadu_si128((const __m128i *)(bytes + 16 * j)));
    case QRN_DTYPE_SQ8:
        EACH(_mm512_cvtepi8_epi32, _mm_loadu_si128((const __m128i *)(bytes + 16 * j)));
    case QRN_DTYPE_UQ16:
        EACH(_mm512_cvtepu16_epi32, _mm256_loadu_si256((const __m256i *)(words + 16 * j)));
    default:
        EACH(_mm512_cvtepi16_epi32, _mm256_loadu_si256((const __m256i *)(words + 16 * j)));
    }
#undef EACH
}

#endif
