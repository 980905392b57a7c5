// SPDX-License-Identifier: MIT
//
// Tiles of gemm_wide.h for AVX-512 VNNI, an instruction adding four products of bytes to each of 16
// sums. 24 accumulators: 12 rows of bytes by 32 columns, or 24 by 16. Templates: numbers of rows,
// planes and vectors, and what weights are like, are constants where they are expanded.
#ifndef QRN_KERNELS_GEMM_WIDE_AVX512VNNI_H
#define QRN_KERNELS_GEMM_WIDE_AVX512VNNI_H

#include "kernels/gemm/gemm_wide.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define ACCS 24
#define AHEAD 2048 // bytes of weights that are asked for before they are needed

// _mm512_dpbusd_epi32; around the intrinsic gcc 12 copies and spills every accumulator, which
// halves the speed.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

INLINE __m512i four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// Columns of one step, 32 columns of b from `b` on.
INLINE const int8_t *weights(const int8_t *b, const int vecs, const bool halves, __m512i w[2]) {
    if (halves) {
        // The numbers times 16, as signed bytes. Vectors end up with every other 4 columns.
        const __m512i upper = _mm512_set1_epi8((char)0xf0);
        __m512i v = _mm512_loadu_si512(b), even = _mm512_and_si512(_mm512_slli_epi16(v, 4), upper);
        __m512i odd = _mm512_and_si512(v, upper);
        w[0] = _mm512_unpacklo_epi8(even, odd);
        w[1] = _mm512_unpackhi_epi8(even, odd);
        return b + QRN_PANEL * QRN_Q8_DEPTH / 2;
    }
    w[0] = _mm512_loadu_si512(b);
    w[1] = vecs > 1 ? _mm512_loadu_si512(b + 64) : w[0];
    return b + QRN_PANEL * QRN_Q8_DEPTH;
}

// What `weights` made of halves and sums put back into order.
INLINE void order(__m512i acc[2]) {
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i high =
        _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    __m512i a = _mm512_srai_epi32(acc[0], 4), b = _mm512_srai_epi32(acc[1], 4);
    acc[0] = _mm512_permutex2var_epi32(a, low, b);
    acc[1] = _mm512_permutex2var_epi32(a, high, b);
}

// acc[(row * planes + plane) * vecs + vector] += rows, row_bytes apart, times columns of b. Rows
// are reached from every third one, which needs no more than four base registers.
INLINE void dots(__m512i acc[ACCS], const uint8_t *a, size_t row_bytes, const int8_t *b,
                 size_t steps, const int rows, const int planes, const int vecs,
                 const bool halves) {
    const uint8_t *third[4];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 3)
        third[r / 3] = a + (size_t)r * row_bytes;
    for (size_t s = 0; s < steps; s++) {
        __m512i w[2];
        b = weights(b, vecs, halves, w);
        if (rows > 1) { // with one row it is the memory that is late, whatever one asks for
            _mm_prefetch((const char *)b + AHEAD, _MM_HINT_T0);
            _mm_prefetch((const char *)b + AHEAD + 64, _MM_HINT_T0);
        }
#pragma GCC unroll 24
        for (int i = 0; i < rows * planes; i++) {
            int r = i / planes;
            __m512i x =
                four_bytes(third[r / 3] + (size_t)(r % 3) * row_bytes + i % planes * QRN_Q8_DEPTH);
            acc[i * vecs] = dot(acc[i * vecs], x, w[0]);
            if (vecs > 1)
                acc[i * vecs + 1] = dot(acc[i * vecs + 1], x, w[1]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 3)
            third[r / 3] += planes * QRN_Q8_DEPTH;
    }
    if (halves)
#pragma GCC unroll 12
        for (int i = 0; i < rows * planes; i++)
            order(acc + 2 * i);
}

INLINE void sums(const qrn_wide_tile *t, const int rows, const int planes, const bool halves) {
    __m512i acc[ACCS];
#pragma GCC unroll 24
    for (int i = 0; i < rows * planes * 2; i++)
        acc[i] = _mm512_setzero_si512();
    dots(acc, t->a + t->first * (size_t)planes * QRN_Q8_DEPTH, t->row_bytes, t->b, t->steps, rows,
         planes, 2, halves);
#pragma GCC unroll 24
    for (int i = 0; i < rows * planes * 2; i++)
        _mm512_storeu_si512(t->acc + i * 16, acc[i]);
}

// Terms of 16 columns.
typedef struct columns {
    __m512d add[2], m[2], start[2];
} columns;

