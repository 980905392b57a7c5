// SPDX-License-Identifier: MIT
//
// Sums of one quantized depthwise cell for AVX2: 32 channels at a time, then 16, then 8. Two taps
// lie side by side as 16-bit numbers, so that their products are added on the way.
#include "kernels/conv/depthwise_q8.h"

#include <immintrin.h>

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

// Values of 16 channels, or of 8, at tap t, offset included.
static inline __m256i values(const qrn_depthwise_q8_cell *d, size_t t, size_t c, const int n) {
    const void *x = d->x + d->offset[t] + c;
    __m128i bytes = n == 16 ? _mm_loadu_si128(x) : _mm_loadl_epi64(x);
    bytes = _mm_xor_si128(bytes, _mm_set1_epi8((char)d->flip));
    return _mm256_add_epi16(_mm256_cvtepu8_epi16(bytes), _mm256_set1_epi16(d->x_offset));
}

static inline __m256i weights(const qrn_depthwise_q8_cell *d, size_t t, size_t c, const int n) {
    const void *w = d->w + d->weight[t] + c;
    return n == 16 ? _mm256_loadu_si256(w) : _mm256_castsi128_si256(_mm_loadu_si128(w));
}

// Adds the products of taps t and t + 1, where there is one: to channels 0..3 and 8..11, and to the
// others.
static inline void add_two(const qrn_depthwise_q8_cell *d, size_t t, size_t c, const int n,
                           const bool both, __m256i *acc) {
    __m256i x0 = values(d, t, c, n), w0 = weights(d, t, c, n), x1 = _mm256_setzero_si256(), w1 = x1;
    if (both) {
        x1 = values(d, t + 1, c, n);
        w1 = weights(d, t + 1, c, n);
    }
    acc[0] = _mm256_add_epi32(
        acc[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1), _mm256_unpacklo_epi16(w0, w1)));
    acc[1] = _mm256_add_epi32(
        acc[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1), _mm256_unpackhi_epi16(w0, w1)));
}

// `many` times n channels; n is 16, or 8 of which the upper halves of vectors are not used.
static inline __attribute__((always_inline)) void sums(const qrn_depthwise_q8_cell *d, size_t c,
                                                       const int many, const int n) {
    __m256i acc[2][2];
    for (int i = 0; i < many; i++)
        acc[i][0] = acc[i][1] = _mm256_setzero_si256();
    size_t t = 0;
    for (; t + 2 <= d->taps; t += 2)
        for (int i = 0; i < many; i++)
            add_two(d, t, c + (size_t)i * 16, n, true, acc[i]);
    for (int i = 0; i < many && t < d->taps; i++)
        add_two(d, t, c + (size_t)i * 16, n, false, acc[i]);
    for (int i = 0; i < many; i++)
        for (int half = 0; half < n / 8; half++) {
            size_t at = c + (size_t)(i * 16 + half * 8);
            __m256i sum = half ? _mm256_permute2x128_si256(acc[i][0], acc[i][1], 0x31)
                               : _mm256_permute2x128_si256(acc[i][0], acc[i][1], 0x20);
            __m256i bias = _mm256_loadu_si256((const __m256i *)(d->bias + at));
            epilogue(d, at, _mm256_add_epi32(sum, bias));
        }
}

void qrn_depthwise_q8_cell_avx2(const qrn_depthwise_q8_cell *d) {
    size_t c = 0;
    for (; c + 32 <= d->channels; c += 32)
        sums(d, c, 2, 16);
    for (; c + 16 <= d->channels; c += 16)
        sums(d, c, 1, 16);
    for (; c + 8 <= d->channels; c += 8)
        sums(d, c, 1, 8);
    qrn_depthwise_q8_tail(d, c);
}
