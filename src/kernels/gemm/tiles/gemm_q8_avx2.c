// SPDX-License-Identifier: MIT
//
// Register tile of 2 rows by 32 columns for AVX2, done as two halves of 16 columns. Bytes are
// widened to 16 bits, whose pairwise products are exact; an accumulator holds four columns as two
// partial sums each, which are added at the end.
#include "kernels/gemm/epilogue/epilogue_q8_avx2.h"

#define ROWS 2
#define HALF 16

// Four bytes of a, widened, in every 64 bits.
static inline __m256i four_words(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(v)));
}

// Sums of 8 columns out of partial sums of columns 0..3 and 4..7.
static inline __m256i whole_sums(__m256i low, __m256i high) {
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xd8);
}

static inline __attribute__((always_inline)) void half(const qrn_gemm_q8_tile *t, uint32_t first,
                                                       const int rows) {
    __m256i acc[ROWS][4];
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 4; i++)
            acc[r][i] = _mm256_setzero_si256();
    const int8_t *b = t->b + first * 4;
    for (size_t s = 0; s < t->steps; s++, b += QRN_PANEL * 4) {
        __m256i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(b + 16 * i)));
        for (int r = 0; r < rows; r++) {
            __m256i x = four_words(t->a + (size_t)r * t->a_row + s * 4);
            for (int i = 0; i < 4; i++)
                acc[r][i] = _mm256_add_epi32(acc[r][i], _mm256_madd_epi16(x, w[i]));
        }
    }
    __m256i sums[2 * ROWS];
    for (int r = 0; r < ROWS; r++) {
        int from = r < rows ? r : 0;
        for (int v = 0; v < 2; v++)
            sums[2 * r + v] =
                _mm256_add_epi32(qrn_q8_terms(t, (uint32_t)from, first + 8 * (uint32_t)v),
                                 whole_sums(acc[from][2 * v], acc[from][2 * v + 1]));
    }
    qrn_q8_epilogue(t, 0, first, sums);
}

static void tile_2x32(const qrn_gemm_q8_tile *t) {
    for (uint32_t first = 0; first < t->cols; first += HALF)
        if (t->rows == 2)
            half(t, first, 2);
        else
            half(t, first, 1);
}

const qrn_gemm_q8_kernel qrn_gemm_q8_2x32_avx2 = {"gemm_q8_2x32_avx2",  ROWS,           tile_2x32,
                                                  qrn_gemm_q8_row_sums, qrn_dense_copy, 0};
