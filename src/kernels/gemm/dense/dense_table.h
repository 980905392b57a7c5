// SPDX-License-Identifier: MIT
//
// Rows of a table that lies in memory as packed weights: the embedding of a language model is
// often the matrix of its last layer, too.
//   in[0]  packed   [panels, depth, 32] f32 or fp16, or [panels, depth / 4, 32, 4] i8 (rounded up
//                   to whole blocks): row r of the table is column r of the weights
//   in[1]  indices  as in gather.h
//   out[0] y        f32, or bytes of packed bytes: a row of `depth` numbers for each index
#ifndef QRN_KERNELS_GEMM_DENSE_TABLE_H
#define QRN_KERNELS_GEMM_DENSE_TABLE_H

#include "kernels/kernel.h"

typedef struct qrn_dense_table_args {
    uint32_t rows;   // of the table
    uint32_t depth;  // its columns
    bool wide_range; // fp16 without infinities and NaNs (base/fp16.h)
} qrn_dense_table_args;

extern const qrn_family qrn_family_dense_table; // RAW

#endif
