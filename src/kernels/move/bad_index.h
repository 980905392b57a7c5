// SPDX-License-Identifier: MIT
//
// Which index a call failed for.
#ifndef QRN_KERNELS_MOVE_BAD_INDEX_H
#define QRN_KERNELS_MOVE_BAD_INDEX_H

#include "kernels/kernel.h"

// The cause of a family in more words, in buf: the first index that is outside, and the size of its
// dimension. NULL: the family has no such indices, or none is outside.
const char *qrn_bad_index(const qrn_family *f, const qrn_kcall *k, char *buf, size_t size);

#endif
