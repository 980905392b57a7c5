// SPDX-License-Identifier: MIT
//
// Loading and storing the common formats as double, in loops that compilers vectorise: f16, f32,
// f64 and 8-bit or 16-bit fixed point with one scale for the whole tensor. Included by files
// compiled for an ISA; the arithmetic is that of convert.c, step by step, so results are the same
// to the bit.
#ifndef QRN_KERNELS_ELEMENT_IO_H
#define QRN_KERNELS_ELEMENT_IO_H

#include "base/fp16.h"
#include "kernels/kernel.h"

#include <math.h>
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

#ifndef QRN_IO_BY_DEFINITION
#define QRN_IO_BY_DEFINITION 0 // 1: for reference rows, which divide
#endif
#define QRN_IO_RUN 256 // elements a caller handles at a time, in buffers on the stack

// Is the view in a format that the functions below know?
static inline bool qrn_io_supports(const qrn_view *v) {
    if (v->dtype == QRN_DTYPE_F16 || v->dtype == QRN_DTYPE_F32 || v->dtype == QRN_DTYPE_F64)
        return true;
    unsigned bits = qrn_dtypes[v->dtype].bits;
    return qrn_dtype_is_fixed(v->dtype) && (bits == 8 || bits == 16) && v->quant &&
           v->quant->kind == QRN_QUANT_TENSOR && v->quant->scale != 0.0f &&
           (v->quant->bits == 0 || v->quant->bits >= bits);
}

static inline void qrn_io_load_f16(const uint16_t *x, size_t n, double *dst) {
    size_t i = 0;
#ifdef __F16C__
    float f32[8];
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(f32, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
        for (size_t l = 0; l < 8; l++)
            dst[i + l] = (double)f32[l];
    }
#endif
    for (; i < n; i++)
        dst[i] = (double)qrn_f16_to_f32(x[i]);
}

// A double cut to 24 bits, the last one set when a bit was lost: rounding it again to 11 bits gives
// what one rounding would give.
static inline float qrn_io_sticky(double d) {
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    const uint64_t last = (uint64_t)1 << 29;
    u = (u & ~(last - 1)) | (u & (last - 1) ? last : 0);
    memcpy(&d, &u, sizeof d);
    return (float)d;
}

