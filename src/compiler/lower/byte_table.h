// SPDX-License-Identifier: MIT
//
// Functions of one fixed-point operand as look-up tables. The table is filled at finalize by the
// family's own rows in double, which agree to the bit, so results are those of the generic path.
#ifndef QRN_COMPILER_LOWER_BYTE_TABLE_H
#define QRN_COMPILER_LOWER_BYTE_TABLE_H

#include "compiler/lower.h"

// Lowers node n to one look-up step when input `x` is 8-bit fixed point, every other input is a
// constant of one element and the only output is of a type that tables can hold. 16-bit operands
// get a table when they are the only one and larger than the table. Otherwise returns
// QRN_E_UNSUPPORTED and emits nothing. The family must have rows in the F64 domain.
qrn_status qrn_lower_byte_table(qrn_lowering *lo, const qrn_node *n, uint32_t x, const qrn_cop *op,
                                const void *args);

// The same for a conversion of truth values or plain integers of 8 bits.
qrn_status qrn_lower_byte_convert(qrn_lowering *lo, const qrn_node *n);

#endif
