// SPDX-License-Identifier: MIT
//
// Gather out of a table with an entry for each value of a 16-bit operand: how clients write a
// function of it that the chip has in fp16 only.
#ifndef QRN_COMPILER_LOWER_LOOKUP_H
#define QRN_COMPILER_LOWER_LOOKUP_H

#include "compiler/lower.h"

// Lowers a Gather to a look-up by the 16-bit value that its indices are made of: Cast to integers,
// with or without an Add of a constant behind it and a Convert between u16 and s16 before it.
// Otherwise returns QRN_E_UNSUPPORTED and emits nothing. The nodes that make the indices stay.
qrn_status qrn_lower_lookup(qrn_lowering *lo, const qrn_node *n);

#endif
