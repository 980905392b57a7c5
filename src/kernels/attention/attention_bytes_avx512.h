// SPDX-License-Identifier: MIT
//
// Products of floats and quantized values of 8 bits for attention on few rows, for files compiled
// for AVX512-VNNI. A row of floats becomes three signed digits of 8 bits: 24 bits relative to its
// largest element, about those of a float. Sums of products of digits are exact; they are put
// together in float, where the scale is applied. Rows of 64 bytes took 34 us with floats for 9
// heads by 1,024 positions, because bytes were widened and converted first.
#ifndef QRN_KERNELS_ATTENTION_ATTENTION_BYTES_AVX512_H
#define QRN_KERNELS_ATTENTION_ATTENTION_BYTES_AVX512_H

#include "kernels/attention/attention_rows.h"
#include "kernels/gemm/pack/transpose_avx512.h"

#include <immintrin.h>

#define ATT_INLINE static inline __attribute__((always_inline))
#define ATT_DIGITS 3
#define ATT_MOST 8355000.0f // a little below 127 * (65536 + 256 + 1)
#define ATT_LONGEST 256     // elements of a row: sums fit 32 bits
#define ATT_TOGETHER 4      // rows at a time
#define ATT_KEYS 16         // keys at a time, one in each lane
#define ATT_OFFSET_MAX 1024 // so that offset * sum of digits fits 32 bits

// Rows as digits: x[i] = unit * (65536 * digit[2][i] + 256 * digit[1][i] + digit[0][i]), 0 beyond
// the last element.
typedef struct att_digits {
    int8_t of[ATT_TOGETHER][ATT_DIGITS][ATT_LONGEST];
    int32_t sums[ATT_TOGETHER][ATT_DIGITS];
    float unit[ATT_TOGETHER];
} att_digits;

// Bytes that are read as unsigned: scale * (byte ^ flip + offset).
typedef struct att_bytes {
    const uint8_t *data;
    size_t stride; // from key to key
    uint8_t flip;
    int32_t offset;
    float scale;
} att_bytes;

ATT_INLINE __m512 att_load(const float *x, size_t n) {
    return n >= 16 ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), x);
}
ATT_INLINE __m512i att_load_bytes(const uint8_t *p, size_t n, __m512i flip) {
    __m512i v =
        n >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8((UINT64_C(1) << n) - 1, p);
    return _mm512_xor_si512(v, flip);
}
// acc + b * the four signed bytes at p, in every lane; b is unsigned. Around the intrinsic gcc 12
// copies and spills every accumulator.
ATT_INLINE __m512i att_fours(__m512i acc, __m512i b, const int8_t *p) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*(const char(*)[4])p));
    return acc;
}

// The digits of 64 integers: bytes of x + 0x8080, of which the lower two are less by 0x80.
ATT_INLINE void att_digits_of(__m512i *x, __m512i *digit) {
    const __m512i middle = _mm512_set1_epi32(0x8080);
    const __m512i by_digit =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i in_order =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (int i = 0; i < 4; i++)
        x[i] =
            _mm512_shuffle_epi8(_mm512_xor_si512(_mm512_add_epi32(x[i], middle), middle), by_digit);
    __m512i a = _mm512_unpacklo_epi32(x[0], x[1]), b = _mm512_unpacklo_epi32(x[2], x[3]);
    __m512i c = _mm512_unpackhi_epi32(x[0], x[1]), d = _mm512_unpackhi_epi32(x[2], x[3]);
    digit[0] = _mm512_permutexvar_epi32(in_order, _mm512_unpacklo_epi64(a, b));
    digit[1] = _mm512_permutexvar_epi32(in_order, _mm512_unpackhi_epi64(a, b));
    digit[2] = _mm512_permutexvar_epi32(in_order, _mm512_unpacklo_epi64(c, d));
}

