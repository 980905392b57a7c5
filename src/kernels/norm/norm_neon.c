// SPDX-License-Identifier: MIT
//
// Normalization of contiguous sets, compiled for NEON.
#include "kernels/norm/norm_rows.h"

#define T float
#define REF qrn_norm_f32_ref
#define NAME(x) x##_f32_neon
#include "kernels/norm/norm_fast.inc"
#undef T
#undef REF
#undef NAME
#define T double
#define REF qrn_norm_f64_ref
#define NAME(x) x##_f64_neon
#include "kernels/norm/norm_fast.inc"
