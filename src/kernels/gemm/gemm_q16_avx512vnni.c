// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for AVX-512 VNNI: 12 accumulators for words, 12 for high
// bytes.
#include "kernels/gemm/gemm_q16.h"

#include <immintrin.h>
#include <string.h>

#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

// As in gemm_q8_avx512vnni.c: around intrinsics gcc 12 copies and spills accumulators.
static inline __m512i dot_words(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}
static inline __m512i dot_bytes(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

static inline __m512i broadcast(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// What results have in common, in registers, and what is known when a tile is compiled.
typedef struct rounding {
    __m512d high, m, zero_half;
    __m512i lo, hi;
    bool plain; // the whole depth, whole panels of 16-bit results that fit 32 bits
} rounding;

// Eight sums from column c on: what this part of the depth adds, on top of those before.
static inline __m512d whole(const qrn_q16_tile *t, const rounding *o, uint32_t row, uint32_t c,
                            __m256i rest, __m256i high) {
    __m512d sum = _mm512_add_pd(_mm512_cvtepi32_pd(rest), _mm512_loadu_pd(t->column + c));
    if (t->row)
        sum = _mm512_add_pd(sum, _mm512_set1_pd(t->row[row]));
    if (!o->plain && !t->first)
        sum = _mm512_add_pd(sum, _mm512_loadu_pd(t->sum + (size_t)row * QRN_PANEL + c));
    return _mm512_fmadd_pd(_mm512_cvtepi32_pd(high), o->high, sum);
}

static inline __m256i codes(const qrn_q16_tile *t, const rounding *o, __m512d sum) {
    __m512d y = _mm512_fmadd_pd(sum, o->m, o->zero_half);
    if (!o->plain && t->wild) {
        y = _mm512_max_pd(y, _mm512_set1_pd((double)t->lo)); // lo where y is NaN
        y = _mm512_min_pd(y, _mm512_set1_pd((double)t->hi));
    }
    return _mm512_cvt_roundpd_epi32(y, DOWN);
}

static inline __attribute__((always_inline)) void store(const qrn_q16_tile *t, const rounding *o,
                                                        uint32_t row, uint32_t first, __m512i y) {
    uint32_t n = t->cols > first ? t->cols - first : 0;
    __mmask16 mask = (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
    y = _mm512_min_epi32(_mm512_max_epi32(y, o->lo), o->hi);
    if (o->plain)
        _mm256_storeu_si256((void *)((uint16_t *)t->y + row * t->y_row + first),
                            _mm512_cvtepi32_epi16(y));
    else if (t->elem == 2)
        _mm256_mask_storeu_epi16((uint16_t *)t->y + row * t->y_row + first, mask,
                                 _mm512_cvtepi32_epi16(y));
    else
        _mm512_mask_cvtepi32_storeu_epi8((uint8_t *)t->y + row * t->y_row + first, mask, y);
}

static inline __attribute__((always_inline)) void finish(const qrn_q16_tile *t, const rounding *o,
                                                         uint32_t row, uint32_t first,
                                                         __m512i words, __m512i high) {
    __m512i rest = _mm512_sub_epi32(words, _mm512_slli_epi32(high, 16));
    rest = _mm512_sub_epi32(rest, _mm512_loadu_si512(t->column_low + first));
    if (t->row)
        rest = _mm512_sub_epi32(rest, _mm512_set1_epi32(t->row_low[row]));
    __m512d s0 =
        whole(t, o, row, first, _mm512_castsi512_si256(rest), _mm512_castsi512_si256(high));
    __m512d s1 = whole(t, o, row, first + 8, _mm512_extracti64x4_epi64(rest, 1),
                       _mm512_extracti64x4_epi64(high, 1));
    if (!o->plain && !t->last) {
        _mm512_storeu_pd(t->sum + (size_t)row * QRN_PANEL + first, s0);
        _mm512_storeu_pd(t->sum + (size_t)row * QRN_PANEL + first + 8, s1);
        return;
    }
    __m512i y = _mm512_castsi256_si512(codes(t, o, s0));
    store(t, o, row, first, _mm512_inserti64x4(y, codes(t, o, s1), 1));
}

// One or both halves of the columns. Rows are reached from every third one, which needs no more
// than two base registers a plane.
static inline __attribute__((always_inline)) void tile(const qrn_q16_tile *t, const int rows,
                                                       const int halves, const bool plain) {
    __m512i w[QRN_Q16_TILE][2], h[QRN_Q16_TILE][2];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        w[r][0] = w[r][1] = h[r][0] = h[r][1] = _mm512_setzero_si512();
    const int8_t *b = t->b;
    size_t row = t->steps * QRN_Q16_ROW_STEP;
    const uint8_t *words[2] = {t->a, t->a + 3 * row};
    const uint8_t *bytes[2] = {t->a + t->steps * 8, t->a + t->steps * 8 + 3 * row};
    for (size_t k = 0; k < t->steps * 4; k += 4, b += QRN_Q16_PANEL_STEP) {
#pragma GCC unroll 2
        for (int pair = 0; pair < 2; pair++) {
            __m512i b0 = _mm512_loadu_si512(b + 128 * pair);
            __m512i b1 = _mm512_loadu_si512(b + 128 * pair + 64);
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++) {
                __m512i x = broadcast(words[r / 3] + 2 * k + 4 * pair + (size_t)(r % 3) * row);
                w[r][0] = dot_words(w[r][0], x, b0);
                if (halves == 2)
                    w[r][1] = dot_words(w[r][1], x, b1);
            }
        }
        __m512i b0 = _mm512_loadu_si512(b + 256), b1 = _mm512_loadu_si512(b + 320);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m512i x = broadcast(bytes[r / 3] + k + (size_t)(r % 3) * row);
            h[r][0] = dot_bytes(h[r][0], x, b0);
            if (halves == 2)
                h[r][1] = dot_bytes(h[r][1], x, b1);
        }
    }
    const rounding o = {_mm512_set1_pd(65536.0),      _mm512_set1_pd(t->m),
                        _mm512_set1_pd(t->zero_half), _mm512_set1_epi32(t->lo),
                        _mm512_set1_epi32(t->hi),     plain};
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        finish(t, &o, (uint32_t)r, 0, w[r][0], h[r][0]);
        if (halves == 2)
            finish(t, &o, (uint32_t)r, 16, w[r][1], h[r][1]);
    }
}

#define TILE(rows)                                                                                 \
    static void tile_##rows(const qrn_q16_tile *t) {                                               \
        if (t->cols > 16)                                                                          \
            tile(t, rows, 2, false);                                                               \
        else                                                                                       \
            tile(t, rows, 1, false);                                                               \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static void tile_plain(const qrn_q16_tile *t) { tile(t, QRN_Q16_TILE, 2, true); }

void qrn_q16_tile_avx512vnni(const qrn_q16_tile *t) {
    static void (*const tiles[])(const qrn_q16_tile *) = {tile_1, tile_2, tile_3,
                                                          tile_4, tile_5, tile_6};
    bool plain = t->rows == QRN_Q16_TILE && t->cols == QRN_PANEL && t->first && t->last &&
                 t->elem == 2 && !t->wild;
    (plain ? tile_plain : tiles[t->rows - 1])(t);
}
