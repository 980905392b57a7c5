// SPDX-License-Identifier: MIT
//
// Packing, the loops around the register tile, and the reference tile.
#include "kernels/gemm/gemm_f32.h"

#include <string.h>

// Elements of a that stay in the second cache while all panels pass by.
#define A_BLOCK_ELEMENTS (48 * 1024)

void qrn_gemm_f32_pack_panel(const float *b, size_t b_depth, size_t b_col, size_t depth,
                             size_t cols, size_t first, float *dst) {
    size_t n = cols - first < QRN_PANEL ? cols - first : QRN_PANEL;
    b += first * b_col;
    for (size_t k = 0; k < depth; k++, dst += QRN_PANEL) {
        if (b_col == 1 && n == QRN_PANEL) {
            memcpy(dst, b + k * b_depth, QRN_PANEL * sizeof *dst);
            continue;
        }
        for (size_t j = 0; j < n; j++)
            dst[j] = b[k * b_depth + j * b_col];
        for (size_t j = n; j < QRN_PANEL; j++)
            dst[j] = 0.0f;
    }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// All panels over rows [r0, r0 + rows) and depth [k0, k0 + depth).
static void run_stretch(const qrn_gemm_f32_kernel *kernel, const qrn_gemm_f32_block *g, size_t r0,
                        size_t rows, size_t k0, size_t depth) {
    for (size_t j = 0; j < g->cols; j += QRN_PANEL)
        for (size_t r = 0; r < rows; r += kernel->rows) {
            qrn_gemm_f32_tile t = {.a = g->a + (r0 + r) * g->a_row + k0,
                                   .a_row = g->a_row,
                                   .b = g->b + j * g->depth + k0 * QRN_PANEL,
                                   .depth = depth,
                                   .bias = g->bias ? g->bias + j : NULL,
                                   .resume = k0 > 0,
                                   .c = g->c + (r0 + r) * g->c_row + j,
                                   .c_row = g->c_row,
                                   .rows = (uint32_t)least(rows - r, kernel->rows),
                                   .cols = (uint32_t)least(g->cols - j, QRN_PANEL)};
            kernel->tile(&t);
        }
}

void qrn_gemm_f32_run(const qrn_gemm_f32_kernel *kernel, const qrn_gemm_f32_block *g) {
    size_t stretch = least(g->depth, kernel->depth_block);
    size_t block = stretch ? A_BLOCK_ELEMENTS / stretch / kernel->rows * kernel->rows : 0;
    block = block < kernel->rows ? kernel->rows : block;
    for (size_t r = 0; r < g->rows; r += block)
        for (size_t k = 0; k == 0 || k < g->depth; k += kernel->depth_block) {
            run_stretch(kernel, g, r, least(g->rows - r, block), k,
                        least(g->depth - k, kernel->depth_block));
            if (g->depth - k <= kernel->depth_block) // also where k + depth_block wraps
                break;
        }
}

static void tile_ref(const qrn_gemm_f32_tile *t) {
    for (uint32_t i = 0; i < t->rows; i++) {
        double acc[QRN_PANEL];
        for (uint32_t j = 0; j < QRN_PANEL; j++)
            acc[j] = j < t->cols && t->bias ? (double)t->bias[j] : 0.0;
        for (size_t k = 0; k < t->depth; k++)
            for (uint32_t j = 0; j < QRN_PANEL; j++)
                acc[j] += (double)t->a[i * t->a_row + k] * (double)t->b[k * QRN_PANEL + j];
        for (uint32_t j = 0; j < t->cols; j++)
            t->c[i * t->c_row + j] = (float)acc[j];
    }
}

// One stretch for the whole depth: the sum is never rounded on the way.
const qrn_gemm_f32_kernel qrn_gemm_f32_ref = {"gemm_f32_ref", 1, SIZE_MAX, tile_ref};
