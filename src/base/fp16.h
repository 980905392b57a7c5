// SPDX-License-Identifier: MIT
//
// Half precision and bfloat16 in software; both round once, to nearest, ties to even.
#ifndef QRN_BASE_FP16_H
#define QRN_BASE_FP16_H

#include <stdint.h>

float qrn_f16_to_f32(uint16_t h);
uint16_t qrn_f16_from_f64(double x); // overflow gives infinity, NaN stays NaN
float qrn_bf16_to_f32(uint16_t h);
uint16_t qrn_bf16_from_f64(double x);

#endif
