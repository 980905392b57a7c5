// SPDX-License-Identifier: MIT
//
// dots.h for files compiled for AVX512-VNNI. Words are multiplied in pairs, bytes in fours: there a
// row is cut into signed bytes, a = 256 * high + low + 128.
#ifndef QRN_KERNELS_GEMM_MATMUL_DOTS_AVX512_H
#define QRN_KERNELS_GEMM_MATMUL_DOTS_AVX512_H

#include "kernels/gemm/matmul/dots.h"
#include "kernels/gemm/pack/transpose_avx512.h"

#include <immintrin.h>
#include <string.h>

#define DOTS static inline __attribute__((always_inline))
#define DOTS_KEYS 16                    // done together, one in each lane
#define DOTS_AHEAD(elem) (128 / (elem)) // keys or values that are fetched in advance
#define DOTS_LINE 64                    // bytes of a vector, and of what is fetched at a time

// A cache is longer than what the CPU keeps near and is read in short rows: without it half of the
// time was spent waiting. May point anywhere.
DOTS void dots_prefetch(const char *p) { _mm_prefetch(p, _MM_HINT_T0); }

// n elements from p on, the others of a vector being 0.
DOTS __m512i dots_words(const void *p, size_t n, __m512i flip) {
    if (n >= QRN_DOTS_VECTOR)
        return _mm512_xor_si512(_mm512_loadu_si512(p), flip);
    __mmask32 m = (__mmask32)((UINT32_C(1) << n) - 1);
    return _mm512_xor_si512(_mm512_maskz_loadu_epi16(m, p), _mm512_maskz_mov_epi16(m, flip));
}
DOTS __m512i dots_bytes(const void *p, size_t n, __m512i flip) {
    if (n >= DOTS_LINE)
        return _mm512_xor_si512(_mm512_loadu_si512(p), flip);
    __mmask64 m = (UINT64_C(1) << n) - 1;
    return _mm512_xor_si512(_mm512_maskz_loadu_epi8(m, p), _mm512_maskz_mov_epi8(m, flip));
}

// Plane p of row r: of words, or of bytes.
DOTS int16_t *dots_plane(const qrn_dots *d, int plane) { return d->a + (size_t)plane * d->row; }
DOTS int8_t *dots_byte_plane(const qrn_dots *d, int plane) {
    return (int8_t *)d->a + (size_t)plane * d->row;
}

static void qrn_dots_take(qrn_dots *d, size_t r, const uint16_t *a, size_t step) {
    const __m512i flip = _mm512_set1_epi16((int16_t)d->a_flip), ones = _mm512_set1_epi16(1);
    int64_t sum = 0;
    for (size_t i = 0; i < d->row; i += QRN_DOTS_VECTOR) {
        size_t n = i >= d->depth ? 0 : d->depth - i;
        n = n < QRN_DOTS_VECTOR ? n : QRN_DOTS_VECTOR;
        uint16_t apart[QRN_DOTS_VECTOR];
        for (size_t j = 0; j < n && step != 1; j++)
            apart[j] = a[(i + j) * step];
        __m512i v = n ? dots_words(step != 1 ? apart : a + i, n, flip) : _mm512_setzero_si512();
        __m512i low = _mm512_and_si512(v, _mm512_set1_epi16(0xff)), high = _mm512_srai_epi16(v, 8);
        sum += _mm512_reduce_add_epi32(_mm512_madd_epi16(v, ones));
        if (d->bytes) {
            low = _mm512_sub_epi16(low, _mm512_set1_epi16(128));
            _mm256_storeu_si256((__m256i *)(dots_byte_plane(d, 2 * (int)r) + i),
                                _mm512_cvtepi16_epi8(low));
            _mm256_storeu_si256((__m256i *)(dots_byte_plane(d, 2 * (int)r + 1) + i),
                                _mm512_cvtepi16_epi8(high));
        } else {
            _mm512_storeu_si512(dots_plane(d, 2 * (int)r) + i, low);
            _mm512_storeu_si512(dots_plane(d, 2 * (int)r + 1) + i, high);
        }
    }
    d->row_term[r] = d->b_offset * (double)sum + (double)d->depth * d->a_offset * d->b_offset;
    d->per_column = d->a_offset + (d->bytes ? 128 : 0);
}