INLINE columns columns_of(const qrn_wide_panel *p, int first) {
    columns c;
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        c.add[i] = _mm512_loadu_pd(p->add + first + 8 * i);
        c.m[i] = _mm512_loadu_pd(p->m + first + 8 * i);
        c.start[i] = _mm512_loadu_pd(p->start + first + 8 * i);
    }
    return c;
}

// Sums of 16 columns by the definition, as far as floor. Adding 1.5 * 2^52 rounds, and leaves the
// whole number in the low half of the bits.
INLINE __m512i scaled(const __m512i sum[2], const columns *c, const bool narrow) {
    const __m512i low =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i t[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m512d v = _mm512_cvtepi32_pd(i ? _mm512_extracti64x4_epi64(sum[0], 1)
                                         : _mm512_castsi512_si256(sum[0]));
        if (!narrow) {
            __m512d high = _mm512_cvtepi32_pd(i ? _mm512_extracti64x4_epi64(sum[1], 1)
                                                : _mm512_castsi512_si256(sum[1]));
            v = _mm512_add_pd(_mm512_fmadd_pd(high, _mm512_set1_pd(256), v), c->add[i]);
        }
        v = _mm512_fmadd_pd(v, c->m[i], c->start[i]);
        t[i] = _mm512_castpd_si512(_mm512_add_round_pd(v, _mm512_set1_pd(0x1.8p52), DOWN));
    }
    return _mm512_permutex2var_epi32(t[0], low, t[1]);
}

INLINE void store(uint16_t *y, __m512i first, __m512i second, uint32_t cols) {
    const __m512i words =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                         24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i codes = _mm512_permutex2var_epi16(first, words, second);
    if (cols == QRN_PANEL)
        _mm512_storeu_si512(y, codes);
    else if (cols == QRN_PANEL / 2)
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(codes));
    else
        _mm512_mask_storeu_epi16(y, (__mmask32)((1u << cols) - 1), codes);
}

// A tile of codes. narrow: whole sums fit 32 bits; not with halves.
INLINE void codes(const qrn_wide_rows *r, const qrn_wide_panel *p, const qrn_wide_out *o,
                  size_t row, const int rows, const int vecs, const bool narrow,
                  const bool halves) {
    __m512i acc[ACCS];
#pragma GCC unroll 24
    for (int i = 0; i < rows * 2 * vecs; i++)
        acc[i] = narrow && i / vecs % 2 == 0 ? _mm512_loadu_si512(p->add32 + i % vecs * 16)
                                             : _mm512_setzero_si512();
    dots(acc, r->a + row * r->row_bytes, r->row_bytes, p->plane[0], p->steps, rows, 2, vecs,
         halves);
    uint16_t *y = (uint16_t *)o->y + row * o->y_row;
    size_t y_row = o->y_row;
    uint32_t cols = o->cols;
    __m512i lo = _mm512_set1_epi32((int32_t)o->lo), hi = _mm512_set1_epi32((int32_t)o->hi);
    if (narrow) // frees the registers that hold the terms of columns
#pragma GCC unroll 12
        for (int i = 0; i < rows * vecs; i++) {
            int at = i / vecs * 2 * vecs + i % vecs;
            acc[at] = _mm512_add_epi32(acc[at], _mm512_slli_epi32(acc[at + vecs], 8));
        }
    columns c[2] = {columns_of(p, 0), columns_of(p, 16 * (vecs - 1))};
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++, y += y_row) {
        __m512i code[2];
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++) {
            __m512i sum[2] = {acc[i * 2 * vecs + v], acc[(i * 2 + 1) * vecs + v]};
            if (!narrow)
                c[v] = columns_of(p, 16 * v);
            code[v] = scaled(sum, &c[v], narrow);
            code[v] = _mm512_min_epi32(_mm512_max_epi32(code[v], lo), hi);
        }
        store(y, code[0], code[vecs - 1], cols);
    }
}

// DO with a constant for each number of rows up to 6.
#define UP_TO_6(rows, DO)                                                                          \
    switch (rows) {                                                                                \
    case 6:                                                                                        \
        DO(6) break;                                                                               \
    case 5:                                                                                        \
        DO(5) break;                                                                               \
    case 4:                                                                                        \
        DO(4) break;                                                                               \
    case 3:                                                                                        \
        DO(3) break;                                                                               \
    case 2:                                                                                        \
        DO(2) break;                                                                               \
    default:                                                                                       \
        DO(1) break;                                                                               \
    }

#endif
