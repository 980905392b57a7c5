// SPDX-License-Identifier: MIT
//
// Reductions of codes, compiled for NEON.
#define FN qrn_reduce_codes_neon
#include "kernels/reduce/reduce_codes_both.inc"
