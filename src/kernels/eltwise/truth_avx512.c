// SPDX-License-Identifier: MIT
//
// Comparisons, logic, choices and tests of floats, compiled for AVX512.
#include "kernels/eltwise/truth_rows.h"

#define NAME(x) x##_avx512
#include "kernels/eltwise/truth.inc"
