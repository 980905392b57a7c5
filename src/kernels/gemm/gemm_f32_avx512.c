// SPDX-License-Identifier: MIT
//
// Register tiles of up to 14 rows by 32, 24, 16 or 8 columns for AVX-512: 28 accumulators, two
// vectors of b and one broadcast element of a. Where 8 columns are left they take half a vector,
// which costs half the time.
#include "kernels/gemm/gemm_f32.h"

#include <immintrin.h>
#include <math.h>

#define ROWS 14
#define LINE 16 // floats

// Sums of a row: `eighths` times 8 columns, in whole vectors and at last a half one.
typedef struct sums {
    __m512 whole[2];
    __m256 half;
} sums;

// Masks of the columns that exist.
typedef struct columns {
    __mmask16 whole[2];
    __mmask8 half;
} columns;

static inline __attribute__((always_inline)) columns columns_of(uint32_t cols) {
    uint32_t all = cols >= 32 ? UINT32_MAX : (UINT32_C(1) << cols) - 1;
    return (columns){{(__mmask16)all, (__mmask16)(all >> 16)},
                     (__mmask8)(all >> (cols > 16 ? 16 : 0))};
}

static inline __attribute__((always_inline)) sums begin(const float *from, columns m,
                                                        const int eighths) {
    sums s = {{_mm512_setzero_ps(), _mm512_setzero_ps()}, _mm256_setzero_ps()};
    if (!from)
        return s;
#pragma GCC unroll 2
    for (int v = 0; v < eighths / 2; v++)
        s.whole[v] = _mm512_maskz_loadu_ps(m.whole[v], from + v * LINE);
    if (eighths % 2)
        s.half = _mm256_maskz_loadu_ps(m.half, from + eighths / 2 * LINE);
    return s;
}

// Of equal operands, and of a NaN and another one, the second one is taken.
static inline __attribute__((always_inline)) sums limited(sums s, qrn_clamp clamp) {
    __m512 low = _mm512_set1_ps(clamp.low), high = _mm512_set1_ps(clamp.high);
    s.whole[0] = _mm512_min_ps(high, _mm512_max_ps(low, s.whole[0]));
    s.whole[1] = _mm512_min_ps(high, _mm512_max_ps(low, s.whole[1]));
    s.half = _mm256_min_ps(_mm512_castps512_ps256(high),
                           _mm256_max_ps(_mm512_castps512_ps256(low), s.half));
    return s;
}

static inline __attribute__((always_inline)) void end(float *to, columns m, sums s,
                                                      const int eighths, const bool full) {
#pragma GCC unroll 2
    for (int v = 0; v < eighths / 2; v++)
        if (full)
            _mm512_storeu_ps(to + v * LINE, s.whole[v]);
        else
            _mm512_mask_storeu_ps(to + v * LINE, m.whole[v], s.whole[v]);
    if (eighths % 2 && full)
        _mm256_storeu_ps(to + eighths / 2 * LINE, s.half);
    else if (eighths % 2)
        _mm256_mask_storeu_ps(to + eighths / 2 * LINE, m.half, s.half);
}

// A row of b: `eighths` times 8 columns.
typedef sums line;

static inline __attribute__((always_inline)) line weights(const float *b, const int eighths) {
    line l = {{_mm512_setzero_ps(), _mm512_setzero_ps()}, _mm256_setzero_ps()};
#pragma GCC unroll 2
    for (int v = 0; v < eighths / 2; v++)
        l.whole[v] = _mm512_loadu_ps(b + v * LINE);
    if (eighths % 2)
        l.half = _mm256_loadu_ps(b + eighths / 2 * LINE);
    return l;
}

// s + *a * b
static inline __attribute__((always_inline)) sums plus(sums s, const float *a, line b,
                                                       const int eighths) {
    if (eighths == 1) {
        s.half = _mm256_fmadd_ps(_mm256_set1_ps(*a), b.half, s.half);
        return s;
    }
    __m512 x = _mm512_set1_ps(*a);
#pragma GCC unroll 2
    for (int v = 0; v < eighths / 2; v++)
        s.whole[v] = _mm512_fmadd_ps(x, b.whole[v], s.whole[v]);
    if (eighths == 3)
        s.half = _mm256_fmadd_ps(_mm512_castps512_ps256(x), b.half, s.half);
    return s;
}

// Rows are reached from every third one, which needs no more than five base registers. The last
// element is for the end of the tile: sums that are complete leave while others are not.
static inline __attribute__((always_inline)) void tile(const qrn_gemm_f32_strip *t, const float *a,
                                                       float *c, const float *soon, size_t step,
                                                       const int rows, const int eighths) {
    columns m = columns_of(t->cols);
    size_t a_row = t->a_row, c_row = t->c_row;
    sums acc[ROWS];
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
    const float *b = t->b, *p[(ROWS + 2) / 3];
    size_t k = 0;
    for (size_t s = 0; s < t->segments; s++, a += t->a_segment) {
        for (int r = 0; r < rows; r += 3)
            p[r / 3] = a + (size_t)r * a_row;
        size_t n = t->length - (s + 1 == t->segments);
        for (k = 0; k < n; k++, b += QRN_PANEL, soon += step) {
            line l = weights(b, eighths);
            _mm_prefetch((const char *)soon, _MM_HINT_T1);
#pragma GCC unroll 14
            for (int r = 0; r < rows; r++)
                acc[r] = plus(acc[r], &p[r / 3][k + (size_t)(r % 3) * a_row], l, eighths);
        }
    }
    line l = weights(b, eighths);
    const qrn_clamp none = {.low = -INFINITY, .high = INFINITY};
    const qrn_clamp clamp = t->clamp ? *t->clamp : none;
    if (t->cols == (uint32_t)eighths * 8) { // stores without a mask are cheaper
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            acc[r] = plus(acc[r], &p[r / 3][k + (size_t)(r % 3) * a_row], l, eighths);
            end(c + (size_t)r * c_row, m, limited(acc[r], clamp), eighths, true);
        }
        return;
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        acc[r] = plus(acc[r], &p[r / 3][k + (size_t)(r % 3) * a_row], l, eighths);
        end(c + (size_t)r * c_row, m, limited(acc[r], clamp), eighths, false);
    }
}

#define STRIP strip_32
#define TILE(n) tile(t, a, c, soon, step, n, 4)
#include "kernels/gemm/gemm_f32_strip.inc"
#define STRIP strip_24
#define TILE(n) tile(t, a, c, soon, step, n, 3)
#include "kernels/gemm/gemm_f32_strip.inc"
#define STRIP strip_16
#define TILE(n) tile(t, a, c, soon, step, n, 2)
#include "kernels/gemm/gemm_f32_strip.inc"
#define STRIP strip_8
#define TILE(n) tile(t, a, c, soon, step, n, 1)
#include "kernels/gemm/gemm_f32_strip.inc"

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

const qrn_gemm_f32_kernel qrn_gemm_f32_14x32_avx512 = {"gemm_f32_14x32_avx512", ROWS, 1024, strip,
                                                       qrn_gemv_f32_avx512};
