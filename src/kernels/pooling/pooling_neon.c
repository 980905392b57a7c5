// SPDX-License-Identifier: MIT
//
// Pooling for NEON.
#include "kernels/pooling/pooling.h"
#include "kernels/vec.h"

#include <arm_neon.h>
#include <math.h>
#include <string.h>

#define TYPE(name, type, vector)                                                                   \
    typedef vector vector_##name;                                                                  \
    static inline vector all_##name(type v) { return vdupq_n_##name(v); }                          \
    static inline vector load_##name(const type *p) { return vld1q_##name(p); }                    \
    static inline void store_##name(type *p, vector v) { vst1q_##name(p, v); }                     \
    static inline vector max_##name(vector a, vector b) { return vmaxq_##name(a, b); }
TYPE(u8, uint8_t, uint8x16_t)
TYPE(s8, int8_t, int8x16_t)
TYPE(u16, uint16_t, uint16x8_t)
TYPE(s16, int16_t, int16x8_t)
TYPE(f32, float, float32x4_t) // NaN wins

// Eight sums: as many as a vector of words has.
typedef struct sums {
    int32x4_t low, high;
} sums;
static inline sums all_sums(int32_t v) { return (sums){vdupq_n_s32(v), vdupq_n_s32(v)}; }
static inline sums add_sums(sums a, sums b) {
    return (sums){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}
static inline sums widen_s16(const int16_t *p) {
    int16x8_t v = vld1q_s16(p);
    return (sums){vmovl_s16(vget_low_s16(v)), vmovl_high_s16(v)};
}
static inline sums widen_u16(const uint16_t *p) {
    uint16x8_t v = vld1q_u16(p);
    return (sums){vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(v))),
                  vreinterpretq_s32_u32(vmovl_high_u16(v))};
}
static inline sums widen_u8(const uint8_t *p) {
    uint16x8_t v = vmovl_u8(vld1_u8(p));
    return (sums){vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(v))),
                  vreinterpretq_s32_u32(vmovl_high_u16(v))};
}
static inline sums widen_s8(const int8_t *p) {
    int16x8_t v = vmovl_s8(vld1_s8(p));
    return (sums){vmovl_s16(vget_low_s16(v)), vmovl_high_s16(v)};
}

#define ISA neon
#include "kernels/pooling/pool_fast.inc"
#include "kernels/pooling/pool_lines.inc"
