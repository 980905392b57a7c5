// SPDX-License-Identifier: MIT
//
// Quantized matrix products of which something is wider than a byte, or whose weights change their
// scale within a sum. Codes are cut into byte planes, the tiles of gemm_q8.h multiply plane by
// plane, and the sums are put together in double, where they are exact: depths up to
// QRN_WIDE_DEPTH_MAX and offsets up to QRN_REQUANT_OFFSET_MAX keep everything below 2^53. Results
// are those of requant.h to the bit.
//
// Activations as unsigned numbers u (signed codes plus 2^15 or 2^7): a row of u % 256, then, for 16
// bits, a row of u / 256. Weights as signed numbers s in planes of panels as gemm_q8.h has them:
// one plane for 8 bits; for 16 bits a plane of h and a plane of l with s = 256 * h + l, so that s
// is the signed code minus 128. With the offsets changed accordingly, a run of the depth gives
//   sum (u + ou) * (s + os) = sum u*s + ou * (sum s + depth*os)    (a column: `add`)
//                             + os * sum u                         (row times column)
#ifndef QRN_KERNELS_GEMM_WIDE_H
#define QRN_KERNELS_GEMM_WIDE_H

#include "kernels/gemm/gemm_q8.h"
#include "kernels/gemm/requant.h"

#define QRN_WIDE_DEPTH_MAX 65536 // products of bytes fit 32 bits
#define QRN_WIDE_TILE 12         // rows of bytes that are summed before they are put together

// The part that compilers turn into vectors, one table per ISA. Arrays are [rows][32].
typedef struct qrn_wide_ops {
    // sum += weight * (acc of the low bytes + 256 * acc of the high bytes, if planes is 2).
    void (*join)(double *sum, const int32_t *acc, uint32_t rows, uint32_t planes, double weight);
    // t = fma(sum + add + row * offset, m, t). row: one per row, `row_step` apart; offset NULL:
    // zeros.
    void (*scale)(double *t, const double *sum, const double *add, const double *offset,
                  const double *row, size_t row_step, const double *m, uint32_t rows);
    // Codes of 1 or 2 bytes: clamp(floor(t)); rows y_row elements apart.
    void (*store)(void *y, size_t elem, size_t y_row, const double *t, uint32_t rows, uint32_t cols,
                  double lo, double hi);
    // Cuts n 16-bit codes into low and high bytes; flip is XORed to the high ones.
    void (*split)(const uint16_t *x, size_t n, uint8_t flip, uint8_t *low, uint8_t *high);
} qrn_wide_ops;

extern const qrn_wide_ops qrn_wide_ops_avx512, qrn_wide_ops_avx2, qrn_wide_ops_neon,
    qrn_wide_ops_ref;

typedef struct qrn_wide_kernel {
    const qrn_gemm_q8_kernel *tile;
    const qrn_wide_ops *ops;
} qrn_wide_kernel;

extern const qrn_wide_kernel qrn_wide_avx512vnni, qrn_wide_avx2, qrn_wide_neondot, qrn_wide_ref;

// Rows of activations: per row `planes` rows of row_bytes bytes, filled up with zeros.
typedef struct qrn_wide_rows {
    const uint8_t *a;
    size_t row_bytes;
    uint32_t planes;
    size_t n;
    const double *sums; // [n][runs]: sum u of each run; NULL when all os are 0
} qrn_wide_rows;

// A panel of 32 columns.
typedef struct qrn_wide_panel {
    const int8_t *plane[2]; // [0]: weight 1, [1]: weight 256
    uint32_t planes;
    size_t steps;           // of 4 in depth
    uint32_t n_runs;        // parts of the depth with scales of their own
    const uint32_t *starts; // [runs] first depth of each, a multiple of 4
    const double *add, *m;  // [runs][32]
    const double *offset;   // [runs][32] os, NULL: zeros
    const double *start;    // [32] t before the first run: zero + 0.5 and a bias of blocks
} qrn_wide_panel;

typedef struct qrn_wide_out {
    void *y;       // of the first row and column
    size_t elem;   // bytes of a code
    size_t y_row;  // elements between rows
    uint32_t cols; // 1 to 32
    double lo, hi;
} qrn_wide_out;

void qrn_wide_product(const qrn_wide_kernel *k, const qrn_wide_rows *r, const qrn_wide_panel *p,
                      const qrn_wide_out *o);

// n codes (8 or 16 bits) as planes of one row; `flip` makes them unsigned.
void qrn_wide_split(const qrn_wide_ops *ops, const void *x, size_t elem, size_t n, bool is_signed,
                    uint8_t *row, size_t row_bytes);
// Sums of u over each run.
void qrn_wide_row_sums(const uint8_t *row, size_t row_bytes, uint32_t planes, size_t depth,
                       const uint32_t *starts, uint32_t n_runs, double *sums);

#endif