// Row r is n floats. False: they are not finite, or so small or large that there is no unit.
static bool att_take_digits(att_digits *d, size_t r, const float *x, size_t n) {
    __m512 top = _mm512_setzero_ps();
    __mmask16 odd = 0;
    for (size_t i = 0; i < n; i += 16) {
        __m512 v = _mm512_abs_ps(att_load(x + i, n - i));
        odd |= _mm512_cmp_ps_mask(v, _mm512_set1_ps(1e30f), _CMP_NLT_UQ);
        top = _mm512_max_ps(top, v);
    }
    float most = _mm512_reduce_max_ps(top);
    if (odd || (most > 0.0f && most < 1e-30f))
        return false;
    const __m512 factor = _mm512_set1_ps(most > 0.0f ? ATT_MOST / most : 0.0f);
    __m512i sums[ATT_DIGITS] = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                                _mm512_setzero_si512()};
    for (size_t i = 0; i < ATT_LONGEST && i < n; i += 64) {
        __m512i v[4], digit[ATT_DIGITS];
        for (size_t j = 0; j < 4; j++) {
            size_t at = i + 16 * j;
            v[j] = _mm512_setzero_si512();
            if (at < n)
                v[j] = _mm512_cvtps_epi32(_mm512_mul_ps(att_load(x + at, n - at), factor));
        }
        att_digits_of(v, digit);
        for (int p = 0; p < ATT_DIGITS; p++) {
            sums[p] = _mm512_dpbusd_epi32(sums[p], _mm512_set1_epi8(1), digit[p]);
            _mm512_storeu_si512(d->of[r][p] + i, digit[p]);
        }
    }
    for (int p = 0; p < ATT_DIGITS; p++)
        d->sums[r][p] = _mm512_reduce_add_epi32(sums[p]);
    d->unit[r] = most / ATT_MOST;
    return true;
}

ATT_INLINE __m512 att_join(const __m512i *acc) {
    __m512 v = _mm512_cvtepi32_ps(acc[0]);
    v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[1]), _mm512_set1_ps(256.0f), v);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[2]), _mm512_set1_ps(65536.0f), v);
}

ATT_INLINE void att_begin(const att_digits *d, size_t r, int32_t offset, __m512i *acc) {
#pragma GCC unroll 3
    for (int p = 0; p < ATT_DIGITS; p++)
        acc[p] = _mm512_set1_epi32(offset * d->sums[r][p]);
}

// Columns [at, at + 64) of n keys, transposed: in vector i, columns at + 4 * i on.
ATT_INLINE void att_load_keys(const att_bytes *b, size_t at, size_t n, size_t depth,
                              __m512i *keys) {
    const __m512i flip = _mm512_set1_epi8((char)b->flip);
    const uint8_t *p = b->data + at;
    if (n >= ATT_KEYS && depth - at >= 64) {
#pragma GCC unroll 16
        for (size_t i = 0; i < ATT_KEYS; i++, p += b->stride)
            keys[i] = _mm512_xor_si512(_mm512_loadu_si512(p), flip);
    } else {
        for (size_t i = 0; i < ATT_KEYS; i++)
            keys[i] = att_load_bytes(p + (i < n ? i : 0) * b->stride, depth - at, flip);
    }
    qrn_transpose_16x16(keys);
}

// Products of rows with n keys, ATT_KEYS at most: s[r * ld + i].
ATT_INLINE void att_multiply_some(const att_digits *d, const att_bytes *b, size_t n, size_t depth,
                                  float *s, size_t ld, const size_t rows) {
    __m512i acc[ATT_TOGETHER][ATT_DIGITS];
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
        att_begin(d, r, b->offset, acc[r]);
    for (size_t at = 0; at < depth; at += 64) {
        __m512i keys[ATT_KEYS];
        att_load_keys(b, at, n, depth, keys);
#pragma GCC unroll 16
        for (size_t i = 0; i < ATT_KEYS; i++)
#pragma GCC unroll 4
            for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 3
                for (int p = 0; p < ATT_DIGITS; p++)
                    acc[r][p] = att_fours(acc[r][p], keys[i], d->of[r][p] + at + 4 * i);
    }
    const __mmask16 there = n < 16 ? (__mmask16)((1u << n) - 1) : 0xffff;
    for (size_t r = 0; r < rows; r++)
        _mm512_mask_storeu_ps(
            s + r * ld, there,
            _mm512_mul_ps(att_join(acc[r]), _mm512_set1_ps(d->unit[r] * b->scale)));
}

