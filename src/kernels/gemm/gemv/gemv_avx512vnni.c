// SPDX-License-Identifier: MIT
//
// Tiles of up to 4 rows by 32 columns for AVX-512 VNNI, which adds four products of bytes to each
// of 16 sums. Weights become unsigned bytes: 8 or 128 is added, and what that adds to a sum is
// there from the start, negative. 4-bit weights of two steps are put side by side; vectors then
// have every other 4 columns, and so do scales and totals until the end.
#include "kernels/gemm/gemv/gemv_planes.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define PLANES QRN_GEMV_PLANES

// Bytes of weights, and of scales, that are asked for before they are needed. A step of 8 elements
// takes about 30 instructions: the CPU's window holds too few loads to keep the memory busy.
// Measured on Zen 5 with 4-bit matrices of 576x576, into the second cache: 35 GB/s without, 37
// with 4 KiB, 44 with 8 and 12 KiB, 42 with 16 KiB.
#define AHEAD 8192
#define SCALES_AHEAD 4096

// --- rows

// 16 integers, each with 128 added to each of its signed bytes, as n planes of two steps.
INLINE void put_planes(__m512i shifted, const bool nibbles, const int n, int8_t *to) {
    // Bytes of a plane of four integers side by side, then those of a step.
    const __m512i bytes = _mm512_broadcast_i32x4(
        nibbles ? _mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15)
                : _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    // Pairs of bytes: of plane p they are number 2 * p and 2 * p + 1 of each 8.
    static const uint16_t three_even[32] = {0,  8,  1,  9,  2,  10, 3,  11, 4,  12, 5,  13,
                                            16, 24, 17, 25, 18, 26, 19, 27, 20, 28, 21, 29},
                          three[32] = {0,  1,  8,  9,  2,  3,  10, 11, 4,  5,  12, 13,
                                       16, 17, 24, 25, 18, 19, 26, 27, 20, 21, 28, 29},
                          two_even[32] = {0, 8, 1, 9, 2, 10, 3, 11, 16, 24, 17, 25, 18, 26, 19, 27},
                          two[32] = {0, 1, 8, 9, 2, 3, 10, 11, 16, 17, 24, 25, 18, 19, 26, 27};
    const uint16_t *order = n == 3 ? (nibbles ? three_even : three) : nibbles ? two_even : two;
    __m512i v = _mm512_xor_si512(shifted, _mm512_set1_epi8((char)0x80));
    v = _mm512_permutexvar_epi16(_mm512_loadu_si512(order), _mm512_shuffle_epi8(v, bytes));
    _mm512_mask_storeu_epi16(to, n == 3 ? 0xffffff : 0xffff, v);
}

// Adds the signed bytes of each plane.
INLINE void add_bytes(__m512i shifted, const int n, __m512i *sums) {
    const __m512i middle = _mm512_set1_epi32(128), byte = _mm512_set1_epi32(255);
    for (int p = 0; p < n; p++) {
        __m512i d = _mm512_and_si512(_mm512_srli_epi32(shifted, 8 * (unsigned)p), byte);
        sums[p] = _mm512_add_epi32(sums[p], _mm512_sub_epi32(d, middle));
    }
}

// Bits of the largest magnitude of n floats.
static uint32_t largest(const float *x, size_t n) {
    const __m512i bits = _mm512_set1_epi32(INT32_MAX);
    __m512i top = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
        __m512i v = _mm512_and_si512(_mm512_maskz_loadu_epi32(m, x + i), bits);
        top = _mm512_max_epu32(top, v);
    }
    return _mm512_reduce_max_epu32(top);
}

