// SPDX-License-Identifier: MIT
//
// Vector reductions, compiled for NEON.
#include "kernels/lanes.h"
#include "kernels/reduce/reduce_rows.h"

#define T float
#define REF qrn_reduce_f32_ref
#define NAME(x) x##_f32_neon
#include "kernels/reduce/reduce_fast.inc"
#undef T
#undef REF
#undef NAME
#define T double
#define REF qrn_reduce_f64_ref
#define NAME(x) x##_f64_neon
#include "kernels/reduce/reduce_fast.inc"