static __attribute__((noinline)) void att_multiply_bytes(const att_digits *d, const att_bytes *b,
                                                         size_t n, size_t depth, float *s,
                                                         size_t ld, size_t rows) {
    switch (rows) {
    case 1:
        att_multiply_some(d, b, n, depth, s, ld, 1);
        break;
    case 2:
        att_multiply_some(d, b, n, depth, s, ld, 2);
        break;
    case 3:
        att_multiply_some(d, b, n, depth, s, ld, 3);
        break;
    default:
        att_multiply_some(d, b, n, depth, s, ld, 4);
        break;
    }
}

// 64 columns of four values, four values in a word: vector c of `to` has columns 16 * lane + 4 * c
// on.
ATT_INLINE void att_interleave_four(const __m512i *x, __m512i *to) {
    __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), c = _mm512_unpacklo_epi8(x[2], x[3]);
    __m512i e = _mm512_unpackhi_epi8(x[0], x[1]), g = _mm512_unpackhi_epi8(x[2], x[3]);
    to[0] = _mm512_unpacklo_epi16(a, c);
    to[1] = _mm512_unpackhi_epi16(a, c);
    to[2] = _mm512_unpacklo_epi16(e, g);
    to[3] = _mm512_unpackhi_epi16(e, g);
}

// The same of n values; `cols` are there.
static void att_interleave(const att_bytes *b, size_t n, size_t cols, __m512i (*to)[4]) {
    const __m512i flip = _mm512_set1_epi8((char)b->flip);
    const uint8_t *p = b->data;
    __m512i x[4];
    size_t j = 0;
    for (; j + 4 <= n && cols >= 64; j += 4) {
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++, p += b->stride)
            x[i] = _mm512_xor_si512(_mm512_loadu_si512(p), flip);
        att_interleave_four(x, *to++);
    }
    for (; j < n; j += 4) {
        for (size_t i = 0; i < 4; i++)
            x[i] = att_load_bytes(b->data + (j + i < n ? j + i : j) * b->stride, cols, flip);
        att_interleave_four(x, *to++);
    }
}

// y += products of row r with n interleaved values, for `cols` columns filled up to whole vectors.
// A line at each of n addresses from `ask` on (NULL: none) will be read next: asked for here, where
// time is spent, not all at once.
static void att_sum_row(const att_digits *d, size_t r, const att_bytes *b, __m512i (*v)[4],
                        size_t n, size_t cols, float *y, const char *ask, size_t ask_row) {
    __m512i acc[4][ATT_DIGITS];
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++)
        att_begin(d, r, b->offset, acc[c]);
    for (size_t j = 0; j < n; j += 4, v++) {
        for (size_t i = 0; ask && i < 4; i++, ask += ask_row)
            _mm_prefetch(ask, _MM_HINT_T0);
#pragma GCC unroll 3
        for (int p = 0; p < ATT_DIGITS; p++)
#pragma GCC unroll 4
            for (int c = 0; c < 4; c++)
                acc[c][p] = att_fours(acc[c][p], (*v)[c], d->of[r][p] + j);
    }
    __m512 a = att_join(acc[0]), c = att_join(acc[1]), e = att_join(acc[2]), g = att_join(acc[3]);
    __m512 t[4] = {_mm512_shuffle_f32x4(a, c, 0x44), _mm512_shuffle_f32x4(a, c, 0xee),
                   _mm512_shuffle_f32x4(e, g, 0x44), _mm512_shuffle_f32x4(e, g, 0xee)};
    const __m512 sum[4] = {
        _mm512_shuffle_f32x4(t[0], t[2], 0x88), _mm512_shuffle_f32x4(t[0], t[2], 0xdd),
        _mm512_shuffle_f32x4(t[1], t[3], 0x88), _mm512_shuffle_f32x4(t[1], t[3], 0xdd)};
    const __m512 unit = _mm512_set1_ps(d->unit[r] * b->scale);
    for (size_t i = 0; 16 * i < cols && i < 4; i++)
        _mm512_storeu_ps(y + 16 * i, _mm512_fmadd_ps(sum[i], unit, _mm512_loadu_ps(y + 16 * i)));
}

#endif
