// SPDX-License-Identifier: MIT
//
// Matmul of a few rows of 16-bit values by such of 8 or 16 bits, which are read once, where they
// lie: for attention on a cache, where packing would take longer than multiplying.
#include "kernels/gemm/matmul/matmul_q16_few.h"

#include "kernels/gemm/matmul/dots_avx512.h"
#include "kernels/gemm/matmul/matmul.h"

// Columns along the depth; what fits both ways is read side by side.
static bool is_deep(const qrn_matmul_geometry *g) { return g->b_col != 1; }

bool qrn_matmul_q16_few_works(const qrn_kcall *k) {
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    bool lies_well = !is_deep(&g) || (g.b_depth == 1 && g.depth <= QRN_DOTS_DEPTH);
    return !(k->n_in > 2 && k->in[2]) && g.rows <= QRN_DOTS_ROWS && lies_well &&
           qrn_dots_fits(k->in[0], k->in[1], k->out[0], g.depth);
}

size_t qrn_matmul_q16_few_scratch(const qrn_kcall *k) {
    return k->n_tasks * qrn_dots_room(qrn_matmul_geometry_of(k).depth);
}

// Columns [col, col + n) of a matrix of b.
static void run_columns(const qrn_dots *d, const qrn_matmul_geometry *g, const char *b, size_t n,
                        uint16_t *y) {
    if (is_deep(g)) {
        qrn_dots_keys(d, b, g->b_col, n, y, g->cols);
        return;
    }
    qrn_dots_sums t = {0};
    qrn_dots_add(d, 0, g->depth, b, g->b_depth, n, &t);
    for (size_t r = 0; r < g->rows; r++)
        qrn_dots_finish(d, &t, r, n, y + r * g->cols);
}

qrn_status qrn_matmul_q16_few_avx512vnni(const qrn_kcall *k) {
    const qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    const qrn_view *b = k->in[1];
    char *room = (char *)k->scratch + k->task * qrn_dots_room(g.depth);
    qrn_dots d = qrn_dots_of(k->in[0], b, k->out[0], g.depth, room);
    size_t most = is_deep(&g) ? DOTS_KEYS : QRN_DOTS_COLS, groups = (g.cols + most - 1) / most;
    size_t begin, end, last = SIZE_MAX;
    d.rows = g.rows;
    qrn_split(g.batch * groups, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        size_t batch = i / groups, col = i % groups * most, at_a, at_b;
        size_t n = g.cols - col < most ? g.cols - col : most;
        qrn_matmul_batch(&g, batch, &at_a, &at_b);
        for (size_t r = 0; r < g.rows && batch != last; r++)
            qrn_dots_take(&d, r, (const uint16_t *)k->in[0]->data + at_a + r * g.a_row, g.a_depth);
        last = batch;
        run_columns(&d, &g, (const char *)b->data + (at_b + col * g.b_col) * qrn_view_elem(b), n,
                    (uint16_t *)k->out[0]->data + batch * g.rows * g.cols + col);
    }
    return QRN_OK;
}
