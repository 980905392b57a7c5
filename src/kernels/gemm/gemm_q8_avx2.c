// SPDX-License-Identifier: MIT
//
// Register tile of 2 rows by 32 columns for AVX2, done as two halves of 16 columns. Bytes are
// widened to 16 bits, whose pairwise products are exact; an accumulator holds four columns as two
// partial sums each, which are added at the end.
#include "kernels/gemm/gemm_q8.h"

#include <immintrin.h>
#include <string.h>

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

static inline void finish(const qrn_gemm_q8_tile *t, uint32_t row, uint32_t first, __m256i acc) {
    uint32_t n = t->cols > first ? t->cols - first : 0;
    n = n > 8 ? 8 : n;
    __m256i sum = _mm256_add_epi32(acc, _mm256_loadu_si256((const __m256i *)(t->column + first)));
    sum = _mm256_add_epi32(sum, _mm256_set1_epi32(t->row ? t->row[row] : 0));
    int32_t lane[8];
    if (t->acc) {
        _mm256_storeu_si256((__m256i *)lane, sum);
        memcpy(t->acc + row * QRN_PANEL + first, lane, n * sizeof *lane);
        return;
    }
    const qrn_round8 *r = t->round;
    uint8_t *to = t->y + row * t->y_row + first;
    __m256 real = _mm256_cvtepi32_ps(sum), m = _mm256_loadu_ps(r->m + first);
    __m256 y = _mm256_floor_ps(_mm256_fmadd_ps(real, m, _mm256_set1_ps(r->start[0])));
    __m256 high = _mm256_floor_ps(_mm256_fmadd_ps(real, m, _mm256_set1_ps(r->start[1])));
    int unsure = _mm256_movemask_ps(_mm256_cmp_ps(y, high, _CMP_NEQ_UQ));
    y = _mm256_max_ps(y, _mm256_set1_ps(r->lo));
    y = _mm256_min_ps(y, _mm256_set1_ps(r->hi));
    _mm256_storeu_si256((__m256i *)lane, _mm256_cvtps_epi32(y));
    for (uint32_t j = 0; j < n; j++)
        to[j] = (uint8_t)lane[j];
    if (!unsure)
        return;
    _mm256_storeu_si256((__m256i *)lane, sum);
    for (uint32_t j = 0; j < n; j++)
        if (unsure >> j & 1)
            to[j] = qrn_round8_exact(r, first + j, lane[j]);
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
    for (int r = 0; r < rows; r++) {
        finish(t, (uint32_t)r, first, whole_sums(acc[r][0], acc[r][1]));
        finish(t, (uint32_t)r, first + 8, whole_sums(acc[r][2], acc[r][3]));
    }
}

static void tile_2x32(const qrn_gemm_q8_tile *t) {
    for (uint32_t first = 0; first < t->cols; first += HALF)
        if (t->rows == 2)
            half(t, first, 2);
        else
            half(t, first, 1);
}

const qrn_gemm_q8_kernel qrn_gemm_q8_2x32_avx2 = {"gemm_q8_2x32_avx2", ROWS, tile_2x32,
                                                  qrn_gemm_q8_row_sums, qrn_dense_copy};
