// SPDX-License-Identifier: MIT
//
// Binary ops on plain integers, compiled for AVX2: the same code and the same results, wider
// vectors.
#include "kernels/eltwise/binary_rows.h"
#include "kernels/eltwise/binary_int.h"

#define T int64_t
#define FN qrn_binary_i64_avx2
#define ROW row_i64
#include "kernels/eltwise/binary.inc"
