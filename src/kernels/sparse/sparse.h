// SPDX-License-Identifier: MIT
//
// Sparse tensors. One of shape [D0..Dn-1] with M elements over its K outermost dimensions is stored
// as int32 indices [M, K] followed by the values [M, DK..Dn-1]; view->n_sparse is the current M,
// at most what the tensor was declared with. Of elements with the same index the last one counts.
// An index outside the shape is a data error. Values keep their type; encodings may differ.
//
//   sparse_create   indices [M, K], values -> sparse
//   sparse_indices  sparse -> indices [M, K], the first dimension cut to the current M
//   sparse_values   sparse -> values, the first dimension cut to the current M
//   sparse_dense    sparse -> dense; cells without an element are 0
//   sparse_pick     dense, sparse a, sparse b or NULL -> sparse: the dense cells at the elements of
//                   a; with b at those of a or b, each once, in ascending order of their indices
#ifndef QRN_KERNELS_SPARSE_SPARSE_H
#define QRN_KERNELS_SPARSE_SPARSE_H

#include "kernels/kernel.h"

// sparse_indices, sparse_values
typedef struct qrn_sparse_read_args {
    bool write_dims; // else all rows are written, those left over with index -1 and value 0
} qrn_sparse_read_args;

// sparse_create, sparse_pick
typedef struct qrn_sparse_make_args {
    uint32_t limit; // elements the output has room for
} qrn_sparse_make_args;

extern const qrn_family qrn_family_sparse_create;  // RAW
extern const qrn_family qrn_family_sparse_indices; // RAW
extern const qrn_family qrn_family_sparse_values;  // RAW
extern const qrn_family qrn_family_sparse_dense;   // RAW
extern const qrn_family qrn_family_sparse_pick;    // RAW

#endif
