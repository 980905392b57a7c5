// SPDX-License-Identifier: MIT
//
// Quantized convolutions and fully connected layers with weights packed at finalize. Results are
// those of requant.h to the bit; weights have one scale for all, or one per output channel.
//   in[0]  x        conv: [N, S..., Cin]; rows: any shape, rows of `depth` elements. uq8, sq8
//   in[1]  packed   per group: panels of dense8 (gemm_q8.h), [group*panels, steps, 32, 4], i8
//   in[2]  sums     [Cout] i32: sum of the stored weights of a channel
//   in[3]  scales   [Cout] f32: scale of the weights of a channel
//   in[4]  bias     [Cout] i32 in units of scale(x) * scale(w), may be absent
//   in[5]  matrices (optional) the weights of a 3x3 convolution in the form of winograd8.h, i16;
//                   rows that cannot use them read in[1]
//   out[0] y        conv: [N, So..., Cout]; rows: rows of Cout elements. 8 bits
// Sums must fit 32 bits (qrn_dense8_fits). Padding is the zero point, which must be a value of the
// type.
#ifndef QRN_KERNELS_GEMM_DENSE8_H
#define QRN_KERNELS_GEMM_DENSE8_H

#include "kernels/gemm/dense/dense_plan.h"

#define QRN_DENSE8_MATRICES 5

typedef struct qrn_dense8_args {
    qrn_dense_args dense;
    int32_t w_offset; // of the stored weights, for all channels
} qrn_dense8_args;

extern const qrn_family qrn_family_dense8; // RAW

// Packs weights, element (k, j) of the matrix [depth, group*cols] at k*w_depth + j*w_col; flip:
// 0x80 for unsigned values, else 0.
void qrn_dense8_pack(const qrn_dense_args *a, const uint8_t *w, size_t w_depth, size_t w_col,
                     uint8_t flip, int8_t *packed);
// Sums of the stored weights of each channel.
void qrn_dense8_sums(const qrn_dense_args *a, const uint8_t *w, size_t w_depth, size_t w_col,
                     uint8_t flip, int32_t *sums);

// Largest |q + offset| of a type of 8 bits.
int64_t qrn_dense8_largest(bool is_signed, int32_t offset);
// Do all sums fit 32 bits, whatever the activations and weights?
bool qrn_dense8_fits(const qrn_dense_args *a, bool x_signed, int32_t x_offset, bool w_signed,
                     int32_t w_offset, const int32_t *bias);

#endif
