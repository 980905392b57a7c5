// SPDX-License-Identifier: MIT
//
// Winograd's transformations of 8-bit convolutions (winograd8.h) in vectors of WINOGRAD8_VECTOR
// bytes, which the file that includes this one defines.
#ifndef QRN_KERNELS_GEMM_WINOGRAD8_VECTORS_H
#define QRN_KERNELS_GEMM_WINOGRAD8_VECTORS_H

#include "kernels/gemm/winograd/winograd8.h"

#include <string.h>

#define INVERSE_OF_9 0x38e38e39 // modulo 2^32
#define INLINE static inline __attribute__((always_inline))

typedef int16_t words __attribute__((vector_size(WINOGRAD8_VECTOR)));
typedef uint32_t sums __attribute__((vector_size(WINOGRAD8_VECTOR))); // unsigned: may wrap
typedef int32_t signed_sums __attribute__((vector_size(WINOGRAD8_VECTOR)));

// Some channels from number c on as words; `left` of them exist, all if 0.
INLINE words read_channels(const uint8_t *p, size_t left, const bool is_signed);

// r = Bt d; elements are `to` apart in r.
INLINE void forward(const words *d, words *r, int to) {
    words even = d[4] - (d[2] << 2), odd = d[3] - (d[1] << 2);
    words even2 = d[4] - d[2], odd2 = (d[3] - d[1]) << 1;
    r[0] = ((d[0] - d[2]) << 2) + even2;
    r[to] = even + odd;
    r[2 * to] = even - odd;
    r[3 * to] = even2 + odd2;
    r[4 * to] = even2 - odd2;
    r[5 * to] = d[5] - d[3] - (odd2 << 1);
}

// r = At m.
INLINE void backward(const sums *m, sums *r, int to) {
    sums s1 = m[1] + m[2], t1 = m[1] - m[2], s2 = m[3] + m[4], t2 = m[3] - m[4];
    r[0] = m[0] + (s1 << 2) + s2;
    r[to] = t1 + t1 + t2;
    r[2 * to] = s1 + s2;
    r[3 * to] = t2 + t2 + t1 + m[5];
}

// A vector of channels from number c on. Unsigned values count as they are: that they are 128 too
// large shows in the one matrix for which both rows of Bt have a sum other than 0.
INLINE void input_channels(const qrn_winograd8_input *t, size_t c, size_t left,
                           const bool is_signed) {
    words half[QRN_WINOGRAD_PLANES], d[QRN_WINOGRAD_WINDOW], r[QRN_WINOGRAD_WINDOW];
    int16_t *v = t->v + c;
#pragma GCC unroll 6
    for (int j = 0; j < QRN_WINOGRAD_WINDOW; j++) {
#pragma GCC unroll 6
        for (int i = 0; i < QRN_WINOGRAD_WINDOW; i++)
            d[i] = read_channels(t->cells[i * QRN_WINOGRAD_WINDOW + j] + c, left, is_signed);
        forward(d, half + j, QRN_WINOGRAD_WINDOW);
    }
#pragma GCC unroll 6
    for (int i = 0; i < QRN_WINOGRAD_WINDOW; i++) {
        forward(half + i * QRN_WINOGRAD_WINDOW, r, 1);
        if (i == 1 && !is_signed)
            r[1] -= (int16_t)(6 * 6 * 128);
#pragma GCC unroll 6
        for (int j = 0; j < QRN_WINOGRAD_WINDOW; j++, v += t->plane)
            memcpy(v, &r[j], sizeof r[j]);
    }
}

INLINE void input_tile(const qrn_winograd8_input *t, const bool is_signed) {
    const size_t lanes = WINOGRAD8_VECTOR / sizeof *t->v;
    size_t c = 0, left = t->channels % lanes;
    for (; c + lanes <= t->channels; c += lanes)
        input_channels(t, c, 0, is_signed);
    if (left)
        input_channels(t, c, left, is_signed);
}

static void transform_input(const qrn_winograd8_input *t) {
    if (t->is_signed)
        input_tile(t, true);
    else
        input_tile(t, false);
}

INLINE int32_t two_words(const int16_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// Vertically, a vector of columns from `from` on: what is left to be done are the rows of `half`,
// [4][6].
INLINE void output_columns(const qrn_winograd8_output *t, size_t from, sums *half) {
    const int32_t *at = t->m + from;
#pragma GCC unroll 6
    for (int j = 0; j < QRN_WINOGRAD_WINDOW; j++, at += t->plane) {
        sums m[QRN_WINOGRAD_WINDOW];
#pragma GCC unroll 6
        for (size_t i = 0; i < QRN_WINOGRAD_WINDOW; i++)
            memcpy(&m[i], at + i * QRN_WINOGRAD_WINDOW * t->plane, sizeof m[i]);
        backward(m, half + j, QRN_WINOGRAD_WINDOW);
    }
}

// The sums of the four cells of line i, without the column's term.
INLINE void output_line(const sums *half, const int i, signed_sums *four) {
    static const uint8_t shift[QRN_WINOGRAD_TILE] = {3, 2, 1, 1};
    sums r[QRN_WINOGRAD_TILE];
    backward(half + i * QRN_WINOGRAD_WINDOW, r, 1);
#pragma GCC unroll 4
    for (int j = 0; j < QRN_WINOGRAD_TILE; j++)
        four[j] = (signed_sums)(r[j] * INVERSE_OF_9) >> (shift[i] + shift[j]);
}

#endif
