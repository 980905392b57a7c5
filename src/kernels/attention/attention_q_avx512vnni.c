// SPDX-License-Identifier: MIT
//
// Attention on quantized values, compiled for AVX512-VNNI.
#include "kernels/attention/attention_q.h"

#include "kernels/eltwise/binary_rows.h"
#include "kernels/gemm/matmul/dots_avx512.h"
#include "kernels/softmax/softmax_rows.h"

#define FN qrn_attention_q_avx512vnni
#define SUM qrn_binary_q_avx512
#define SOFTMAX qrn_softmax_q_avx512
#include "kernels/attention/attention_q.inc"
