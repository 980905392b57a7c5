// SPDX-License-Identifier: MIT
//
// Floats and 16-bit values as 16-bit values of another encoding, for AVX512: what
// qrn_quantize_f64_16 does, a vector at a time. Quotients are doubles; adding 1.5 * 2^52 rounds
// them and leaves the whole number in the low half of the bits. Results are unclamped numbers below
// 2^31, and packing clamps them. Each function returns false when a result may be wrong.
#ifndef QRN_KERNELS_WORDS_AVX512_H
#define QRN_KERNELS_WORDS_AVX512_H

#include "kernels/element_io.h"

#include <immintrin.h>

#define QRN_WORDS_MAGIC 0x1.8p52
#define QRN_WORDS_MOST 0x1p22          // quotients are smaller, and off by less than 2^-28
#define QRN_WORDS_SURE (0.5 - 0x1p-26) // distance to a whole number up to which it is the result

static inline bool qrn_words_fit(const qrn_quant_grid *g) {
    return g->scale > 0x1p-100 && g->scale < 0x1p90 && fabs(g->offset) < 0x1p20 &&
           rint(g->offset) == g->offset;
}

// Is `off` farther from 0 than results may be, or no number?
static inline __mmask8 qrn_words_doubt(__m512d off) {
    return _mm512_cmp_pd_mask(_mm512_abs_pd(off), _mm512_set1_pd(QRN_WORDS_SURE), _CMP_NLE_UQ);
}

// 32 whole numbers less the offset, clamped.
static inline __m512i qrn_words_pack(const qrn_quant_grid *g, __m512i a, __m512i b) {
    const __m512i offset = _mm512_set1_epi32((int32_t)g->offset);
    a = _mm512_sub_epi32(a, offset);
    b = _mm512_sub_epi32(b, offset);
    return g->low < 0 ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b);
}

// Low halves of 16 doubles, those of every 128 bits of a, then of b.
static inline __m512i qrn_words_low(__m512d a, __m512d b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castpd_ps(a), _mm512_castpd_ps(b), 0x88));
}

static inline __m512d qrn_words_of_8(__m256 x, double inverse, __mmask8 *bad) {
    const __m512d magic = _mm512_set1_pd(QRN_WORDS_MAGIC), m = _mm512_set1_pd(inverse);
    __m512d real = _mm512_cvtps_pd(x), sum = _mm512_fmadd_pd(real, m, magic);
    *bad |= qrn_words_doubt(_mm512_fmsub_pd(real, m, _mm512_sub_pd(sum, magic)));
    return sum;
}

static inline bool qrn_words_of_floats(const float *src, size_t n, const qrn_quant_grid *g,
                                       uint16_t *q) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    if (!qrn_words_fit(g))
        return false;
    const float most = (float)(QRN_WORDS_MOST * g->scale);
    const __m512 last = _mm512_set1_ps(most), first = _mm512_set1_ps(-most);
    const double inverse = 1 / g->scale;
    __mmask8 bad = 0;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m512i v[2];
        for (int h = 0; h < 2; h++) {
            __m512 x = _mm512_loadu_ps(src + i + 16 * h);
            x = _mm512_min_ps(last, _mm512_max_ps(first, x)); // a NaN stays one
            __m512d a = qrn_words_of_8(_mm512_castps512_ps256(x), inverse, &bad);
            __m512d b = qrn_words_of_8(_mm512_extractf32x8_ps(x, 1), inverse, &bad);
            v[h] = _mm512_permutex2var_epi32(_mm512_castpd_si512(a), even, _mm512_castpd_si512(b));
        }
        __m512i c = qrn_words_pack(g, v[0], v[1]);
        _mm512_storeu_si512(q + i, _mm512_permutexvar_epi64(order, c));
    }
    return !bad && (i == n || qrn_quantize_f32_16(src + i, n - i, g, q + i));
}

// Unsigned values u of 32 bits, as doubles 2^52 + u.
static inline __m512d qrn_words_of_q16(__m512i u, __m512d null, __m512d m, __mmask8 *bad) {
    const __m512d magic = _mm512_set1_pd(QRN_WORDS_MAGIC);
    __m512d x = _mm512_sub_pd(_mm512_castsi512_pd(u), null), sum = _mm512_fmadd_pd(x, m, magic);
    *bad |= qrn_words_doubt(_mm512_fmsub_pd(x, m, _mm512_sub_pd(sum, magic)));
    return sum;
}

// n quantized values, a multiple of 32, of grid `from` in grid `to`; both may be the same memory.
static inline bool qrn_words_of_words(const uint16_t *src, size_t n, const qrn_quant_grid *from,
                                      const qrn_quant_grid *to, uint16_t *q) {
    const __m512i none = _mm512_setzero_si512(), upper = _mm512_set1_epi32(0x43300000);
    const double offset = from->offset + from->low, ratio = from->scale / to->scale;
    if (!qrn_words_fit(from) || !qrn_words_fit(to) || n % 32 ||
        !((fabs(offset) + 0x1p16) * ratio < QRN_WORDS_MOST))
        return false;
    const __m512i flip = _mm512_set1_epi16(from->low < 0 ? INT16_MIN : 0);
    const __m512d null = _mm512_set1_pd(0x1p52 - offset), m = _mm512_set1_pd(ratio);
    __mmask8 bad = 0;
    for (size_t i = 0; i < n; i += 32) {
        __m512i v = _mm512_xor_si512(_mm512_loadu_si512(src + i), flip), y[2];
        for (int h = 0; h < 2; h++) {
            __m512i u = h ? _mm512_unpackhi_epi16(v, none) : _mm512_unpacklo_epi16(v, none);
            __m512d a = qrn_words_of_q16(_mm512_unpacklo_epi32(u, upper), null, m, &bad);
            __m512d b = qrn_words_of_q16(_mm512_unpackhi_epi32(u, upper), null, m, &bad);
            y[h] = qrn_words_low(a, b);
        }
        _mm512_storeu_si512(q + i, qrn_words_pack(to, y[0], y[1]));
    }
    return !bad;
}

#endif
