// SPDX-License-Identifier: MIT
//
// Quantization of floats, compiled for AVX512.
#include "kernels/quantize_rows.h"

#include <immintrin.h>

// qrn_codes_nearest_f32_16 on whole vectors. Quotients in double; adding 1.5 * 2^52 rounds them and
// leaves the whole number in the low half of the bits. What is beyond all codes is limited in
// single precision, which need not be exact, and by packing.
typedef struct vectors {
    __m512d inverse, limit;
    __m512 most;
    __m512i offset;
    bool is_signed;
} vectors;

static inline __m512i whole(const vectors *v, __m256 x, __mmask8 *bad) {
    const __m512d magic = _mm512_set1_pd(0x1.8p52);
    __m512d t = _mm512_mul_pd(_mm512_cvtps_pd(x), v->inverse), sum = _mm512_add_pd(t, magic);
    __m512d off = _mm512_sub_pd(t, _mm512_sub_pd(sum, magic));
    *bad |= _mm512_cmp_pd_mask(_mm512_abs_pd(off), v->limit, _CMP_NLE_UQ);
    return _mm512_castpd_si512(sum);
}

// 16 codes before they are clamped.
static inline __m512i sixteen(const vectors *v, const float *src, __mmask8 *bad) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512 x = _mm512_loadu_ps(src), least = _mm512_sub_ps(_mm512_setzero_ps(), v->most);
    x = _mm512_min_ps(v->most, _mm512_max_ps(least, x)); // a NaN stays one
    __m512i a = whole(v, _mm512_castps512_ps256(x), bad);
    __m512i b = whole(v, _mm512_extractf32x8_ps(x, 1), bad);
    return _mm512_sub_epi32(_mm512_permutex2var_epi32(a, even, b), v->offset);
}

static bool words_of_floats(const float *src, size_t n, const qrn_codes_grid *g, uint16_t *codes) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    if (!(g->scale > 0x1p-100 && g->scale < 0x1p90) || fabs(g->offset) > 0x1p20 ||
        rint(g->offset) != g->offset)
        return false;
    const vectors v = {_mm512_set1_pd(1 / g->scale), _mm512_set1_pd(0.5 - 0x1p-26),
                       _mm512_set1_ps((float)(0x1p22 * g->scale)),
                       _mm512_set1_epi32((int32_t)g->offset), g->low < 0};
    __mmask8 bad = 0;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m512i a = sixteen(&v, src + i, &bad), b = sixteen(&v, src + i + 16, &bad);
        __m512i c = v.is_signed ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b);
        _mm512_storeu_si512(codes + i, _mm512_permutexvar_epi64(order, c));
    }
    return !bad && (i == n || qrn_codes_nearest_f32_16(src + i, n - i, g, codes + i));
}

#define FN qrn_quantize_avx512
#define WORDS_OF_FLOATS words_of_floats
#include "kernels/quantize_fast.inc"
