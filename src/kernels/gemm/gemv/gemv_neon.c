// SPDX-License-Identifier: MIT
//
// Tiles of up to 4 rows by 16 columns for 64-bit ARM. The highest bits of a lane are a fixed-point
// number: one instruction converts it.
#include "kernels/gemm/gemv/weight_only.h"

#include <arm_neon.h>

#define VECTORS 4
typedef int32x4_t packed;

static inline packed load4(const int8_t *w) {
    return vreinterpretq_s32_u32(vmovl_u16(vreinterpret_u16_s8(vld1_s8(w))));
}
static inline packed load8(const int8_t *w) { return vreinterpretq_s32_s8(vld1q_s8(w)); }
static inline float32x4_t value4(packed u, int i) {
    packed high = vandq_s32(vshlq_s32(u, vdupq_n_s32(28 - 4 * i)), vdupq_n_s32(INT32_MIN >> 3));
    return vcvtq_n_f32_s32(high, 28);
}
static inline float32x4_t value8(packed u, int i) {
    packed high = vandq_s32(vshlq_s32(u, vdupq_n_s32(24 - 8 * i)), vdupq_n_s32(INT32_MIN >> 7));
    return vcvtq_n_f32_s32(high, 24);
}
static inline float32x4_t from_fp16(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline float32x4_t from_i8(const int8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    int16x8_t wide = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}

#define FN qrn_gemv_neon
#define UNPACK qrn_gemv_unpack_neon
#include "kernels/gemm/gemv/gemv.inc"
