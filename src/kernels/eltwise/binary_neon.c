// SPDX-License-Identifier: MIT
//
// Binary ops on floats, compiled for NEON: the same code and the same results, in vectors.
#include "kernels/element_io.h"
#include "kernels/eltwise/binary_float.h"
#include "kernels/eltwise/binary_rows.h"

#define T float
#define FN qrn_binary_f32_neon
#define ROW row_f32
#include "kernels/eltwise/binary.inc"
#undef T
#undef FN
#undef ROW

#define T double
#define FN qrn_binary_f64_neon
#define ROW row_f64
#include "kernels/eltwise/binary.inc"

#define RAW qrn_binary_raw_neon
#include "kernels/eltwise/binary_raw.inc"
