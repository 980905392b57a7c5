// SPDX-License-Identifier: MIT
//
// Largest, smallest and running sums of floats, compiled for AVX512.
#include "kernels/reduce/along_rows.h"

#define NAME(x) x##_avx512
#include "kernels/reduce/along_fast.inc"
