// SPDX-License-Identifier: MIT
//
// Winograd's convolution on 8-bit codes for AVX-512 VNNI: transformations of 32 channels or 16
// columns at a time, and register tiles of up to 12 rows by 32 columns.
#include "kernels/gemm/round8_avx512.h"
#include "kernels/gemm/winograd8.h"

#include <string.h>

#define ROWS 12
#define INVERSE_OF_9 0x38e38e39 // modulo 2^32
#define INLINE static inline __attribute__((always_inline))

typedef int16_t words __attribute__((vector_size(64)));
typedef uint32_t sums __attribute__((vector_size(64))); // unsigned: may wrap

// r = Bt d; elements are `to` apart in r.
INLINE void forward(const words *d, words *r, int to) {
    words even = d[4] - (d[2] << 2), odd = d[3] - (d[1] << 2);
    words even2 = d[4] - d[2], odd2 = (d[3] - d[1]) << 1;
    r[0] = ((d[0] - d[2]) << 2) + even2;
    r[to] = even + odd;
    r[2 * to] = even - odd;
    r[3 * to] = even2 + odd2;
    r[4 * to] = even2 - odd2;
    r[5 * to] = d[5] - d[3] - (odd2 << 1);
}

// r = At m.
INLINE void backward(const sums *m, sums *r, int to) {
    sums s1 = m[1] + m[2], t1 = m[1] - m[2], s2 = m[3] + m[4], t2 = m[3] - m[4];
    r[0] = ((m[0] + (m[0] << 1) + (s1 << 1)) << 1) + s2;
    r[to] = (t1 << 1) + t2;
    r[2 * to] = s1 + s2;
    r[3 * to] = ((m[5] + (m[5] << 1) + t2) << 1) + t1;
}

static void take(const qrn_winograd8_input *t) {
    const __m256i flip = _mm256_set1_epi8((char)t->flip);
    for (size_t c = 0; c < t->channels; c += 32) {
        size_t left = t->channels - c;
        __mmask32 mask = left < 32 ? (1u << left) - 1 : 0xffffffffu;
        words half[QRN_WINOGRAD_PLANES], d[QRN_WINOGRAD_WINDOW], r[QRN_WINOGRAD_WINDOW];
#pragma GCC unroll 6
        for (int j = 0; j < QRN_WINOGRAD_WINDOW; j++) {
#pragma GCC unroll 6
            for (int i = 0; i < QRN_WINOGRAD_WINDOW; i++) {
                const uint8_t *cell = t->cells[i * QRN_WINOGRAD_WINDOW + j] + c;
                __m256i codes = _mm256_xor_si256(_mm256_maskz_loadu_epi8(mask, cell), flip);
                d[i] = (words)_mm512_cvtepi8_epi16(codes);
            }
            forward(d, half + j, QRN_WINOGRAD_WINDOW);
        }
        int16_t *v = t->v + c;
#pragma GCC unroll 6
        for (int i = 0; i < QRN_WINOGRAD_WINDOW; i++) {
            forward(half + i * QRN_WINOGRAD_WINDOW, r, 1);
#pragma GCC unroll 6
            for (int j = 0; j < QRN_WINOGRAD_WINDOW; j++, v += t->plane)
                _mm512_storeu_si512(v, (__m512i)r[j]);
        }
    }
}

