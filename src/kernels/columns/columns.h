// SPDX-License-Identifier: MIT
//
// Windows of an image laid out as columns, and back.
//   image [N, H, W, C], columns [N, C*kh*kw, L], L window positions in row-major order
//   row index of (channel c, window cell a, b): (c*kh + a)*kw + b
// im2col: in[0] image, out[0] columns. Cells outside the image are zero.
// col2im: in[0] columns, out[0] image. Each image cell is the sum of the column cells that map to
// it, in double, in the order a, b.
#ifndef QRN_KERNELS_COLUMNS_H
#define QRN_KERNELS_COLUMNS_H

#include "kernels/kernel.h"

typedef struct qrn_columns_args {
    uint32_t kernel[2], stride[2], dilation[2], before[2], after[2]; // height, width
} qrn_columns_args;

extern const qrn_family qrn_family_im2col; // F32, F64
extern const qrn_family qrn_family_col2im; // F32, F64

#endif
