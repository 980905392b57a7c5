// SPDX-License-Identifier: MIT
//
// Choosing between tensors, element by element; all operands broadcast to the shape of out[0].
//   select  in[0] != 0 ? in[1] : in[2]     the condition is true when its stored value is not zero
//   mux     in[1 + in[0]]                  the index counts the options; outside them the result is
//   0
// Data operands have the type and encoding of out[0] and are copied; conditions are 1, 2, 4 or 8
// bytes wide (plain integers, bool, fixed point).
#ifndef QRN_KERNELS_ELTWISE_CHOOSE_H
#define QRN_KERNELS_ELTWISE_CHOOSE_H

#include "kernels/kernel.h"

extern const qrn_family qrn_family_select; // RAW
extern const qrn_family qrn_family_mux;    // RAW; out[0] encoded per tensor or not at all

#endif
