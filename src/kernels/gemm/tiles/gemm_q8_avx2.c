// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for AVX2, done 8 columns at a time. Bytes are widened to 16
// bits, whose pairwise products are exact; an accumulator holds four columns as two partial sums
// each, which are added at the end. Rows are widened once for all columns, some steps at a time:
// what is read again and again stays in the nearest cache.
#include "kernels/gemm/epilogue/epilogue_q8_avx2.h"

#define ROWS 6
#define EIGHTS (QRN_PANEL / 8)
#define STEPS 256 // that are widened together

typedef struct tile_room {
    uint16_t a[ROWS][STEPS * 4];
    __m256i acc[EIGHTS][ROWS][2];
} tile_room;

// Steps [first, first + n) of the rows.
static void widen(const qrn_gemm_q8_tile *t, size_t first, size_t n, const int rows, tile_room *m) {
    for (int r = 0; r < rows; r++) {
        const uint8_t *a = t->a + (size_t)r * t->a_row + first * 4;
        size_t i = 0;
        for (; i + 16 <= 4 * n; i += 16)
            _mm256_storeu_si256((__m256i *)(m->a[r] + i),
                                _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(a + i))));
        for (; i < 4 * n; i++)
            m->a[r][i] = a[i];
    }
}

// n steps of b times what was widened; `begins`: they are the first ones.
static inline __attribute__((always_inline)) void eight(const int8_t *b, size_t n, const int rows,
                                                        bool begins, tile_room *m,
                                                        __m256i (*sums)[2]) {
    __m256i acc[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 2; i++)
            acc[r][i] = begins ? _mm256_setzero_si256() : sums[r][i];
    for (size_t s = 0; s < n; s++, b += QRN_PANEL * 4) {
        __m256i w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)b));
        __m256i w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(b + 16)));
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            int64_t four;
            memcpy(&four, m->a[r] + 4 * s, sizeof four);
            __m256i x = _mm256_set1_epi64x(four);
            acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(x, w0));
            acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(x, w1));
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 2; i++)
            sums[r][i] = acc[r][i];
}

// Sums of 8 columns out of partial sums of columns 0..3 and 4..7, with their terms.
static inline __m256i whole_sums(const qrn_gemm_q8_tile *t, uint32_t row, uint32_t first,
                                 const __m256i *part) {
    __m256i sums = _mm256_permute4x64_epi64(_mm256_hadd_epi32(part[0], part[1]), 0xd8);
    return _mm256_add_epi32(qrn_q8_terms(t, row, first), sums);
}

static void finish(const qrn_gemm_q8_tile *t, const int rows, const tile_room *m) {
    for (uint32_t first = 0; first < t->cols; first += 16)
        for (uint32_t r = 0; r < (uint32_t)rows; r += 2) {
            const uint32_t next = r + 1 < (uint32_t)rows ? r + 1 : r, at = first / 8;
            const __m256i sums[4] = {whole_sums(t, r, first, m->acc[at][r]),
                                     whole_sums(t, r, first + 8, m->acc[at + 1][r]),
                                     whole_sums(t, next, first, m->acc[at][next]),
                                     whole_sums(t, next, first + 8, m->acc[at + 1][next])};
            qrn_q8_epilogue(t, r, first, sums);
        }
}

static inline __attribute__((always_inline)) void some_rows(const qrn_gemm_q8_tile *t,
                                                            const int rows) {
    tile_room m;
    const uint32_t eights = (t->cols + 15) / 16 * 2;
    for (size_t first = 0, n; first < t->steps || first == 0; first += n ? n : 1) {
        n = t->steps - first < STEPS ? t->steps - first : STEPS;
        widen(t, first, n, rows, &m);
        for (uint32_t e = 0; e < eights; e++)
            eight(t->b + first * QRN_PANEL * 4 + e * 32, n, rows, first == 0, &m, m.acc[e]);
    }
    finish(t, rows, &m);
}

#define half(t, first, rows) some_rows(t, rows)
#define HALF QRN_PANEL // all columns at once
#include "kernels/gemm/tiles/gemm_q8_six.inc"

const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_avx2 = {.name = "gemm_q8_6x32_avx2",
                                                  .rows = ROWS,
                                                  .tile = tile_6x32,
                                                  .row_sums = qrn_gemm_q8_row_sums,
                                                  .copy = qrn_dense_copy};
