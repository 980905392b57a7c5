// SPDX-License-Identifier: MIT
//
// Bytes cut apart and their sums put together, compiled for AVX-512.
#include "kernels/gemm/tiles/gemm_planes.h"

#include <immintrin.h>

// Low bytes of four values, then their high bytes, in every 8 bytes.
static inline __m512i pairs_of(__m512i q, __m512i flip) {
    const __m512i order = _mm512_set4_epi32(0x0f0d0b09, 0x0e0c0a08, 0x07050301, 0x06040200);
    return _mm512_xor_si512(_mm512_shuffle_epi8(q, order), flip);
}

static void pairs_avx512(const uint16_t *x, size_t n, uint8_t flip, uint8_t *dst) {
    const __m512i high = _mm512_set1_epi64((long long)(0x0101010100000000u * flip));
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        _mm512_storeu_si512(dst + 2 * i, pairs_of(_mm512_loadu_si512(x + i), high));
    if (i < n) {
        __mmask8 rest = (__mmask8)((1u << (n - i) / 4) - 1);
        _mm512_mask_storeu_epi64(dst + 2 * i, rest,
                                 pairs_of(_mm512_maskz_loadu_epi64(rest, x + i), high));
    }
}

#define PAIRS pairs_avx512
#define FAST_FMA
#define TABLE qrn_planes_ops_avx512
#include "kernels/gemm/tiles/gemm_planes.inc"
