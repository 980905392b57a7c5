// SPDX-License-Identifier: MIT
//
// Winograd's convolution on 8-bit values for AVX-512 VNNI: transformations of 32 channels or 16
// columns at a time, and register tiles of up to 12 rows by 32 columns.
#include "kernels/gemm/epilogue/requant8_avx512.h"

#define WINOGRAD8_VECTOR 64
#include "kernels/gemm/winograd/winograd8_vectors.h"

#define ROWS 12

INLINE words read_channels(const uint8_t *p, size_t left, const bool is_signed) {
    __m256i q = left ? _mm256_maskz_loadu_epi8((1u << left) - 1, p)
                     : _mm256_loadu_si256((const __m256i *)p);
    return (words)(is_signed ? _mm512_cvtepi8_epi16(q) : _mm512_cvtepu8_epi16(q));
}

// _mm512_dpwssd_epi32; around the intrinsic gcc 12 copies and spills accumulators.
static inline __m512i dot(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

// Rows are reached from every third one, which needs no more than four base registers.
INLINE void tile(const qrn_winograd8_gemm *t, size_t first, const char *ahead, size_t stride,
                 const int rows, const int vectors) {
    __m512i acc[ROWS * 2];
    const int16_t *a[(ROWS + 2) / 3], *b = t->b;
    size_t step = t->a_row;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 3)
        a[r / 3] = t->a + (first + (size_t)r) * step;
#pragma GCC unroll 24
    for (int i = 0; i < rows * vectors; i++)
        acc[i] = _mm512_setzero_si512();
    for (size_t k = 0; k < t->steps * 2; k += 2, b += QRN_PANEL * 2, ahead += stride) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = b0;
        if (vectors == 2)
            b1 = _mm512_loadu_si512(b + QRN_PANEL);
        _mm_prefetch(ahead, _MM_HINT_T1);
        _mm_prefetch(ahead + 64, _MM_HINT_T1);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            __m512i x = _mm512_set1_epi32(two_words(a[r / 3] + k + (size_t)(r % 3) * step));
            acc[r * vectors] = dot(acc[r * vectors], x, b0);
            if (vectors == 2)
                acc[r * vectors + 1] = dot(acc[r * vectors + 1], x, b1);
        }
    }
    int32_t *c = t->c + first * QRN_PANEL;
#pragma GCC unroll 24
    for (int i = 0; i < rows * vectors; i++)
        _mm512_storeu_si512(c + i / vectors * QRN_PANEL + i % vectors * 16, acc[i]);
}

#define ONE(n, vectors)                                                                            \
    static void tile_##n##x##vectors(const qrn_winograd8_gemm *t, size_t first, const char *ahead, \
                                     size_t stride) {                                              \
        tile(t, first, ahead, stride, n, vectors);                                                 \
    }
