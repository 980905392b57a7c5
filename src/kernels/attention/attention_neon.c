// SPDX-License-Identifier: MIT
//
// Attention compiled for NEON.
#include "kernels/attention/attention_rows.h"
#include "kernels/fast_math.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define ISA neon
#include "kernels/attention/attention_vec.inc"
