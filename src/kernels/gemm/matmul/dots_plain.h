// SPDX-License-Identifier: MIT
//
// dots.h in loops that compilers vectorise.
#ifndef QRN_KERNELS_GEMM_MATMUL_DOTS_PLAIN_H
#define QRN_KERNELS_GEMM_MATMUL_DOTS_PLAIN_H

#include "kernels/gemm/matmul/dots.h"

#include <string.h>

// Elements [at, at + n) of b as words, and zeros up to `room`.
static inline void dots_load(const qrn_dots *d, const void *b, size_t at, size_t n, int16_t *to,
                             size_t room) {
    const uint8_t *bytes = (const uint8_t *)b + at, flip8 = (uint8_t)d->b_flip;
    const uint16_t *words = (const uint16_t *)b + at, flip = d->b_flip;
    if (d->bytes)
        for (size_t i = 0; i < n; i++)
            to[i] = (uint8_t)(bytes[i] ^ flip8);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = (int16_t)(words[i] ^ flip);
    memset(to + n, 0, (room - n) * sizeof *to);
}

static void qrn_dots_take(qrn_dots *d, size_t r, const uint16_t *a, size_t step) {
    int16_t *first = d->a + d->planes * r * d->row, *second = first + d->row;
    int64_t sum = 0;
    memset(first, 0, d->planes * d->row * sizeof *first);
    for (size_t i = 0; i < d->depth; i++) {
        int16_t v = (int16_t)(a[i * step] ^ d->a_flip);
        first[i] = d->planes == 1 ? v : (int16_t)(v & 0xff);
        if (d->planes == 2)
            second[i] = (int16_t)(v >> 8);
        sum += v;
    }
    d->row_term[r] = d->b_offset * (double)sum + (double)d->depth * d->a_offset * d->b_offset;
}

static inline uint16_t dots_result(const qrn_dots *d, double sum, double columns, size_t row) {
    sum = sum + columns * d->per_column + d->row_term[row]; // whole numbers below 2^52
    return (uint16_t)qrn_requant_clamp(&d->out, floor(fma(sum, d->out.m, d->out.zero_half)));
}

// Whole vectors of products.
static inline int32_t dots_dot(const int16_t *a, const int16_t *b, size_t n) {
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (int32_t)a[i] * (int32_t)b[i];
    return sum;
}

static void qrn_dots_keys(const qrn_dots *d, const void *b, size_t stride, size_t n, uint16_t *y,
                          size_t ld) {
    size_t whole = (d->depth + QRN_DOTS_VECTOR - 1) / QRN_DOTS_VECTOR * QRN_DOTS_VECTOR;
    int16_t key[QRN_DOTS_DEPTH], ones[QRN_DOTS_DEPTH];
    for (size_t i = 0; i < QRN_DOTS_DEPTH; i++)
        ones[i] = 1;
    for (size_t i = 0; i < n; i++) {
        dots_load(d, b, i * stride, d->depth, key, whole);
        double columns = dots_dot(ones, key, whole);
        for (size_t r = 0; r < d->rows; r++) {
            const int16_t *a = d->a + d->planes * r * d->row;
            double sum = dots_dot(a, key, whole);
            if (d->planes == 2)
                sum += 256.0 * dots_dot(a + d->row, key, whole);
            y[r * ld + i] = dots_result(d, sum, columns, r);
        }
    }
}

static void qrn_dots_add(const qrn_dots *d, size_t first, size_t n, const void *b, size_t stride,
                         size_t cols, qrn_dots_sums *t) {
    const size_t n_rows = d->planes * d->rows;
    for (size_t at = 0; at < n; at += QRN_DOTS_DEPTH) {
        size_t end = n - at < QRN_DOTS_DEPTH ? n : at + QRN_DOTS_DEPTH;
        int32_t acc[2 * QRN_DOTS_ROWS][QRN_DOTS_COLS] = {0}, sum[QRN_DOTS_COLS] = {0};
        for (size_t i = at; i < end; i++) {
            int16_t v[QRN_DOTS_COLS];
            dots_load(d, b, i * stride, cols, v, QRN_DOTS_COLS);
            for (size_t c = 0; c < QRN_DOTS_COLS; c++)
                sum[c] += v[c];
            for (size_t r = 0; r < n_rows; r++) {
                const int32_t a = d->a[r * d->row + first + i];
                for (size_t c = 0; c < QRN_DOTS_COLS; c++)
                    acc[r][c] += a * v[c];
            }
        }
        for (size_t c = 0; c < QRN_DOTS_COLS; c++)
            t->columns[c] += sum[c];
        for (size_t r = 0; r < n_rows; r++)
            for (size_t c = 0; c < QRN_DOTS_COLS; c++)
                t->of[r / d->planes][c] += (r % d->planes ? 256.0 : 1.0) * acc[r][c];
    }
}

static void qrn_dots_finish(const qrn_dots *d, const qrn_dots_sums *t, size_t r, size_t cols,
                            uint16_t *y) {
    for (size_t i = 0; i < cols; i++)
        y[i] = dots_result(d, t->of[r][i], t->columns[i], r);
}

#endif
