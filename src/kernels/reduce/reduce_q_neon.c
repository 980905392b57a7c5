// SPDX-License-Identifier: MIT
//
// Reductions of quantized values, compiled for NEON.
#define FN qrn_reduce_q_neon
#include "kernels/reduce/reduce_q_both.inc"
