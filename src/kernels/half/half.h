// SPDX-License-Identifier: MIT
//
// Rounding to half precision (base/fp16.h says which numbers there are). A value "on the grid" is a
// float that a half could hold: kernels compute on floats, and this family brings what they give
// back to the grid.
//   in[0]  any real numbers, codes read through their encoding
//   out[0] f32: the rounded number; f16: the same in two bytes, where the wide kind has no number
//          beyond the largest IEEE half
// in[0] and out[0] may be one f32 buffer.
#ifndef QRN_KERNELS_HALF_HALF_H
#define QRN_KERNELS_HALF_HALF_H

#include "base/fp16.h"
#include "kernels/kernel.h"

typedef struct qrn_half_args {
    uint32_t rule; // qrn_half, not OFF
} qrn_half_args;

extern const qrn_family qrn_family_half; // RAW

#endif
