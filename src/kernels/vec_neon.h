// SPDX-License-Identifier: MIT
//
// The vectors of vec.h with NEON.
#ifndef QRN_KERNELS_VEC_NEON_H
#define QRN_KERNELS_VEC_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define QRN_VF 4
typedef float32x4_t qrn_vf;

static inline qrn_vf qrn_vf_all(float x) { return vdupq_n_f32(x); }
static inline qrn_vf qrn_vf_load(const float *p) { return vld1q_f32(p); }
static inline void qrn_vf_store(float *p, qrn_vf v) { vst1q_f32(p, v); }
static inline qrn_vf qrn_vf_load_n(const float *p, size_t n, qrn_vf rest) {
    float lane[QRN_VF];
    vst1q_f32(lane, rest);
    for (size_t i = 0; i < n; i++)
        lane[i] = p[i];
    return vld1q_f32(lane);
}
static inline qrn_vf qrn_vf_load_fp16(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline void qrn_vf_store_fp16(uint16_t *p, qrn_vf v) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
static inline qrn_vf qrn_vf_load_u8(const uint8_t *p) {
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four)))));
}
static inline qrn_vf qrn_vf_load_s8(const uint8_t *p) {
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four)))));
}
static inline qrn_vf qrn_vf_cut(qrn_vf v, size_t n) {
    float lane[QRN_VF];
    vst1q_f32(lane, v);
    return qrn_vf_load_n(lane, n, vdupq_n_f32(0.0f));
}
static inline void qrn_vf_store_n(float *p, qrn_vf v, size_t n) {
    float lane[QRN_VF];
    vst1q_f32(lane, v);
    for (size_t i = 0; i < n; i++)
        p[i] = lane[i];
}
static inline qrn_vf qrn_vf_fma(qrn_vf a, qrn_vf b, qrn_vf c) { return vfmaq_f32(c, a, b); }
static inline qrn_vf qrn_vf_min(qrn_vf a, qrn_vf b) { return vminq_f32(a, b); }
static inline qrn_vf qrn_vf_max(qrn_vf a, qrn_vf b) { return vmaxq_f32(a, b); }
static inline qrn_vf qrn_vf_sqrt(qrn_vf a) { return vsqrtq_f32(a); }
static inline qrn_vf qrn_vf_abs(qrn_vf a) { return vabsq_f32(a); }
static inline qrn_vf qrn_vf_below(qrn_vf a, qrn_vf b, qrn_vf x, qrn_vf y) {
    return vbslq_f32(vcltq_f32(a, b), x, y);
}
static inline qrn_vf qrn_vf_round(qrn_vf a) { return vrndnq_f32(a); }
static inline qrn_vf qrn_vf_floor(qrn_vf a) { return vrndmq_f32(a); }
// In two halves, the first of them exact, so that subnormal results are rounded once.
static inline qrn_vf qrn_vf_scale(qrn_vf a, qrn_vf n) {
    const int32x4_t bias = vdupq_n_s32(127);
    int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    int32x4_t first = vshlq_n_s32(vaddq_s32(half, bias), 23);
    int32x4_t second = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23);
    return vmulq_f32(vmulq_f32(a, vreinterpretq_f32_s32(first)), vreinterpretq_f32_s32(second));
}
static inline qrn_vf qrn_vf_fp16(qrn_vf a) { return vcvt_f32_f16(vcvt_f16_f32(a)); }
static inline float qrn_vf_top(qrn_vf a) { return vmaxnmvq_f32(a); }
static inline bool qrn_vf_all_below(qrn_vf a, qrn_vf b) { return vminvq_u32(vcltq_f32(a, b)) != 0; }
static inline qrn_vf qrn_vf_sums(const qrn_vf *v) {
    return vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3]));
}

typedef struct qrn_vs {
    float64x2_t low, high;
} qrn_vs;

static inline qrn_vs qrn_vs_zero(void) { return (qrn_vs){vdupq_n_f64(0.0), vdupq_n_f64(0.0)}; }
static inline qrn_vs qrn_vs_add(qrn_vs s, qrn_vf v) {
    s.low = vaddq_f64(s.low, vcvt_f64_f32(vget_low_f32(v)));
    s.high = vaddq_f64(s.high, vcvt_high_f64_f32(v));
    return s;
}
static inline qrn_vf qrn_vs_over(qrn_vs s, double n) {
    float64x2_t over = vdupq_n_f64(n);
    return vcvt_high_f32_f64(vcvt_f32_f64(vdivq_f64(s.low, over)), vdivq_f64(s.high, over));
}
static inline double qrn_vs_total(qrn_vs s) { return vaddvq_f64(vaddq_f64(s.low, s.high)); }

#endif
