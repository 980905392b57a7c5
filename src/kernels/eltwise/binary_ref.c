// SPDX-License-Identifier: MIT
//
// Binary ops on floats, for any CPU.
#define QRN_IO_BY_DEFINITION 1
#include "kernels/element_io.h"
#include "kernels/eltwise/binary_float.h"
#include "kernels/eltwise/binary_rows.h"

#define T float
#define FN qrn_binary_f32_ref
#define ROW row_f32
#include "kernels/eltwise/binary.inc"
#undef T
#undef FN
#undef ROW

#define T double
#define FN qrn_binary_f64_ref
#define ROW row_f64
#include "kernels/eltwise/binary.inc"

#define RAW qrn_binary_raw_ref
#include "kernels/eltwise/binary_raw.inc"
