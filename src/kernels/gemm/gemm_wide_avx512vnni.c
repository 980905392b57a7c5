// SPDX-License-Identifier: MIT
//
// Products of bytes for AVX-512 VNNI, an instruction adding four of them to each of 16 sums. 24
// accumulators: 12 rows of bytes by 32 columns, or 24 by 16. Where 16-bit codes are multiplied by
// bytes and become 16-bit codes, a tile goes from the accumulators to the codes without a detour.
#include "kernels/gemm/gemm_wide.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define ACCS 24

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

// acc[(row * planes + plane) * vecs + vector] += rows, row_bytes apart, times columns of b. Rows
// are reached from every third one, which needs no more than four base registers.
INLINE void dots(__m512i acc[ACCS], const uint8_t *a, size_t row_bytes, const int8_t *b,
                 size_t steps, const int rows, const int planes, const int vecs) {
    const uint8_t *third[4];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 3)
        third[r / 3] = a + (size_t)r * row_bytes;
    for (size_t s = 0; s < steps; s++, b += QRN_PANEL * QRN_Q8_DEPTH) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = vecs > 1 ? _mm512_loadu_si512(b + 64) : b0;
#pragma GCC unroll 24
        for (int i = 0; i < rows * planes; i++) {
            int r = i / planes;
            __m512i x =
                four_bytes(third[r / 3] + (size_t)(r % 3) * row_bytes + i % planes * QRN_Q8_DEPTH);
            acc[i * vecs] = dot(acc[i * vecs], x, b0);
            if (vecs > 1)
                acc[i * vecs + 1] = dot(acc[i * vecs + 1], x, b1);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 3)
            third[r / 3] += planes * QRN_Q8_DEPTH;
    }
}

INLINE void sums(const qrn_wide_tile *t, const int rows, const int planes) {
    __m512i acc[ACCS];
#pragma GCC unroll 24
    for (int i = 0; i < rows * planes * 2; i++)
        acc[i] = _mm512_setzero_si512();
    dots(acc, t->a + t->first * (size_t)planes * QRN_Q8_DEPTH, t->row_bytes, t->b, t->steps, rows,
         planes, 2);
#pragma GCC unroll 24
    for (int i = 0; i < rows * planes * 2; i++)
        _mm512_storeu_si512(t->acc + i * 16, acc[i]);
}

// Calls fn(..., rows, ...) with a constant for each number of rows up to 6.
#define UP_TO_6(rows, CASE)                                                                        \
    switch (rows) { CASE(6) CASE(5) CASE(4) CASE(3) CASE(2) CASE(1) default : break; }

void qrn_wide_sums_avx512vnni(const qrn_wide_tile *t) {
#define TWO_PLANES(n)                                                                              \
    case n:                                                                                        \
        sums(t, n, 2);                                                                             \
        break;
#define ONE_PLANE(n)                                                                               \
    case n:                                                                                        \
        sums(&part, n, 1);                                                                         \
        break;
    if (t->planes == 2) {
        UP_TO_6(t->rows, TWO_PLANES)
        return;
    }
    qrn_wide_tile part = *t;
    if (t->rows == 12) {
        sums(&part, 12, 1);
        return;
    }
    if (part.rows > 6) {
        sums(&part, 6, 1);
        part.a += 6 * part.row_bytes;
        part.acc += 6 * QRN_PANEL;
        part.rows -= 6;
    }
    UP_TO_6(part.rows, ONE_PLANE)
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

// A tile of codes. narrow: whole sums fit 32 bits.
INLINE void codes(const qrn_wide_rows *r, const qrn_wide_panel *p, const qrn_wide_out *o,
                  size_t row, const int rows, const int vecs, const bool narrow) {
    __m512i acc[ACCS];
#pragma GCC unroll 24
    for (int i = 0; i < rows * 2 * vecs; i++)
        acc[i] = narrow && i / vecs % 2 == 0 ? _mm512_loadu_si512(p->add32 + i % vecs * 16)
                                             : _mm512_setzero_si512();
    dots(acc, r->a + row * r->row_bytes, r->row_bytes, p->plane[0], p->steps, rows, 2, vecs);
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

// All rows of a panel: tiles of 6 rows, or, with at most 16 columns, of 12.
INLINE void panel(const qrn_wide_rows *r, const qrn_wide_panel *p, const qrn_wide_out *o,
                  const bool narrow) {
    size_t row = 0;
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        codes(r, p, o, row, n, 2, narrow);                                                         \
        break;
    if (o->cols <= QRN_PANEL / 2)
        for (; row + 12 <= r->n; row += 12)
            codes(r, p, o, row, 12, 1, narrow);
    for (; row < r->n; row += 6)
        UP_TO_6(r->n - row < 6 ? r->n - row : 6, CASE)
}

static __attribute__((noinline)) void narrow_panel(const qrn_wide_rows *r, const qrn_wide_panel *p,
                                                   const qrn_wide_out *o) {
    panel(r, p, o, true);
}

static __attribute__((noinline)) void wide_panel(const qrn_wide_rows *r, const qrn_wide_panel *p,
                                                 const qrn_wide_out *o) {
    panel(r, p, o, false);
}

void qrn_wide_codes_avx512vnni(const qrn_wide_rows *r, const qrn_wide_panel *p,
                               const qrn_wide_out *o) {
    if (p->add32)
        narrow_panel(r, p, o);
    else
        wide_panel(r, p, o);
}
