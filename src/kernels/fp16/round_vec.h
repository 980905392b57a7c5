// SPDX-License-Identifier: MIT
//
// Vectors rounded to fp16 of any rule, for kernels that round what is between their steps.
#ifndef QRN_KERNELS_FP16_ROUND_VEC_H
#define QRN_KERNELS_FP16_ROUND_VEC_H

#include "base/fp16.h"
#include "kernels/vec.h"

// In the wide range a number of 1 or more is rounded as its half is in IEEE; no result is NaN.
static inline qrn_vf qrn_vf_round_large(qrn_vf v, uint32_t rule) {
    const qrn_vf one = qrn_vf_all(1.0f);
    const qrn_vf max =
        qrn_vf_all((float)(rule == QRN_FP16_WIDE_RANGE ? QRN_FP16_WIDE_RANGE_MAX : QRN_FP16_MAX));
    if (rule != QRN_FP16_WIDE_RANGE) {
        qrn_vf y = qrn_vf_fp16(v);
        return rule == QRN_FP16_CLAMP ? qrn_vf_max(-max, qrn_vf_min(max, y)) : y;
    }
    qrn_vf large = qrn_vf_fp16(v * qrn_vf_all(0.5f));
    large = qrn_vf_below(qrn_vf_abs(v), one, qrn_vf_fp16(v), large + large);
    large = qrn_vf_below(large, max, large, max); // NaN as well
    return qrn_vf_below(-max, large, large, -max);
}

// All rules but OFF and AS_F32; they agree below the largest number of IEEE.
static inline qrn_vf qrn_vf_rounded(qrn_vf v, uint32_t rule) {
    if (__builtin_expect(qrn_vf_all_below(qrn_vf_abs(v), qrn_vf_all((float)QRN_FP16_MAX)), 1))
        return qrn_vf_fp16(v);
    return qrn_vf_round_large(v, rule);
}

#endif