// 2^n as a float, -126 <= n <= 127.
INLINE float power_of_two(int n) {
    uint32_t bits = (uint32_t)(n + 127) << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

INLINE bool write_planes(const qrn_gemv_panel *b, const int n_planes, const float *x,
                         int8_t *planes, qrn_gemv_run *runs) {
    const int32_t shift = b->w_bits == 4 ? 8 : 128;
    const bool whole = qrn_gemv_fits_32(b, (uint32_t)n_planes);
    const float largest_sum = n_planes == 3 ? 8355711.0f : 32639.0f; // signed bytes of 127
    for (size_t k0 = 0; k0 < b->depth; k0 += b->run, runs++) {
        size_t n = b->depth - k0 < b->run ? b->depth - k0 : b->run;
        uint32_t bits = largest(x + k0, n);
        int power = (int)(bits >> 23) - 126; // the largest one is below 2^power
        float top;
        memcpy(&top, &bits, sizeof top);
        if (bits != 0 && (power < -64 || power > 64))
            return false;
        int up = bits == 0 ? 0 : 8 * n_planes - 1 - power;
        up -= top * power_of_two(up) > largest_sum;
        __m512i sums[PLANES] = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                                _mm512_setzero_si512()};
        const __m512 factor = _mm512_set1_ps(power_of_two(up));
        for (size_t k = 0; k < n; k += 16) {
            __mmask16 m = n - k < 16 ? 0xff : 0xffff;
            __m512i v = _mm512_cvtps_epi32(_mm512_maskz_loadu_ps(m, x + k0 + k) * factor);
            __m512i shifted =
                _mm512_add_epi32(v, _mm512_set1_epi32(n_planes == 3 ? 0x808080 : 0x8080));
            int8_t last[2 * PLANES * QRN_GEMV_STEP], *to = planes + (k0 + k) * (size_t)n_planes;
            put_planes(shifted, b->w_bits == 4, n_planes, n - k < 16 ? last : to);
            if (n - k < 16)
                memcpy(to, last, (size_t)n_planes * QRN_GEMV_STEP);
            if (whole)
                sums[0] = _mm512_add_epi32(sums[0], v);
            else
                add_bytes(shifted, n_planes, sums);
        }
        double sum = 0;
        for (int p = n_planes; p-- > 0;) { // of whole sums the first plane has all
            int32_t of_plane = whole && p ? 0 : _mm512_reduce_add_epi32(sums[p]);
            runs->first[p] = -shift * of_plane;
            sum = 256 * sum + of_plane;
        }
        runs->sum = (float)sum;
        runs->scale = power_of_two(-up);
    }
    return true;
}

bool qrn_gemv_planes_avx512vnni(const qrn_gemv_panel *b, const float *x, int8_t *planes,
                                qrn_gemv_run *runs) {
    return b->planes == 2 ? write_planes(b, 2, x, planes, runs)
                          : write_planes(b, 3, x, planes, runs);
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

// 8 elements of 32 columns: u[0], u[1] are multiplied with the first four bytes of a plane, u[2]
// and u[3] with the others.
INLINE void load_step(const int8_t *w, const bool nibbles, __m512i u[4]) {
    const __m512i flip = _mm512_set1_epi8((char)(nibbles ? 0x88 : 0x80));
    const __m512i low = _mm512_set1_epi8(0x0f);
    if (!nibbles) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            u[i] = _mm512_xor_si512(_mm512_loadu_si512(w + 64 * i), flip);
        return;
    }
    __m512i a = _mm512_loadu_si512(w), b = _mm512_loadu_si512(w + 64);
    __m512i v[2] = {_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)};
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) { // (v ^ flip) & low
        u[i] = _mm512_ternarylogic_epi32(v[i], flip, low, 0x28);
        u[2 + i] = _mm512_ternarylogic_epi32(_mm512_srli_epi16(v[i], 4), flip, low, 0x28);
    }
}

