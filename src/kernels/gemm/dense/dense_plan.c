// SPDX-License-Identifier: MIT
//
// How layers become GEMMs, and the division of these among tasks.
#include "kernels/gemm/dense/dense_plan.h"

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
    qrn_dense_part part = {.r1 = p->rows, .u1 = qrn_panels(p->args->cols) * p->args->group};
    if (p->rows >= (size_t)QRN_DENSE_GRAIN * n_tasks || p->rows / QRN_DENSE_GRAIN > part.u1)
        qrn_split(p->rows, QRN_DENSE_GRAIN, task, n_tasks, &part.r0, &part.r1);
    else
        qrn_split(part.u1, 1, task, n_tasks, &part.u0, &part.u1);
    return part;
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
    return p->rows * p->cout * p->args->depth < 100000 ? 1 : n_threads;
}
