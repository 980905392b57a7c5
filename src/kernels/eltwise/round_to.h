// SPDX-License-Identifier: MIT
//
// Quantization as ONNX has it, whose ties go to the even number, by a scale that may come at run
// time.
//   in[0]  x      f32
//   in[1]  scale  f32, one number
//   in[2]  zero   f32, one number; may be absent: 0
//   out[0] y      8 or 16 bits, the numbers of its type:
//                 y = clamp(round(x / scale) + zero, low, high), each step in single precision
// NaN gives 0. low and high are whole numbers that the type of y has.
#ifndef QRN_KERNELS_ELTWISE_ROUND_TO_H
#define QRN_KERNELS_ELTWISE_ROUND_TO_H

#include "kernels/kernel.h"

typedef struct qrn_round_to_args {
    float low, high;
} qrn_round_to_args;

extern const qrn_family qrn_family_round_to; // RAW

qrn_status qrn_round_to_ref(const qrn_kcall *k);
qrn_status qrn_round_to_avx2(const qrn_kcall *k);
qrn_status qrn_round_to_neon(const qrn_kcall *k);
qrn_status qrn_round_to_avx512(const qrn_kcall *k);

#endif
