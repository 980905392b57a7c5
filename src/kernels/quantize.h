// SPDX-License-Identifier: MIT
//
// Quantization with ties rounded away from zero (HTP-NUM-02): what a device does with the floats it
// is given. Results that are computed are rounded half up instead (convert.h).
//   in[0]  x   f16, f32 or f64
//   out[0] y   8 or 16 bits, one scale for the tensor; clamped, NaN becomes the zero point
#ifndef QRN_KERNELS_QUANTIZE_H
#define QRN_KERNELS_QUANTIZE_H

#include "kernels/kernel.h"

extern const qrn_family qrn_family_quantize; // RAW

#endif
