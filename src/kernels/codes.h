// SPDX-License-Identifier: MIT
//
// Loading and storing the common formats as double, in loops that compilers vectorise: f32, f64 and
// 8-bit or 16-bit fixed point with one scale for the whole tensor. Included by files compiled for
// an ISA; the arithmetic is that of convert.c, step by step, so results are the same to the bit.
#ifndef QRN_KERNELS_CODES_H
#define QRN_KERNELS_CODES_H

#include "kernels/kernel.h"

#include <math.h>
#include <string.h>

#define QRN_CODES_RUN 256 // elements a caller handles at a time, in buffers on the stack

// Is the view in a format that the functions below know?
static inline bool qrn_codes_know(const qrn_view *v) {
    if (v->dtype == QRN_DTYPE_F32 || v->dtype == QRN_DTYPE_F64)
        return true;
    unsigned bits = qrn_dtypes[v->dtype].bits;
    return qrn_dtype_is_fixed(v->dtype) && (bits == 8 || bits == 16) && v->quant &&
           v->quant->kind == QRN_QUANT_TENSOR && v->quant->scale != 0.0f &&
           (v->quant->bits == 0 || v->quant->bits >= bits);
}

// Pointers and numbers are held in locals: a store through uint8_t could change anything else.
#define QRN_CODES_LOAD(type)                                                                       \
    do {                                                                                           \
        const type *codes = (const type *)v->data + first;                                         \
        for (size_t i = 0; i < n; i++)                                                             \
            dst[i] = scale * ((double)codes[i] + offset);                                          \
    } while (0);                                                                                   \
    break

// Elements [first, first + n) of v as real numbers.
static inline void qrn_codes_load(const qrn_view *v, size_t first, size_t n, double *dst) {
    double scale = v->quant ? (double)v->quant->scale : 1;
    double offset = v->quant ? (double)v->quant->offset + (double)v->quant->shift : 0;
    switch (v->dtype) {
    case QRN_DTYPE_UQ8:
        QRN_CODES_LOAD(uint8_t);
    case QRN_DTYPE_SQ8:
        QRN_CODES_LOAD(int8_t);
    case QRN_DTYPE_UQ16:
        QRN_CODES_LOAD(uint16_t);
    case QRN_DTYPE_SQ16:
        QRN_CODES_LOAD(int16_t);
    case QRN_DTYPE_F32:
        for (size_t i = 0; i < n; i++)
            dst[i] = (double)((const float *)v->data)[first + i];
        break;
    default:
        memcpy(dst, (const double *)v->data + first, n * sizeof *dst);
        break;
    }
}

#define QRN_CODES_STORE(type, low, high)                                                           \
    do {                                                                                           \
        type *codes = (type *)v->data + first;                                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            double x = src[i] != src[i] ? 0 : src[i];                                              \
            double t = floor(x / scale + 0.5) - offset;                                            \
            t = t <= (low) ? (low) : t;                                                            \
            t = t >= (high) ? (high) : t;                                                          \
            codes[i] = (type)(int32_t)t;                                                           \
        }                                                                                          \
    } while (0);                                                                                   \
    break

// The reals in the format of v, ties half up, clamped; NaN is stored as 0.
static inline void qrn_codes_store(qrn_view *v, size_t first, size_t n, const double *src) {
    double scale = v->quant ? (double)v->quant->scale : 1;
    double offset = v->quant ? (double)v->quant->offset + (double)v->quant->shift : 0;
    switch (v->dtype) {
    case QRN_DTYPE_UQ8:
        QRN_CODES_STORE(uint8_t, 0, 255);
    case QRN_DTYPE_SQ8:
        QRN_CODES_STORE(int8_t, -128, 127);
    case QRN_DTYPE_UQ16:
        QRN_CODES_STORE(uint16_t, 0, 65535);
    case QRN_DTYPE_SQ16:
        QRN_CODES_STORE(int16_t, -32768, 32767);
    case QRN_DTYPE_F32:
        for (size_t i = 0; i < n; i++)
            ((float *)v->data)[first + i] = (float)src[i];
        break;
    default:
        memcpy((double *)v->data + first, src, n * sizeof *src);
        break;
    }
}

#endif
