// SPDX-License-Identifier: MIT
//
// Scales of blocks that a file has in a packed form alone.
#ifndef QRN_BINARY_PACKED_SCALES_H
#define QRN_BINARY_PACKED_SCALES_H

#include "ir/packed.h"

// Are the scales and offsets of t, which has no data of its own, in packed forms of the list?
// *p: where.
bool qrn_bin_packed_scales(const qrn_tensor *t, const qrn_packed_list *l, qrn_quant_packed *p);

#endif
