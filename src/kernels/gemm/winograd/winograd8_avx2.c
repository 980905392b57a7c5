// SPDX-License-Identifier: MIT
//
// Winograd's convolution on 8-bit values for AVX2: transformations of 16 channels or 8 columns at a
// time, and register tiles of up to 6 rows by 16 columns. vpmaddwd multiplies as many words as the
// tile for bytes does (gemm_q8_avx2.c), so that a quarter of the products takes a quarter of the
// time.
#include "kernels/gemm/epilogue/requant8_avx2.h"

#define WINOGRAD8_VECTOR 32
#include "kernels/gemm/winograd/winograd8_vectors.h"

#define ROWS 6
#define COLS 16 // of a register tile

INLINE words read_channels(const uint8_t *p, size_t left, const bool is_signed) {
    __m128i q;
    if (left) {
        uint8_t some[16] = {0};
        memcpy(some, p, left);
        q = _mm_loadu_si128((const __m128i *)some);
    } else {
        q = _mm_loadu_si128((const __m128i *)p);
    }
    return (words)(is_signed ? _mm256_cvtepi8_epi16(q) : _mm256_cvtepu8_epi16(q));
}

// Rows [first, first + rows) times columns [col, col + 16).
INLINE void tile(const qrn_winograd8_gemm *t, size_t first, size_t col, const int rows) {
    __m256i acc[ROWS][2];
    const int16_t *a = t->a + first * t->a_row, *b = t->b + col * QRN_WINOGRAD8_DEPTH;
    const char *ahead = (const char *)t->next + col * QRN_WINOGRAD8_DEPTH * sizeof *b;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        acc[r][0] = acc[r][1] = _mm256_setzero_si256();
    for (size_t k = 0; k < t->steps * 2; k += 2, b += QRN_PANEL * QRN_WINOGRAD8_DEPTH) {
        __m256i b0 = _mm256_loadu_si256((const __m256i *)b);
        __m256i b1 = _mm256_loadu_si256((const __m256i *)(b + 16));
        if (first == 0)
            _mm_prefetch(ahead + k * QRN_PANEL * sizeof *b, _MM_HINT_T1);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m256i x = _mm256_set1_epi32(two_words(a + k + (size_t)r * t->a_row));
            acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(x, b0));
            acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(x, b1));
        }
    }
    int32_t *c = t->c + first * QRN_PANEL + col;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++, c += QRN_PANEL) {
        _mm256_storeu_si256((__m256i *)c, acc[r][0]);
        _mm256_storeu_si256((__m256i *)(c + 8), acc[r][1]);
    }
}

#define TILE(n)                                                                                    \
    static void tile_##n(const qrn_winograd8_gemm *t, size_t first, size_t col) {                  \
        tile(t, first, col, n);                                                                    \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static void multiply(const qrn_winograd8_gemm *t) {
    static void (*const tiles[ROWS])(const qrn_winograd8_gemm *, size_t,
                                     size_t) = {tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};
    for (size_t col = 0; col < (t->low ? COLS : QRN_PANEL); col += COLS)
        for (size_t first = 0, rows; first < t->rows; first += rows) {
            rows = t->rows - first < ROWS ? t->rows - first : ROWS;
            tiles[rows - 1](t, first, col);
        }
}

// Results of columns [from, from + 16), or of those that exist. Two cells at a time, whose first
// and second eight columns are what requantization works on.
static void output_part(const qrn_winograd8_output *t, uint32_t from) {
    sums half[2][QRN_WINOGRAD_TILE * QRN_WINOGRAD_WINDOW];
    const uint32_t left = t->cols - from, n = left < COLS ? left : COLS;
    __m256i column[2];
    for (size_t i = 0; i < 2; i++) {
        column[i] = _mm256_loadu_si256((const __m256i *)(t->column + from + 8 * i));
        output_columns(t, from + 8 * i, half[i]);
    }
    uint8_t *y = t->y + from;
#pragma GCC unroll 4
    for (int i = 0; i < QRN_WINOGRAD_TILE; i++, y += t->y_line) {
        signed_sums four[2][QRN_WINOGRAD_TILE];
        if ((size_t)i >= t->lines)
            break;
        output_line(half[0], i, four[0]);
        output_line(half[1], i, four[1]);
        for (size_t j = 0; j < t->cells; j += 2) {
            uint8_t *at = y + j * t->y_cell;
            const __m256i of[4] = {_mm256_add_epi32((__m256i)four[0][j], column[0]),
                                   _mm256_add_epi32((__m256i)four[1][j], column[1]),
                                   _mm256_add_epi32((__m256i)four[0][j + 1], column[0]),
                                   _mm256_add_epi32((__m256i)four[1][j + 1], column[1])};
            qrn_requant8_two_rows(t->requant, of, from, n, at,
                                  j + 1 < t->cells ? at + t->y_cell : NULL);
        }
    }
}

static void transform_output(const qrn_winograd8_output *t) {
    for (uint32_t from = 0; from < t->cols; from += COLS)
        output_part(t, from);
}

const qrn_winograd8_kernel qrn_winograd8_avx2 = {transform_input, multiply, transform_output};
