// SPDX-License-Identifier: MIT
//
// Sums, differences and products of quantized values of 8 or 16 bits. The definition is that of
// element_io.h and binary.inc: real numbers in double, floor(x / scale + 0.5), offset, clamp. Fast
// rows compute the result in fixed point with `bits` binary places, too low by no more than `slack`
// units: when adding the slack does not change the whole number, that is the result; where it does,
// in one result of some thousands, the definition decides.
#ifndef QRN_KERNELS_ELTWISE_BINARY_Q_H
#define QRN_KERNELS_ELTWISE_BINARY_Q_H

#include "kernels/eltwise/binary.h"

#include <math.h>

// Values are taken as unsigned: with `flip` their highest bit is inverted, and offsets allow for
// it. Results are in units of 2^-bits:
//   a * factor[0] + b * factor[1] + start                      ADD, SUB
//   (a + offset[0]) * (b + offset[1]) * factor[0] + start      MUL
typedef struct qrn_binary_q {
    uint32_t op;                // QRN_BINARY_ADD, SUB, MUL
    uint32_t flip[3];           // of a, b, y
    double scale[3], offset[3]; // real = scale * (q + offset)
    double high;                // largest quantized value; the smallest is 0
    uint32_t bits;
    int32_t slack;
    double factor[2], start;
    // ADD, SUB in whole numbers: a * whole[0] + b * whole[1] + whole_start for 8 bits. For 16 bits
    // a and b are less by 0x8000, and (a * fine[0] + b * fine[1]) >> 15 is added.
    int32_t whole[2], fine[2], whole_start;
} qrn_binary_q;

// False when there is no fast row for the operands: other types or ops, far-off scales or offsets.
bool qrn_binary_q_plan(const qrn_kcall *k, qrn_binary_q *p);

// The definition, unsigned values to an unsigned value.
static inline int32_t qrn_binary_q_exact(const qrn_binary_q *p, uint32_t a, uint32_t b) {
    double x = p->scale[0] * ((double)(int32_t)a + p->offset[0]);
    double z = p->scale[1] * ((double)(int32_t)b + p->offset[1]);
    double v = p->op == QRN_BINARY_ADD ? x + z : p->op == QRN_BINARY_SUB ? x - z : x * z;
    double t = floor(v / p->scale[2] + 0.5) - p->offset[2];
    t = t > 0 ? t : 0;
    return (int32_t)(t < p->high ? t : p->high);
}

// Results in fixed point, from unsigned values of 8 and 16 bits.
static inline int32_t qrn_sum_q8(const qrn_binary_q *p, uint8_t a, uint8_t b) {
    return (int32_t)((uint32_t)p->whole[0] * a + (uint32_t)p->whole[1] * b +
                     (uint32_t)p->whole_start);
}
static inline int32_t qrn_product_q8(const qrn_binary_q *p, uint8_t a, uint8_t b) {
    int32_t product = (a + (int32_t)p->offset[0]) * (b + (int32_t)p->offset[1]);
    return (int32_t)fmaf((float)product, (float)p->factor[0], (float)p->start);
}
static inline int32_t qrn_sum_q16(const qrn_binary_q *p, uint16_t a, uint16_t b) {
    return (int32_t)fma((double)a, p->factor[0], fma((double)b, p->factor[1], p->start));
}
static inline int32_t qrn_product_q16(const qrn_binary_q *p, uint16_t a, uint16_t b) {
    double product = (double)(a + (int32_t)p->offset[0]) * (double)(b + (int32_t)p->offset[1]);
    return (int32_t)fma(product, p->factor[0], p->start);
}

#endif
