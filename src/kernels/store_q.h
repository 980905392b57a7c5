// SPDX-License-Identifier: MIT
//
// Storing quantized results of 8 or 16 bits: whole numbers as floats are clamped to the range of
// the type and stored. Included by files compiled for an ISA, behind vec.h's choice.
#ifndef QRN_KERNELS_STORE_Q_H
#define QRN_KERNELS_STORE_Q_H

#include "kernels/kernel.h"
#include "kernels/vec.h"

#define QRN_STORE_Q(type)                                                                          \
    do {                                                                                           \
        type *q = (type *)y->data + at;                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            q[i] = (type)(int32_t)whole[i];                                                        \
    } while (0);                                                                                   \
    break

// n of them to element `at` of y and on; whole vectors of them are there, and are clamped in place.
static inline void qrn_store_q(qrn_view *y, size_t at, size_t n, float *restrict whole) {
    const float top = qrn_view_elem(y) == 1 ? 255.0f : 65535.0f;
    const bool is_signed = y->dtype == QRN_DTYPE_SQ8 || y->dtype == QRN_DTYPE_SQ16;
    const float least = is_signed ? -(top + 1) / 2 : 0.0f;
    const qrn_vf low = qrn_vf_all(least), high = qrn_vf_all(least + top);
    for (size_t i = 0; i < n; i += QRN_VF)
        qrn_vf_store(whole + i, qrn_vf_min(high, qrn_vf_max(low, qrn_vf_load(whole + i))));
    switch (y->dtype) {
    case QRN_DTYPE_UQ8:
        QRN_STORE_Q(uint8_t);
    case QRN_DTYPE_SQ8:
        QRN_STORE_Q(int8_t);
    case QRN_DTYPE_UQ16:
        QRN_STORE_Q(uint16_t);
    default:
        QRN_STORE_Q(int16_t);
    }
}

#endif
