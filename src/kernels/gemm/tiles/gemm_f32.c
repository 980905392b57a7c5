// SPDX-License-Identifier: MIT
//
// Packing, the loops around the register tile, and the reference tile.
#include "kernels/gemm/tiles/gemm_f32.h"

#include <string.h>

// Elements of a that stay in the second cache while all panels pass by, and of c while whoever
// reads it next does; but so many rows, if they can be, that bringing the weights does not count.
#define A_BLOCK_ELEMENTS (112 * 1024)
#define C_BLOCK_ELEMENTS (64 * 1024)
#define ROWS_WANTED 112
// Where somebody reads c at once and all weights are in the second cache, c stays in the first.
#define NEAR_ELEMENTS (16 * 1024)
#define NEAR_ROWS 28

// Columns [0, n) of b, whose elements lie side by side: blocks of 4 by 4 are transposed in
// registers.
static void transpose_columns(const float *b, size_t b_col, size_t depth, size_t n, float *dst) {
    typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
    size_t j = 0;
    for (; j + 4 <= n; j += 4, b += 4 * b_col) {
        size_t k = 0;
        for (; k + 4 <= depth; k += 4) {
            four r0 = *(const four *)(b + k), r1 = *(const four *)(b + b_col + k);
            four r2 = *(const four *)(b + 2 * b_col + k), r3 = *(const four *)(b + 3 * b_col + k);
            four low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
            four low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
            four high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
            four high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
            float *to = dst + k * QRN_PANEL + j;
            *(four *)to = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
            *(four *)(to + QRN_PANEL) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
            *(four *)(to + 2 * QRN_PANEL) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
            *(four *)(to + 3 * QRN_PANEL) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
        }
        for (; k < depth; k++)
            for (size_t i = 0; i < 4; i++)
                dst[k * QRN_PANEL + j + i] = b[i * b_col + k];
    }
    for (; j < n; j++, b += b_col)
        for (size_t k = 0; k < depth; k++)
            dst[k * QRN_PANEL + j] = b[k];
}

