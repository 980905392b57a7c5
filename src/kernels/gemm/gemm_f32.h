// SPDX-License-Identifier: MIT
//
// Single-precision matrix products with packed weights: the packing, the register tiles and the
// loops around them. Used by the dense and matmul families.
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
#include "kernels/gemm/dense_plan.h"

// One tile: rows 1..tile rows, cols 1..32.
typedef struct qrn_gemm_f32_tile {
    const float *a; // [rows][depth], rows a_row elements apart
    size_t a_row;
    const float *b; // [depth][32]
    size_t depth;
    const float *bias; // [cols], NULL: zeros; not read when `resume`
    bool resume;       // continue the sums that c holds
    float *c;          // [rows][cols], rows c_row elements apart
    size_t c_row;
    uint32_t rows, cols;
} qrn_gemm_f32_tile;

typedef struct qrn_gemm_f32_kernel {
    const char *name;
    uint32_t rows;      // of a tile
    size_t depth_block; // longest stretch of depth handed to a tile
    void (*tile)(const qrn_gemm_f32_tile *t);
} qrn_gemm_f32_kernel;

extern const qrn_gemm_f32_kernel qrn_gemm_f32_12x32_avx512;
extern const qrn_gemm_f32_kernel qrn_gemm_f32_6x32_avx2;
extern const qrn_gemm_f32_kernel qrn_gemm_f32_6x32_neon;
extern const qrn_gemm_f32_kernel qrn_gemm_f32_ref;

// Packs columns [first, first + 32) of b, of which `cols` exist in all, into dst [depth][32].
// Element (k, j) of b lies at k*b_depth + j*b_col.
void qrn_gemm_f32_pack_panel(const float *b, size_t b_depth, size_t b_col, size_t depth,
                             size_t cols, size_t first, float *dst);

// A block of rows times some panels. a, b, bias and c point at the first row, panel and column.
typedef struct qrn_gemm_f32_block {
    const float *a;
    size_t a_row;
    const float *b;
    const float *bias; // may be NULL
    float *c;
    size_t c_row;
    size_t rows, cols, depth;
} qrn_gemm_f32_block;

void qrn_gemm_f32_run(const qrn_gemm_f32_kernel *kernel, const qrn_gemm_f32_block *g);

#endif
