// SPDX-License-Identifier: MIT
//
// Convolutions of 3x3 cells with fp16 weights (dense_f16.h) with 16 multiplications for 2x2 output
// cells in place of 36: Winograd's F(2x2, 3x3) in single precision. Weights are transformed while
// they are used, so that they are stored once, as fp16. Sums are shorter than plain ones, and
// errors no larger: both stay below 3e-6 of the largest result for 512 channels.
//   in[0]  x       f32 [N, H, W, Cin]
//   in[1]  packed  [panels, 9*Cin, 32] fp16
//   in[2]  bias    f32 [Cout], may be absent
//   out[0] y       f32 [N, Ho, Wo, Cout]
// Fast rows agree with each other to the bit; nothing depends on the number of tasks. The reference
// row is the plain sum.
#ifndef QRN_KERNELS_GEMM_WINOGRAD_F16_H
#define QRN_KERNELS_GEMM_WINOGRAD_F16_H

#include "kernels/gemm/dense/dense_f16.h"
#include "kernels/gemm/winograd/winograd_run.h"

#define QRN_WINOGRAD_F16_TILE 2

extern const qrn_family qrn_family_winograd_f16; // F32; parameters: qrn_dense_f16_args

// Is a convolution of that shape one that gains? x and y: shapes only. Does not depend on the
// machine.
bool qrn_winograd_f16_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y);

extern const qrn_winograd_kernel qrn_winograd_f16_avx512;
extern const qrn_winograd_kernel qrn_winograd_f16_avx2;
extern const qrn_winograd_kernel qrn_winograd_f16_neon;

#endif
