// SPDX-License-Identifier: MIT
//
// Reductions of codes, compiled for NEON.
#define FN qrn_reduce_q_neon
#include "kernels/reduce/reduce_q_both.inc"
