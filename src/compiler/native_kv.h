// SPDX-License-Identifier: MIT
//
// Application tensors in the layout of native KV caches: steps at the ends of the graph bring them
// into the order of all other tensors and back.
#ifndef QRN_COMPILER_NATIVE_KV_H
#define QRN_COMPILER_NATIVE_KV_H

#include "compiler/lowering.h"

// Before the first node: inputs become flat, outputs flat temporaries.
qrn_status qrn_lo_native_enter(qrn_lowering *lo);
// Behind the last one: outputs are written.
qrn_status qrn_lo_native_leave(qrn_lowering *lo);

#endif
