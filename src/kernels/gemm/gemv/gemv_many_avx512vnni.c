// SPDX-License-Identifier: MIT
//
// Tiles of several rows by 32 columns for AVX-512 VNNI, for many rows in planes of bytes. The
// weights of a panel are unpacked once, to unsigned bytes in the order in which tiles read them.
// A run has one sum for each result: that of the highest plane, which is shifted before the next
// plane is added. So tiles have more rows than with a sum for each plane, and less to do at the
// end of a run.
#include "kernels/gemm/gemv/gemv_planes.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define STEP_BYTES (QRN_GEMV_STEP * QRN_PANEL)

// --- weights

INLINE __m512i swap_quarters(__m512i x) { return _mm512_shuffle_i32x4(x, x, 0xd8); }

// 8 elements of 32 columns: two vectors for the first four bytes of a plane, two for the others.
INLINE void unpack_nibbles(const int8_t *w, uint8_t *dst) {
    const __m512i flip = _mm512_set1_epi8((char)0x88), low = _mm512_set1_epi8(0x0f);
    __m512i a = _mm512_loadu_si512(w), b = _mm512_loadu_si512(w + 64);
    __m512i even = _mm512_unpacklo_epi16(a, b), odd = _mm512_unpackhi_epi16(a, b);
    __m512i v[2] = {swap_quarters(_mm512_shuffle_i32x4(even, odd, 0x44)),
                    swap_quarters(_mm512_shuffle_i32x4(even, odd, 0xee))};
    for (int i = 0; i < 2; i++) { // (v ^ flip) & low
        __m512i first = _mm512_ternarylogic_epi32(v[i], flip, low, 0x28);
        __m512i second = _mm512_ternarylogic_epi32(_mm512_srli_epi16(v[i], 4), flip, low, 0x28);
        _mm512_storeu_si512(dst + 64 * i, first);
        _mm512_storeu_si512(dst + 128 + 64 * i, second);
    }
}

void qrn_gemv_bytes_avx512vnni(const qrn_gemv_panel *b, uint8_t *dst) {
    const __m512i flip = _mm512_set1_epi8((char)0x80);
    const int8_t *w = b->w;
    for (size_t k = 0; k < b->depth; k += QRN_GEMV_STEP, dst += STEP_BYTES)
        if (b->w_bits == 4) {
            unpack_nibbles(w, dst);
            w += STEP_BYTES / 2;
        } else {
            for (size_t i = 0; i < STEP_BYTES; i += 64, w += 64)
                _mm512_storeu_si512(dst + i, _mm512_xor_si512(_mm512_loadu_si512(w), flip));
        }
}

// --- tiles

// _mm512_dpbusd_epi32; around the intrinsic gcc 12 copies and spills every accumulator.
INLINE __m512i dot(__m512i acc, __m512i w, __m512i x) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(x));
    return acc;
}

INLINE __m512i four_bytes(const int8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// Adds the products of plane p of the steps of a run.
INLINE void add_plane(const uint8_t *w, const int8_t *a, size_t row, size_t steps, const int rows,
                      const int planes, const int p, __m512i acc[][2]) {
    a += p * QRN_GEMV_STEP;
    for (size_t s = 0; s < steps; s++, w += STEP_BYTES, a += planes * QRN_GEMV_STEP) {
        __m512i u[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            u[i] = _mm512_loadu_si512(w + 64 * i);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            __m512i x = four_bytes(a + (size_t)r * row), y = four_bytes(a + (size_t)r * row + 4);
            acc[r][0] = dot(dot(acc[r][0], u[0], x), u[2], y);
            acc[r][1] = dot(dot(acc[r][1], u[1], x), u[3], y);
        }
    }
}

INLINE void load_scales(const qrn_gemv_panel *b, size_t at, __m512 s[2]) {
    const uint16_t *h = (const uint16_t *)b->scales + at;
    const float *f = (const float *)b->scales + at;
    for (int v = 0; v < 2; v++)
        s[v] =
            b->fp16_scales
                ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(h + 16 * v)))
                : _mm512_loadu_ps(f + 16 * v);
}

INLINE void load_offsets(const int8_t *offsets, __m512 o[2]) {
    for (int v = 0; v < 2; v++)
        o[v] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(
            _mm_loadu_si128((const __m128i *)(const void *)(offsets + 16 * v))));
}

