// SPDX-License-Identifier: MIT
//
// Sums of one depthwise output cell for AVX2 and FMA: 32 channels at a time, then 8, then single
// ones.
#include "kernels/conv/depthwise_f32.h"

#include <immintrin.h>
#include <math.h>

static inline __attribute__((always_inline)) void sums(const qrn_depthwise_cell *d, size_t c,
                                                       const int n) {
    __m256 acc[4];
    for (int i = 0; i < n; i++)
        acc[i] = d->from ? _mm256_loadu_ps(d->from + c + (size_t)i * 8) : _mm256_setzero_ps();
    for (size_t t = 0; t < d->taps; t++) {
        const float *x = d->x + d->offset[t] + c, *w = d->w + d->weight[t] + c;
        for (int i = 0; i < n; i++)
            acc[i] = _mm256_fmadd_ps(_mm256_loadu_ps(x + (size_t)i * 8),
                                     _mm256_loadu_ps(w + (size_t)i * 8), acc[i]);
    }
    for (int i = 0; i < n; i++)
        _mm256_storeu_ps(d->y + c + (size_t)i * 8, acc[i]);
}

void qrn_depthwise_cell_avx2(const qrn_depthwise_cell *d) {
    size_t c = 0;
    for (; c + 32 <= d->channels; c += 32)
        sums(d, c, 4);
    for (; c + 8 <= d->channels; c += 8)
        sums(d, c, 1);
    for (; c < d->channels; c++) {
        float acc = d->from ? d->from[c] : 0.0f;
        for (size_t t = 0; t < d->taps; t++)
            acc = fmaf(d->x[d->offset[t] + c], d->w[d->weight[t] + c], acc);
        d->y[c] = acc;
    }
}
