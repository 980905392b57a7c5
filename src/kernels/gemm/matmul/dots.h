// SPDX-License-Identifier: MIT
//
// Sums of products of a few rows of 16-bit values and quantized values of 8 or 16 bits that are
// read once, where they lie: for attention on a cache, where packing would take longer than
// multiplying. Words are made signed, bytes unsigned. Where the second factor has 16 bits, rows are
// cut into bytes, a = 256 * high + low, so that sums of DEPTH products fit 32 bits; with one of 8
// bits they fit as they are. Sums are put together in double, where they stay exact
// (qrn_dots_fits). Results are those of requant.h to the bit.
//
// dots_avx512.h and dots_plain.h each have, for files compiled for an ISA:
//   qrn_dots_take    row r is at `a`, elements `step` apart
//   qrn_dots_keys    y[r * ld + i] for n keys, each of `depth` elements in a row, `stride` apart
//   qrn_dots_add     adds to *s what elements [first, first + n) of the rows contribute; b has a
//                    row of `cols` columns for each of them, `stride` apart
//   qrn_dots_finish  the results of row r
#ifndef QRN_KERNELS_GEMM_MATMUL_DOTS_H
#define QRN_KERNELS_GEMM_MATMUL_DOTS_H

#include "kernels/gemm/epilogue/requant.h"

#define QRN_DOTS_ROWS 4     // at a time
#define QRN_DOTS_COLS 32    // of qrn_dots_add
#define QRN_DOTS_DEPTH 256  // products whose sums fit 32 bits; most of a key
#define QRN_DOTS_LONG 65536 // most of a column
#define QRN_DOTS_VECTOR 32  // words; rows are filled up with zeros to whole ones, and one more

typedef struct qrn_dots {
    size_t rows, depth;
    uint32_t planes; // of a row: low and high bytes, or the row as it is
    bool bytes;      // b has 8 bits
    uint16_t a_flip, b_flip;
    double a_offset, b_offset;      // of values that were made signed or unsigned
    double per_column;              // sums of columns count so much in all results
    double row_term[QRN_DOTS_ROWS]; // what belongs to all results of a row
    qrn_requant out;
    int16_t *a; // [planes * ROWS][row]
    size_t row; // words
} qrn_dots;

// Sums of columns, and of products with each row.
typedef struct qrn_dots_sums {
    double columns[QRN_DOTS_COLS], of[QRN_DOTS_ROWS][QRN_DOTS_COLS];
} qrn_dots_sums;

static inline size_t qrn_dots_row(size_t depth) {
    return (depth / QRN_DOTS_VECTOR + 2) * QRN_DOTS_VECTOR;
}
// Bytes that rows of this depth take.
static inline size_t qrn_dots_room(size_t depth) {
    return 2 * QRN_DOTS_ROWS * qrn_dots_row(depth) * sizeof(int16_t);
}

static inline bool qrn_dots_all_bits(const qrn_view *v, uint32_t bits) {
    return qrn_dtype_is_fixed(v->dtype) && qrn_dtypes[v->dtype].bits == bits &&
           (v->quant->bits == 0 || v->quant->bits >= bits) && v->quant->shift == 0.0f;
}

// Can results be computed so? a and c have 16 bits, b 8 or 16, with one scale; sums fit a double,
// results before they are clamped 32 bits.
static inline bool qrn_dots_fits(const qrn_view *a, const qrn_view *b, const qrn_view *c,
                                 size_t depth) {
    if (!qrn_dots_all_bits(a, 16) || !qrn_dots_all_bits(c, 16) ||
        (!qrn_dots_all_bits(b, 16) && !qrn_dots_all_bits(b, 8)) ||
        b->quant->kind != QRN_QUANT_TENSOR)
        return false;
    qrn_requant r = qrn_requant_of(a, b, 0, c);
    double most = (double)depth * (65536 + fabs((double)a->quant->offset)) *
                  (ldexp(1, (int)qrn_dtypes[b->dtype].bits) + fabs((double)b->quant->offset));
    return depth > 0 && depth <= QRN_DOTS_LONG && most < 0x1p52 &&
           fabs(r.zero_half) + most * fabs(r.m) < 0x1p30;
}

static inline qrn_dots qrn_dots_of(const qrn_view *a, const qrn_view *b, const qrn_view *c,
                                   size_t depth, void *room) {
    qrn_dots d = {.depth = depth, .out = qrn_requant_of(a, b, 0, c), .a = room};
    d.bytes = qrn_view_elem(b) == 1;
    d.planes = d.bytes ? 1 : 2;
    bool a_signed = qrn_dtypes[a->dtype].cls == QRN_CLASS_SFIXED;
    bool b_signed = qrn_dtypes[b->dtype].cls == QRN_CLASS_SFIXED;
    d.a_flip = a_signed ? 0 : 0x8000;
    d.a_offset = d.per_column = (double)a->quant->offset + d.a_flip;
    d.b_flip = d.bytes ? (b_signed ? 0x80 : 0) : (b_signed ? 0 : 0x8000);
    d.b_offset = (double)b->quant->offset + (d.bytes ? -(double)d.b_flip : (double)d.b_flip);
    d.row = qrn_dots_row(depth);
    return d;
}

#endif
