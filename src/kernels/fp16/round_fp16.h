// SPDX-License-Identifier: MIT
//
// Rounding to fp16 (base/fp16.h says which numbers there are). A value "on the grid" is a float
// that fp16 could hold: kernels compute on floats, and this family brings what they give back to
// the grid.
//   in[0]  any real numbers, quantized values read through their encoding
//   out[0] f32: the rounded number; f16: the same in two bytes, where the wide range has no number
//          beyond the largest of IEEE
// in[0] and out[0] may be one f32 buffer.
#ifndef QRN_KERNELS_FP16_ROUND_FP16_H
#define QRN_KERNELS_FP16_ROUND_FP16_H

#include "base/fp16.h"
#include "kernels/kernel.h"

typedef struct qrn_round_fp16_args {
    uint32_t rule; // qrn_fp16_rule, not OFF
} qrn_round_fp16_args;

extern const qrn_family qrn_family_round_fp16; // RAW

#endif
