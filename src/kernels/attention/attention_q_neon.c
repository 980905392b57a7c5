// SPDX-License-Identifier: MIT
//
// Attention on quantized values, compiled for NEON.
#include "kernels/attention/attention_q.h"

#include "kernels/eltwise/binary_rows.h"
#include "kernels/gemm/matmul/dots_plain.h"
#include "kernels/softmax/softmax_rows.h"

#define FN qrn_attention_q_neon
#define SUM qrn_binary_q_neon
#define SOFTMAX qrn_softmax_q_neon
#include "kernels/attention/attention_q.inc"
