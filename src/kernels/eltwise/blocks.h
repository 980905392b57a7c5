// SPDX-License-Identifier: MIT
//
// Element-wise work on two operands that broadcast to the shape of the output, cut into blocks in
// which all three lie contiguously. An operand of the output's shape is used where it lies; so are
// long rows that repeat. Short rows and scalars are repeated in a small buffer once, other patterns
// are laid out block by block. A block function needs no strides, whatever the shapes are.
#ifndef QRN_KERNELS_ELTWISE_BLOCKS_H
#define QRN_KERNELS_ELTWISE_BLOCKS_H

#include "kernels/kernel.h"

// y[i] = f(a[i], b[i]) for i < n; y may be a or b. Elements as in the views of the call.
typedef void (*qrn_block_fn)(void *context, const void *a, const void *b, void *y, size_t n);

// Do the elements of x repeat in order, to the shape of out? It has the last dimensions of that
// then.
bool qrn_block_repeats(const qrn_view *x, const qrn_view *out);

// Calls fn for all blocks of the call's task; k->in[0] and k->in[1] are the operands.
void qrn_binary_blocks(const qrn_kcall *k, qrn_block_fn fn, void *context);

#endif
