// SPDX-License-Identifier: MIT
//
// Conversions between plain numbers, compiled for AVX2.
#include "kernels/convert_rows.h"
#include "kernels/element_io.h"
#include "kernels/vec.h"

#define FN qrn_convert_plain_avx2
#include "kernels/convert_plain.inc"
