// SPDX-License-Identifier: MIT
//
// The vectors of vec.h with AVX2 and FMA.
#ifndef QRN_KERNELS_VEC_AVX2_H
#define QRN_KERNELS_VEC_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#define QRN_VF 8
typedef __m256 qrn_vf;

static inline __m256i qrn_vf_first(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline qrn_vf qrn_vf_all(float x) { return _mm256_set1_ps(x); }
static inline qrn_vf qrn_vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void qrn_vf_store(float *p, qrn_vf v) { _mm256_storeu_ps(p, v); }
static inline qrn_vf qrn_vf_load_n(const float *p, size_t n, qrn_vf rest) {
    __m256i first = qrn_vf_first(n);
    return _mm256_blendv_ps(rest, _mm256_maskload_ps(p, first), _mm256_castsi256_ps(first));
}
static inline qrn_vf qrn_vf_load_fp16(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline void qrn_vf_store_fp16(uint16_t *p, qrn_vf v) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
static inline qrn_vf qrn_vf_load_u8(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
static inline qrn_vf qrn_vf_load_s8(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
static inline qrn_vf qrn_vf_cut(qrn_vf v, size_t n) {
    return _mm256_and_ps(v, _mm256_castsi256_ps(qrn_vf_first(n)));
}
static inline void qrn_vf_store_n(float *p, qrn_vf v, size_t n) {
    _mm256_maskstore_ps(p, qrn_vf_first(n), v);
}
static inline qrn_vf qrn_vf_fma(qrn_vf a, qrn_vf b, qrn_vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline qrn_vf qrn_vf_min(qrn_vf a, qrn_vf b) { return _mm256_min_ps(a, b); }
static inline qrn_vf qrn_vf_max(qrn_vf a, qrn_vf b) { return _mm256_max_ps(a, b); }
static inline qrn_vf qrn_vf_sqrt(qrn_vf a) { return _mm256_sqrt_ps(a); }
static inline qrn_vf qrn_vf_abs(qrn_vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static inline qrn_vf qrn_vf_below(qrn_vf a, qrn_vf b, qrn_vf x, qrn_vf y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
static inline qrn_vf qrn_vf_round(qrn_vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline qrn_vf qrn_vf_floor(qrn_vf a) { return _mm256_floor_ps(a); }
// In two halves, the first of them exact, so that subnormal results are rounded once.
static inline qrn_vf qrn_vf_scale(qrn_vf a, qrn_vf n) {
    const __m256i bias = _mm256_set1_epi32(127);
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    __m256i rest = _mm256_sub_epi32(whole, half);
    __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    __m256i second = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    return a * _mm256_castsi256_ps(first) * _mm256_castsi256_ps(second);
}
static inline qrn_vf qrn_vf_fp16(qrn_vf a) {
    return _mm256_cvtph_ps(_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
static inline float qrn_vf_top(qrn_vf a) {
    __m128 v = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)));
}
static inline bool qrn_vf_all_below(qrn_vf a, qrn_vf b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)) == 0xff;
}
static inline qrn_vf qrn_vf_sums(const qrn_vf *v) {
    __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
}

typedef struct qrn_vs {
    __m256d low, high;
} qrn_vs;

static inline qrn_vs qrn_vs_zero(void) {
    return (qrn_vs){_mm256_setzero_pd(), _mm256_setzero_pd()};
}
static inline qrn_vs qrn_vs_add(qrn_vs s, qrn_vf v) {
    s.low += _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    s.high += _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    return s;
}
static inline qrn_vf qrn_vs_over(qrn_vs s, double n) {
    __m128 low = _mm256_cvtpd_ps(s.low / _mm256_set1_pd(n));
    __m128 high = _mm256_cvtpd_ps(s.high / _mm256_set1_pd(n));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}
static inline double qrn_vs_total(qrn_vs s) {
    __m256d v = s.low + s.high;
    __m128d w = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(w, _mm_unpackhi_pd(w, w)));
}

#endif
