// SPDX-License-Identifier: MIT
//
// Comparisons, logic, choices and tests of floats, compiled for NEON.
#include "kernels/eltwise/truth_rows.h"

#define NAME(x) x##_neon
#include "kernels/eltwise/truth.inc"
