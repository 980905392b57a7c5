// SPDX-License-Identifier: MIT
//
// The table of ops by number.
#include "compiler/op.h"

static const qrn_cop *const ops[] = {
#define QRN_COP(number, op) [number] = &qrn_cop_##op,
#include "compiler/ops.def"
#undef QRN_COP
};

#define N_OPS (sizeof ops / sizeof ops[0])

const qrn_cop *qrn_cop_by_id(uint32_t id) { return id < N_OPS ? ops[id] : NULL; }
