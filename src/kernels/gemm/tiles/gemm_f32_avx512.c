// SPDX-License-Identifier: MIT
//
// Register tiles of up to 14 rows by 32, 16 or 8 columns and of 9 rows by 24 for AVX-512. Columns
// are in whole vectors, or where their eighths are odd in half ones, which cost half the time: a
// mixture would not keep both multipliers busy where they are as wide as a half.
#include "kernels/gemm/tiles/gemm_f32.h"

#include <immintrin.h>
#include <math.h>

#define TILE_ROWS 14
#define TILE_ROWS_24 9
#define LINE 16 // floats
#define HALF 8

// Numbers of a row: `eighths` times 8 columns.
typedef struct sums {
    __m512 whole[2]; // eighths / 2, if that is all
    __m256 half[3];  // else eighths
} sums;

// Masks of the columns that exist.
typedef struct columns {
    __mmask16 whole[2];
    __mmask8 half[3];
} columns;

#define WHOLES(eighths) ((eighths) % 2 ? 0 : (eighths) / 2)
#define HALVES(eighths) ((eighths) % 2 ? (eighths) : 0)

static inline __attribute__((always_inline)) columns columns_of(uint32_t cols) {
    uint32_t all = cols >= 32 ? UINT32_MAX : (UINT32_C(1) << cols) - 1;
    return (columns){{(__mmask16)all, (__mmask16)(all >> 16)},
                     {(__mmask8)all, (__mmask8)(all >> 8), (__mmask8)(all >> 16)}};
}

static inline __attribute__((always_inline)) sums begin(const float *from, columns m,
                                                        const int eighths) {
    sums s;
    for (int v = 0; v < WHOLES(eighths); v++)
        s.whole[v] =
            from ? _mm512_maskz_loadu_ps(m.whole[v], from + v * LINE) : _mm512_setzero_ps();
    for (int v = 0; v < HALVES(eighths); v++)
        s.half[v] = from ? _mm256_maskz_loadu_ps(m.half[v], from + v * HALF) : _mm256_setzero_ps();
    return s;
}

// Of equal operands, and of a NaN and another one, the second one is taken.
static inline __attribute__((always_inline)) sums limited(sums s, qrn_clamp clamp,
                                                          const int eighths) {
    for (int v = 0; v < WHOLES(eighths); v++)
        s.whole[v] = _mm512_min_ps(_mm512_set1_ps(clamp.high),
                                   _mm512_max_ps(_mm512_set1_ps(clamp.low), s.whole[v]));
    for (int v = 0; v < HALVES(eighths); v++)
        s.half[v] = _mm256_min_ps(_mm256_set1_ps(clamp.high),
                                  _mm256_max_ps(_mm256_set1_ps(clamp.low), s.half[v]));
    return s;
}

static inline __attribute__((always_inline)) void end(float *to, columns m, sums s,
                                                      const int eighths, const bool full) {
    for (int v = 0; v < WHOLES(eighths); v++)
        if (full)
            _mm512_storeu_ps(to + v * LINE, s.whole[v]);
        else
            _mm512_mask_storeu_ps(to + v * LINE, m.whole[v], s.whole[v]);
    for (int v = 0; v < HALVES(eighths); v++)
        if (full)
            _mm256_storeu_ps(to + v * HALF, s.half[v]);
        else
            _mm256_mask_storeu_ps(to + v * HALF, m.half[v], s.half[v]);
}

static inline __attribute__((always_inline)) sums weights(const float *b, const int eighths) {
    sums l;
    for (int v = 0; v < WHOLES(eighths); v++)
        l.whole[v] = _mm512_loadu_ps(b + v * LINE);
    for (int v = 0; v < HALVES(eighths); v++)
        l.half[v] = _mm256_loadu_ps(b + v * HALF);
    return l;
}

// s + *a * b
static inline __attribute__((always_inline)) sums plus(sums s, const float *a, sums b,
                                                       const int eighths) {
    for (int v = 0; v < WHOLES(eighths); v++)
        s.whole[v] = _mm512_fmadd_ps(_mm512_set1_ps(*a), b.whole[v], s.whole[v]);
    for (int v = 0; v < HALVES(eighths); v++)
        s.half[v] = _mm256_fmadd_ps(_mm256_set1_ps(*a), b.half[v], s.half[v]);
    return s;
}

