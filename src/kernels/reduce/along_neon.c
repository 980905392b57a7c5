// SPDX-License-Identifier: MIT
//
// Largest, smallest and running sums of floats, compiled for NEON.
#include "kernels/reduce/along_rows.h"

#define NAME(x) x##_neon
#include "kernels/reduce/along_fast.inc"
