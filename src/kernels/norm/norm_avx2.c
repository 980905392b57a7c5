// SPDX-License-Identifier: MIT
//
// Normalization of contiguous sets and of columns and the affine family of floats, compiled for
// AVX2.
#include "kernels/norm/norm_rows.h"
#include "kernels/vec.h"

#define AFFINE qrn_affine_f32_avx2
#include "kernels/norm/norm_f32.inc"

#define COLUMNS qrn_norm_columns_f32_avx2
#include "kernels/norm/norm_columns.inc"

#define FAST_SET fast_set
#define T float
#define REF qrn_norm_f32_ref
#define NAME(x) x##_f32_avx2
#include "kernels/norm/norm_fast.inc"
#undef FAST_SET
#undef T
#undef REF
#undef NAME
#define T double
#define REF qrn_norm_f64_ref
#define NAME(x) x##_f64_avx2
#include "kernels/norm/norm_fast.inc"
