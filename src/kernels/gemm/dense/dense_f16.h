// SPDX-License-Identifier: MIT
//
// The dense family (dense.h) with fp16 weights: packing dense_f16 is dense_f32 in two bytes a
// weight. A stretch of a panel is converted to floats in the scratch and goes through the tiles of
// gemm_f32.h; where there are only few rows, tiles of their own convert as they go. Results are
// those of the dense family, to the bit.
//   in[0]  x       f32, as in dense.h
//   in[1]  packed  [group*panels, depth, 32] fp16
//   in[2]  bias    f32 [Cout], may be absent
//   out[0] y       f32
#ifndef QRN_KERNELS_GEMM_DENSE_F16_H
#define QRN_KERNELS_GEMM_DENSE_F16_H

#include "base/fp16.h"
#include "kernels/gemm/dense/dense_run.h"

typedef struct qrn_dense_f16_args {
    qrn_dense_args dense;
    bool wide_range; // fp16 without infinities and NaNs (base/fp16.h)
} qrn_dense_f16_args;

extern const qrn_family qrn_family_dense_f16; // F32; shape of the weights: qrn_dense_packed_shape

// Rounds and packs weights w of any type, element (k, j) of the matrix [depth, group*cols] at
// k*w_depth + j*w_col.
void qrn_dense_f16_pack(const qrn_dense_args *a, const qrn_view *w, size_t w_depth, size_t w_col,
                        qrn_fp16_rule rule, uint16_t *packed);

// One file per ISA.
void qrn_f16_to_f32_ref(const uint16_t *f16, size_t n, bool wide_range, float *dst);
void qrn_f16_to_f32_avx2(const uint16_t *f16, size_t n, bool wide_range, float *dst);
void qrn_f16_to_f32_avx512(const uint16_t *f16, size_t n, bool wide_range, float *dst);
void qrn_f16_to_f32_neon(const uint16_t *f16, size_t n, bool wide_range, float *dst);
void qrn_gemm_f16w_avx2(const qrn_gemm_f32_strip *t, const uint16_t *b, bool wide_range);
void qrn_gemm_f16w_avx512(const qrn_gemm_f32_strip *t, const uint16_t *b, bool wide_range);
void qrn_gemm_f16w_neon(const qrn_gemm_f32_strip *t, const uint16_t *b, bool wide_range);

#endif
