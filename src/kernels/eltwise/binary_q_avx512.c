// SPDX-License-Identifier: MIT
//
// Binary ops on quantized values, for AVX512.
#include "kernels/eltwise/binary_q.h"
#include "kernels/eltwise/binary_rows.h"
#include "kernels/eltwise/blocks.h"

#include <immintrin.h>
#include <string.h>

#define V __m512i
#define VF __m512
#define VD __m512d
#define OP(x) _mm512_##x
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define XOR(a, b) _mm512_xor_si512(a, b)
#define OR(a, b) _mm512_or_si512(a, b)
#define AND_OR(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0xea)
#define ODD_OF(v, w) _mm512_mask_mov_epi32(v, 0xaaaa, w)
#define SHUFFLE(v, order) _mm512_shuffle_epi32(v, order)
#define PD(v) _mm512_castsi512_pd(v)
#define BITS(v) _mm512_castpd_si512(v)
#define ALL_64(x) _mm512_set1_epi64(x)
#define CHANGED(all, t, u) _mm512_ternarylogic_epi32(all, t, u, 0xf6)
#define ANY(v, w) (_mm512_test_epi32_mask(v, w) != 0)
#define NAME(x) x##_avx512
#include "kernels/eltwise/binary_q_x86.inc"
