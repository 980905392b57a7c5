// SPDX-License-Identifier: MIT
//
// Sums of one depthwise output cell for AVX-512: 64 channels at a time, then 16, the last under a
// mask.
#include "kernels/conv/depthwise_f32.h"

#include <immintrin.h>

static inline __attribute__((always_inline)) void sums(const qrn_depthwise_cell *d, size_t c,
                                                       const int n, __mmask16 m) {
    __m512 acc[4];
    for (int i = 0; i < n; i++)
        acc[i] =
            d->from ? _mm512_maskz_loadu_ps(m, d->from + c + (size_t)i * 16) : _mm512_setzero_ps();
    for (size_t t = 0; t < d->taps; t++) {
        const float *x = d->x + d->offset[t] + c, *w = d->w + d->weight[t] + c;
        for (int i = 0; i < n; i++)
            acc[i] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m, x + (size_t)i * 16),
                                     _mm512_maskz_loadu_ps(m, w + (size_t)i * 16), acc[i]);
    }
    for (int i = 0; i < n; i++)
        _mm512_mask_storeu_ps(d->y + c + (size_t)i * 16, m, acc[i]);
}

void qrn_depthwise_cell_avx512(const qrn_depthwise_cell *d) {
    size_t c = 0;
    for (; c + 64 <= d->channels; c += 64)
        sums(d, c, 4, 0xffff);
    for (; c + 16 <= d->channels; c += 16)
        sums(d, c, 1, 0xffff);
    if (c < d->channels)
        sums(d, c, 1, (__mmask16)((1u << (d->channels - c)) - 1));
}
