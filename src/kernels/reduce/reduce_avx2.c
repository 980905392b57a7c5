// SPDX-License-Identifier: MIT
//
// Vector reductions, compiled for AVX2.
#include "kernels/lanes.h"
#include "kernels/reduce/reduce_rows.h"
#include "kernels/vec.h"

#define T float
#define REF qrn_reduce_f32_ref
#define NAME(x) x##_f32_avx2
#define SUM_COLUMNS sum_columns_f32_avx2
#include "kernels/reduce/reduce_sums.inc"
#include "kernels/reduce/reduce_fast.inc"
#undef SUM_COLUMNS
#undef T
#undef REF
#undef NAME
#define T double
#define REF qrn_reduce_f64_ref
#define NAME(x) x##_f64_avx2
#include "kernels/reduce/reduce_fast.inc"
