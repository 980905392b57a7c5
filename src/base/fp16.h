// SPDX-License-Identifier: MIT
//
// fp16 and bfloat16 in software; both round once, to nearest, ties to even. Beside IEEE fp16 there
// are the two variants that accelerators keep their numbers in (docs/numerics.md).
#ifndef QRN_BASE_FP16_H
#define QRN_BASE_FP16_H

#include <stdbool.h>
#include <stdint.h>

float qrn_f16_to_f32(uint16_t h);
uint16_t qrn_f16_from_f64(double x); // overflow gives infinity, NaN stays NaN
float qrn_bf16_to_f32(uint16_t h);
uint16_t qrn_bf16_from_f64(double x);

// Which numbers fp16 has, and what becomes of those that are too large.
typedef enum qrn_fp16_rule {
    QRN_FP16_OFF,        // no fp16: values keep their own type
    QRN_FP16_IEEE,       // overflow to infinity
    QRN_FP16_CLAMP,      // as IEEE, but clamped to the largest finite number; NaN stays NaN
    QRN_FP16_WIDE_RANGE, // no infinities and NaNs: their bits are one more binade, clamped at
                         // 131008
    QRN_FP16_AS_F32 // no rounding: all floats are f32, and who runs the graph chooses their storage
} qrn_fp16_rule;

#define QRN_FP16_MAX 65504.0             // largest finite number of IEEE
#define QRN_FP16_WIDE_RANGE_MAX 131008.0 // largest number of the wide range
// The largest constant of the wide range: the bits of infinity, as a number.
#define QRN_FP16_WIDE_RANGE_CONSTANT 65536.0

// x rounded to fp16; NaN becomes +131008 with WIDE_RANGE. OFF, AS_F32: x itself.
double qrn_fp16_round(double x, qrn_fp16_rule rule);
// The same for a constant: it is converted as IEEE has it, so that numbers beyond IEEE's become the
// bits of infinity whatever the rule reads in them.
double qrn_fp16_round_constant(double x, qrn_fp16_rule rule);
// The bits of a number that fp16 of some kind holds already, and the number that bits stand for.
uint16_t qrn_fp16_bits(float x);
float qrn_fp16_value(uint16_t bits, bool wide_range);

#endif
