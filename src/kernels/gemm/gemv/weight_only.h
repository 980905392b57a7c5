// SPDX-License-Identifier: MIT
//
// Matmuls of floats with weights of 4 or 8 bits: weight-only quantization. The weights stay packed
// and are unpacked in registers, or a panel at a time where there are many rows.
//   y[i,j] = bias[j] + sum_k x[i,k] * scale[run(k),j] * (w[k,j] + offset[run(k),j])
// Scales are those of runs of `run` elements of the depth: blocks of the encoding, or one run.
//   in[0]  x        f32 rows, or the cells of a 1x1 convolution
//   in[1]  packed   dense4 or dense8 (dense_planes.h), i8, one group
//   in[2]  scales   [panels, runs, 32] f32, or fp16 where that is exact; any sign
//   in[3]  offsets  [panels, runs, 32] i8, of the stored weights; may be absent: zeros
//   in[4]  bias     [Cout] f32, may be absent
//   out[0] y        f32
// The reference row computes in double and rounds once: the definition. The others sum a run in
// single precision before they scale it, or exactly with x as integers of 24 bits, of 16 where x
// is fp16 and runs are short (gemv_planes.h).
// Results do not depend on the number of tasks.
#ifndef QRN_KERNELS_GEMM_WEIGHT_ONLY_H
#define QRN_KERNELS_GEMM_WEIGHT_ONLY_H

#include "kernels/gemm/dense/dense_planes.h"
#include "kernels/gemm/tiles/gemm_f32.h"

#define QRN_GEMV_SHORT_RUN 128 // elements of fp16 rows that may become integers of 16 bits

typedef struct qrn_weight_only_args {
    qrn_dense_args dense; // group 1
    uint32_t w_bits;      // 4 or 8: which packing
    uint32_t run;         // elements of the depth that share a scale: a multiple of 4, or the depth
    bool fp16;            // x holds fp16 numbers, and y is rounded to fp16 afterwards
} qrn_weight_only_args;

extern const qrn_family qrn_family_weight_only; // F32

// Runs of the depth; 0 when there is no depth.
static inline size_t qrn_weight_only_runs(const qrn_weight_only_args *a) {
    return a->run ? (a->dense.depth + (size_t)a->run - 1) / a->run : 0;
}

// --- one file per ISA

#define QRN_GEMV_ROWS 4 // of a tile
#define QRN_GEMV_FEW 16 // so many rows are done by tiles; more are a GEMM over unpacked panels

// A panel of weights and what belongs to it.
typedef struct qrn_gemv_panel {
    const int8_t *w;       // dense4 or dense8
    const void *scales;    // [runs][32]
    const int8_t *offsets; // [runs][32], NULL: zeros
    bool fp16_scales;
    uint32_t w_bits; // 4 or 8
    uint32_t planes; // of rows in planes: 2 or 3
    size_t depth, run;
} qrn_gemv_panel;

// Up to 4 rows times a panel.
typedef struct qrn_gemv_strip {
    qrn_gemv_panel b;
    const float *a; // rows a_row elements apart
    size_t a_row;
    const float *sums; // with offsets: [rows][runs], sums of a over each run
    size_t runs;
    uint32_t rows;     // 1 to QRN_GEMV_ROWS
    uint32_t cols;     // 1 to 32
    const float *bias; // [cols], NULL: zeros
    float *c;          // rows c_row elements apart
    size_t c_row;
    const qrn_clamp *clamp; // of the results, NULL: none
} qrn_gemv_strip;

typedef void (*qrn_gemv_fn)(const qrn_gemv_strip *t);
// Writes the weights of a panel as [depth][32] floats.
typedef void (*qrn_gemv_unpack_fn)(const qrn_gemv_panel *b, float *dst);

void qrn_gemv_avx512(const qrn_gemv_strip *t);
void qrn_gemv_avx2(const qrn_gemv_strip *t);
void qrn_gemv_neon(const qrn_gemv_strip *t);
void qrn_gemv_unpack_avx512(const qrn_gemv_panel *b, float *dst);
void qrn_gemv_unpack_avx2(const qrn_gemv_panel *b, float *dst);
void qrn_gemv_unpack_neon(const qrn_gemv_panel *b, float *dst);

#endif
