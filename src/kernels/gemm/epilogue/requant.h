// SPDX-License-Identifier: MIT
//
// Requantization of accumulators: the definition shared by convolutions and matmuls in the RAW
// domain. The reference rows and every fast one agree with it to the bit.
//
// Operands. x and w are quantized values of 4 to 16 bits; x and y have one encoding per tensor, y
// of 8 or 16 bits, of matmuls also of 32; w has one per tensor, per output channel or per block.
// Offsets of x and w are within +-QRN_REQUANT_OFFSET_MAX.
//
// Sums are exact integers. A bias is i32 in units of scale_x * scale_w, or f64 in real units where
// an operand has 16 bits or w is encoded per block. With w encoded per tensor or per channel
//   acc = bias (i32) + sum (qx + offset_x) * (qw + offset_w)
//   m   = scale_x * scale_w / scale_y, computed in double
//   t   = zero + 0.5 + bias / scale_y (f64)
//   y   = clamp(floor(fma((double)acc, m, t)))
// where zero = -offset_y. Ties go up.
//
// With w encoded per block no integer spans a whole sum; whatever the bits
//   t = zero + 0.5 + bias / scale_y
//   t = fma((double)acc_run, scale_x * scale_w_run / scale_y, t)   for each run of equal block
//   y = clamp(floor(t))
// where runs are taken in the order in which the sum is written.
#ifndef QRN_KERNELS_GEMM_REQUANT_H
#define QRN_KERNELS_GEMM_REQUANT_H

#include "kernels/kernel.h"

#include <math.h>

#define QRN_REQUANT_OFFSET_MAX 131072

// The output side of one channel.
typedef struct qrn_requant {
    double m;         // scale_x * scale_w / scale_y
    double zero_half; // zero + 0.5
    int32_t lo, hi;   // range of y
} qrn_requant;

// Quantized value i of a tensor of 4, 8 or 16 bits; its encoding may say that fewer of them count.
static inline int32_t qrn_q_load(const qrn_view *v, size_t i) {
    uint32_t bits = qrn_dtypes[v->dtype].bits, u;
    if (bits == 4)
        u = ((const uint8_t *)v->data)[i / 2] >> (i % 2 * 4);
    else
        u = bits == 8 ? ((const uint8_t *)v->data)[i] : ((const uint16_t *)v->data)[i];
    if (v->quant->bits && v->quant->bits < bits)
        bits = v->quant->bits;
    u <<= 32 - bits;
    bool is_signed = qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED;
    return is_signed ? (int32_t)u >> (32 - bits) : (int32_t)(u >> (32 - bits));
}

// The part of a bias that belongs to the integer sum; NULL: no bias.
static inline int64_t qrn_bias_sum(const qrn_view *bias, size_t c) {
    return bias && bias->dtype != QRN_DTYPE_F64 ? ((const int32_t *)bias->data)[c] : 0;
}
// The part that is added to the scaled sum.
static inline double qrn_bias_real(const qrn_view *bias, size_t c, const qrn_view *y) {
    return bias && bias->dtype == QRN_DTYPE_F64
               ? ((const double *)bias->data)[c] / (double)y->quant->scale
               : 0;
}

// Scale and offset of group g (channel or block); per-tensor encodings have one for all.
static inline double qrn_group_scale(const qrn_quant *q, size_t g) {
    return (double)qrn_quant_scale(q, g);
}
static inline int32_t qrn_group_offset(const qrn_quant *q, size_t g) {
    return qrn_quant_offset(q, g);
}

static inline qrn_requant qrn_requant_of(const qrn_view *x, const qrn_view *w, size_t group,
                                         const qrn_view *y) {
    int64_t lo, hi;
    qrn_quant_range(y->dtype, y->quant->bits, &lo, &hi);
    double m = (double)x->quant->scale * qrn_group_scale(w->quant, group) / (double)y->quant->scale;
    return (qrn_requant){
        .m = m, .zero_half = 0.5 - (double)y->quant->offset, .lo = (int32_t)lo, .hi = (int32_t)hi};
}

static inline int32_t qrn_requant_clamp(const qrn_requant *r, double t) {
    if (!(t > (double)r->lo)) // NaN of an infinite scale ratio as well
        return r->lo;
    return t >= (double)r->hi ? r->hi : (int32_t)t;
}

static inline int32_t qrn_requantize(const qrn_requant *r, int64_t acc) {
    return qrn_requant_clamp(r, floor(fma((double)acc, r->m, r->zero_half)));
}

static inline void qrn_q_store(const qrn_view *y, size_t i, int32_t q) {
    if (qrn_view_elem(y) == 4)
        ((int32_t *)y->data)[i] = q;
    else if (qrn_view_elem(y) == 2)
        ((uint16_t *)y->data)[i] = (uint16_t)q;
    else
        ((uint8_t *)y->data)[i] = (uint8_t)q;
}

// Block of element i of a tensor encoded per block: blocks are counted in row-major order.
static inline size_t qrn_block_of(const qrn_view *v, size_t i) {
    size_t g = 0, step = 1;
    for (uint32_t d = v->rank; d-- > 0;) {
        size_t block = v->quant->block[d] ? v->quant->block[d] : 1;
        g += i % v->dims[d] / block * step;
        step *= (v->dims[d] + block - 1) / block;
        i /= v->dims[d];
    }
    return g;
}

// The sum of one output element with w encoded per block.
typedef struct qrn_block_sum {
    double t;     // zero + 0.5 + bias / scale_y + finished runs
    int64_t acc;  // the run at hand
    size_t group; // its block
    bool started;
} qrn_block_sum;

static inline void qrn_block_flush(qrn_block_sum *s, const qrn_view *x, const qrn_view *w,
                                   const qrn_view *y) {
    if (s->started)
        s->t = fma((double)s->acc, qrn_requant_of(x, w, s->group, y).m, s->t);
    s->acc = 0;
}

// Adds (qx + offset_x) * (qw + offset_w) of element wi of w.
static inline void qrn_block_add(qrn_block_sum *s, const qrn_view *x, size_t xi, const qrn_view *w,
                                 size_t wi, const qrn_view *y) {
    size_t g = qrn_block_of(w, wi);
    if (!s->started || g != s->group) {
        qrn_block_flush(s, x, w, y);
        s->group = g;
        s->started = true;
    }
    s->acc += (int64_t)(qrn_q_load(x, xi) + x->quant->offset) *
              (qrn_q_load(w, wi) + qrn_group_offset(w->quant, g));
}

#endif
