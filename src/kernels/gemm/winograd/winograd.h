// SPDX-License-Identifier: MIT
//
// Convolutions of 3x3 cells in single precision with a quarter of the multiplications: the output
// is cut into tiles of 4x4 cells, and with d the 6x6 input cells under a tile and g a filter
//   Y = At [ (G g Gt) * (Bt d B) ] A          (* element by element, summed over input channels)
// (Winograd's F(4x4, 3x3)). Its points are 0, +-sqrt(2), +-sqrt(1/2) and infinity, which keep
// errors near those of the plain sum: some 3e-6 of the largest result for 256 channels.
//   in[0]  x       [N, H, W, Cin]
//   in[1]  packed  G g Gt, [panels, 36*Cin, 32]: for each panel of 32 output channels the 36
//                  matrices one after the other, each as a panel of dense_f32
//   in[2]  bias    [Cout], may be absent
//   out[0] y       [N, Ho, Wo, Cout]
// Fast rows agree with each other to the bit; nothing depends on the number of tasks.
#ifndef QRN_KERNELS_GEMM_WINOGRAD_H
#define QRN_KERNELS_GEMM_WINOGRAD_H

#include "kernels/gemm/winograd/winograd_run.h"

#define QRN_WINOGRAD_TILE 4    // output cells along a side of a tile
#define QRN_WINOGRAD_WINDOW 6  // input cells
#define QRN_WINOGRAD_PLANES 36 // matrices

extern const qrn_family qrn_family_winograd; // F32; parameters: qrn_dense_args, depth = 36*Cin

// Is a convolution of that shape one that gains? x and y: shapes only. Does not depend on the
// machine.
bool qrn_winograd_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y);

// Packs a filter [3, 3, Cin, Cout]; the shape is qrn_dense_packed_shape's.
void qrn_winograd_pack(const qrn_dense_args *a, const float *filter, float *packed);

extern const qrn_winograd_kernel qrn_winograd_f32_avx512;
extern const qrn_winograd_kernel qrn_winograd_f32_avx2;
extern const qrn_winograd_kernel qrn_winograd_f32_neon;

#endif