void qrn_gemm_f32_pack_panel(const float *b, size_t b_depth, size_t b_col, size_t depth,
                             size_t cols, size_t first, float *dst) {
    size_t n = cols - first < QRN_PANEL ? cols - first : QRN_PANEL;
    bool transposed = b_depth == 1 && b_col != 1;
    b += first * b_col;
    if (transposed)
        transpose_columns(b, b_col, depth, n, dst);
    for (size_t k = 0; k < depth; k++, dst += QRN_PANEL) {
        if (b_col == 1 && n == QRN_PANEL) // a length known here: no call
            memcpy(dst, b + k * b_depth, QRN_PANEL * sizeof *dst);
        else if (b_col == 1)
            memcpy(dst, b + k * b_depth, n * sizeof *dst);
        else if (!transposed)
            for (size_t j = 0; j < n; j++)
                dst[j] = b[k * b_depth + j * b_col];
        if (n < QRN_PANEL)
            memset(dst + n, 0, (QRN_PANEL - n) * sizeof *dst);
    }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

size_t qrn_gemm_f32_block_rows(const qrn_gemm_f32_kernel *kernel, size_t depth, size_t cols,
                               size_t rows, bool near) {
    near = near && depth * cols <= QRN_GEMM_F32_NEAR;
    size_t least_rows = near ? NEAR_ROWS : ROWS_WANTED;
    size_t n = (near ? NEAR_ELEMENTS : C_BLOCK_ELEMENTS) / (1 + cols);
    n = n < least_rows ? least_rows : n;
    n = least(n, A_BLOCK_ELEMENTS / (1 + least(depth, kernel->depth_block)));
    n = n < kernel->rows ? kernel->rows : n / kernel->rows * kernel->rows;
    size_t blocks = (rows + n - 1) / n; // of about the same size
    return blocks > 1 ? least(n, (rows / blocks + kernel->rows) / kernel->rows * kernel->rows) : n;
}

// A stretch of depth: segments [s0, s0 + segments), of each `length` elements from k0 on.
typedef struct stretch {
    size_t s0, segments, k0, length;
} stretch;

// All panels over one stretch of some rows of every line.
static void run_stretch(const qrn_gemm_f32_kernel *kernel, const qrn_gemm_f32_block *g,
                        const stretch *s) {
    size_t depth = g->segments * g->length, from = s->s0 * g->length + s->k0;
    for (size_t j = 0; j < g->cols; j += QRN_PANEL) {
        qrn_gemm_f32_strip t = {.a_row = g->a_row,
                                .a_segment = g->a_segment,
                                .segments = s->segments,
                                .length = s->length,
                                .bias = g->bias ? g->bias + j : NULL,
                                .resume = from > 0,
                                .c_row = g->c_row,
                                .rows = g->rows,
                                .cols = (uint32_t)least(g->cols - j, QRN_PANEL)};
        if (from + s->segments * s->length == depth)
            t.clamp = g->clamp;
        size_t at = j * depth + from * QRN_PANEL, n = s->segments * s->length * QRN_PANEL;
        if (g->f16) {
            g->to_f32(g->f16 + at, n, g->wide_range, g->converted);
            t.b = g->converted;
        } else {
            t.b = g->b + at;
        }
        if (j + QRN_PANEL < g->cols) { // the same stretch of the next panel
            size_t next = at + depth * QRN_PANEL;
            t.soon = g->f16 ? (const float *)(g->f16 + next) : g->b + next;
            t.n_soon = g->f16 ? n / 2 : n;
        }
        for (size_t i = 0; i < g->lines; i++) {
            t.a = g->a + i * g->a_line + s->s0 * g->a_segment + s->k0;
            t.c = g->c + i * g->rows * g->c_row + j;
            kernel->strip(&t);
        }
    }
}

// Rows that stay in the second cache while all panels pass by: in stretches of whole segments, or
// of parts of the only one.
static void run_rows(const qrn_gemm_f32_kernel *kernel, const qrn_gemm_f32_block *g) {
    size_t most = kernel->depth_block;
    if (g->segments == 1 || g->length == 0) {
        for (size_t k = 0, n; k == 0 || k < g->length; k += n) {
            n = least(g->length - k, most);
            run_stretch(kernel, g, &(stretch){.segments = 1, .k0 = k, .length = n});
            if (g->length - k <= most)
                break;
        }
        return;
    }
    size_t step = g->length < most ? most / g->length : 1;
    for (size_t s = 0; s < g->segments; s += step) {
        size_t n = least(g->segments - s, step);
        run_stretch(kernel, g, &(stretch){.s0 = s, .segments = n, .length = g->length});
        if (n < step)
            break;
    }
}

void qrn_gemm_f32_run(const qrn_gemm_f32_kernel *kernel, const qrn_gemm_f32_block *g) {
    if (kernel->line && g->b && g->lines == 1 && g->rows == 1 && g->segments == 1) {
        kernel->line(&(qrn_gemm_f32_line){.a = g->a,
                                          .b = g->b,
                                          .bias = g->bias,
                                          .c = g->c,
                                          .depth = g->length,
                                          .cols = g->cols,
                                          .clamp = g->clamp});
        return;
    }
    if (g->lines > 1) {
        run_rows(kernel, g);
        return;
    }
    size_t block =
        qrn_gemm_f32_block_rows(kernel, g->segments * g->length, g->cols, g->rows, false);
    for (size_t r = 0; r < g->rows; r += block) {
        qrn_gemm_f32_block part = *g;
        part.a += r * g->a_row;
        part.c += r * g->c_row;
        part.rows = least(g->rows - r, block);
        run_rows(kernel, &part);
    }
}

static void strip_ref(qrn_gemm_f32_strip *t) {
    for (size_t i = 0; i < t->rows; i++) {
        double acc[QRN_PANEL];
        const float *b = t->b;
        for (uint32_t j = 0; j < QRN_PANEL; j++)
            acc[j] = j < t->cols && t->bias ? (double)t->bias[j] : 0.0;
        for (size_t s = 0; s < t->segments; s++)
            for (size_t k = 0; k < t->length; k++, b += QRN_PANEL)
                for (uint32_t j = 0; j < QRN_PANEL; j++)
                    acc[j] += (double)t->a[i * t->a_row + s * t->a_segment + k] * (double)b[j];
        for (uint32_t j = 0; j < t->cols; j++)
            t->c[i * t->c_row + j] =
                t->clamp ? QRN_CLAMPED((float)acc[j], t->clamp) : (float)acc[j];
    }
}

// One stretch for the whole depth: the sum is never rounded on the way.
const qrn_gemm_f32_kernel qrn_gemm_f32_ref = {"gemm_f32_ref", 1, SIZE_MAX, strip_ref, NULL};
