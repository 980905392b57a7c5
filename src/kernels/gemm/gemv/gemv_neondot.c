// SPDX-License-Identifier: MIT
//
// Tiles of up to 4 rows by 8 or 16 columns for 64-bit ARM with dot products, which add four
// products of signed bytes to each of four sums. 4-bit weights stay in the high half of a byte:
// sums are 16 times what they should be until they are joined.
#include "kernels/gemm/gemv/gemv_planes.h"

#include <arm_neon.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define PLANES QRN_GEMV_PLANES
#define QUADS 4                              // registers of columns of a tile at most
#define HALF_STEP (QRN_GEMV_STEP / 2)        // elements of a dot product
#define STEP_WEIGHTS (QRN_PANEL * HALF_STEP) // of a panel in half a step
#define AHEAD 1024 // bytes of weights that are asked for before they are needed

// --- rows

// Bits of the largest magnitude of n floats, a multiple of 4.
static uint32_t largest(const float *x, size_t n) {
    uint32x4_t top = vdupq_n_u32(0);
    for (size_t i = 0; i < n; i += 4)
        top = vmaxq_u32(top, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
    return vmaxvq_u32(top);
}

// 2^n as a float, -126 <= n <= 127.
INLINE float power_of_two(int n) {
    uint32_t bits = (uint32_t)(n + 127) << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// Eight integers as the signed bytes of n planes.
INLINE void put_planes(int32x4_t first, int32x4_t second, const bool nibbles, const int n,
                       int8_t *to) {
    static const uint8_t even_first[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    const int32x4_t middle = vdupq_n_s32(0x808080); // carries what a signed byte lacks
    int16x8_t a = vreinterpretq_s16_s32(veorq_s32(vaddq_s32(first, middle), middle));
    int16x8_t b = vreinterpretq_s16_s32(veorq_s32(vaddq_s32(second, middle), middle));
    int16x8_t low = vuzp1q_s16(a, b);
    int8x8_t plane[PLANES] = {vmovn_s16(low), vshrn_n_s16(low, 8), vmovn_s16(vuzp2q_s16(a, b))};
#pragma GCC unroll 3
    for (int p = 0; p < n; p++)
        vst1_s8(to + p * QRN_GEMV_STEP,
                nibbles ? vtbl1_s8(plane[p], vld1_s8((const int8_t *)even_first)) : plane[p]);
}

INLINE bool write_planes(const qrn_gemv_panel *b, const int n_planes, const bool nibbles,
                         const float *x, int8_t *planes, qrn_gemv_run *runs) {
    const float largest_sum = n_planes == 3 ? 8355711.0f : 32639.0f; // signed bytes of 127
    for (size_t k0 = 0; k0 < b->depth; k0 += b->run, runs++) {
        size_t end = b->depth - k0 < b->run ? b->depth : k0 + b->run;
        uint32_t bits = largest(x + k0, end - k0);
        int power = (int)(bits >> 23) - 126; // the largest one is below 2^power
        float top;
        memcpy(&top, &bits, sizeof top);
        if (bits != 0 && (power < -64 || power > 64))
            return false;
        int up = bits == 0 ? 0 : 8 * n_planes - 1 - power;
        up -= top * power_of_two(up) > largest_sum;
        const float factor = power_of_two(up);
        int64x2_t sum = vdupq_n_s64(0);
        for (size_t k = k0; k < end; k += QRN_GEMV_STEP, planes += n_planes * QRN_GEMV_STEP) {
            int32x4_t first = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + k), factor));
            int32x4_t second = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + k + 4), factor));
            put_planes(first, second, nibbles, n_planes, planes);
            sum = vpadalq_s32(vpadalq_s32(sum, first), second);
        }
        *runs = (qrn_gemv_run){.sum = (float)vaddvq_s64(sum), .scale = power_of_two(-up)};
    }
    return true;
}

bool qrn_gemv_planes_neondot(const qrn_gemv_panel *b, const float *x, int8_t *planes,
                             qrn_gemv_run *runs) {
    if (b->w_bits == 4)
        return b->planes == 2 ? write_planes(b, 2, true, x, planes, runs)
                              : write_planes(b, 3, true, x, planes, runs);
    return b->planes == 2 ? write_planes(b, 2, false, x, planes, runs)
                          : write_planes(b, 3, false, x, planes, runs);
}

