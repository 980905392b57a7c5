// SPDX-License-Identifier: MIT
//
// Elements of any type as numbers of 64 bits: floats as doubles, which are rounded once when they
// are stored; integers exactly, cut to the width of their type when they are stored. Types are
// those that hold plain numbers; SQ4 and UQ4 stand for integers of 4 bits.
#ifndef QRN_REFERENCE_NUMBER_H
#define QRN_REFERENCE_NUMBER_H

#include "base/dtype.h"

typedef enum qrn_kind {
    QRN_KIND_FLOAT,
    QRN_KIND_SIGNED,
    QRN_KIND_UNSIGNED, // bool too
    QRN_KIND_OPAQUE    // bits that can be moved, not computed with
} qrn_kind;

// One element: `f`, `i` or `u` by its kind.
typedef union qrn_num {
    double f;
    int64_t i;
    uint64_t u;
} qrn_num;

// What becomes of a float that an integer type does not hold; NaN gives 0 either way.
typedef enum qrn_cast {
    QRN_CAST_SATURATE, // the nearest number of the type; 4-bit types get the low bits of an i32
    QRN_CAST_WRAP      // the low bits of its 64-bit integer, or 0 where there is none
} qrn_cast;

qrn_kind qrn_kind_of(qrn_dtype t);
// Bytes of an element in an array, where types of less than 8 bits have one element a byte.
size_t qrn_elem_of(qrn_dtype t);
// Smallest and largest value of an integer type.
void qrn_range_of(qrn_dtype t, qrn_num *lo, qrn_num *hi);

// n elements that lie `step` bytes apart, perhaps unaligned.
void qrn_nums_load(qrn_num *restrict dst, qrn_dtype t, const void *src, ptrdiff_t step, size_t n);
// The same as doubles where the domain is FLOAT.
void qrn_nums_read(qrn_num *dst, qrn_dtype t, const void *src, ptrdiff_t step, size_t n,
                   qrn_kind domain);
void qrn_nums_store(const qrn_num *restrict src, qrn_dtype t, void *dst, ptrdiff_t step, size_t n);
// Numbers of kind `from` as type `to` has them.
void qrn_nums_cast(qrn_num *v, size_t n, qrn_kind from, qrn_dtype to, qrn_cast rule);

static inline double qrn_num_double(qrn_num v, qrn_kind k) {
    return k == QRN_KIND_FLOAT ? v.f : k == QRN_KIND_SIGNED ? (double)v.i : (double)v.u;
}
// a < b, both of one kind; NaN is neither smaller nor larger.
static inline bool qrn_num_less(qrn_num a, qrn_num b, qrn_kind k) {
    return k == QRN_KIND_FLOAT ? a.f < b.f : k == QRN_KIND_SIGNED ? a.i < b.i : a.u < b.u;
}
// To the nearest integer, ties to the even one, whatever rounding mode the caller has set.
double qrn_round_even(double x);
// A double as a float type has it.
double qrn_round_to(double x, qrn_dtype t);

#endif
