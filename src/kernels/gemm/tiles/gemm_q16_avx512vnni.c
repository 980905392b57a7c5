// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for AVX-512 VNNI: 12 accumulators for words, 12 for high
// bytes.
#include "kernels/gemm/tiles/gemm_q16.h"
#include "kernels/gemm/epilogue/requant16_avx512.h"

#include <string.h>

#define STREAM 3 // rows of a tile while another one is finished

// As in gemm_q8_avx512vnni.c: around intrinsics gcc 12 copies and spills accumulators.
static inline __m512i dot_words(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}
static inline __m512i dot_bytes(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

// A vector of a panel; gcc 12 would load it again for every row.
static inline __m512i load(const int8_t *p) {
    __m512i v = _mm512_loadu_si512(p);
    __asm__("" : "+v"(v));
    return v;
}

static inline __m512i broadcast(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// What results have in common, in registers, and what is known when a tile is compiled.
typedef struct requant_terms {
    __m512d m, zero_half;
    __m512i lo, hi;
    bool plain; // the whole depth, whole panels of 16-bit results that fit 32 bits
} requant_terms;

// What 16 sums from column `first` on begin with.
static inline void begin(const qrn_q16_tile *t, size_t row, int first, __m512i *words,
                         __m512i *high) {
    *words = _mm512_loadu_si512(t->column.words + first);
    *high = _mm512_loadu_si512(t->column.high + first);
    if (t->row.words) {
        *words = _mm512_add_epi32(*words, _mm512_set1_epi32(t->row.words[row]));
        *high = _mm512_add_epi32(*high, _mm512_set1_epi32(t->row.high[row]));
    }
}

static inline __m512d scaled(const qrn_q16_tile *t, const requant_terms *o, __m512d sum) {
    __m512d y = _mm512_fmadd_pd(sum, o->m, o->zero_half);
    if (!o->plain && t->wild) {
        y = _mm512_max_pd(y, _mm512_set1_pd((double)t->lo)); // lo where y is NaN
        y = _mm512_min_pd(y, _mm512_set1_pd((double)t->hi));
    }
    return y;
}

// 16 results as whole numbers; sums are in the order of qrn_requant16_doubles(), in memory as well.
static inline __attribute__((always_inline)) __m512i whole(const qrn_q16_tile *t,
                                                           const requant_terms *o, size_t row,
                                                           int first, __m512i words, __m512i high) {
    __m512d v[2];
    qrn_requant16_doubles(_mm512_sub_epi32(words, _mm512_slli_epi32(high, 16)), high, 16, v);
    for (int i = 0; i < 2 && !(o->plain || (t->first && t->last)); i++) {
        double *sum = t->sum + row * QRN_PANEL + (size_t)first;
        if (!t->first)
            v[i] = _mm512_add_pd(v[i], _mm512_loadu_pd(sum + 8 * i));
        if (!t->last)
            _mm512_storeu_pd(sum + 8 * i, v[i]);
    }
    return qrn_requant16_whole(scaled(t, o, v[0]), scaled(t, o, v[1]));
}

static inline void store(const qrn_q16_tile *t, const requant_terms *o, size_t row, int first,
                         __m512i y) {
    uint32_t n = t->cols > (uint32_t)first ? t->cols - (uint32_t)first : 0;
    __mmask16 mask = (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
    size_t at = row * t->y_row + (size_t)first;
    y = _mm512_min_epi32(_mm512_max_epi32(y, o->lo), o->hi);
    if (t->elem == 2)
        _mm256_mask_storeu_epi16((uint16_t *)t->y + at, mask, _mm512_cvtepi32_epi16(y));
    else
        _mm512_mask_cvtepi32_storeu_epi8((uint8_t *)t->y + at, mask, y);
}

static inline __attribute__((always_inline)) void epilogue(const qrn_q16_tile *t,
                                                           const requant_terms *o, size_t row,
                                                           const int halves, const __m512i words[2],
                                                           const __m512i high[2]) {
    __m512i y[2];
#pragma GCC unroll 2
    for (int i = 0; i < halves; i++)
        y[i] = whole(t, o, row, 16 * i, words[i], high[i]);
    if (o->plain)
        _mm512_storeu_si512((uint16_t *)t->y + row * t->y_row,
                            qrn_requant16_unpacked(qrn_requant16_pack(y[0], y[1], t->lo < 0)));
    for (int i = 0; i < halves && !o->plain && t->last; i++)
        store(t, o, row, 16 * i, y[i]);
}

// Adds `steps` steps from `first` on to sums of `rows` rows, of one or both halves of the columns.
// Rows are reached from every third one, which needs no more than two base registers a plane.
static inline __attribute__((always_inline)) void dots(const qrn_q16_tile *t, const uint8_t *a,
                                                       size_t first, size_t steps, const int rows,
                                                       const int halves, __m512i w[QRN_Q16_TILE][2],
                                                       __m512i h[QRN_Q16_TILE][2]) {
    const int8_t *b = t->b + first * QRN_Q16_PANEL_STEP;
    const size_t row = t->steps * QRN_Q16_ROW_STEP;
    const uint8_t *words[2] = {a, a + 3 * row};
    const uint8_t *bytes[2] = {a + t->steps * 8, a + t->steps * 8 + 3 * row};
    for (size_t k = first * 4; k < (first + steps) * 4; k += 4, b += QRN_Q16_PANEL_STEP) {
#pragma GCC unroll 2
        for (int pair = 0; pair < 2; pair++) {
            __m512i b0 = load(b + 128 * pair);
            __m512i b1 = load(b + 128 * pair + 64);
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++) {
                __m512i x = broadcast(words[r / 3] + 2 * k + 4 * pair + (size_t)(r % 3) * row);
                w[r][0] = dot_words(w[r][0], x, b0);
                if (halves == 2)
                    w[r][1] = dot_words(w[r][1], x, b1);
            }
        }
        __m512i b0 = load(b + 256), b1 = load(b + 320);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m512i x = broadcast(bytes[r / 3] + k + (size_t)(r % 3) * row);
            h[r][0] = dot_bytes(h[r][0], x, b0);
            if (halves == 2)
                h[r][1] = dot_bytes(h[r][1], x, b1);
        }
    }
}

static inline requant_terms requant_terms_of(const qrn_q16_tile *t, bool plain) {
    return (requant_terms){_mm512_set1_pd(t->m), _mm512_set1_pd(t->zero_half),
                           _mm512_set1_epi32(t->lo), _mm512_set1_epi32(t->hi), plain};
}

static inline __attribute__((always_inline)) void tile(const qrn_q16_tile *t, const int rows,
                                                       const int halves) {
    __m512i w[QRN_Q16_TILE][2], h[QRN_Q16_TILE][2];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int i = 0; i < halves; i++)
            begin(t, (size_t)r, 16 * i, &w[r][i], &h[r][i]);
    dots(t, t->a, 0, t->steps, rows, halves, w, h);
    const requant_terms o = requant_terms_of(t, false);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        epilogue(t, &o, (size_t)r, halves, w[r], h[r]);
}

