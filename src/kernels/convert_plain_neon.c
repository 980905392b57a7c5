// SPDX-License-Identifier: MIT
//
// Conversions between plain numbers, compiled for NEON.
#include "kernels/convert_rows.h"
#include "kernels/element_io.h"
#include "kernels/vec.h"

#define FN qrn_convert_plain_neon
#include "kernels/convert_plain.inc"
