// SPDX-License-Identifier: MIT
//
// The vectors of vec.h with AVX-512.
#ifndef QRN_KERNELS_VEC_AVX512_H
#define QRN_KERNELS_VEC_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#define QRN_VF 16
typedef __m512 qrn_vf;

static inline __mmask16 qrn_vf_first(size_t n) { return (__mmask16)((1u << n) - 1); }

static inline qrn_vf qrn_vf_all(float x) { return _mm512_set1_ps(x); }
static inline qrn_vf qrn_vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void qrn_vf_store(float *p, qrn_vf v) { _mm512_storeu_ps(p, v); }
static inline qrn_vf qrn_vf_load_n(const float *p, size_t n, qrn_vf rest) {
    return _mm512_mask_loadu_ps(rest, qrn_vf_first(n), p);
}
static inline qrn_vf qrn_vf_load_fp16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline void qrn_vf_store_fp16(uint16_t *p, qrn_vf v) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
static inline qrn_vf qrn_vf_load_u8(const uint8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline qrn_vf qrn_vf_load_s8(const uint8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline qrn_vf qrn_vf_cut(qrn_vf v, size_t n) {
    return _mm512_maskz_mov_ps(qrn_vf_first(n), v);
}
static inline void qrn_vf_store_n(float *p, qrn_vf v, size_t n) {
    _mm512_mask_storeu_ps(p, qrn_vf_first(n), v);
}
static inline qrn_vf qrn_vf_fma(qrn_vf a, qrn_vf b, qrn_vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline qrn_vf qrn_vf_min(qrn_vf a, qrn_vf b) { return _mm512_min_ps(a, b); }
static inline qrn_vf qrn_vf_max(qrn_vf a, qrn_vf b) { return _mm512_max_ps(a, b); }
static inline qrn_vf qrn_vf_sqrt(qrn_vf a) { return _mm512_sqrt_ps(a); }
static inline qrn_vf qrn_vf_abs(qrn_vf a) { return _mm512_abs_ps(a); }
static inline qrn_vf qrn_vf_below(qrn_vf a, qrn_vf b, qrn_vf x, qrn_vf y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
static inline qrn_vf qrn_vf_round(qrn_vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline qrn_vf qrn_vf_floor(qrn_vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline qrn_vf qrn_vf_scale(qrn_vf a, qrn_vf n) { return _mm512_scalef_ps(a, n); }
static inline qrn_vf qrn_vf_fp16(qrn_vf a) {
    return _mm512_cvtph_ps(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline float qrn_vf_top(qrn_vf a) { return _mm512_reduce_max_ps(a); }
static inline bool qrn_vf_all_below(qrn_vf a, qrn_vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ) == 0xffff;
}
// The sums of four vectors in each quarter.
static inline qrn_vf qrn_vf_sums_of_4(const qrn_vf *v) {
    __m512 a = _mm512_unpacklo_ps(v[0], v[1]) + _mm512_unpackhi_ps(v[0], v[1]);
    __m512 b = _mm512_unpacklo_ps(v[2], v[3]) + _mm512_unpackhi_ps(v[2], v[3]);
    __m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
    return _mm512_castpd_ps(_mm512_unpacklo_pd(c, d)) + _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
}
// Neighbouring quarters of both are added.
static inline qrn_vf qrn_vf_fold(qrn_vf a, qrn_vf b) {
    return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
}
static inline qrn_vf qrn_vf_sums(const qrn_vf *v) {
    return qrn_vf_fold(qrn_vf_fold(qrn_vf_sums_of_4(v), qrn_vf_sums_of_4(v + 4)),
                       qrn_vf_fold(qrn_vf_sums_of_4(v + 8), qrn_vf_sums_of_4(v + 12)));
}

#define QRN_VF_32NDS
static inline qrn_vf qrn_vf_32nds(qrn_vf t) {
    static const uint32_t table[32] = {
        // 2^(j / 32), less j in its place
        0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3,
        0x3f78f4f0, 0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b,
        0x3f75583f, 0x3f7523f6, 0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a,
        0x3f75b9be, 0x3f76248c, 0x3f76a81e, 0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907,
        0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3,
    };
    __m512i k = _mm512_castps_si512(t);
    __m512i low = _mm512_loadu_si512(table), high = _mm512_loadu_si512(table + 16);
    __m512i power = _mm512_permutex2var_epi32(low, k, high);
    return _mm512_castsi512_ps(_mm512_add_epi32(power, _mm512_slli_epi32(k, 18)));
}

typedef struct qrn_vs {
    __m512d low, high;
} qrn_vs;

static inline qrn_vs qrn_vs_zero(void) {
    return (qrn_vs){_mm512_setzero_pd(), _mm512_setzero_pd()};
}
static inline qrn_vs qrn_vs_add(qrn_vs s, qrn_vf v) {
    s.low += _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    s.high += _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    return s;
}
static inline qrn_vf qrn_vs_over(qrn_vs s, double n) {
    __m256 low = _mm512_cvtpd_ps(s.low / _mm512_set1_pd(n));
    __m256 high = _mm512_cvtpd_ps(s.high / _mm512_set1_pd(n));
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
static inline double qrn_vs_total(qrn_vs s) { return _mm512_reduce_add_pd(s.low + s.high); }

#endif