// Scales of 32 columns, in the order of the sums.
INLINE void load_scales(const qrn_gemv_panel *b, size_t at, const bool nibbles, __m512 s[2]) {
    if (b->fp16_scales) {
        __m512i h = _mm512_loadu_si512((const uint16_t *)b->scales + at);
        if (nibbles)
            h = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), h);
        s[0] = _mm512_cvtph_ps(_mm512_castsi512_si256(h));
        s[1] = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(h, 1));
        return;
    }
    __m512 x = _mm512_loadu_ps((const float *)b->scales + at);
    __m512 y = _mm512_loadu_ps((const float *)b->scales + at + 16);
    s[0] = nibbles ? _mm512_shuffle_f32x4(x, y, 0x88) : x;
    s[1] = nibbles ? _mm512_shuffle_f32x4(x, y, 0xdd) : y;
}

INLINE void load_offsets(const int8_t *offsets, const bool nibbles, __m512 o[2]) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)offsets);
    if (nibbles)
        v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    o[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_castsi256_si128(v)));
    o[1] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(v, 1)));
}

// Asks for the lines of a step, or of the scales of a run.
INLINE void ask(const void *soon, const size_t bytes) {
#pragma GCC unroll 4
    for (size_t line = 0; line < bytes; line += 64)
        __builtin_prefetch((const char *)soon + line, 0, 2);
}

INLINE void ask_scales(const qrn_gemv_panel *b, size_t at) {
    if (b->fp16_scales)
        ask((const char *)((const uint16_t *)b->scales + at) + SCALES_AHEAD, QRN_PANEL * 2);
    else
        ask((const char *)((const float *)b->scales + at) + SCALES_AHEAD, QRN_PANEL * 4);
}

// The sum of a run as a float.
INLINE __m512 join_planes(const int planes, const bool whole, __m512i acc[PLANES][2], int v) {
    const __m512 next = _mm512_set1_ps(256.0f);
    if (whole) {
        __m512i sum = acc[planes - 1][v];
#pragma GCC unroll 2
        for (int p = planes - 2; p >= 0; p--)
            sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), acc[p][v]);
        return _mm512_cvtepi32_ps(sum);
    }
    __m512 sum = _mm512_cvtepi32_ps(acc[planes - 1][v]);
#pragma GCC unroll 2
    for (int p = planes - 2; p >= 0; p--)
        sum = _mm512_fmadd_ps(sum, next, _mm512_cvtepi32_ps(acc[p][v]));
    return sum;
}

// The sums of a run, scaled, go to the totals.
INLINE void end_run(const qrn_gemv_strip *t, const qrn_gemv_run *run, size_t at, const int rows,
                    const int planes, const bool nibbles, const bool whole,
                    __m512i acc[][PLANES][2], __m512 total[][2]) {
    __m512 scale[2], offset[2];
    ask_scales(&t->b, at * QRN_PANEL);
    load_scales(&t->b, at * QRN_PANEL, nibbles, scale);
    if (t->b.offsets)
        load_offsets(t->b.offsets + at * QRN_PANEL, nibbles, offset);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            const qrn_gemv_run *x = run + (size_t)r * t->runs;
            __m512 sum = join_planes(planes, whole, acc[r], v);
            if (t->b.offsets)
                sum = _mm512_fmadd_ps(offset[v], _mm512_set1_ps(x->sum), sum);
            total[r][v] = _mm512_fmadd_ps(sum * _mm512_set1_ps(x->scale), scale[v], total[r][v]);
        }
}

INLINE void write_row(const qrn_gemv_strip *t, int r, const bool nibbles, const __m512 total[2]) {
    float part[QRN_PANEL], *c = t->c + (size_t)r * t->c_row;
    __m512 a = total[0], b = total[1];
    if (nibbles) {
        __m512 x = _mm512_shuffle_f32x4(a, b, 0x44), y = _mm512_shuffle_f32x4(a, b, 0xee);
        a = _mm512_shuffle_f32x4(x, x, 0xd8);
        b = _mm512_shuffle_f32x4(y, y, 0xd8);
    }
    _mm512_storeu_ps(part, a);
    _mm512_storeu_ps(part + 16, b);
    for (size_t j = 0; j < t->cols && t->bias; j++)
        part[j] += t->bias[j];
    for (size_t j = 0; j < t->cols && t->clamp; j++)
        part[j] = QRN_CLAMPED(part[j], t->clamp);
    memcpy(c, part, t->cols * sizeof *c);
}

