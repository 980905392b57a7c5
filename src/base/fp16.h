// SPDX-License-Identifier: MIT
//
// Half precision and bfloat16 in software; both round once, to nearest, ties to even. Beside IEEE
// halves there are the two kinds that accelerators keep their numbers in (docs/numerics.md).
#ifndef QRN_BASE_FP16_H
#define QRN_BASE_FP16_H

#include <stdbool.h>
#include <stdint.h>

float qrn_f16_to_f32(uint16_t h);
uint16_t qrn_f16_from_f64(double x); // overflow gives infinity, NaN stays NaN
float qrn_bf16_to_f32(uint16_t h);
uint16_t qrn_bf16_from_f64(double x);

// Which numbers a half can be, and what becomes of those that are too large.
typedef enum qrn_half {
    QRN_HALF_OFF,   // no halves: values keep their own type
    QRN_HALF_IEEE,  // overflow to infinity
    QRN_HALF_CLAMP, // as IEEE, but clamped to the largest finite number; NaN stays NaN
    QRN_HALF_WIDE   // no infinities and NaNs: their codes are one more binade, clamped at 131008
} qrn_half;

#define QRN_HALF_MAX 65504.0       // largest finite IEEE half
#define QRN_HALF_WIDE_MAX 131008.0 // largest wide half

// x rounded to a half; NaN becomes +131008 with WIDE. OFF: x itself.
double qrn_half_round(double x, qrn_half rule);
// The bits of a number that is a half of some kind already, and the number that bits stand for.
uint16_t qrn_half_bits(float half);
float qrn_half_value(uint16_t bits, bool wide);

#endif
