// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for AVX-VNNI, done as two halves of 16 columns: 12
// accumulators, two vectors of b and one broadcast element of a.
#include "kernels/gemm/epilogue/epilogue_q8_avx2.h"

#define ROWS 6
#define HALF 16

static inline __m256i four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
}

// _mm256_dpbusd_avx_epi32, which gcc 12 surrounds with copies.
static inline __m256i dot(__m256i acc, __m256i x, __m256i b) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(x), "x"(b));
    return acc;
}

static inline __attribute__((always_inline)) void half(const qrn_gemm_q8_tile *t, uint32_t first,
                                                       const int rows) {
    __m256i acc[ROWS][2];
    const int8_t *b = t->b + first * 4;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        acc[r][0] = qrn_q8_terms(t, (uint32_t)r, first);
        acc[r][1] = qrn_q8_terms(t, (uint32_t)r, first + 8);
    }
    for (size_t s = 0; s < t->steps; s++, b += QRN_PANEL * 4) {
        __m256i b0 = _mm256_loadu_si256((const __m256i *)b);
        __m256i b1 = _mm256_loadu_si256((const __m256i *)(b + 32));
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m256i x = four_bytes(t->a + (size_t)r * t->a_row + s * 4);
            acc[r][0] = dot(acc[r][0], x, b0);
            acc[r][1] = dot(acc[r][1], x, b1);
        }
    }
#pragma GCC unroll 3
    for (int r = 0; r < rows; r += 2) {
        const int next = r + 1 < rows ? r + 1 : r;
        const __m256i sums[4] = {acc[r][0], acc[r][1], acc[next][0], acc[next][1]};
        qrn_q8_epilogue(t, (uint32_t)r, first, sums);
    }
}

#include "kernels/gemm/tiles/gemm_q8_six.inc"

const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_avxvnni = {.name = "gemm_q8_6x32_avxvnni",
                                                     .rows = ROWS,
                                                     .tile = tile_6x32,
                                                     .row_sums = qrn_gemm_q8_row_sums,
                                                     .copy = qrn_dense_copy};