INLINE void tile(const qrn_gemv_strip *t, const qrn_gemv_rows *x, const int rows, const int planes,
                 const bool nibbles) {
    const size_t step_bytes = nibbles ? 128 : 256;
    const size_t row = qrn_gemv_row_bytes(t->b.depth, (uint32_t)planes);
    const int8_t *w = t->b.w, *a = x->planes;
    const qrn_gemv_run *run = x->runs;
    const bool whole = qrn_gemv_fits_32(&t->b, (uint32_t)planes);
    __m512 total[QRN_GEMV_ROWS][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        total[r][0] = total[r][1] = _mm512_setzero_ps();
    for (size_t k0 = 0, at = 0; k0 < t->b.depth; k0 += t->b.run, at++, run++) {
        size_t end = t->b.depth - k0 < t->b.run ? t->b.depth : k0 + t->b.run;
        __m512i acc[QRN_GEMV_ROWS][PLANES][2];
#pragma GCC unroll 12
        for (int i = 0; i < rows * planes; i++)
            acc[i / planes][i % planes][0] = acc[i / planes][i % planes][1] =
                _mm512_set1_epi32(run[(size_t)(i / planes) * t->runs].first[i % planes]);
        for (size_t k = k0; k < end; k += QRN_GEMV_STEP) {
            __m512i u[4];
            ask(w + AHEAD, step_bytes);
            load_step(w, nibbles, u);
#pragma GCC unroll 12
            for (int i = 0; i < rows * planes; i++) {
                const int8_t *p = a + (size_t)(i / planes) * row + i % planes * QRN_GEMV_STEP;
                __m512i first = four_bytes(p), second = four_bytes(p + 4);
                __m512i *sum = acc[i / planes][i % planes];
                sum[0] = dot(dot(sum[0], u[0], first), u[2], second);
                sum[1] = dot(dot(sum[1], u[1], first), u[3], second);
            }
            w += step_bytes;
            a += planes * QRN_GEMV_STEP;
        }
        if (whole)
            end_run(t, run, at, rows, planes, nibbles, true, acc, total);
        else
            end_run(t, run, at, rows, planes, nibbles, false, acc, total);
    }
    for (int r = 0; r < rows; r++)
        write_row(t, r, nibbles, total[r]);
}

#define ROWS(n)                                                                                    \
    case n:                                                                                        \
        tile(t, x, n, planes, nibbles);                                                            \
        break

INLINE void products(const qrn_gemv_strip *t, const qrn_gemv_rows *x, const int planes,
                     const bool nibbles) {
    switch (t->rows) {
        ROWS(1);
        ROWS(2);
        ROWS(3);
        ROWS(4);
    default:
        break;
    }
}

#define PRODUCTS(name, planes, nibbles)                                                            \
    static __attribute__((noinline)) void name(const qrn_gemv_strip *t, const qrn_gemv_rows *x) {  \
        products(t, x, planes, nibbles);                                                           \
    }
PRODUCTS(products_24_4, 3, true)
PRODUCTS(products_24_8, 3, false)
PRODUCTS(products_16_4, 2, true)
PRODUCTS(products_16_8, 2, false)

void qrn_gemv_products_avx512vnni(const qrn_gemv_strip *t, const qrn_gemv_rows *x) {
    bool nibbles = t->b.w_bits == 4;
    if (t->b.planes == 2)
        (nibbles ? products_16_4 : products_16_8)(t, x);
    else
        (nibbles ? products_24_4 : products_24_8)(t, x);
}
