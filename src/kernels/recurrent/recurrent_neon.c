// SPDX-License-Identifier: MIT
//
// LSTM and GRU in single precision, compiled for NEON.
#include "kernels/fast_math.h"
#include "kernels/recurrent/recurrent_rows.h"

#define NAME(x) x##_neon
#include "kernels/recurrent/recurrent_fast.inc"