// The sums of a run, scaled, go to the totals.
INLINE void end_run(const qrn_gemv_strip *t, const qrn_gemv_run *run, size_t at, const int rows,
                    const bool offsets, __m512i acc[][2], __m512 total[][2]) {
    __m512 scale[2], offset[2];
    load_scales(&t->b, at * QRN_PANEL, scale);
    if (offsets)
        load_offsets(t->b.offsets + at * QRN_PANEL, offset);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        const qrn_gemv_run *x = run + (size_t)r * t->runs;
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            __m512i whole = _mm512_add_epi32(acc[r][v], _mm512_set1_epi32(x->first[0]));
            __m512 sum = _mm512_cvtepi32_ps(whole);
            if (offsets)
                sum = _mm512_fmadd_ps(offset[v], _mm512_set1_ps(x->sum), sum);
            total[r][v] = _mm512_fmadd_ps(sum * _mm512_set1_ps(x->scale), scale[v], total[r][v]);
        }
    }
}

INLINE void write_row(const qrn_gemv_strip *t, int r, const __m512 total[2]) {
    float part[QRN_PANEL], *c = t->c + (size_t)r * t->c_row;
    _mm512_storeu_ps(part, total[0]);
    _mm512_storeu_ps(part + 16, total[1]);
    for (size_t j = 0; j < t->cols && t->bias; j++)
        part[j] += t->bias[j];
    for (size_t j = 0; j < t->cols && t->clamp; j++)
        part[j] = QRN_CLAMPED(part[j], t->clamp);
    memcpy(c, part, t->cols * sizeof *c);
}

INLINE void tile(const qrn_gemv_strip *t, const qrn_gemv_rows *x, const int rows, const int planes,
                 const bool offsets) {
    const size_t row = qrn_gemv_row_bytes(t->b.depth, (uint32_t)planes);
    const uint8_t *w = (const uint8_t *)t->b.w;
    const int8_t *a = x->planes;
    const qrn_gemv_run *run = x->runs;
    __m512 total[QRN_GEMV_MANY][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        total[r][0] = total[r][1] = _mm512_setzero_ps();
    for (size_t k0 = 0, at = 0; k0 < t->b.depth; k0 += t->b.run, at++, run++) {
        size_t n = t->b.depth - k0 < t->b.run ? t->b.depth - k0 : t->b.run;
        __m512i acc[QRN_GEMV_MANY][2];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            acc[r][0] = acc[r][1] = _mm512_setzero_si512();
#pragma GCC unroll 3
        for (int p = planes; p-- > 0;) {
            add_plane(w, a, row, n / QRN_GEMV_STEP, rows, planes, p, acc);
            for (int i = 0; i < 2 * rows && p; i++)
                acc[i / 2][i % 2] = _mm512_slli_epi32(acc[i / 2][i % 2], 8);
        }
        end_run(t, run, at, rows, offsets, acc, total);
        w += n * QRN_PANEL;
        a += n * (size_t)planes;
    }
    for (int r = 0; r < rows; r++)
        write_row(t, r, total[r]);
}
#define ROWS(n)                                                                                    \
    case n:                                                                                        \
        tile(t, x, n, planes, offsets);                                                            \
        break

INLINE void any_rows(const qrn_gemv_strip *t, const qrn_gemv_rows *x, const int planes,
                     const bool offsets) {
    switch (t->rows) {
        ROWS(1);
        ROWS(2);
        ROWS(3);
        ROWS(4);
        ROWS(5);
        ROWS(6);
        ROWS(7);
        ROWS(8);
    default:
        break;
    }
}

#define MANY(name, planes, offsets)                                                                \
    static __attribute__((noinline)) void name(const qrn_gemv_strip *t, const qrn_gemv_rows *x) {  \
        any_rows(t, x, planes, offsets);                                                           \
    }
MANY(many_24, 3, false)
MANY(many_24_offsets, 3, true)
MANY(many_16, 2, false)
MANY(many_16_offsets, 2, true)

void qrn_gemv_many_avx512vnni(const qrn_gemv_strip *t, const qrn_gemv_rows *x) {
    if (t->b.planes == 2)
        (t->b.offsets ? many_16_offsets : many_16)(t, x);
    else
        (t->b.offsets ? many_24_offsets : many_24)(t, x);
}
