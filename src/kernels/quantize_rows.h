// SPDX-License-Identifier: MIT
//
// The vector rows of the quantize family, one file per ISA, and the definition they share.
#ifndef QRN_KERNELS_QUANTIZE_ROWS_H
#define QRN_KERNELS_QUANTIZE_ROWS_H

#include "kernels/element_io.h"

#define QRN_QUANTIZE_FAR 0x1p30 // beyond every result

// The nearest whole number, halves away from zero.
static inline double qrn_nearest_away(double t) {
    double a = fabs(t);
    a = a < QRN_QUANTIZE_FAR ? a : QRN_QUANTIZE_FAR; // NaN is not here any more
    double whole = (double)(int32_t)a;
    whole += a - whole >= 0.5 ? 1.0 : 0.0;
    return t < 0 ? -whole : whole;
}

#define QRN_QUANTIZE(type)                                                                         \
    do {                                                                                           \
        type *q = (type *)y->data + first;                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            double t = qrn_nearest_away(src[i] != src[i] ? 0 : src[i] / g->scale) - g->offset;     \
            t = t > g->low ? t : g->low;                                                           \
            q[i] = (type)(int32_t)(t < g->high ? t : g->high);                                     \
        }                                                                                          \
    } while (0)

// Elements first to first + n of y.
static inline void qrn_quantize_run(const double *src, const qrn_quant_grid *g, qrn_view *y,
                                    size_t first, size_t n) {
    if (qrn_view_elem(y) == 2)
        QRN_QUANTIZE(uint16_t);
    else
        QRN_QUANTIZE(uint8_t);
}

qrn_status qrn_quantize_avx2(const qrn_kcall *k);
qrn_status qrn_quantize_avx512(const qrn_kcall *k);
qrn_status qrn_quantize_neon(const qrn_kcall *k);

#endif