// acc + b * a for the four bytes at p in every lane; b is unsigned. And for words, two of them.
DOTS __m512i dots_fours(__m512i acc, __m512i b, const int8_t *p) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*(const char(*)[4])p));
    return acc;
}
DOTS __m512i dots_pairs(__m512i acc, __m512i b, const int16_t *p) {
    __asm__("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*(const char(*)[4])p));
    return acc;
}
// Around the intrinsics gcc 12 copies and spills every accumulator.
DOTS __m512i dots_ones(__m512i acc, __m512i b, __m512i ones, const bool bytes) {
    if (bytes)
        __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(b), "v"(ones));
    else
        __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(b), "v"(ones));
    return acc;
}

// --- results

// 8 sums of products and of columns become results.
DOTS __m256i dots_results(const qrn_dots *d, __m512d sum, __m512d columns, size_t row) {
    sum = _mm512_fmadd_pd(columns, _mm512_set1_pd(d->per_column), sum);
    sum = _mm512_add_pd(sum, _mm512_set1_pd(d->row_term[row]));
    __m512d t = _mm512_floor_pd(
        _mm512_fmadd_pd(sum, _mm512_set1_pd(d->out.m), _mm512_set1_pd(d->out.zero_half)));
    t = _mm512_max_pd(t, _mm512_set1_pd((double)d->out.lo));
    return _mm512_cvttpd_epi32(_mm512_min_pd(t, _mm512_set1_pd((double)d->out.hi)));
}

DOTS __m512d dots_low(__m512i v) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256(v)); }
DOTS __m512d dots_high(__m512i v) { return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(v, 1)); }

DOTS void dots_store(uint16_t *y, __m256i a, __m256i b, size_t n) {
    __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    _mm512_mask_cvtepi32_storeu_epi16(y, n < 16 ? (__mmask16)((1u << n) - 1) : 0xffff, v);
}

// --- keys: columns along the depth

DOTS void dots_some_keys(const qrn_dots *d, const char *b, size_t stride, size_t n, uint16_t *y,
                         size_t ld, const int rows, const bool bytes) {
    const size_t elem = bytes ? 1 : 2, vector = DOTS_LINE / elem;
    const size_t apart = stride * elem / ((d->depth + vector - 1) / vector);
    const char *ahead = b + DOTS_AHEAD(elem) * stride * elem; // in order, for all of the keys
    const __m512i flip =
        bytes ? _mm512_set1_epi8((char)d->b_flip) : _mm512_set1_epi16((int16_t)d->b_flip);
    const __m512i ones = bytes ? _mm512_set1_epi8(1) : _mm512_set1_epi16(1);
    const __m512d next = _mm512_set1_pd(256);
    __m512i acc[2 * QRN_DOTS_ROWS], columns = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int i = 0; i < 2 * rows; i++)
        acc[i] = _mm512_setzero_si512();
    for (size_t at = 0; at < d->depth; at += vector) {
        __m512i keys[DOTS_KEYS];
#pragma GCC unroll 16
        for (size_t i = 0; i < DOTS_KEYS; i++, ahead += apart) {
            const char *p = b + ((i < n ? i : 0) * stride + at) * elem;
            keys[i] =
                bytes ? dots_bytes(p, d->depth - at, flip) : dots_words(p, d->depth - at, flip);
            dots_prefetch(ahead);
        }
        qrn_transpose_16x16(keys);
#pragma GCC unroll 16
        for (size_t i = 0; i < DOTS_KEYS; i++) {
            columns = dots_ones(columns, keys[i], ones, bytes);
#pragma GCC unroll 8
            for (int r = 0; r < 2 * rows; r++)
                acc[r] = bytes ? dots_fours(acc[r], keys[i], dots_byte_plane(d, r) + at + 4 * i)
                               : dots_pairs(acc[r], keys[i], dots_plane(d, r) + at + 2 * i);
        }
    }
    for (int r = 0; r < rows; r++) {
        __m512i low = acc[2 * r], high = acc[2 * r + 1];
        __m512d first = _mm512_fmadd_pd(dots_low(high), next, dots_low(low));
        __m512d second = _mm512_fmadd_pd(dots_high(high), next, dots_high(low));
        dots_store(y + (size_t)r * ld, dots_results(d, first, dots_low(columns), (size_t)r),
                   dots_results(d, second, dots_high(columns), (size_t)r), n);
    }
}