// --- tiles

// A step of 8 elements of a row, in planes.
typedef struct step_of_row {
    int8x16_t two; // of the first two planes, half a step each
    int8x16_t third;
} step_of_row;

INLINE step_of_row load_row(const int8_t *a, const int planes) {
    step_of_row x = {vld1q_s8(a), vdupq_n_s8(0)};
    if (planes == 3)
        x.third = vcombine_s8(vld1_s8(a + 16), vdup_n_s8(0));
    return x;
}

// Adds the products of a step of a row and four columns.
INLINE void add_step(const step_of_row *x, const int planes, int8x16_t first, int8x16_t second,
                     int32x4_t *acc) {
    acc[0] = vdotq_laneq_s32(vdotq_laneq_s32(acc[0], first, x->two, 0), second, x->two, 1);
    acc[1] = vdotq_laneq_s32(vdotq_laneq_s32(acc[1], first, x->two, 2), second, x->two, 3);
    if (planes == 3)
        acc[2] = vdotq_laneq_s32(vdotq_laneq_s32(acc[2], first, x->third, 0), second, x->third, 1);
}

// Weights of a step and n quads of columns: of the first half step and of the second one, or
// elements 0 2 4 6 and 1 3 5 7 in the high half of each byte.
INLINE void load_weights(const int8_t *w, const bool nibbles, const int n, int8x16_t (*u)[2]) {
    const int8x16_t high = vdupq_n_s8((int8_t)0xf0);
    if (!nibbles) {
#pragma GCC unroll 4
        for (int q = 0; q < n; q++)
            u[q][0] = vld1q_s8(w + 16 * q), u[q][1] = vld1q_s8(w + 16 * q + STEP_WEIGHTS);
        return;
    }
#pragma GCC unroll 2
    for (int q = 0; q < n; q += 2, w += 16) {
        int16x8_t a = vreinterpretq_s16_s8(vld1q_s8(w));
        int16x8_t b = vreinterpretq_s16_s8(vld1q_s8(w + STEP_WEIGHTS / 2));
        int8x16_t v[2] = {vreinterpretq_s8_s16(vzip1q_s16(a, b)),
                          vreinterpretq_s8_s16(vzip2q_s16(a, b))};
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++)
            u[q + i][0] = vshlq_n_s8(v[i], 4), u[q + i][1] = vandq_s8(v[i], high);
    }
}

INLINE float32x4_t load_scale(const qrn_gemv_panel *b, size_t at) {
    if (b->fp16_scales)
        return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)b->scales + at)));
    return vld1q_f32((const float *)b->scales + at);
}

INLINE float32x4_t load_offset(const int8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    int16x8_t wide = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}

// The sum of a run. whole: it fits 32 bits.
INLINE float32x4_t join_planes(const int32x4_t *acc, const int planes, const bool nibbles,
                               const bool whole) {
    int32x4_t part[PLANES];
#pragma GCC unroll 3
    for (int p = 0; p < planes; p++)
        part[p] = nibbles ? vshrq_n_s32(acc[p], 4) : acc[p];
    if (whole) {
        int32x4_t sum = vaddq_s32(vshlq_n_s32(part[1], 8), part[0]);
        return vcvtq_f32_s32(planes == 3 ? vaddq_s32(vshlq_n_s32(part[2], 16), sum) : sum);
    }
    float32x4_t sum = vcvtq_f32_s32(part[planes - 1]);
#pragma GCC unroll 2
    for (int p = planes - 2; p >= 0; p--)
        sum = vfmaq_n_f32(vcvtq_f32_s32(part[p]), sum, 256.0f);
    return sum;
}

