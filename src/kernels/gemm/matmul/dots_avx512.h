// SPDX-License-Identifier: MIT
//
// dots.h for files compiled for AVX512-VNNI.
#ifndef QRN_KERNELS_GEMM_MATMUL_DOTS_AVX512_H
#define QRN_KERNELS_GEMM_MATMUL_DOTS_AVX512_H

#include "kernels/gemm/matmul/dots.h"
#include "kernels/gemm/pack/transpose_avx512.h"

#include <immintrin.h>
#include <string.h>

#define DOTS static inline __attribute__((always_inline))

// n elements from p on as signed words, the others of a vector being 0.
DOTS __m512i dots_words(const void *p, size_t n, __m512i flip) {
    if (n >= QRN_DOTS_VECTOR)
        return _mm512_xor_si512(_mm512_loadu_si512(p), flip);
    __mmask32 m = (__mmask32)((UINT32_C(1) << n) - 1);
    return _mm512_xor_si512(_mm512_maskz_loadu_epi16(m, p), _mm512_maskz_mov_epi16(m, flip));
}
DOTS __m512i dots_bytes(const void *p, size_t n, __m512i flip) {
    __mmask32 m = n >= QRN_DOTS_VECTOR ? UINT32_MAX : (__mmask32)((UINT32_C(1) << n) - 1);
    __m256i v = _mm256_maskz_loadu_epi8(m, p);
    v = _mm256_xor_si256(v, _mm256_maskz_mov_epi8(m, _mm512_castsi512_si256(flip)));
    return _mm512_cvtepi8_epi16(v);
}
DOTS __m512i dots_load(const char *b, size_t at, size_t n, __m512i flip, const bool bytes) {
    return bytes ? dots_bytes(b + at, n, flip) : dots_words(b + 2 * at, n, flip);
}
DOTS __m512i dots_flip(const qrn_dots *d, const bool bytes) {
    return bytes ? _mm512_set1_epi8((char)d->b_flip) : _mm512_set1_epi16((int16_t)d->b_flip);
}

static void qrn_dots_take(qrn_dots *d, size_t r, const uint16_t *a, size_t step) {
    const __m512i flip = _mm512_set1_epi16((int16_t)d->a_flip), ones = _mm512_set1_epi16(1);
    int16_t *first = d->a + d->planes * r * d->row;
    int64_t sum = 0;
    for (size_t i = 0; i < d->row; i += QRN_DOTS_VECTOR) {
        size_t n = i >= d->depth                    ? 0
                   : d->depth - i < QRN_DOTS_VECTOR ? d->depth - i
                                                    : QRN_DOTS_VECTOR;
        uint16_t apart[QRN_DOTS_VECTOR];
        for (size_t j = 0; j < n && step != 1; j++)
            apart[j] = a[(i + j) * step];
        __m512i v = n ? dots_words(step != 1 ? apart : a + i, n, flip) : _mm512_setzero_si512();
        if (d->planes == 1) {
            _mm512_storeu_si512(first + i, v);
        } else {
            _mm512_storeu_si512(first + i, _mm512_and_si512(v, _mm512_set1_epi16(0xff)));
            _mm512_storeu_si512(first + d->row + i, _mm512_srai_epi16(v, 8));
        }
        sum += _mm512_reduce_add_epi32(_mm512_madd_epi16(v, ones));
    }
    d->row_term[r] = d->b_offset * (double)sum + (double)d->depth * d->a_offset * d->b_offset;
}

// _mm512_dpwssd_epi32; around the intrinsic gcc 12 copies and spills every accumulator.
DOTS __m512i dots_dot(__m512i acc, __m512i a, __m512i b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "vm"(b));
    return acc;
}

