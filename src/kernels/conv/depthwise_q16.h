// SPDX-License-Identifier: MIT
//
// RAW rows of the conv family for depthwise convolutions with one output per input channel of which
// an operand has 16 bits. Sums are kept in double, where they are exact. Results are those of
// gemm/epilogue/requant.h to the bit.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_Q16_H
#define QRN_KERNELS_CONV_DEPTHWISE_Q16_H

#include "kernels/conv/depthwise_q8.h"

// One output cell: y[c] = clamp(floor(fma(bias[c] + sum over taps t of (x + x_offset) * w, m[c],
// start[c]))), where x is the quantized value at offset[t] + c and w the weight, offset included,
// at weight[t] + c.
typedef struct qrn_depthwise_q16_cell {
    const void *x;
    qrn_dtype x_type;
    const float *w;
    const size_t *offset, *weight; // [taps]
    size_t taps, channels;
    double x_offset;
    const double *bias, *m, *start; // [channels]
    double lo, hi;
    void *y; // [channels] elements of y_elem bytes
    size_t y_elem;
} qrn_depthwise_q16_cell;

void qrn_depthwise_q16_cell_avx512(const qrn_depthwise_q16_cell *d);
void qrn_depthwise_q16_cell_avx2(const qrn_depthwise_q16_cell *d);
void qrn_depthwise_q16_cell_neon(const qrn_depthwise_q16_cell *d);
void qrn_depthwise_q16_cell_any(const qrn_depthwise_q16_cell *d);

bool qrn_depthwise_q16_works(const qrn_kcall *k);
size_t qrn_depthwise_q16_scratch(const qrn_kcall *k);
qrn_status qrn_depthwise_q16_avx512(const qrn_kcall *k);
qrn_status qrn_depthwise_q16_avx2(const qrn_kcall *k);
qrn_status qrn_depthwise_q16_neon(const qrn_kcall *k);
qrn_status qrn_depthwise_q16_any(const qrn_kcall *k);

#endif
