// SPDX-License-Identifier: MIT
//
// Packing of 8-bit weights and the reference tile.
#include "kernels/gemm/tiles/gemm_q8.h"

#include <string.h>

// Any strides and any size.
static void pack_some(const uint8_t *w, size_t w_depth, size_t w_col, size_t depth, size_t n,
                      uint8_t flip, int8_t *dst) {
    memset(dst, 0, qrn_q8_steps(depth) * QRN_PANEL * QRN_Q8_DEPTH);
    for (size_t k = 0; k < depth; k++)
        for (size_t j = 0; j < n; j++)
            dst[(k / QRN_Q8_DEPTH * QRN_PANEL + j) * QRN_Q8_DEPTH + k % QRN_Q8_DEPTH] =
                (int8_t)(w[k * w_depth + j * w_col] ^ flip);
}

_Static_assert(QRN_Q8_DEPTH == 4, "four bytes of a column are a word");

// Whole steps of a whole panel, whose columns lie side by side.
static void weave_rows(const uint8_t *w, size_t w_depth, size_t steps, uint8_t flip, int8_t *dst) {
    for (size_t s = 0; s < steps; s++, w += 4 * w_depth, dst += 4 * QRN_PANEL) {
        const uint8_t *r0 = w, *r1 = w + w_depth, *r2 = r1 + w_depth, *r3 = r2 + w_depth;
        for (size_t j = 0; j < QRN_PANEL; j++) {
            dst[4 * j] = (int8_t)(r0[j] ^ flip);
            dst[4 * j + 1] = (int8_t)(r1[j] ^ flip);
            dst[4 * j + 2] = (int8_t)(r2[j] ^ flip);
            dst[4 * j + 3] = (int8_t)(r3[j] ^ flip);
        }
    }
}

// The same where what belongs to a column lies together: words are transposed.
static void weave_columns(const uint8_t *w, size_t w_col, size_t steps, uint8_t flip, int8_t *dst) {
    uint32_t flips = flip * 0x01010101u;
    for (size_t s = 0; s < steps; s++, w += 4, dst += 4 * QRN_PANEL)
        for (size_t j = 0; j < QRN_PANEL; j++) {
            uint32_t word;
            memcpy(&word, w + j * w_col, sizeof word);
            word ^= flips;
            memcpy(dst + 4 * j, &word, sizeof word);
        }
}

void qrn_gemm_q8_pack_panel(const uint8_t *w, size_t w_depth, size_t w_col, size_t depth,
                            size_t cols, size_t first, uint8_t flip, int8_t *dst) {
    size_t n = cols - first < QRN_PANEL ? cols - first : QRN_PANEL;
    size_t steps = n == QRN_PANEL && (w_col == 1 || w_depth == 1) ? depth / 32 * 8 : 0;
    w += first * w_col; // what is padded is left to pack_some
    if (steps && w_col == 1)
        weave_rows(w, w_depth, steps, flip, dst);
    else if (steps)
        weave_columns(w, w_col, steps, flip, dst);
    if (4 * steps < depth)
        pack_some(w + 4 * steps * w_depth, w_depth, w_col, depth - 4 * steps, n, flip,
                  dst + 4 * steps * QRN_PANEL);
}

static void tile_ref(const qrn_gemm_q8_tile *t) {
    for (uint32_t i = 0; i < t->rows; i++) {
        uint32_t acc[QRN_PANEL]; // unsigned: may wrap
        for (uint32_t j = 0; j < QRN_PANEL; j++)
            acc[j] = (uint32_t)t->column[j] + (t->row ? (uint32_t)t->row[i] : 0);
        for (size_t s = 0; s < t->steps; s++) {
            const uint8_t *a = t->a + i * t->a_row + s * QRN_Q8_DEPTH;
            const int8_t *b = t->b + s * QRN_PANEL * QRN_Q8_DEPTH;
            for (uint32_t j = 0; j < QRN_PANEL; j++, b += QRN_Q8_DEPTH)
                acc[j] += (uint32_t)(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
        }
        for (uint32_t j = 0; j < t->cols; j++) {
            if (t->acc)
                t->acc[i * QRN_PANEL + j] = (int32_t)acc[j];
            else
                t->y[i * t->y_row + j] = qrn_requant8_exact(t->requant, j, (int32_t)acc[j]);
        }
    }
}

void qrn_gemm_q8_row_sums(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                          int32_t *sums) {
    for (size_t i = 0; i < rows; i++, a += a_row) {
        uint32_t sum = 0;
        for (size_t c = 0; c < depth; c++)
            sum += a[c];
        sums[i] = (int32_t)(sum * (uint32_t)factor);
    }
}

const qrn_gemm_q8_kernel qrn_gemm_q8_ref = {.name = "gemm_q8_ref",
                                            .rows = 1,
                                            .tile = tile_ref,
                                            .row_sums = qrn_gemm_q8_row_sums,
                                            .copy = qrn_dense_copy};