static inline void qrn_io_store_f16(uint16_t *y, size_t n, const double *src) {
    size_t i = 0;
#ifdef __F16C__
    float f32[8];
    for (; i + 8 <= n; i += 8) {
        for (size_t l = 0; l < 8; l++)
            f32[l] = qrn_io_sticky(src[i + l]);
        _mm_storeu_si128((__m128i *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(f32), _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < n; i++)
        y[i] = qrn_f16_from_f64(src[i]);
}

// Pointers and numbers are held in locals: a store through uint8_t could change anything else.
#define QRN_IO_LOAD(type)                                                                          \
    do {                                                                                           \
        const type *q = (const type *)v->data + first;                                             \
        for (size_t i = 0; i < n; i++)                                                             \
            dst[i] = scale * ((double)q[i] + offset);                                              \
    } while (0);                                                                                   \
    break

// Elements [first, first + n) of v as real numbers.
static inline void qrn_io_load(const qrn_view *v, size_t first, size_t n, double *dst) {
    double scale = v->quant ? (double)v->quant->scale : 1;
    double offset = v->quant ? (double)v->quant->offset + (double)v->quant->shift : 0;
    switch (v->dtype) {
    case QRN_DTYPE_UQ8:
        QRN_IO_LOAD(uint8_t);
    case QRN_DTYPE_SQ8:
        QRN_IO_LOAD(int8_t);
    case QRN_DTYPE_UQ16:
        QRN_IO_LOAD(uint16_t);
    case QRN_DTYPE_SQ16:
        QRN_IO_LOAD(int16_t);
    case QRN_DTYPE_F16:
        qrn_io_load_f16((const uint16_t *)v->data + first, n, dst);
        break;
    case QRN_DTYPE_F32:
        for (size_t i = 0; i < n; i++)
            dst[i] = (double)((const float *)v->data)[first + i];
        break;
    default:
        memcpy(dst, (const double *)v->data + first, n * sizeof *dst);
        break;
    }
}

// The real numbers that a fixed-point view can hold.
typedef struct qrn_quant_grid {
    double scale, offset, low, high; // real = scale * (q + offset), low <= q <= high
} qrn_quant_grid;

static inline qrn_quant_grid qrn_quant_grid_of(const qrn_view *v) {
    bool is_signed = v->dtype == QRN_DTYPE_SQ8 || v->dtype == QRN_DTYPE_SQ16;
    double q = v->dtype == QRN_DTYPE_UQ8 || v->dtype == QRN_DTYPE_SQ8 ? 256 : 65536;
    double low = is_signed ? -q / 2 : 0;
    return (qrn_quant_grid){(double)v->quant->scale,
                            (double)v->quant->offset + (double)v->quant->shift, low, low + q - 1};
}

// The quantized values nearest to src[0..n), by multiplication. False when one of them may be
// wrong: its quotient lies next to the middle between two quantized values, where ways of rounding
// differ, or is not a number. S is the type of the numbers, R that of the arithmetic; the inverse
// and the product are rounded, and off by less than `rough` of their size together.
#define QRN_IO_NEAREST(name, S, R, type, whole_of, rough)                                          \
    static inline bool name(const S *restrict src, size_t n, const qrn_quant_grid *g,              \
                            type *restrict q) {                                                    \
        const R inverse = (R)(1 / g->scale), offset = (R)g->offset;                                \
        const R first = (R)(g->low + g->offset), last = (R)(g->high + g->offset);                  \
        const R most = first < -last ? -first : last; /* |t| of all that counts */                 \
        const R limit = (R)(0.5 - ((double)most + 1) * (rough));                                   \
        int bad = 0;                                                                               \
        if (!(g->scale > 0x1p-100 && g->scale < 0x1p100 && limit > (R)0.25) ||                     \
            rint(g->offset) != g->offset)                                                          \
            return false;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            R t = (R)src[i] * inverse;                                                             \
            t = t < first ? first : t;                                                             \
            t = t > last ? last : t;                                                               \
            R whole = whole_of(t), off = t - whole;                                                \
            off = off < 0 ? -off : off;                                                            \
            bad |= !(off <= limit);                                                                \
            q[i] = (type)(int32_t)(whole - offset);                                                \
        }                                                                                          \
        return !bad;                                                                               \
    }
QRN_IO_NEAREST(qrn_quantize_f32_8, float, float, uint8_t, rintf, 0x1.1p-23)
QRN_IO_NEAREST(qrn_quantize_f64_8, double, double, uint8_t, rint, 0x1p-48)
QRN_IO_NEAREST(qrn_quantize_f32_16, float, double, uint16_t, rint, 0x1p-48)
QRN_IO_NEAREST(qrn_quantize_f64_16, double, double, uint16_t, rint, 0x1p-48)

#define QRN_IO_STORE(type)                                                                         \
    do {                                                                                           \
        type *q = (type *)v->data + first;                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            double x = src[i] != src[i] ? 0 : src[i];                                              \
            double t = floor(x / g.scale + 0.5) - g.offset;                                        \
            t = t <= g.low ? g.low : t;                                                            \
            t = t >= g.high ? g.high : t;                                                          \
            q[i] = (type)(int32_t)t;                                                               \
        }                                                                                          \
    } while (0)

// The reals in the format of v, ties half up, clamped; NaN is stored as 0.
static inline void qrn_io_store(qrn_view *v, size_t first, size_t n, const double *src) {
    if (v->dtype == QRN_DTYPE_F16) {
        qrn_io_store_f16((uint16_t *)v->data + first, n, src);
    } else if (v->dtype == QRN_DTYPE_F32) {
        for (size_t i = 0; i < n; i++)
            ((float *)v->data)[first + i] = (float)src[i];
    } else if (v->dtype == QRN_DTYPE_F64) {
        memcpy((double *)v->data + first, src, n * sizeof *src);
    } else {
        const qrn_quant_grid g = qrn_quant_grid_of(v);
        bool is16 = qrn_view_elem(v) == 2, fast = !QRN_IO_BY_DEFINITION;
        if (is16 && !(fast && qrn_quantize_f64_16(src, n, &g, (uint16_t *)v->data + first)))
            QRN_IO_STORE(uint16_t);
        else if (!is16 && !(fast && qrn_quantize_f64_8(src, n, &g, (uint8_t *)v->data + first)))
            QRN_IO_STORE(uint8_t);
    }
}

#endif
