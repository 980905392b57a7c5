// SPDX-License-Identifier: MIT
//
// Attention on few rows with keys or values of 8 bits, compiled for AVX512-VNNI.
#include "kernels/attention/attention_bytes_avx512.h"
#include "kernels/attention/attention_rows.h"
#include "kernels/fast_math.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define ISA avx512vnni
#define MULTIPLIES_BYTES 1
#include "kernels/attention/attention_vec.inc"
