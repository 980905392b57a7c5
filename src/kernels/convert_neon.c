// SPDX-License-Identifier: MIT
//
// Conversions between common formats, compiled for NEON.
#include "kernels/element_io.h"
#include "kernels/convert_rows.h"

#define FN qrn_convert_neon
#include "kernels/convert_fast.inc"