#define TILE(rows)                                                                                 \
    static void tile_##rows(const qrn_q16_tile *t) {                                               \
        if (t->cols > 16)                                                                          \
            tile(t, rows, 2);                                                                      \
        else                                                                                       \
            tile(t, rows, 1);                                                                      \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

// Tiles of STREAM rows, all columns and the whole depth, each one's results made while the next one
// is multiplied, a row with every step: they need other units than the products.
// Returns how many rows are done.
static size_t stream(const qrn_q16_tile *t) {
    __m512i w[QRN_Q16_TILE][2], h[QRN_Q16_TILE][2], dw[STREAM][2], dh[STREAM][2];
    const size_t bytes = STREAM * t->steps * QRN_Q16_ROW_STEP;
    const requant_terms o = requant_terms_of(t, true);
    const uint8_t *a = t->a;
    size_t row = 0;
#pragma GCC unroll 3
    for (int i = 0; i < 2 * STREAM; i++)
        begin(t, (size_t)i / 2, i % 2 * 16, &w[i / 2][i % 2], &h[i / 2][i % 2]);
    dots(t, a, 0, t->steps, STREAM, 2, w, h);
    for (; row + 2 * STREAM <= t->rows; row += STREAM) {
        a += bytes;
#pragma GCC unroll 6
        for (int i = 0; i < 2 * STREAM; i++) {
            dw[i / 2][i % 2] = w[i / 2][i % 2];
            dh[i / 2][i % 2] = h[i / 2][i % 2];
            begin(t, row + STREAM + (size_t)i / 2, i % 2 * 16, &w[i / 2][i % 2], &h[i / 2][i % 2]);
        }
#pragma GCC unroll 3
        for (size_t i = 0; i < STREAM; i++) {
            dots(t, a, i, 1, STREAM, 2, w, h);
            epilogue(t, &o, row + i, 2, dw[i], dh[i]);
        }
        dots(t, a, STREAM, t->steps - STREAM, STREAM, 2, w, h);
    }
#pragma GCC unroll 3
    for (size_t i = 0; i < STREAM; i++)
        epilogue(t, &o, row + i, 2, w[i], h[i]);
    return row + STREAM;
}

void qrn_q16_tile_avx512vnni(const qrn_q16_tile *t) {
    static void (*const tiles[])(const qrn_q16_tile *) = {tile_1, tile_2, tile_3,
                                                          tile_4, tile_5, tile_6};
    bool plain = t->cols == QRN_PANEL && t->first && t->last && t->elem == 2 && !t->wild;
    size_t row = plain && t->rows >= STREAM && t->steps >= STREAM ? stream(t) : 0;
    for (; row < t->rows; row += QRN_Q16_TILE) {
        qrn_q16_tile rest = *t;
        size_t left = t->rows - row;
        rest.a += row * t->steps * QRN_Q16_ROW_STEP;
        rest.y = (char *)t->y + row * t->y_row * t->elem;
        if (t->row.words)
            rest.row = (qrn_q16_terms){t->row.words + row, t->row.high + row};
        rest.rows = left < QRN_Q16_TILE ? (uint32_t)left : QRN_Q16_TILE;
        tiles[rest.rows - 1](&rest);
    }
}