DOTS __m512i dots_pair(const int16_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// --- results

// 8 sums of products and of columns become results.
DOTS __m256i dots_results(const qrn_dots *d, __m512d sum, __m512d columns, size_t row) {
    sum = _mm512_fmadd_pd(columns, _mm512_set1_pd(d->a_offset), sum);
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

#define DOTS_KEYS 16  // done together, one in each lane
#define DOTS_AHEAD 64 // keys or values that are fetched in advance

// A cache is longer than what the CPU keeps near and read in short rows: without it half of the
// time was spent waiting. May point anywhere.
DOTS void dots_prefetch(const char *p) { _mm_prefetch(p, _MM_HINT_T0); }

DOTS void dots_some_keys(const qrn_dots *d, const char *b, size_t stride, size_t n, uint16_t *y,
                         size_t ld, const int rows, const bool bytes) {
    const int planes = bytes ? 1 : 2;
    const size_t elem = bytes ? 1 : 2,
                 n_vectors = (d->depth + QRN_DOTS_VECTOR - 1) / QRN_DOTS_VECTOR;
    const size_t apart = stride * elem / n_vectors; // prefetched in order, for all of the keys
    const char *ahead = b + DOTS_AHEAD * stride * elem;
    const __m512i flip = dots_flip(d, bytes), one = _mm512_set1_epi16(1);
    const __m512d next = _mm512_set1_pd(256);
    __m512i acc[2 * QRN_DOTS_ROWS], columns = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int i = 0; i < planes * rows; i++)
        acc[i] = _mm512_setzero_si512();
    for (size_t at = 0; at < d->depth; at += QRN_DOTS_VECTOR) {
        __m512i keys[DOTS_KEYS];
#pragma GCC unroll 16
        for (size_t i = 0; i < DOTS_KEYS; i++) {
            keys[i] = dots_load(b, (i < n ? i : 0) * stride + at, d->depth - at, flip, bytes);
            dots_prefetch(ahead);
            ahead += apart;
        }
        qrn_transpose_16x16(keys);
#pragma GCC unroll 16
        for (size_t i = 0; i < DOTS_KEYS; i++) {
            columns = dots_dot(columns, one, keys[i]);
#pragma GCC unroll 8
            for (int r = 0; r < planes * rows; r++)
                acc[r] =
                    dots_dot(acc[r], dots_pair(d->a + (size_t)r * d->row + at + 2 * i), keys[i]);
        }
    }
    for (int r = 0; r < rows; r++) {
        __m512i low = acc[planes * r], high = acc[planes * r + planes - 1];
        __m512d first = dots_low(low), second = dots_high(low);
        if (!bytes) {
            first = _mm512_fmadd_pd(dots_low(high), next, first);
            second = _mm512_fmadd_pd(dots_high(high), next, second);
        }
        dots_store(y + (size_t)r * ld, dots_results(d, first, dots_low(columns), (size_t)r),
                   dots_results(d, second, dots_high(columns), (size_t)r), n);
    }
}

#define DOTS_EACH(rows, call)                                                                      \
    do {                                                                                           \
        switch (rows) {                                                                            \
        case 1:                                                                                    \
            call(1);                                                                               \
            break;                                                                                 \
        case 2:                                                                                    \
            call(2);                                                                               \
            break;                                                                                 \
        case 3:                                                                                    \
            call(3);                                                                               \
            break;                                                                                 \
        default:                                                                                   \
            call(4);                                                                               \
        }                                                                                          \
    } while (0)

static void qrn_dots_keys(const qrn_dots *d, const void *b, size_t stride, size_t n, uint16_t *y,
                          size_t ld) {
    size_t step = DOTS_KEYS * stride * (d->bytes ? 1 : 2), left;
    const char *p = b;
    for (size_t i = 0; i < n; i += DOTS_KEYS, p += step) {
        left = n - i < DOTS_KEYS ? n - i : DOTS_KEYS;
#define CALL(r)                                                                                    \
    do {                                                                                           \
        if (d->bytes)                                                                              \
            dots_some_keys(d, p, stride, left, y + i, ld, r, true);                                \
        else                                                                                       \
            dots_some_keys(d, p, stride, left, y + i, ld, r, false);                               \
    } while (0)
        DOTS_EACH(d->rows, CALL);
#undef CALL
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

// n rows of b, no more than DEPTH.
DOTS void dots_stretch(const qrn_dots *d, size_t first, size_t n, const char *b, size_t stride,
                       size_t cols, qrn_dots_sums *t, const int rows, const bool bytes) {
    const int planes = bytes ? 1 : 2;
    const __m512i flip = dots_flip(d, bytes), one = _mm512_set1_epi16(1);
    __m512i acc[2 * QRN_DOTS_ROWS][2], sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
#pragma GCC unroll 16
    for (int i = 0; i < 2 * planes * rows; i++)
        acc[i / 2][i % 2] = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 2) {
        __m512i x = dots_load(b, i * stride, cols, flip, bytes), y = _mm512_setzero_si512();
        if (i + 1 < n)
            y = dots_load(b, (i + 1) * stride, cols, flip, bytes);
        const char *ahead = b + (i + DOTS_AHEAD) * stride * (bytes ? 1 : 2);
        dots_prefetch(ahead);
        dots_prefetch(ahead + 64);
        dots_prefetch(ahead + 128);
        dots_prefetch(ahead + 192);
        const __m512i v[2] = {_mm512_unpacklo_epi16(x, y), _mm512_unpackhi_epi16(x, y)};
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
            sum[h] = dots_dot(sum[h], v[h], one);
#pragma GCC unroll 8
        for (int r = 0; r < planes * rows; r++) {
            __m512i a = dots_pair(d->a + (size_t)r * d->row + first + i);
            acc[r][0] = dots_dot(acc[r][0], v[0], a);
            acc[r][1] = dots_dot(acc[r][1], v[1], a);
        }
    }
    dots_add_to(t->columns, sum[0], sum[1], 1);
    for (int r = 0; r < planes * rows; r++)
        dots_add_to(t->of[r / planes], acc[r][0], acc[r][1], r % planes ? 256 : 1);
}

static void qrn_dots_add(const qrn_dots *d, size_t first, size_t n, const void *b, size_t stride,
                         size_t cols, qrn_dots_sums *t) {
    const char *p = b;
    size_t step = QRN_DOTS_DEPTH * stride * (d->bytes ? 1 : 2);
    for (size_t i = 0; i < n; i += QRN_DOTS_DEPTH, p += step) {
        size_t some = n - i < QRN_DOTS_DEPTH ? n - i : QRN_DOTS_DEPTH;
#define CALL(r)                                                                                    \
    do {                                                                                           \
        if (d->bytes)                                                                              \
            dots_stretch(d, first + i, some, p, stride, cols, t, r, true);                         \
        else                                                                                       \
            dots_stretch(d, first + i, some, p, stride, cols, t, r, false);                        \
    } while (0)
        DOTS_EACH(d->rows, CALL);
#undef CALL
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
