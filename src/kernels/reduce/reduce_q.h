// SPDX-License-Identifier: MIT
//
// Reductions of quantized values of 8 or 16 bits: sums, means, largest and smallest elements as
// whole numbers, brought to real numbers once. The definition adds real numbers in double, in
// order; as long as that is exact there is no difference, and else it can be seen only next to the
// middle between two quantized values, where the definition decides.
#ifndef QRN_KERNELS_REDUCE_REDUCE_Q_H
#define QRN_KERNELS_REDUCE_REDUCE_Q_H

#include "kernels/element_io.h"
#include "kernels/reduce/reduce.h"
#include "kernels/walk.h"

// real = scale * (q + offset) / divisor
typedef struct qrn_reduce_scale {
    double scale, offset, divisor;
    uint32_t flip; // highest bit of signed values
    bool exact;    // so are sums in double
} qrn_reduce_scale;

static inline qrn_reduce_scale qrn_reduce_scale_of(const qrn_kcall *k, size_t count) {
    const qrn_reduce_args *a = k->args;
    const qrn_view *x = k->in[0];
    bool extreme = a->op == QRN_REDUCE_MAX || a->op == QRN_REDUCE_MIN;
    double times = extreme ? 1 : (double)count, most = fabs((double)x->quant->offset) + 65536;
    uint32_t flip =
        qrn_dtypes[x->dtype].cls == QRN_CLASS_SFIXED ? 1u << (qrn_dtypes[x->dtype].bits - 1) : 0;
    return (qrn_reduce_scale){.scale = (double)x->quant->scale,
                              .offset = times * ((double)x->quant->offset - (double)flip),
                              .divisor = a->op == QRN_REDUCE_MEAN ? (double)count : 1,
                              .flip = flip,
                              // A scale has 24 bits, a double 53.
                              .exact = most * times < 0x1p29};
}

// Could a sum in double, of no more than 2^20 elements, round to another value?
static inline bool qrn_reduce_in_doubt(double real, double scale) {
    double t = real / scale + 0.5, part = t - floor(t);
    return !(part > 0x1p-10 && part < 1 - 0x1p-10);
}

// The definition: one result, of the elements that `inner` walks from element `at` on.
double qrn_reduce_q_in_order(uint32_t op, const qrn_view *x, size_t at, const qrn_walk *inner);

// Is there a row for `count` elements of x each, reduced to y?
bool qrn_reduce_q_work(uint32_t op, const qrn_view *x, const qrn_view *y, double count);

qrn_status qrn_reduce_q_avx2(const qrn_kcall *k);
qrn_status qrn_reduce_q_avx512(const qrn_kcall *k);
qrn_status qrn_reduce_q_neon(const qrn_kcall *k);

#endif
