// SPDX-License-Identifier: MIT
//
// The vector rows of the round_fp16 family, one file per ISA, and the rounding they share: the
// formulas of base/fp16.c as operations on bits, in loops that compilers vectorise.
#ifndef QRN_KERNELS_FP16_ROUND_FP16_ROWS_H
#define QRN_KERNELS_FP16_ROUND_FP16_ROWS_H

#include "kernels/fp16/round_fp16.h"

#include <math.h>
#include <string.h>

qrn_status qrn_round_fp16_avx2(const qrn_kcall *k);
qrn_status qrn_round_fp16_avx512(const qrn_kcall *k);
qrn_status qrn_round_fp16_neon(const qrn_kcall *k);

// What becomes of numbers that are too large.
typedef struct qrn_fp16_edge {
    float limit; // largest number
    float over;  // what lies beyond it becomes
    bool no_nan; // NaN becomes `over`
} qrn_fp16_edge;

static inline qrn_fp16_edge qrn_fp16_edge_of(qrn_fp16_rule rule) {
    if (rule == QRN_FP16_WIDE_RANGE)
        return (qrn_fp16_edge){(float)QRN_FP16_WIDE_RANGE_MAX, (float)QRN_FP16_WIDE_RANGE_MAX,
                               true};
    float max = (float)QRN_FP16_MAX;
    return (qrn_fp16_edge){max, rule == QRN_FP16_CLAMP ? max : INFINITY, false};
}

// The edge of constants (qrn_fp16_round_constant).
static inline qrn_fp16_edge qrn_fp16_edge_of_constants(qrn_fp16_rule rule) {
    qrn_fp16_edge e = qrn_fp16_edge_of(rule);
    if (rule == QRN_FP16_WIDE_RANGE)
        e.limit = e.over = (float)QRN_FP16_WIDE_RANGE_CONSTANT;
    return e;
}

// Normal numbers: half of the last place is added to the bits, with a tie going to even.
// Subnormal ones: 0.5 has the last place that they have.
static inline float qrn_fp16_round_f32(float x, qrn_fp16_edge e) {
    uint32_t bits, u, sign;
    float a, normal, tiny, y;
    memcpy(&bits, &x, sizeof bits);
    sign = bits & 0x80000000u;
    u = bits & 0x7fffffffu;
    memcpy(&a, &u, sizeof a);
    u = (u + 0xfffu + (u >> 13 & 1u)) & ~0x1fffu;
    memcpy(&normal, &u, sizeof normal);
    tiny = (a + 0.5f) - 0.5f;
    y = a < 0x1p-14f ? tiny : normal;
    y = y > e.limit ? e.over : y;
    memcpy(&u, &y, sizeof u);
    u |= sign;
    memcpy(&y, &u, sizeof y);
    return x != x ? (e.no_nan ? e.over : x) : y;
}

static inline double qrn_fp16_round_f64(double x, qrn_fp16_edge e) {
    uint64_t bits, u, sign;
    double a, normal, tiny, y;
    memcpy(&bits, &x, sizeof bits);
    sign = bits & (uint64_t)1 << 63;
    u = bits & ~((uint64_t)1 << 63);
    memcpy(&a, &u, sizeof a);
    const uint64_t last = (uint64_t)1 << 42;
    u = (u + (last / 2 - 1) + (u >> 42 & 1u)) & ~(last - 1);
    memcpy(&normal, &u, sizeof normal);
    tiny = (a + 0x1p28) - 0x1p28;
    y = a < 0x1p-14 ? tiny : normal;
    y = y > (double)e.limit ? (double)e.over : y;
    memcpy(&u, &y, sizeof u);
    u |= sign;
    memcpy(&y, &u, sizeof y);
    return x != x ? (e.no_nan ? (double)e.over : x) : y;
}

#endif
