// SPDX-License-Identifier: MIT
//
// Conversions between common formats, compiled for AVX2.
#include "kernels/element_io.h"
#include "kernels/convert_rows.h"

#define FN qrn_convert_avx2
#include "kernels/convert_fast.inc"
