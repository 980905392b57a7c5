// SPDX-License-Identifier: MIT
//
// Lines of depthwise convolutions for 64-bit ARM: four channels a vector, as depthwise_f32.inc has
// it.
#include "kernels/conv/depthwise_f32.h"

#include <arm_neon.h>

#define VECTOR 4
typedef float32x4_t vector;
typedef uint32_t mask; // how many

static inline mask mask_of(size_t n) { return (mask)(n < VECTOR ? n : VECTOR); }
static inline vector load(bool whole, mask m, const float *p) {
    float part[VECTOR] = {0};
    if (whole)
        return vld1q_f32(p);
    for (mask i = 0; i < m; i++)
        part[i] = p[i];
    return vld1q_f32(part);
}
static inline void store(bool whole, mask m, float *p, vector v) {
    float part[VECTOR];
    if (whole) {
        vst1q_f32(p, v);
        return;
    }
    vst1q_f32(part, v);
    for (mask i = 0; i < m; i++)
        p[i] = part[i];
}
static inline vector clamped(vector v, float low, float high) {
    vector l = vdupq_n_f32(low), h = vdupq_n_f32(high);
    v = vbslq_f32(vcltq_f32(v, l), l, v);
    return vbslq_f32(vcgtq_f32(v, h), h, v);
}
static inline vector zeros(void) { return vdupq_n_f32(0.0f); }
static inline vector fused(vector x, vector w, vector acc) { return vfmaq_f32(acc, x, w); }

#define FN qrn_depthwise_line_neon
#include "kernels/conv/depthwise_f32.inc"
