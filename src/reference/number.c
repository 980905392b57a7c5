// SPDX-License-Identifier: MIT
//
// Runs of elements to and from numbers: one loop per type, so that the type is looked at once.
#include "reference/number.h"

#include "base/fp16.h"

#include <math.h>
#include <string.h>

qrn_kind qrn_kind_of(qrn_dtype t) {
    switch (qrn_dtypes[t].cls) {
    case QRN_CLASS_FLOAT:
        return QRN_KIND_FLOAT;
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        return QRN_KIND_SIGNED;
    case QRN_CLASS_STRING:
        return QRN_KIND_OPAQUE;
    default:
        return QRN_KIND_UNSIGNED;
    }
}

size_t qrn_elem_of(qrn_dtype t) { return qrn_dtypes[t].bits < 8 ? 1 : qrn_dtypes[t].bits / 8; }

void qrn_range_of(qrn_dtype t, qrn_num *lo, qrn_num *hi) {
    unsigned bits = t == QRN_DTYPE_B8 ? 1 : qrn_dtypes[t].bits;
    lo->u = 0;
    hi->u = UINT64_MAX >> (64 - bits);
    if (qrn_kind_of(t) == QRN_KIND_SIGNED) {
        hi->i = (int64_t)(hi->u >> 1);
        lo->i = -hi->i - 1;
    }
}

double qrn_round_even(double x) {
    double r = round(x);
    if (fabs(x - trunc(x)) == 0.5 && fmod(r, 2) != 0)
        r -= copysign(1, x);
    return copysign(r, x);
}

double qrn_round_to(double x, qrn_dtype t) {
    switch (t) {
    case QRN_DTYPE_F32:
        return (float)x;
    case QRN_DTYPE_F16:
        return qrn_f16_to_f32(qrn_f16_from_f64(x));
    case QRN_DTYPE_BF16:
        return qrn_bf16_to_f32(qrn_bf16_from_f64(x));
    default:
        return x;
    }
}

// Elements without gaps have a loop of their own, which compilers vectorize.
#define EACH(T, body)                                                                              \
    if (step == (ptrdiff_t)sizeof(T))                                                              \
        for (size_t i = 0; i < n; i++, p += sizeof(T))                                             \
    body else for (size_t i = 0; i < n; i++, p += step) body break

#define LOAD(T, field, value)                                                                      \
    EACH(T, {                                                                                      \
        T v;                                                                                       \
        memcpy(&v, p, sizeof v);                                                                   \
        dst[i].field = (value);                                                                    \
    })

void qrn_nums_load(qrn_num *restrict dst, qrn_dtype t, const void *src, ptrdiff_t step, size_t n) {
    const unsigned char *restrict p = src;
    if (step == (ptrdiff_t)sizeof *dst && qrn_dtypes[t].bits == 64) {
        memcpy(dst, src, n * sizeof *dst);
        return;
    }
    // clang-format off
    switch (t) {
    case QRN_DTYPE_F32: LOAD(float, f, v);
    case QRN_DTYPE_F64: LOAD(double, f, v);
    case QRN_DTYPE_F16: LOAD(uint16_t, f, qrn_f16_to_f32(v));
    case QRN_DTYPE_BF16: LOAD(uint16_t, f, qrn_bf16_to_f32(v));
    case QRN_DTYPE_I8: case QRN_DTYPE_SQ8: LOAD(int8_t, i, v);
    case QRN_DTYPE_I16: case QRN_DTYPE_SQ16: LOAD(int16_t, i, v);
    case QRN_DTYPE_I32: case QRN_DTYPE_SQ32: LOAD(int32_t, i, v);
    case QRN_DTYPE_U8: case QRN_DTYPE_UQ8: LOAD(uint8_t, u, v);
    case QRN_DTYPE_U16: case QRN_DTYPE_UQ16: LOAD(uint16_t, u, v);
    case QRN_DTYPE_U32: case QRN_DTYPE_UQ32: LOAD(uint32_t, u, v);
    case QRN_DTYPE_SQ4: LOAD(uint8_t, i, ((v & 15) ^ 8) - 8);
    case QRN_DTYPE_UQ4: LOAD(uint8_t, u, v & 15);
    case QRN_DTYPE_B8: LOAD(uint8_t, u, v != 0);
    default: LOAD(uint64_t, u, v);
    }
    // clang-format on
}

#define STORE(T, value)                                                                            \
    EACH(T, {                                                                                      \
        T v = (T)(value);                                                                          \
        memcpy(p, &v, sizeof v);                                                                   \
    })

