// SPDX-License-Identifier: MIT
//
// Reductions of fixed-point codes of 8 or 16 bits: sums, means, largest and smallest elements as
// whole numbers, brought to real numbers once. The numbers are those of sums in double as long as
// these are exact, which qrn_reduce_codes_exact() tells.
#ifndef QRN_KERNELS_REDUCE_REDUCE_CODES_H
#define QRN_KERNELS_REDUCE_REDUCE_CODES_H

#include "kernels/codes.h"
#include "kernels/reduce/reduce.h"

// real = scale * (result in codes + offset) / divisor
typedef struct qrn_reduce_scale {
    double scale, offset, divisor;
    uint32_t flip; // highest bit of signed codes
} qrn_reduce_scale;

static inline qrn_reduce_scale qrn_reduce_scale_of(const qrn_kcall *k, size_t count) {
    const qrn_reduce_args *a = k->args;
    const qrn_view *x = k->in[0];
    bool extreme = a->op == QRN_REDUCE_MAX || a->op == QRN_REDUCE_MIN;
    double times = extreme ? 1 : (double)count;
    uint32_t flip =
        qrn_dtypes[x->dtype].cls == QRN_CLASS_SFIXED ? 1u << (qrn_dtypes[x->dtype].bits - 1) : 0;
    return (qrn_reduce_scale){.scale = (double)x->quant->scale,
                              .offset = times * ((double)x->quant->offset - (double)flip),
                              .divisor = a->op == QRN_REDUCE_MEAN ? (double)count : 1,
                              .flip = flip};
}

// Can `count` elements of x be reduced, by one of the ops above, with the same result?
bool qrn_reduce_codes_exact(uint32_t op, const qrn_view *x, const qrn_view *y, double count);

qrn_status qrn_reduce_codes_avx2(const qrn_kcall *k);
qrn_status qrn_reduce_codes_avx512(const qrn_kcall *k);
qrn_status qrn_reduce_codes_neon(const qrn_kcall *k);

#endif
