// SPDX-License-Identifier: MIT
//
// Single-precision GEMM with packed weights: the packing, the register tiles and the loops around
// them. Used by the dense and matmul families.
//   c[i,j] = bias[j] + sum_k a[i,k] * b[k,j]
// Packing dense_f32: b [depth, cols] is stored as panels of 32 columns, [ceil(cols/32)][depth][32],
// the missing columns of the last panel being zero.
//
// Fast tiles keep one chain of fused multiply-adds per result, in the order of k and starting from
// the bias, so that they agree with each other to the bit, whatever the tile, the blocks and the
// number of tasks. The reference tile sums in double and rounds once.
#ifndef QRN_KERNELS_GEMM_F32_H
#define QRN_KERNELS_GEMM_F32_H

#include "base/cpu.h"
#include "kernels/gemm/dense/dense_plan.h"

// Some rows times one panel. A row lies in `segments` pieces of equal length; a GEMM of plain rows
// has one, the window of a convolution one for each of its lines.
typedef struct qrn_gemm_f32_strip {
    const float *a; // element k of segment s of row i at i*a_row + s*a_segment + k
    size_t a_row, a_segment;
    size_t segments, length; // depth = segments * length
    const float *b;          // [depth][32]
    const float *bias;       // [cols], NULL: zeros; not read when `resume`
    bool resume;             // continue the sums that c holds
    float *c;                // [rows][cols], rows c_row elements apart
    size_t c_row;
    size_t rows;            // any number
    uint32_t cols;          // 1 to 32
    const qrn_clamp *clamp; // of the results, NULL: none
    const float *soon; // what is read next, to be fetched meanwhile: a hint that strips move on
    size_t n_soon;     // floats of it that are left
} qrn_gemm_f32_strip;

// One row times panels.
typedef struct qrn_gemm_f32_line {
    const float *a;    // [depth]
    const float *b;    // [ceil(cols/32)][depth][32]
    const float *bias; // [cols], NULL: zeros
    float *c;          // [cols]
    size_t depth, cols;
    const qrn_clamp *clamp; // of the results, NULL: none
} qrn_gemm_f32_line;

typedef struct qrn_gemm_f32_kernel {
    const char *name;
    uint32_t rows;      // of a register tile
    size_t depth_block; // longest stretch of depth handed to a strip, unless a segment is longer
    void (*strip)(qrn_gemm_f32_strip *t);
    void (*line)(const qrn_gemm_f32_line *t); // (optional) NULL: a single row is a strip
} qrn_gemm_f32_kernel;

extern const qrn_gemm_f32_kernel qrn_gemm_f32_14x32_avx512;
extern const qrn_gemm_f32_kernel qrn_gemm_f32_6x32_avx2;
extern const qrn_gemm_f32_kernel qrn_gemm_f32_6x32_neon;
extern const qrn_gemm_f32_kernel qrn_gemm_f32_ref;

void qrn_gemv_f32_avx512(const qrn_gemm_f32_line *t);

// Packs columns [first, first + 32) of b, of which `cols` exist in all, into dst [depth][32].
// Element (k, j) of b lies at k*b_depth + j*b_col.
void qrn_gemm_f32_pack_panel(const float *b, size_t b_depth, size_t b_col, size_t depth,
                             size_t cols, size_t first, float *dst);

// Converts n fp16 weights, a multiple of 32; one file per ISA.
typedef void (*qrn_f16_to_f32_fn)(const uint16_t *f16, size_t n, bool wide_range, float *dst);

// A block of rows times some panels. a, b, bias and c point at the first row, panel and column.
// Rows come in lines that lie a_line apart in a and follow each other in c.
typedef struct qrn_gemm_f32_block {
    const float *a;
    size_t a_line, a_row, a_segment;
    const float *b;      // NULL: the weights are fp16
    const uint16_t *f16; // in place of b, with the three below
    qrn_f16_to_f32_fn to_f32;
    bool wide_range;   // fp16 without infinities and NaNs (base/fp16.h)
    float *converted;  // room for a stretch of a panel
    const float *bias; // may be NULL
    float *c;
    size_t c_row;
    size_t lines, rows; // rows of each line
    size_t cols, segments, length;
    const qrn_clamp *clamp; // of the results, NULL: none
} qrn_gemm_f32_block;

void qrn_gemm_f32_run(const qrn_gemm_f32_kernel *kernel, const qrn_gemm_f32_block *g);

// Weights of so many elements stay in the second cache.
#define QRN_GEMM_F32_NEAR (64 * 1024)

// How many of so many rows of a GEMM are best done before the next ones: what is read and written
// of them stays in the second cache, or in the first one if `near`: somebody goes on with the
// results at once.
size_t qrn_gemm_f32_block_rows(const qrn_gemm_f32_kernel *kernel, size_t depth, size_t cols,
                               size_t rows, bool near);

#endif