INLINE void write_row(const qrn_gemv_strip *t, int r, size_t first, const int n,
                      const float32x4_t *total) {
    float part[4 * QUADS], *c = t->c + (size_t)r * t->c_row + first;
    size_t left = t->cols - first, cols = left < 4 * (size_t)n ? left : 4 * (size_t)n;
    for (int q = 0; q < n; q++)
        vst1q_f32(part + 4 * q, total[q]);
    for (size_t j = 0; j < cols && t->bias; j++)
        part[j] += t->bias[first + j];
    for (size_t j = 0; j < cols && t->clamp; j++)
        part[j] = QRN_CLAMPED(part[j], t->clamp);
    memcpy(c, part, cols * sizeof *c);
}

// n quads of columns from `first` on.
INLINE void tile(const qrn_gemv_strip *t, const qrn_gemv_rows *x, size_t first, const int n,
                 const int rows, const int planes, const bool nibbles, const bool whole) {
    const size_t column_bytes = nibbles ? HALF_STEP / 2 : HALF_STEP;
    const size_t step_bytes = 2 * QRN_PANEL * column_bytes;
    const size_t row = qrn_gemv_row_bytes(t->b.depth, (uint32_t)planes);
    const int8_t *w = t->b.w + first * column_bytes, *a = x->planes;
    const qrn_gemv_run *run = x->runs;
    float32x4_t total[QRN_GEMV_ROWS][QUADS];
    for (int i = 0; i < rows * n; i++)
        total[i / n][i % n] = vdupq_n_f32(0.0f);
    for (size_t k0 = 0, at = first; k0 < t->b.depth; k0 += t->b.run, at += QRN_PANEL, run++) {
        size_t end = t->b.depth - k0 < t->b.run ? t->b.depth : k0 + t->b.run;
        int32x4_t acc[QRN_GEMV_ROWS][QUADS][PLANES];
#pragma GCC unroll 24
        for (int i = 0; i < rows * n; i++)
            acc[i / n][i % n][0] = acc[i / n][i % n][1] = acc[i / n][i % n][2] = vdupq_n_s32(0);
        for (size_t k = k0; k < end; k += QRN_GEMV_STEP, w += step_bytes) {
            int8x16_t u[QUADS][2];
            __builtin_prefetch(w + AHEAD, 0, 3);
            load_weights(w, nibbles, n, u);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                step_of_row of = load_row(a + (size_t)r * row, planes);
#pragma GCC unroll 4
                for (int q = 0; q < n; q++)
                    add_step(&of, planes, u[q][0], u[q][1], acc[r][q]);
            }
            a += planes * QRN_GEMV_STEP;
        }
#pragma GCC unroll 4
        for (int q = 0; q < n; q++) {
            float32x4_t scale = load_scale(&t->b, at + 4 * (size_t)q);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                const qrn_gemv_run *of = run + (size_t)r * t->runs;
                float32x4_t sum = join_planes(acc[r][q], planes, nibbles, whole);
                if (t->b.offsets)
                    sum = vfmaq_n_f32(sum, load_offset(t->b.offsets + at + 4 * q), of->sum);
                total[r][q] = vfmaq_f32(total[r][q], vmulq_n_f32(sum, of->scale), scale);
            }
        }
    }
    for (int r = 0; r < rows; r++)
        write_row(t, r, first, n, total[r]);
}

// Sums of a tile take 24 registers at most.
INLINE void tiles(const qrn_gemv_strip *t, const qrn_gemv_rows *x, const int rows, const int planes,
                  const bool nibbles) {
    const int n = rows * planes * QUADS <= 24 ? QUADS : QUADS / 2;
    const bool whole = qrn_gemv_fits_32(&t->b, (uint32_t)planes);
    for (size_t first = 0; first < t->cols; first += 4 * (size_t)n)
        if (whole)
            tile(t, x, first, n, rows, planes, nibbles, true);
        else
            tile(t, x, first, n, rows, planes, nibbles, false);
}

#define ROWS(n)                                                                                    \
    case n:                                                                                        \
        tiles(t, x, n, planes, nibbles);                                                           \
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

void qrn_gemv_products_neondot(const qrn_gemv_strip *t, const qrn_gemv_rows *x) {
    bool nibbles = t->b.w_bits == 4;
    if (t->b.planes == 2)
        (nibbles ? products_16_4 : products_16_8)(t, x);
    else
        (nibbles ? products_24_4 : products_24_8)(t, x);
}
