// SPDX-License-Identifier: MIT
//
// GEMM of 16-bit values: packing and register tiles. A product of words that wraps at 32 bits and a
// product of high bytes give the exact sum together. With a and b as signed words s (unsigned
// values minus 2^15), cut into s = 256*h + l, 0 <= l < 256, and l = 128 + d,
//   sum sa*sb = 2^16 * sum (ha + 1/2)*(hb + 1/2) + rest,
//   rest = sum 256*(ha*db + hb*da) + 128*(da + db) + da*db,   |rest| < depth * (2^23 + 2^16),
// so that the rest of up to QRN_Q16_DEPTH products fits 32 bits and is known from the wrapped sum.
// High bytes of a are multiplied as u = ha + 128:
//   sum (ha + 1/2)*(hb + 1/2) = sum u*hb + (sum ha - 255 * sum hb) / 2 + depth/4.
// (The sum of ha, times 2^15, may stay in the rest where depth is no more than QRN_Q16_DEPTH_LOW.)
// The parts of a depth beyond that are products of their own, added in double, where everything is
// exact.
//
// A step is four neighbours in depth. Packed rows: [steps][4] words, then [steps] times the u of
// neighbours 0, 2, 1, 3. Packed panels of 32 columns, per step: [32][2] words of neighbours 0, 1,
// [32][2] words of neighbours 2, 3, [32][4] high bytes of neighbours 0, 2, 1, 3. What lies beyond
// depth or columns is zero in every plane.
#ifndef QRN_KERNELS_GEMM_Q16_H
#define QRN_KERNELS_GEMM_Q16_H

#include "kernels/gemm/dense/dense_plan.h"

#define QRN_Q16_DEPTH 252      // of one pass
#define QRN_Q16_DEPTH_LOW 168  // of one pass whose rest fits 32 bits with a row's low part
#define QRN_Q16_STEP 4         // neighbours in depth
#define QRN_Q16_ROW_STEP 12    // bytes of a step of a packed row
#define QRN_Q16_PANEL_STEP 384 // bytes of a step of a packed panel
#define QRN_Q16_TILE 6         // rows of a tile at most

// Some columns of a matrix: element (k, j) lies at data[k*b_depth + j*b_col]; one of the two is 1.
typedef struct qrn_q16_columns {
    const uint16_t *data;
    size_t b_depth, b_col;
    size_t depth;  // at most QRN_Q16_DEPTH
    uint32_t n;    // columns, 1 to 32
    uint16_t flip; // 0x8000 for unsigned values, else 0
} qrn_q16_columns;

// Some rows of a matrix: element (i, k) lies at data[i*a_row + k*a_depth].
typedef struct qrn_q16_rows {
    const uint16_t *data;
    size_t a_row, a_depth;
    size_t n, depth;
    uint16_t flip;
} qrn_q16_rows;

// Terms of a row or column. They begin the sums: that of words with what it does not hold already,
// modulo 2^32, that of high bytes with the term over 2^16, rounded down. The remainders of a row
// and a column stay in the rest, which has room for them.
typedef struct qrn_q16_terms {
    int32_t *words, *high;
} qrn_q16_terms;

// Some rows times a panel. The exact sum of (i, j) is 2^16 * sum u*hb + rest + terms of row i and
// column j.
typedef struct qrn_q16_tile {
    const uint8_t *a; // packed rows
    const int8_t *b;  // packed panel
    size_t steps;
    qrn_q16_terms column,
        row;          // [32], flipped as in requant16_avx512.h; [rows], NULL: all is in the rest
    double *sum;      // [6][32] sums of the parts so far; no more rows where there are several
    bool first, last; // of the parts: the first does not read `sum`, the last writes y
    // y = clamp(floor(fma(sum, m, zero_half)))
    double m, zero_half;
    int32_t lo, hi;
    bool wild; // the result before it is clamped may not fit 32 bits
    void *y;
    size_t y_row, elem; // elements between rows; bytes of one, 1 or 2
    uint32_t rows, cols;
} qrn_q16_tile;

// sums: of words, NULL where rows do not need them; high: of high bytes hb, or of u.
void qrn_q16_pack_columns_avx512vnni(const qrn_q16_columns *c, int8_t *dst, int32_t *sums,
                                     int32_t *high);
void qrn_q16_pack_rows_avx512vnni(const qrn_q16_rows *r, uint8_t *dst, int32_t *sums,
                                  int32_t *high);
void qrn_q16_tile_avx512vnni(const qrn_q16_tile *t);

static inline size_t qrn_q16_steps(size_t depth) {
    return (depth + QRN_Q16_STEP - 1) / QRN_Q16_STEP;
}

#endif