void qrn_nums_store(const qrn_num *restrict src, qrn_dtype t, void *dst, ptrdiff_t step, size_t n) {
    unsigned char *restrict p = dst;
    if (step == (ptrdiff_t)sizeof *src && qrn_dtypes[t].bits == 64) {
        memcpy(dst, src, n * sizeof *src);
        return;
    }
    // clang-format off
    switch (t) {
    case QRN_DTYPE_F32: STORE(float, src[i].f);
    case QRN_DTYPE_F16: STORE(uint16_t, qrn_f16_from_f64(src[i].f));
    case QRN_DTYPE_BF16: STORE(uint16_t, qrn_bf16_from_f64(src[i].f));
    case QRN_DTYPE_I8: case QRN_DTYPE_U8: case QRN_DTYPE_SQ8: case QRN_DTYPE_UQ8:
        STORE(uint8_t, src[i].u);
    case QRN_DTYPE_I16: case QRN_DTYPE_U16: case QRN_DTYPE_SQ16: case QRN_DTYPE_UQ16:
        STORE(uint16_t, src[i].u);
    case QRN_DTYPE_I32: case QRN_DTYPE_U32: case QRN_DTYPE_SQ32: case QRN_DTYPE_UQ32:
        STORE(uint32_t, src[i].u);
    case QRN_DTYPE_SQ4: case QRN_DTYPE_UQ4: STORE(uint8_t, src[i].u & 15);
    case QRN_DTYPE_B8: STORE(uint8_t, src[i].u != 0);
    default: STORE(uint64_t, src[i].u);
    }
    // clang-format on
}

// --- casts

// An integer as a double that rounds on to a narrower float as the integer itself would: what 53
// bits cannot hold is kept as an odd last bit.
static double sticky(uint64_t u) {
    if (u >> 53 == 0)
        return (double)u;
    return ldexp((double)(u >> 11 | ((u & 0x7ff) != 0)), 11);
}

static void to_float(qrn_num *v, size_t n, qrn_kind from, bool exact) {
    for (size_t i = 0; i < n; i++) {
        bool negative = from == QRN_KIND_SIGNED && v[i].i < 0;
        if (exact)
            v[i].f = qrn_num_double(v[i], from);
        else
            v[i].f = negative ? -sticky(0 - v[i].u) : sticky(v[i].u);
    }
}

static void saturate(qrn_num *v, size_t n, qrn_dtype to) {
    qrn_num lo, hi;
    qrn_range_of(to, &lo, &hi);
    bool is_signed = qrn_kind_of(to) == QRN_KIND_SIGNED;
    double least = is_signed ? (double)lo.i : 0, most = is_signed ? (double)hi.i : (double)hi.u;
    for (size_t i = 0; i < n; i++) {
        double x = trunc(v[i].f);
        if (isnan(x))
            v[i].u = 0;
        else if (x < least)
            v[i] = lo;
        else if (x >= most) // the largest 64-bit values are rounded up as doubles
            v[i] = hi;
        else if (is_signed)
            v[i].i = (int64_t)x;
        else
            v[i].u = (uint64_t)x;
    }
}

void qrn_nums_cast(qrn_num *v, size_t n, qrn_kind from, qrn_dtype to, qrn_cast rule) {
    bool is_float = qrn_kind_of(to) == QRN_KIND_FLOAT;
    if (is_float == (from == QRN_KIND_FLOAT))
        return; // integers are cut when they are stored
    if (is_float)
        to_float(v, n, from, to == QRN_DTYPE_F64);
    else if (to == QRN_DTYPE_B8)
        for (size_t i = 0; i < n; i++)
            v[i].u = v[i].f != 0;
    else if (rule == QRN_CAST_SATURATE) // ONNX's own tests want 4 bits to be cut from the integer
        saturate(v, n, qrn_dtypes[to].bits < 8 ? QRN_DTYPE_I32 : to);
    else
        for (size_t i = 0; i < n; i++)
            v[i].i = fabs(v[i].f) <= 9.2e18 ? (int64_t)v[i].f : 0;
}

void qrn_nums_read(qrn_num *dst, qrn_dtype t, const void *src, ptrdiff_t step, size_t n,
                   qrn_kind domain) {
    qrn_nums_load(dst, t, src, step, n);
    if (domain == QRN_KIND_FLOAT)
        qrn_nums_cast(dst, n, qrn_kind_of(t), QRN_DTYPE_F64, QRN_CAST_WRAP);
}