#define TILE(n) ONE(n, 1) ONE(n, 2)
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
#define BOTH(n)                                                                                    \
    { tile_##n##x1, tile_##n##x2 }
static void (*const gemm_tiles[ROWS][2])(const qrn_winograd8_gemm *t, size_t first,
                                         const char *ahead, size_t stride) = {
    BOTH(1), BOTH(2), BOTH(3), BOTH(4),  BOTH(5),  BOTH(6),
    BOTH(7), BOTH(8), BOTH(9), BOTH(10), BOTH(11), BOTH(12),
};

static void multiply(const qrn_winograd8_gemm *t) {
    size_t n = (t->rows + ROWS - 1) / ROWS, left = t->rows, first = 0;
    size_t stride = QRN_PANEL * QRN_WINOGRAD8_DEPTH * sizeof *t->b / n;
    const char *ahead = (const char *)t->next;
    for (; n; n--, ahead += t->steps * stride) {
        size_t rows = (left + n - 1) / n;
        gemm_tiles[rows - 1][t->low ? 0 : 1](t, first, ahead, stride);
        first += rows;
        left -= rows;
    }
}

// The sums of 16 columns; `from` is the first of them.
typedef struct part {
    qrn_requant8_vectors requant; // m[0]: of these columns
    const qrn_winograd8_output *t;
    size_t from;
    __mmask16 mask; // of the columns that exist
} part;

// The sums of the four cells of line i.
INLINE void line_sums(const sums *half, const int i, __m512i column, __m512i *four) {
    signed_sums r[QRN_WINOGRAD_TILE];
    output_line(half, i, r);
#pragma GCC unroll 4
    for (int j = 0; j < QRN_WINOGRAD_TILE; j++)
        four[j] = _mm512_add_epi32((__m512i)r[j], column);
}

// Results of the lanes that are not sure, from sums that are computed once more.
static __attribute__((noinline)) void decide(const part *p, __mmask16 sure) {
    const qrn_winograd8_output *t = p->t;
    const __m512i column = _mm512_loadu_si512(t->column + p->from);
    sums half[QRN_WINOGRAD_TILE * QRN_WINOGRAD_WINDOW];
    __m512i four[QRN_WINOGRAD_TILE * QRN_WINOGRAD_TILE];
    output_columns(t, p->from, half);
#pragma GCC unroll 4
    for (int i = 0; i < QRN_WINOGRAD_TILE; i++)
        line_sums(half, i, column, four + i * QRN_WINOGRAD_TILE);
    for (size_t i = 0; i < t->lines * QRN_WINOGRAD_TILE; i++) {
        uint8_t *y = t->y + i / QRN_WINOGRAD_TILE * t->y_line + i % QRN_WINOGRAD_TILE * t->y_cell;
        if (i % QRN_WINOGRAD_TILE < t->cells)
            qrn_requant8_exact_lanes(t->requant, four[i], p->from, (__mmask16)(p->mask & ~sure),
                                     y + p->from);
    }
}

// whole: all columns and cells of a line exist, and nothing needs to be clamped.
INLINE void output_part(const part *p, const bool whole) {
    const qrn_winograd8_output *t = p->t;
    const __m512i column = _mm512_loadu_si512(t->column + p->from);
    sums half[QRN_WINOGRAD_TILE * QRN_WINOGRAD_WINDOW];
    uint8_t *y = t->y + p->from;
    __mmask16 all = 0xffff;
    output_columns(t, p->from, half);
#pragma GCC unroll 4
    for (int i = 0; i < QRN_WINOGRAD_TILE; i++, y += t->y_line) {
        __m512i four[QRN_WINOGRAD_TILE];
        __mmask16 sure;
        if ((size_t)i >= t->lines)
            break;
        line_sums(half, i, column, four);
        __m512i q = qrn_requant8_four(&p->requant, four, 1, &sure);
        all &= sure;
        q = whole ? qrn_requant8_order(&p->requant, q) : qrn_requant8_clamp(&p->requant, q);
        __m128i cells[] = {_mm512_castsi512_si128(q), _mm512_extracti32x4_epi32(q, 1),
                           _mm512_extracti32x4_epi32(q, 2), _mm512_extracti32x4_epi32(q, 3)};
#pragma GCC unroll 4
        for (size_t j = 0; j < QRN_WINOGRAD_TILE; j++) {
            if (whole)
                _mm_storeu_si128((__m128i *)(y + j * t->y_cell), cells[j]);
            else if (j < t->cells)
                _mm_mask_storeu_epi8(y + j * t->y_cell, p->mask, cells[j]);
        }
    }
    if (__builtin_expect(all != 0xffff, 0))
        decide(p, all);
}

static void transform_output(const qrn_winograd8_output *t) {
    part p = {.t = t, .requant = qrn_requant8_vectors_of(t->requant)};
    for (; p.from < t->cols; p.from += 16) {
        size_t left = t->cols - p.from;
        p.mask = left < 16 ? (__mmask16)((1u << left) - 1) : 0xffff;
        if (left >= 16 && t->cells == QRN_WINOGRAD_TILE && p.requant.plain)
            output_part(&p, true);
        else
            output_part(&p, false);
        p.requant.m[0] = p.requant.m[1];
    }
}

const qrn_winograd8_kernel qrn_winograd8_avx512vnni = {transform_input, multiply, transform_output};