// Calls it for the rows and the kind of b that there are.
#define DOTS_EACH(d, call)                                                                         \
    switch (2 * (d)->rows + (d)->bytes) {                                                          \
        DOTS_CASE(1, call)                                                                         \
        DOTS_CASE(2, call)                                                                         \
        DOTS_CASE(3, call)                                                                         \
        DOTS_CASE(4, call)                                                                         \
    }
#define DOTS_CASE(rows, call)                                                                      \
    case 2 * rows:                                                                                 \
        call(rows, false);                                                                         \
        break;                                                                                     \
    case 2 * rows + 1:                                                                             \
        call(rows, true);                                                                          \
        break;

static void qrn_dots_keys(const qrn_dots *d, const void *b, size_t stride, size_t n, uint16_t *y,
                          size_t ld) {
    size_t step = DOTS_KEYS * stride * (d->bytes ? 1 : 2), left;
    const char *p = b;
    for (size_t i = 0; i < n; i += DOTS_KEYS, p += step) {
        left = n - i < DOTS_KEYS ? n - i : DOTS_KEYS;
#define SOME_KEYS(rows, bytes) dots_some_keys(d, p, stride, left, y + i, ld, rows, bytes)
        DOTS_EACH(d, SOME_KEYS)
    }
}

// --- values: columns side by side

// Adds sums of two vectors that have every other four columns, times a power of two.
DOTS void dots_add_to(double *to, __m512i even, __m512i odd, double factor) {
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    const __m512d f = _mm512_set1_pd(factor);
    __m512i v[2] = {_mm512_permutex2var_epi32(even, first, odd),
                    _mm512_permutex2var_epi32(even, second, odd)};
    for (int i = 0; i < 2; i++, to += 16) {
        _mm512_storeu_pd(to, _mm512_fmadd_pd(dots_low(v[i]), f, _mm512_loadu_pd(to)));
        _mm512_storeu_pd(to + 8, _mm512_fmadd_pd(dots_high(v[i]), f, _mm512_loadu_pd(to + 8)));
    }
}

// 32 columns of two rows of words as pairs, or of four rows of bytes as fours, every other four
// columns in a vector.
DOTS void dots_interleave(const char *b, size_t stride, size_t n, size_t cols, __m512i flip,
                          __m512i *v, const bool bytes) {
    const __m512i zero = _mm512_setzero_si512();
    if (!bytes) {
        __m512i x = dots_words(b, cols, flip);
        __m512i y = n > 1 ? dots_words(b + 2 * stride, cols, flip) : zero;
        v[0] = _mm512_unpacklo_epi16(x, y);
        v[1] = _mm512_unpackhi_epi16(x, y);
        return;
    }
    __mmask32 m = cols < 32 ? (__mmask32)((UINT32_C(1) << cols) - 1) : UINT32_MAX;
    __m256i x[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        __m256i f = _mm256_maskz_mov_epi8(m, _mm512_castsi512_si256(flip));
        x[i] = i < n ? _mm256_xor_si256(_mm256_maskz_loadu_epi8(m, b + i * stride), f)
                     : _mm512_castsi512_si256(zero);
    }
    // words of 64 bits in the order in which unpacking them leaves columns 0..15 and 16..31 whole
    const __m512i order = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    __m512i even = _mm512_permutex2var_epi64(_mm512_castsi256_si512(x[0]), order,
                                             _mm512_castsi256_si512(x[1]));
    __m512i odd = _mm512_permutex2var_epi64(_mm512_castsi256_si512(x[2]), order,
                                            _mm512_castsi256_si512(x[3]));
    // each 128 bits: 8 columns of row 0 and 8 of row 1; of rows 2 and 3
    const __m512i mix =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    even = _mm512_shuffle_epi8(even, mix);
    odd = _mm512_shuffle_epi8(odd, mix);
    v[0] = _mm512_unpacklo_epi16(even, odd); // columns 0..3 of each 8
    v[1] = _mm512_unpackhi_epi16(even, odd); // 4..7
}

