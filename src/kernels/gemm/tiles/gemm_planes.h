// SPDX-License-Identifier: MIT
//
// Quantized GEMM over byte planes, for 16-bit operands and for weights that change their scale
// within a sum. 16-bit values are cut into a plane of low and a plane of high bytes: products of
// bytes can be summed in 32 bits, those of words overflow after a few. The sums of planes are put
// together in double, where they are exact: depths up to QRN_PLANES_DEPTH_MAX and offsets up to
// QRN_REQUANT_OFFSET_MAX keep everything below 2^53. Results are those of requant.h to the bit.
//
// Activations as unsigned numbers u (signed values plus 2^15 or 2^7): a plane of bytes u % 256 and,
// for 16 bits, a plane of u / 256. Weights as signed numbers s in planes of panels as gemm_q8.h has
// them: one plane for 8 bits; for 16 bits a plane of h and a plane of l with s = 256 * h + l, so
// that s is the signed value minus 128. With the offsets changed accordingly, a run of the depth
// gives
//   sum (u + ou) * (s + os) = sum u*s + ou * (sum s + depth*os)    (a column: `add`)
//                             + os * sum u                         (row times column)
//
// A row of activations has whole steps of 4 in depth, filled up with zeros: [planes][steps][4], or,
// for kernels that say `pairs`, [steps][planes][4], which 16-bit values become by a shuffle within
// every 8 bytes.
#ifndef QRN_KERNELS_GEMM_PLANES_H
#define QRN_KERNELS_GEMM_PLANES_H

#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant.h"

#define QRN_PLANES_DEPTH_MAX 65536 // products of bytes fit 32 bits
#define QRN_PLANES_TILE 12         // rows of bytes that are summed before they are put together
#define QRN_PLANES_RUN 63          // steps whose products of 16 and 8 bits fit 32 bits
#define QRN_PLANES_SMALL 0x1p30    // results before clamping that certainly fit 32 bits

// A panel of 32 columns.
typedef struct qrn_planes_panel {
    const int8_t *plane[2]; // [0]: weight 1, [1]: weight 256
    uint32_t planes;
    bool nibbles;           // one plane of two numbers a byte, for kernels that support it
    size_t steps;           // of 4 in depth
    uint32_t n_runs;        // parts of the depth with scales of their own
    const uint32_t *starts; // [runs] first depth of each, a multiple of 4
    const double *add, *m;  // [runs][32]
    const double *offset;   // [runs][32] os, NULL: zeros
    const double *start;    // [32] t before the first run: zero + 0.5 and a bias of blocks
    const int32_t *add32;   // [32] `add` modulo 2^32; NULL: whole sums may not fit 32 bits
    bool small;             // no result before clamping is beyond QRN_PLANES_SMALL
} qrn_planes_panel;

typedef struct qrn_planes_out {
    void *y;       // of the first row and column
    size_t elem;   // bytes of an element
    size_t y_row;  // elements between rows
    uint32_t cols; // 1 to 32
    double lo, hi;
} qrn_planes_out;

// The part that compilers turn into vectors, one table per ISA. Arrays of numbers are [rows][32].
typedef struct qrn_planes_ops {
    // sum += weight * (acc of the low bytes + 256 * acc of the high bytes, if planes is 2).
    void (*join)(double *sum, const int32_t *acc, uint32_t rows, uint32_t planes, double weight);
    // t = fma(sum + add + row * offset, m, t). row: one per row, `row_step` apart; offset NULL:
    // zeros.
    void (*scale)(double *t, const double *sum, const double *add, const double *offset,
                  const double *row, size_t row_step, const double *m, uint32_t rows);
    // Quantized values of 1, 2 or 4 bytes: clamp(floor(t)); rows y_row elements apart.
    void (*store)(void *y, size_t elem, size_t y_row, const double *t, uint32_t rows, uint32_t cols,
                  double lo, double hi);
    // Cuts n 16-bit values into low and high bytes; flip is XORed to the high ones.
    void (*split)(const uint16_t *x, size_t n, uint8_t flip, uint8_t *low, uint8_t *high);
    // The same in pairs, [n/4][2][4]; n is a multiple of 4.
    void (*pairs)(const uint16_t *x, size_t n, uint8_t flip, uint8_t *dst);
    // Sum of n values, each XORed with flip; fits 32 bits up to QRN_PLANES_DEPTH_MAX.
    uint32_t (*sum8)(const uint8_t *x, size_t n, uint8_t flip);
    uint32_t (*sum16)(const uint16_t *x, size_t n, uint16_t flip);
    // n bytes of two signed numbers each, the first in the low half.
    void (*unpack)(const uint8_t *packed, size_t n, int8_t *dst);
    // m = x * scale / y, rounded once; x and y are floats.
    void (*ratios)(const float *scale, size_t n, double x, double y, double *m);
    // (optional) join, scale and store of rows from `first` on, for those that `requant` is for.
    void (*finish)(const qrn_planes_panel *p, const qrn_planes_out *o, size_t first,
                   const int32_t *acc, uint32_t rows);
} qrn_planes_ops;

