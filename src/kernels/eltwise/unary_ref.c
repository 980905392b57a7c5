// SPDX-License-Identifier: MIT
//
// Unary ops for any CPU: the definition.
#include "kernels/eltwise/unary_rows.h"

#define T float
#define FN qrn_unary_f32_ref
#include "kernels/eltwise/unary.inc"
#undef T
#undef FN

#define T double
#define FN qrn_unary_f64_ref
#include "kernels/eltwise/unary.inc"