// _mm512_dpwssd_epi32; around the intrinsic gcc 12 copies and spills accumulators.
static inline __m512i dot(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

static inline int32_t two_words(const int16_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// Rows are reached from every third one, which needs no more than four base registers.
INLINE void tile(const qrn_winograd8_product *t, size_t first, const char *ahead, size_t stride,
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
    static void tile_##n##x##vectors(const qrn_winograd8_product *t, size_t first,                 \
                                     const char *ahead, size_t stride) {                           \
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
static void (*const product_tiles[ROWS][2])(const qrn_winograd8_product *t, size_t first,
                                            const char *ahead, size_t stride) = {
    BOTH(1), BOTH(2), BOTH(3), BOTH(4),  BOTH(5),  BOTH(6),
    BOTH(7), BOTH(8), BOTH(9), BOTH(10), BOTH(11), BOTH(12),
};

static void multiply(const qrn_winograd8_product *t) {
    size_t n = (t->rows + ROWS - 1) / ROWS, left = t->rows, first = 0;
    size_t stride = QRN_PANEL * QRN_WINOGRAD8_DEPTH * sizeof *t->b / n;
    const char *ahead = (const char *)t->next;
    for (; n; n--, ahead += t->steps * stride) {
        size_t rows = (left + n - 1) / n;
        product_tiles[rows - 1][t->low ? 0 : 1](t, first, ahead, stride);
        first += rows;
        left -= rows;
    }
}

// Sums of 16 columns of all cells of a tile, [16 cells][step].
INLINE void give_sums(const qrn_winograd8_output *t, int from, int32_t *to, const int step) {
    static const uint8_t shift[QRN_WINOGRAD_TILE] = {3, 2, 1, 1};
    const sums column = (sums)_mm512_loadu_si512(t->column + from);
    sums half[QRN_WINOGRAD_TILE * QRN_WINOGRAD_WINDOW], m[QRN_WINOGRAD_WINDOW];
    const int32_t *at = t->m + from;
#pragma GCC unroll 6
    for (int j = 0; j < QRN_WINOGRAD_WINDOW; j++, at += t->plane) {
#pragma GCC unroll 6
        for (size_t i = 0; i < QRN_WINOGRAD_WINDOW; i++)
            m[i] = (sums)_mm512_loadu_si512(at + i * QRN_WINOGRAD_WINDOW * t->plane);
        backward(m, half + j, QRN_WINOGRAD_WINDOW);
    }
#pragma GCC unroll 4
    for (int i = 0; i < QRN_WINOGRAD_TILE; i++) {
        sums r[QRN_WINOGRAD_TILE];
        backward(half + i * QRN_WINOGRAD_WINDOW, r, 1);
#pragma GCC unroll 4
        for (int j = 0; j < QRN_WINOGRAD_TILE; j++, to += step) {
            __m512i sum = _mm512_srai_epi32((__m512i)(r[j] * INVERSE_OF_9), shift[i] + shift[j]);
            _mm512_store_si512(to, _mm512_add_epi32(sum, (__m512i)column));
        }
    }
}

// Results of n cells of which some are not sure.
static __attribute__((noinline)) void decide(const qrn_winograd8_output *t, const int32_t *acc,
                                             int step, __mmask16 sure, uint8_t *y, size_t n) {
    uint32_t unsure = 0x10001u * (sure ^ 0xffffu); // of 32 columns
    for (size_t i = 0; i < n; i++, acc += step, y += t->y_cell)
        for (uint32_t left = unsure; left; left &= left - 1) {
            uint32_t c = (uint32_t)__builtin_ctz(left);
            if (c < t->cols)
                y[c] = qrn_round8_exact(t->round, c, acc[c]);
        }
}

INLINE void give_cells(const qrn_winograd8_output *t, const int vectors) {
    int32_t acc[16 * 32] __attribute__((aligned(64)));
    const int step = vectors * 16, at_once = 4 / vectors;
    const qrn_round8_vectors round = qrn_round8_vectors_of(t->round);
    const __mmask32 mask = t->cols >= 32 ? 0xffffffffu : (1u << t->cols) - 1;
    for (int v = 0; v < vectors; v++)
        give_sums(t, v * 16, acc + v * 16, step);
    for (size_t i = 0; i < t->lines; i++)
        for (size_t j = 0; j < t->cells; j += (size_t)at_once) {
            const int32_t *from = acc + (i * QRN_WINOGRAD_TILE + j) * (size_t)step;
            uint8_t *y = t->y + i * t->y_line + j * t->y_cell;
            size_t n = t->cells - j < (size_t)at_once ? t->cells - j : (size_t)at_once;
            __m512i four[4];
            __mmask16 sure;
            for (int q = 0; q < 4; q++)
                four[q] = _mm512_load_si512(from + q * 16);
            __m512i codes = qrn_round8_clamp(&round, qrn_round8_four(&round, four, vectors, &sure));
            if (vectors == 2) {
                _mm256_mask_storeu_epi8(y, mask, _mm512_castsi512_si256(codes));
                if (n > 1)
                    _mm256_mask_storeu_epi8(y + t->y_cell, mask,
                                            _mm512_extracti64x4_epi64(codes, 1));
            } else {
                uint8_t lanes[64];
                _mm512_storeu_si512(lanes, codes);
                for (size_t q = 0; q < n; q++)
                    _mm_mask_storeu_epi8(y + q * t->y_cell, (__mmask16)mask,
                                         _mm_loadu_si128((const __m128i *)(lanes + q * 16)));
            }
            if (__builtin_expect(sure != 0xffff, 0))
                decide(t, from, step, sure, y, n);
        }
}

static void give(const qrn_winograd8_output *t) {
    if (t->cols <= 16)
        give_cells(t, 1);
    else
        give_cells(t, 2);
}

const qrn_winograd8_kernel qrn_winograd8_avx512vnni = {take, multiply, give};