// n rows of b, no more than DEPTH.
DOTS void dots_stretch(const qrn_dots *d, size_t first, size_t n, const char *b, size_t stride,
                       size_t cols, qrn_dots_sums *t, const int rows, const bool bytes) {
    const size_t elem = bytes ? 1 : 2, together = bytes ? 4 : 2;
    const __m512i flip =
        bytes ? _mm512_set1_epi8((char)d->b_flip) : _mm512_set1_epi16((int16_t)d->b_flip);
    const __m512i ones = bytes ? _mm512_set1_epi8(1) : _mm512_set1_epi16(1);
    __m512i acc[2 * QRN_DOTS_ROWS][2], sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
#pragma GCC unroll 16
    for (int i = 0; i < 4 * rows; i++)
        acc[i / 2][i % 2] = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += together) {
        __m512i v[2];
        dots_interleave(b + i * stride * elem, stride, n - i, cols, flip, v, bytes);
        for (int k = 0; k < 4; k++)
            dots_prefetch(b + (i + DOTS_AHEAD(elem)) * stride * elem + k * DOTS_LINE);
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
            sum[h] = dots_ones(sum[h], v[h], ones, bytes);
#pragma GCC unroll 16
        for (int k = 0; k < 4 * rows; k++) {
            int r = k / 2, h = k % 2;
            acc[r][h] = bytes ? dots_fours(acc[r][h], v[h], dots_byte_plane(d, r) + first + i)
                              : dots_pairs(acc[r][h], v[h], dots_plane(d, r) + first + i);
        }
    }
    dots_add_to(t->columns, sum[0], sum[1], 1);
    for (int r = 0; r < 2 * rows; r++)
        dots_add_to(t->of[r / 2], acc[r][0], acc[r][1], r % 2 ? 256 : 1);
}

static void qrn_dots_add(const qrn_dots *d, size_t first, size_t n, const void *b, size_t stride,
                         size_t cols, qrn_dots_sums *t) {
    const char *p = b;
    size_t step = QRN_DOTS_DEPTH * stride * (d->bytes ? 1 : 2);
    for (size_t i = 0; i < n; i += QRN_DOTS_DEPTH, p += step) {
        size_t some = n - i < QRN_DOTS_DEPTH ? n - i : QRN_DOTS_DEPTH;
#define STRETCH(rows, bytes) dots_stretch(d, first + i, some, p, stride, cols, t, rows, bytes)
        DOTS_EACH(d, STRETCH)
    }
}

static void qrn_dots_finish(const qrn_dots *d, const qrn_dots_sums *t, size_t r, size_t cols,
                            uint16_t *y) {
    for (size_t i = 0; i < cols; i += 16) {
        const double *s = t->of[r] + i, *c = t->columns + i;
        dots_store(y + i, dots_results(d, _mm512_loadu_pd(s), _mm512_loadu_pd(c), r),
                   dots_results(d, _mm512_loadu_pd(s + 8), _mm512_loadu_pd(c + 8), r), cols - i);
    }
}

#endif
