// SPDX-License-Identifier: MIT
//
// Normalization of quantized values in contiguous sets, compiled for NEON.
#include "kernels/norm/norm_q.h"
#include "kernels/store_q.h"

#define FN qrn_norm_q_neon
#include "kernels/norm/norm_q_fast.inc"
