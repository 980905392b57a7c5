// SPDX-License-Identifier: MIT
//
// Convolutions and fully connected layers in single precision with weights packed at finalize.
//   in[0]  x       conv: [N, S..., Cin]; rows: any shape, read as rows of `depth` elements
//   in[1]  packed  per group: panels of dense_f32 (gemm_f32.h), [group*panels, depth, 32]
//   in[2]  bias    [Cout], may be absent
//   out[0] y       conv: [N, So..., Cout]; rows: rows of Cout elements
// Rows that do not lie in x as they are go through the scratch where that is needed: dense_feed.h.
#ifndef QRN_KERNELS_GEMM_DENSE_H
#define QRN_KERNELS_GEMM_DENSE_H

#include "kernels/gemm/dense/dense_plan.h"

extern const qrn_family qrn_family_dense; // F32; parameters: qrn_dense_args

// Shape of the packed weights; false when it is too large.
bool qrn_dense_packed_shape(const qrn_dense_args *a, uint32_t dims[3]);
// Packs weights w, element (k, j) of the matrix [depth, group*cols] at k*w_depth + j*w_col.
void qrn_dense_pack(const qrn_dense_args *a, const float *w, size_t w_depth, size_t w_col,
                    float *packed);

#endif
