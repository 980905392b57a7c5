// SPDX-License-Identifier: MIT
//
// Register tile of 12 rows by 32 columns for AVX-512 VNNI: 24 accumulators, two vectors of b and
// four broadcast elements of a. An instruction adds four products to each of 16 sums.
#include "kernels/gemm/gemm_q8.h"

#include <immintrin.h>
#include <string.h>

#define ROWS 12
#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

static inline int32_t four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// _mm512_dpbusd_epi32; around the intrinsic gcc 12 copies and spills every accumulator, which
// halves the speed.
static inline __m512i dot(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

// The results of a vector whose bits are set in `which`, by the definition.
static __attribute__((noinline)) void decide(const qrn_round8 *r, uint32_t first, __m512i acc,
                                             uint32_t which, uint8_t *y) {
    int32_t lane[16];
    _mm512_storeu_si512(lane, acc);
    for (uint32_t i = 0; i < 16; i++)
        if (which >> i & 1)
            y[i] = qrn_round8_exact(r, first + i, lane[i]);
}

static inline void finish(const qrn_gemm_q8_tile *t, uint32_t row, uint32_t first, __m512i acc) {
    uint32_t n = t->cols > first ? t->cols - first : 0;
    __mmask16 mask = (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
    acc = _mm512_add_epi32(acc, _mm512_loadu_si512(t->column + first));
    acc = _mm512_add_epi32(acc, _mm512_set1_epi32(t->row ? t->row[row] : 0));
    if (t->acc) {
        _mm512_mask_storeu_epi32(t->acc + row * QRN_PANEL + first, mask, acc);
        return;
    }
    const qrn_round8 *r = t->round;
    uint8_t *to = t->y + row * t->y_row + first;
    __m512 sum = _mm512_cvtepi32_ps(acc), m = _mm512_loadu_ps(r->m + first);
    __m512 y = _mm512_fmadd_ps(sum, m, _mm512_set1_ps(r->start[0]));
    __m512 high = _mm512_fmadd_ps(sum, m, _mm512_set1_ps(r->start[1]));
    y = _mm512_roundscale_ps(y, DOWN);
    high = _mm512_roundscale_ps(high, DOWN);
    __mmask16 unsure = _mm512_cmp_ps_mask(y, high, _CMP_NEQ_UQ) & mask;
    y = _mm512_max_ps(y, _mm512_set1_ps(r->lo));
    y = _mm512_min_ps(y, _mm512_set1_ps(r->hi));
    _mm512_mask_cvtepi32_storeu_epi8(to, mask, _mm512_cvtps_epi32(y));
    if (__builtin_expect(unsure, 0))
        decide(r, first, acc, unsure, to);
}

// Rows are reached from every third one, which needs no more than four base registers.
static inline __attribute__((always_inline)) void tile(const qrn_gemm_q8_tile *t, const int rows) {
    __m512i acc[ROWS][2];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        acc[r][0] = acc[r][1] = _mm512_setzero_si512();
    const int8_t *b = t->b;
    const uint8_t *a[(ROWS + 2) / 3];
    size_t step = t->a_row;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 3)
        a[r / 3] = t->a + (size_t)r * step;
    for (size_t k = 0; k < t->steps * 4; k += 4, b += 128) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 64);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            __m512i x = _mm512_set1_epi32(four_bytes(a[r / 3] + k + (size_t)(r % 3) * step));
            acc[r][0] = dot(acc[r][0], x, b0);
            acc[r][1] = dot(acc[r][1], x, b1);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        finish(t, (uint32_t)r, 0, acc[r][0]);
        finish(t, (uint32_t)r, 16, acc[r][1]);
    }
}

static void tile_12x32(const qrn_gemm_q8_tile *t) {
    switch (t->rows) {
    case 12:
        tile(t, 12);
        break;
    case 11:
        tile(t, 11);
        break;
    case 10:
        tile(t, 10);
        break;
    case 9:
        tile(t, 9);
        break;
    case 8:
        tile(t, 8);
        break;
    case 7:
        tile(t, 7);
        break;
    case 6:
        tile(t, 6);
        break;
    case 5:
        tile(t, 5);
        break;
    case 4:
        tile(t, 4);
        break;
    case 3:
        tile(t, 3);
        break;
    case 2:
        tile(t, 2);
        break;
    default:
        tile(t, 1);
        break;
    }
}

const qrn_gemm_q8_kernel qrn_gemm_q8_12x32_avx512vnni = {"gemm_q8_12x32_avx512vnni", ROWS,
                                                         tile_12x32};
