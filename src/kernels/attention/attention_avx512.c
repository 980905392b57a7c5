// SPDX-License-Identifier: MIT
//
// Attention compiled for AVX-512.
#include "kernels/attention/attention_rows.h"
#include "kernels/fast_math.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define ISA avx512
#include "kernels/attention/attention_vec.inc"
