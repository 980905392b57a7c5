// SPDX-License-Identifier: MIT
//
// What the rows of the reduce and moments families share.
#ifndef QRN_KERNELS_REDUCE_REDUCE_ROWS_H
#define QRN_KERNELS_REDUCE_REDUCE_ROWS_H

#include "kernels/reduce/reduce.h"
#include "kernels/walk.h"

// Splits the elements of x: `outer` walks the first element of every result, `inner` the elements
// that belong to one result, as offsets from its first.
void qrn_reduce_walks(const qrn_view *x, uint32_t axes, qrn_walk *outer, qrn_walk *inner);

#endif
