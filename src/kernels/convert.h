// SPDX-License-Identifier: MIT
//
// Conversion between number formats, obeying encodings on both sides: the family that the compiler
// puts between steps of different domains, and what Convert, Quantize and Dequantize lower to.
// Rounding to fixed point is floor(x / scale + 0.5) in double, then the offset, then clamp (ties
// half up). Float to integer truncates toward zero and saturates, NaN gives 0. To bool: non-zero is
// 1. Integer to narrower integer keeps the low bits. Fixed point to a plain integer converts the
// real value; cast (below) treats quantized values as plain integers instead.
#ifndef QRN_KERNELS_CONVERT_H
#define QRN_KERNELS_CONVERT_H

#include "kernels/kernel.h"

extern const qrn_family qrn_family_convert; // in[0] -> out[0], RAW
extern const qrn_family qrn_family_cast;    // in[0] -> out[0], RAW, encodings ignored

// Conversion of `count` elements starting at element `first` of both views.
void qrn_convert_range(const qrn_view *src, qrn_view *dst, size_t first, size_t count, bool cast);

#endif
