// SPDX-License-Identifier: MIT
//
// Binary ops on plain integers, compiled for NEON: the same code and the same results, in
// vectors. 32-bit ones are used as they lie.
#include "kernels/eltwise/binary_rows.h"
#include "kernels/eltwise/binary_int.h"

#define T int64_t
#define U uint64_t
#define FN qrn_binary_i64_neon
#define ROW row_i64
#include "kernels/eltwise/binary.inc"
#undef T
#undef U
#undef FN
#undef ROW

#define T int32_t
#define U uint32_t
#define FN qrn_binary_i32_neon
#define ROW row_i32
#include "kernels/eltwise/binary.inc"
#undef T
#undef FN
#undef ROW

#define T uint32_t
#define FN qrn_binary_u32_neon
#define ROW row_u32
#include "kernels/eltwise/binary.inc"
