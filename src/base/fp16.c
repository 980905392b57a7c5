// SPDX-License-Identifier: MIT
//
// fp16 and bfloat16. Conversions from double go through one routine that rounds the 52-bit fraction
// to any narrower binary format, so that a value is never rounded twice.
#include "base/fp16.h"

#include <math.h>
#include <string.h>

static float float_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float qrn_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = (h >> 10) & 31u, frac = h & 1023u;
    if (exp == 31)
        return float_of_bits(sign | 0x7f800000u | frac << 13);
    if (exp != 0)
        return float_of_bits(sign | (exp + 112u) << 23 | frac << 13);
    float sub = (float)frac * 0x1p-24f; // zero and subnormals
    return sign ? -sub : sub;
}

float qrn_bf16_to_f32(uint16_t h) { return float_of_bits((uint32_t)h << 16); }

// |x| to a format with `frac_bits` of fraction and smallest normal exponent `min_exp`; the result
// is the integer pattern without sign, with exponents biased so that min_exp is pattern 1 <<
// frac_bits.
static uint32_t round_to(double x, int frac_bits, int min_exp, uint32_t inf) {
    if (isnan(x))
        return inf | 1u << (frac_bits - 1);
    if (isinf(x))
        return inf;
    int e;
    double m = frexp(x, &e); // x = m * 2^e, 0.5 <= m < 1
    if (m == 0)
        return 0;
    e -= 1;
    int at = e < min_exp ? min_exp : e;                 // exponent of the unit we round in
    double steps = nearbyint(ldexp(x, frac_bits - at)); // exact scaling, one rounding (to even)
    uint32_t bits = (uint32_t)steps;
    if (e >= min_exp)
        bits += (uint32_t)(e - min_exp) << frac_bits; // the hidden bit adds one to the exponent
    return bits >= inf ? inf : bits;
}

uint16_t qrn_f16_from_f64(double x) {
    uint16_t sign = signbit(x) ? 0x8000u : 0;
    if (fabs(x) > 1e6 && !isnan(x))
        return sign | 0x7c00u;
    return (uint16_t)(sign | round_to(fabs(x), 10, -14, 0x7c00u));
}

uint16_t qrn_bf16_from_f64(double x) {
    uint16_t sign = signbit(x) ? 0x8000u : 0;
    if (fabs(x) > 1e39 && !isnan(x))
        return sign | 0x7f80u;
    return (uint16_t)(sign | round_to(fabs(x), 7, -126, 0x7f80u));
}

double qrn_fp16_round(double x, qrn_fp16_rule rule) {
    if (rule == QRN_FP16_OFF || rule == QRN_FP16_AS_F32 ||
        (isnan(x) && rule != QRN_FP16_WIDE_RANGE))
        return x;
    if (isnan(x))
        return QRN_FP16_WIDE_RANGE_MAX;
    double limit = rule == QRN_FP16_WIDE_RANGE ? QRN_FP16_WIDE_RANGE_MAX : QRN_FP16_MAX,
           a = fabs(x);
    if (a < 0x1p18) { // beyond, everything is too large; exact scaling, one rounding (to even)
        int e;
        frexp(a, &e);
        int unit = (e - 1 < -14 ? -14 : e - 1) - 10;
        a = ldexp(nearbyint(ldexp(a, -unit)), unit);
    }
    if (a > limit)
        a = rule == QRN_FP16_IEEE ? (double)INFINITY : limit;
    return copysign(a, x);
}

double qrn_fp16_round_constant(double x, qrn_fp16_rule rule) {
    x = qrn_fp16_round(x, rule);
    return rule == QRN_FP16_WIDE_RANGE && fabs(x) > QRN_FP16_WIDE_RANGE_CONSTANT
               ? copysign(QRN_FP16_WIDE_RANGE_CONSTANT, x)
               : x;
}

uint16_t qrn_fp16_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000u);
    float a = fabsf(x);
    if (a < 0x1p-14f)
        return (uint16_t)(sign | (uint32_t)(a * 0x1p24f));
    if (!isfinite(x))
        return (uint16_t)(sign | (isnan(x) ? 0x7e00u : 0x7c00u));
    return (uint16_t)(sign | ((u & 0x7fffffffu) - (112u << 23)) >> 13);
}

float qrn_fp16_value(uint16_t bits, bool wide_range) {
    if (!wide_range || (bits & 0x7c00u) != 0x7c00u)
        return qrn_f16_to_f32(bits);
    float a = 0x1p16f + 64.0f * (float)(bits & 1023u);
    return bits & 0x8000u ? -a : a;
}