// Rows are reached from every third one, which needs no more than five base registers. The last
// element is for the end of the tile: sums that are complete leave while others are not.
static inline __attribute__((always_inline)) void tile(const qrn_gemm_f32_strip *t, const float *a,
                                                       float *c, const float *soon, size_t step,
                                                       const int rows, const int eighths) {
    columns m = columns_of(t->cols);
    size_t a_row = t->a_row, c_row = t->c_row;
    sums acc[TILE_ROWS];
    if (t->resume) {
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++)
            acc[r] = begin(c + (size_t)r * c_row, m, eighths);
    } else {
        sums bias = begin(t->bias, m, eighths);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++)
            acc[r] = bias;
    }
    const float *b = t->b, *p[(TILE_ROWS + 2) / 3];
    for (int r = 0; r < rows; r += 3)
        p[r / 3] = a + (size_t)r * a_row;
    size_t k;
    for (size_t s = 1;; s++) {
        size_t n = t->length - (s == t->segments);
        for (k = 0; k < n; k++, b += QRN_PANEL, soon += step) {
            sums l = weights(b, eighths);
            _mm_prefetch((const char *)soon, _MM_HINT_T1);
#pragma GCC unroll 14
            for (int r = 0; r < rows; r++)
                acc[r] = plus(acc[r], &p[r / 3][k + (size_t)(r % 3) * a_row], l, eighths);
        }
        if (s == t->segments)
            break;
        for (int r = 0; r < rows; r += 3)
            p[r / 3] += t->a_segment;
    }
    sums l = weights(b, eighths);
    const qrn_clamp none = {.low = -INFINITY, .high = INFINITY};
    const qrn_clamp clamp = t->clamp ? *t->clamp : none;
    if (t->cols == (uint32_t)eighths * 8) { // stores without a mask are cheaper
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            acc[r] = plus(acc[r], &p[r / 3][k + (size_t)(r % 3) * a_row], l, eighths);
            end(c + (size_t)r * c_row, m, limited(acc[r], clamp, eighths), eighths, true);
        }
        return;
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        acc[r] = plus(acc[r], &p[r / 3][k + (size_t)(r % 3) * a_row], l, eighths);
        end(c + (size_t)r * c_row, m, limited(acc[r], clamp, eighths), eighths, false);
    }
}

#define ROWS TILE_ROWS
#define STRIP strip_32
#define TILE(n) tile(t, a, c, soon, step, n, 4)
#include "kernels/gemm/tiles/gemm_f32_strip.inc"
#define STRIP strip_16
#define TILE(n) tile(t, a, c, soon, step, n, 2)
#include "kernels/gemm/tiles/gemm_f32_strip.inc"
#define STRIP strip_8
#define TILE(n) tile(t, a, c, soon, step, n, 1)
#include "kernels/gemm/tiles/gemm_f32_strip.inc"
#undef ROWS
#define ROWS TILE_ROWS_24
#define STRIP strip_24
#define TILE(n) tile(t, a, c, soon, step, n, 3)
#include "kernels/gemm/tiles/gemm_f32_strip.inc"

// Without a depth, what the sums begin with is all.
static void no_depth(const qrn_gemm_f32_strip *t) {
    const qrn_clamp *clamp = t->clamp;
    for (size_t i = 0; i < t->rows; i++)
        for (uint32_t j = 0; j < t->cols; j++) {
            float *c = &t->c[i * t->c_row + j], v = t->resume ? *c : t->bias ? t->bias[j] : 0.0f;
            *c = clamp ? QRN_CLAMPED(v, clamp) : v;
        }
}

static void strip(qrn_gemm_f32_strip *t) {
    static void (*const strips[4])(qrn_gemm_f32_strip *) = {strip_8, strip_16, strip_24, strip_32};
    if (t->segments * t->length == 0)
        no_depth(t);
    else
        strips[(t->cols - 1) / 8](t);
}

const qrn_gemm_f32_kernel qrn_gemm_f32_14x32_avx512 = {"gemm_f32_14x32_avx512", TILE_ROWS, 1024,
                                                       strip, qrn_gemv_f32_avx512};
