// SPDX-License-Identifier: MIT
//
// Normalization of quantized values in contiguous sets, compiled for AVX512.
#include "kernels/norm/norm_q.h"
#include "kernels/store_q.h"
#include "kernels/words_avx512.h"

static bool is_words(const qrn_view *v) {
    return v->dtype == QRN_DTYPE_UQ16 || v->dtype == QRN_DTYPE_SQ16;
}

// Constants of a run, and how far results are from whole numbers at most.
typedef struct norm {
    __m512d null, factor, shift, worst;
    __m128i flip;
} norm;

// 8 results from quantized values as whole numbers in the low halves of the bits. b is less by 1/2
// here, so that they are the nearest ones. The product of mean and factor is rounded: by no more
// than what 2^-37 of a step of the input is, which UNSURE covers.
static inline __m512i eight(norm *c, const uint16_t *q, const double *g, const double *b) {
    const __m512d magic = _mm512_set1_pd(QRN_WORDS_MAGIC);
    __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)q), c->flip);
    __m512i u = _mm512_or_si512(_mm512_cvtepu16_epi64(x), _mm512_set1_epi64(0x4330000000000000));
    __m512d v = _mm512_sub_pd(_mm512_castsi512_pd(u), c->null);
    __m512d add = _mm512_sub_pd(_mm512_loadu_pd(b), _mm512_set1_pd(0.5));
    v = _mm512_fmadd_pd(_mm512_fmsub_pd(v, c->factor, c->shift), _mm512_loadu_pd(g), add);
    __m512d sum = _mm512_add_pd(v, magic), off = _mm512_sub_pd(v, _mm512_sub_pd(sum, magic));
    c->worst = _mm512_max_pd(c->worst, _mm512_abs_pd(off));
    return _mm512_castpd_si512(sum);
}

// Elements [at, at + n) where all are 16-bit values and no result is in doubt.
static bool words(const qrn_view *x, qrn_view *y, size_t at, size_t n, const double *g,
                  const double *b, qrn_norm_stats s, double sure) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    if (!is_words(x) || !is_words(y) || n % 32)
        return false;
    const bool x_signed = x->dtype == QRN_DTYPE_SQ16, y_signed = y->dtype == QRN_DTYPE_SQ16;
    norm c = {_mm512_set1_pd(x_signed ? 0x1p52 + 0x1p15 : 0x1p52), _mm512_set1_pd(s.factor),
              _mm512_set1_pd(s.shift * s.factor), _mm512_setzero_pd(),
              _mm_set1_epi16(x_signed ? INT16_MIN : 0)};
    const uint16_t *q = (const uint16_t *)x->data + at;
    uint16_t *to = (uint16_t *)y->data + at;
    for (size_t i = 0; i < n; i += 32) {
        __m512i v[2];
#pragma GCC unroll 2
        for (size_t h = 0; h < 2; h++) {
            size_t j = i + 16 * h;
            __m512i first = eight(&c, q + j, g + j, b + j);
            __m512i second = eight(&c, q + j + 8, g + j + 8, b + j + 8);
            v[h] = _mm512_permutex2var_epi32(first, even, second);
        }
        __m512i p = y_signed ? _mm512_packs_epi32(v[0], v[1]) : _mm512_packus_epi32(v[0], v[1]);
        p = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), p);
        _mm512_storeu_si512(to + i, p);
    }
    return _mm512_reduce_max_pd(c.worst) <= sure;
}

#define FN qrn_norm_q_avx512
#define WORDS words
#include "kernels/norm/norm_q_fast.inc"
