// SPDX-License-Identifier: MIT
//
// Sums of one quantized depthwise cell for AVX-512: 64 channels at a time, then 16, the last under
// a mask. Weights are widened with zeros, so that the pairwise product of 16-bit halves is the one
// product wanted.
#include "kernels/conv/depthwise_q8.h"

#include <immintrin.h>

#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

// The results of a vector whose bits are set in `which`, by the definition.
static __attribute__((noinline)) void decide(const qrn_depthwise_q8_cell *d, size_t c, __m512i acc,
                                             uint32_t which) {
    int32_t lane[16];
    _mm512_storeu_si512(lane, acc);
    for (uint32_t i = 0; i < 16; i++)
        if (which >> i & 1)
            d->y[c + i] = qrn_requant8_exact(d->requant, c + i, lane[i]);
}

static inline void epilogue(const qrn_depthwise_q8_cell *d, size_t c, __mmask16 mask, __m512i acc) {
    if (d->acc) {
        _mm512_mask_storeu_epi32(d->acc + c, mask, acc);
        return;
    }
    const qrn_requant8 *r = d->requant;
    __m512 sum = _mm512_cvtepi32_ps(acc), m = _mm512_maskz_loadu_ps(mask, r->m + c);
    __m512 y = _mm512_fmadd_ps(sum, m, _mm512_set1_ps(r->start[0]));
    __m512 high = _mm512_fmadd_ps(sum, m, _mm512_set1_ps(r->start[1]));
    y = _mm512_roundscale_ps(y, DOWN);
    high = _mm512_roundscale_ps(high, DOWN);
    __mmask16 unsure = _mm512_cmp_ps_mask(y, high, _CMP_NEQ_UQ) & mask;
    y = _mm512_max_ps(y, _mm512_set1_ps(r->lo));
    y = _mm512_min_ps(y, _mm512_set1_ps(r->hi));
    _mm512_mask_cvtepi32_storeu_epi8(d->y + c, mask, _mm512_cvtps_epi32(y));
    if (__builtin_expect(unsure, 0))
        decide(d, c, acc, unsure);
}

static inline __attribute__((always_inline)) void sums(const qrn_depthwise_q8_cell *d, size_t c,
                                                       const int n, __mmask16 mask) {
    __m512i acc[4], x_offset = _mm512_set1_epi32(d->x_offset);
    __m128i flip = _mm_set1_epi8((char)d->flip);
    for (int i = 0; i < n; i++)
        acc[i] = _mm512_maskz_loadu_epi32(mask, d->bias + c + (size_t)i * 16);
    for (size_t t = 0; t < d->taps; t++) {
        const uint8_t *x = d->x + d->offset[t] + c;
        const int16_t *w = d->w + d->weight[t] + c;
        for (int i = 0; i < n; i++) {
            __m128i bytes = _mm_maskz_loadu_epi8(mask, x + (size_t)i * 16);
            __m512i a =
                _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip)), x_offset);
            __m512i b = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, w + (size_t)i * 16));
            acc[i] = _mm512_add_epi32(acc[i], _mm512_madd_epi16(a, b));
        }
    }
    for (int i = 0; i < n; i++)
        epilogue(d, c + (size_t)i * 16, mask, acc[i]);
}

void qrn_depthwise_q8_cell_avx512(const qrn_depthwise_q8_cell *d) {
    size_t c = 0;
    for (; c + 64 <= d->channels; c += 64)
        sums(d, c, 4, 0xffff);
    for (; c + 16 <= d->channels; c += 16)
        sums(d, c, 1, 0xffff);
    if (c < d->channels)
        sums(d, c, 1, (__mmask16)((1u << (d->channels - c)) - 1));
}
