// SPDX-License-Identifier: MIT
//
// Rotary embedding, compiled for NEON.
#define FN qrn_rotate_neon
#include "kernels/eltwise/rotate_fast.inc"
