// SPDX-License-Identifier: MIT
//
// Softmax over some of its entries, as quantized graphs for the HTP spell it (HTP-MSM).
#ifndef QRN_COMPILER_LOWER_KEPT_H
#define QRN_COMPILER_LOWER_KEPT_H

#include "compiler/lower.h"

// Of Softmax(Select(keep, x, ReduceMin(x) + B)) over the last dimension, with B of -20 or less, the
// tensor `keep`; NULL: the node is no such softmax. `keep` is a graph input, a cast of one, or a
// comparison with 0 (equal or not equal).
const qrn_tensor *qrn_lo_kept(const qrn_node *softmax);

#endif