extern const qrn_planes_ops qrn_planes_ops_avx512, qrn_planes_ops_avx2, qrn_planes_ops_neon,
    qrn_planes_ops_ref;

// Rows of activations.
typedef struct qrn_planes_rows {
    const uint8_t *a;
    size_t row_bytes; // of all planes; from one row to the next
    uint32_t planes;
    size_t n;
    // Only for `requant` with sums that may not fit 32 bits: a row is so many parts of equally many
    // steps, which begin at these bytes of it. Others are one part.
    uint32_t n_parts;
    const size_t *parts;
    const double *sums; // [n][runs]: sum u of each run; NULL when all os are 0
} qrn_planes_rows;

// Sums of products of bytes over `steps` steps from `first` on.
typedef struct qrn_planes_tile {
    const uint8_t *a; // rows as a whole
    size_t row_bytes;
    uint32_t rows, planes; // rows * planes is at most QRN_PLANES_TILE
    const int8_t *b;       // [steps][32][4], from the first step on
    size_t first, steps;
    uint32_t cols; // of b that are wanted
    int32_t *acc;  // [rows][planes][32]
} qrn_planes_tile;

typedef struct qrn_planes_kernel {
    bool pairs; // layout of rows with two planes
    void (*sums)(const qrn_planes_tile *t);
    // (optional) A whole GEMM: activations and results of 16 bits, one plane of weights without
    // offsets, one run, small.
    void (*requant)(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o);
    // (optional) The same with two weights a byte, [steps][32][2]; both or none.
    void (*sums4)(const qrn_planes_tile *t);
    void (*requant4)(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o);
    // (optional) A whole GEMM in several runs of at most QRN_PLANES_RUN steps, one plane of
    // weights, nibbles or not.
    void (*runs)(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o);
    const qrn_planes_ops *ops;
    size_t near_bytes;   // of rows that stay near while panels pass, 0: as for every CPU
    void (*enter)(void); // as in qrn_gemm_q8_kernel, around calls of qrn_planes_gemm
    void (*leave)(void);
} qrn_planes_kernel;

extern const qrn_planes_kernel qrn_planes_amx, qrn_planes_avx512vnni, qrn_planes_avx2,
    qrn_planes_neoni8mm, qrn_planes_neondot, qrn_planes_ref;

void qrn_planes_gemm(const qrn_planes_kernel *k, const qrn_planes_rows *r,
                     const qrn_planes_panel *p, const qrn_planes_out *o);

// Steps of 4 in depth of a row.
static inline size_t qrn_planes_steps(size_t depth) {
    return (depth + QRN_Q8_DEPTH - 1) / QRN_Q8_DEPTH;
}

// n rows of `depth` elements of 8 or 16 bits, x_row bytes apart, in the layout of kernel k.
void qrn_planes_make_rows(const qrn_planes_kernel *k, const void *x, size_t x_row, size_t elem,
                          size_t depth, bool is_signed, size_t n, uint8_t *rows);
// Sums of u over each run of a row.
void qrn_planes_row_sums(const qrn_planes_ops *ops, const void *x, size_t elem, size_t depth,
                         bool is_signed, const uint32_t *starts, uint32_t n_runs, double *sums);

void qrn_planes_sums_avx512vnni(const qrn_planes_tile *t);
void qrn_planes_requant_avx512vnni(const qrn_planes_rows *r, const qrn_planes_panel *p,
                                   const qrn_planes_out *o);
void qrn_planes_requant_amx(const qrn_planes_rows *r, const qrn_planes_panel *p,
                            const qrn_planes_out *o);
void qrn_planes_enter_amx(void);
void qrn_planes_leave_amx(void);
void qrn_planes_sums4_avx512vnni(const qrn_planes_tile *t);
void qrn_planes_requant4_avx512vnni(const qrn_planes_rows *r, const qrn_planes_panel *p,
                                    const qrn_planes_out *o);
void qrn_planes_runs_avx512vnni(const qrn_planes_rows *r, const qrn_planes_panel *p,
                                const qrn_planes_out *o);

#endif
