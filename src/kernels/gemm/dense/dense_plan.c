// SPDX-License-Identifier: MIT
//
// How layers become GEMMs, and the division of these among tasks.
#include "kernels/gemm/dense/dense_plan.h"

#include "kernels/grid.h"

// What grid.h wants to know, in quarters of the product of a row and a panel: rows come from the
// caches of other cores, or are gathered before; panels come from far and their terms are made; a
// row in pieces is as many calls of who goes on with it, which take as long whatever the depth.
#define ROW_DIRECT 1
#define ROW_GATHERED 2
#define PANEL 16
#define PIECE 6000 // by the depth

#define TASK_PRODUCTS 50000 // of a task at least: another thread is not worth less

qrn_dense_plan qrn_dense_plan_of(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y) {
    qrn_dense_plan p = {.args = a,
                        .cout = (size_t)a->cols * a->group,
                        .direct = true,
                        .a_row = a->depth,
                        .copy = qrn_dense_copy};
    if (a->rows) {
        p.rows = a->depth ? qrn_view_count(x) / a->depth : 0;
        return p;
    }
    p.geo = qrn_conv_geometry_of(&a->conv, x, y, a->kernel);
    p.rows = qrn_conv_cells(&p.geo);
    p.a_row = p.geo.cin;
    for (int i = 0; i < 3; i++)
        p.direct &= p.geo.kernel[i] == 1 && p.geo.stride[i] == 1 && p.geo.before[i] == 0 &&
                    p.geo.in[i] == p.geo.out[i];
    return p;
}

size_t qrn_dense_block_rows(const qrn_dense_args *a, size_t elements) {
    size_t n = elements / (a->depth ? a->depth : 1) / QRN_DENSE_GRAIN * QRN_DENSE_GRAIN;
    n = n < QRN_DENSE_GRAIN ? QRN_DENSE_GRAIN : n;
    return n > QRN_DENSE_BLOCK_ROWS_MAX ? QRN_DENSE_BLOCK_ROWS_MAX : n;
}

qrn_dense_part qrn_dense_part_of(const qrn_dense_plan *p, uint32_t task, uint32_t n_tasks) {
    const qrn_grid_work w = {.rows = p->rows,
                             .cols = qrn_panels(p->args->cols) * p->args->group,
                             .of_row = p->direct ? ROW_DIRECT : ROW_GATHERED,
                             .of_col = PANEL,
                             .of_part = p->followed ? PIECE / (p->args->depth + 1) : 0};
    qrn_grid_part g = qrn_grid_part_of(&w, task, n_tasks);
    return (qrn_dense_part){.r0 = g.r0, .r1 = g.r1, .u0 = g.c0, .u1 = g.c1};
}

// Column of the GEMM at which panel u begins.
static size_t panel_column(const qrn_dense_plan *p, size_t u) {
    size_t panels = qrn_panels(p->args->cols);
    return u / panels * p->args->cols + u % panels * QRN_PANEL;
}

void qrn_dense_report(const qrn_kcall *k, const qrn_dense_plan *p, size_t r, size_t n, size_t u0,
                      size_t u1) {
    size_t c0 = panel_column(p, u0), c1 = panel_column(p, u1);
    if (!k->follower || n == 0)
        return;
    if (c1 - c0 == p->cout) {
        qrn_report(k, r * p->cout, (r + n) * p->cout);
        return;
    }
    for (size_t i = r; i < r + n; i++)
        qrn_report(k, i * p->cout + c0, i * p->cout + c1);
}

uint32_t qrn_dense_tasks(const qrn_dense_plan *p, uint32_t n_threads) {
    size_t products = p->rows * p->cout * p->args->depth;
    for (int i = 0; i < 3 && p->geo.transposed; i++)
        products /= (size_t)p->geo.stride[i]; // cells have a part of the taps
    if (products < 2 * TASK_PRODUCTS)
        return 1;
    return products / TASK_PRODUCTS < n_threads ? (uint32_t)(products / TASK_PRODUCTS) : n_threads;
}
