// SPDX-License-Identifier: MIT
//
// Attention on quantized values, compiled for AVX2.
#include "kernels/attention/attention_q.h"

#include "kernels/eltwise/binary_rows.h"
#include "kernels/gemm/matmul/dots_plain.h"
#include "kernels/softmax/softmax_rows.h"

#define FN qrn_attention_q_avx2
#define SUM qrn_binary_q_avx2
#define SOFTMAX qrn_softmax_q_avx2
#include "kernels/attention/attention_q.inc"
