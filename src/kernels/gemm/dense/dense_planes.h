// SPDX-License-Identifier: MIT
//
// Quantized convolutions and fully connected layers with packed weights, where dense8.h does not
// do: 16-bit activations, results or weights, 4-bit weights, offsets per channel, scales per block.
// Results are those of requant.h to the bit. The depth is cut into runs with scales of their own:
// one run unless weights are encoded per block.
//   in[0]  x        as in dense8.h; 8 or 16 bits
//   in[1]  packed   dense4, dense8 or dense16 (below), i8
//   in[2]  sums     [runs, Cout] i32 or i64: sums of the stored weights
//   in[3]  scales   [runs, Cout] f32
//   in[4]  offsets  [runs, Cout] i32, of the stored weights; may be absent: zeros
//   in[5]  starts   [runs] u32: first depth of each run, a multiple of 4
//   in[6]  bias     [Cout], may be absent: f64 in real units, or, unless weights are encoded per
//                   block, i32 in units of scale(x) * scale(w)
//   out[0] y        as in dense8.h; 8 or 16 bits
//
// Packings, each per group in panels of 32 columns of ceil(depth/32)*8 steps:
//   dense8   [panels, steps, 32, 4], as in gemm_q8.h; what is stored is the signed value, or the
//            unsigned one minus 2^(bits-1)
//   dense4   [panels, steps, 32, 2]: the same with two numbers a byte, the first in the low half
//   dense16  [2, panels, steps, 32, 4]: planes l and h of gemm_planes.h
// Padding is the zero point, which must be a value of the type.
#ifndef QRN_KERNELS_GEMM_DENSE_PLANES_H
#define QRN_KERNELS_GEMM_DENSE_PLANES_H

#include "kernels/gemm/dense/dense_plan.h"

typedef struct qrn_dense_planes_args {
    qrn_dense_args dense;
    uint32_t w_bits; // 4, 8 or 16: which packing
    bool blocks;     // weights are encoded per block
} qrn_dense_planes_args;

extern const qrn_family qrn_family_dense_planes; // RAW

// Weights as a tensor has them: element (k, j) of the matrix [depth, group*cols] lies at k*w_depth
// + j*w_col.
typedef struct qrn_weights {
    qrn_dense_args dense;
    size_t w_depth, w_col;
    qrn_dtype dtype;
    uint32_t bits;   // of an element that count
    uint32_t packed; // bits it is packed with: 4, 8 or 16
} qrn_weights;

// What is subtracted from a weight where it is packed: stored = weight - qrn_weights_shift().
int32_t qrn_weights_shift(const qrn_weights *w);
// Do all stored weights fit the packing? (Asked before 8-bit weights are packed with 4.)
bool qrn_weights_fit(const qrn_weights *w, const void *w_data);
// Shape of the packed weights; false when it is too large.
bool qrn_weights_shape(const qrn_weights *w, uint32_t *rank, uint32_t *dims);
void qrn_weights_pack(const qrn_weights *w, const void *w_data, int8_t *packed);
// Sums of the stored weights of each run and channel; one of the destinations is NULL.
void qrn_weights_sums(const qrn_weights *w, const void *w_data, const uint32_t *starts,
                      uint32_t n_runs, int32_t *sums, int64_t *sums64);

// Is the zero point of these activations a value of their type? Padding needs it.
bool qrn_dense_has_zero(qrn_dtype x, int32_t x_offset);

#endif
