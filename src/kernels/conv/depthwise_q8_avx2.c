// SPDX-License-Identifier: MIT
//
// Sums of one quantized depthwise cell for AVX2: 32 channels at a time, then 8. Weights are widened
// with zeros, so that the pairwise product of 16-bit halves is the one product wanted.
#include "kernels/conv/depthwise_q8.h"

#include <immintrin.h>

static inline __m256i widened(const uint8_t *p, __m128i flip) {
    return _mm256_cvtepu8_epi32(_mm_xor_si128(_mm_loadl_epi64((const __m128i *)p), flip));
}

static inline void epilogue(const qrn_depthwise_q8_cell *d, size_t c, __m256i acc) {
    if (d->acc) {
        _mm256_storeu_si256((__m256i *)(d->acc + c), acc);
        return;
    }
    const qrn_requant8 *r = d->requant;
    __m256 real = _mm256_cvtepi32_ps(acc), m = _mm256_loadu_ps(r->m + c);
    __m256 y = _mm256_floor_ps(_mm256_fmadd_ps(real, m, _mm256_set1_ps(r->start[0])));
    __m256 high = _mm256_floor_ps(_mm256_fmadd_ps(real, m, _mm256_set1_ps(r->start[1])));
    int unsure = _mm256_movemask_ps(_mm256_cmp_ps(y, high, _CMP_NEQ_UQ));
    y = _mm256_max_ps(y, _mm256_set1_ps(r->lo));
    __m256i v = _mm256_cvtps_epi32(_mm256_min_ps(y, _mm256_set1_ps(r->hi)));
    __m256i low =
        _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0c080400)); // lowest bytes of four lanes
    _mm_storel_epi64((__m128i *)(d->y + c), _mm_unpacklo_epi32(_mm256_castsi256_si128(low),
                                                               _mm256_extracti128_si256(low, 1)));
    int32_t lane[8];
    if (!unsure)
        return;
    _mm256_storeu_si256((__m256i *)lane, acc);
    for (size_t i = 0; i < 8; i++)
        d->y[c + i] = qrn_requant8_exact(r, c + i, lane[i]);
}

static inline __attribute__((always_inline)) void sums(const qrn_depthwise_q8_cell *d, size_t c,
                                                       const int n) {
    __m256i acc[4], x_offset = _mm256_set1_epi32(d->x_offset);
    __m128i flip = _mm_set1_epi8((char)d->flip);
    for (int i = 0; i < n; i++)
        acc[i] = _mm256_loadu_si256((const __m256i *)(d->bias + c + (size_t)i * 8));
    for (size_t t = 0; t < d->taps; t++) {
        const uint8_t *x = d->x + d->offset[t] + c;
        const int16_t *w = d->w + d->weight[t] + c;
        for (int i = 0; i < n; i++) {
            __m256i a = _mm256_add_epi32(widened(x + (size_t)i * 8, flip), x_offset);
            __m256i b =
                _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(w + (size_t)i * 8)));
            acc[i] = _mm256_add_epi32(acc[i], _mm256_madd_epi16(a, b));
        }
    }
    for (int i = 0; i < n; i++)
        epilogue(d, c + (size_t)i * 8, acc[i]);
}

void qrn_depthwise_q8_cell_avx2(const qrn_depthwise_q8_cell *d) {
    size_t c = 0;
    for (; c + 32 <= d->channels; c += 32)
        sums(d, c, 4);
    for (; c + 8 <= d->channels; c += 8)
        sums(d, c, 1);
    qrn_depthwise_q8_tail(d, c);
}
