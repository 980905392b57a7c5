// SPDX-License-Identifier: MIT
//
// Comparisons, logic, choices and tests of floats, compiled for AVX2.
#include "kernels/eltwise/truth_rows.h"

#define NAME(x) x##_avx2
#include "kernels/eltwise/truth.inc"
