// SPDX-License-Identifier: MIT
//
// Rows of products, gathered or as they are, and their division among tasks.
#include "kernels/gemm/dense_plan.h"

#include <string.h>

qrn_dense_plan qrn_dense_plan_of(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y) {
    qrn_dense_plan p = {
        .args = a, .cout = (size_t)a->cols * a->group, .direct = true, .a_row = a->depth};
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

// A run of cells of `cell` bytes, `step` bytes apart in x, `spread` cells apart in the row.
typedef struct line {
    const char *x;
    int64_t first, spread, n, size; // cells [0, size) exist
    size_t cell, step, elem;
    int fill;
} line;

// Bytes that stand for cells outside the input.
static void fill_cells(const line *l, char *dst, size_t bytes) {
    if (l->elem != 2) {
        memset(dst, l->fill, bytes);
        return;
    }
    uint16_t code = (uint16_t)l->fill;
    for (size_t i = 0; i < bytes; i += sizeof code)
        memcpy(dst + i, &code, sizeof code);
}

static void gather_line(const line *l, char *dst) {
    if (l->spread == 1 && l->cell == l->step && l->first >= 0 && l->first + l->n <= l->size) {
        memcpy(dst, l->x + (size_t)l->first * l->cell, (size_t)l->n * l->cell);
        return;
    }
    for (int64_t i = 0; i < l->n; i++, dst += l->cell) {
        int64_t at = l->first + i * l->spread;
        if (at < 0 || at >= l->size)
            fill_cells(l, dst, l->cell);
        else
            memcpy(dst, l->x + (size_t)at * l->step, l->cell);
    }
}

static void gather_row(const qrn_conv_geometry *g, const char *x, const qrn_conv_cell *c, line *l,
                       char *dst) {
    size_t bytes = (size_t)g->kernel[2] * l->cell;
    l->first = c->at[2] * g->stride[2] - g->before[2];
    for (int64_t i = 0; i < g->kernel[0]; i++)
        for (int64_t j = 0; j < g->kernel[1]; j++, dst += bytes) {
            int64_t z = c->at[0] * g->stride[0] - g->before[0] + i * g->dilation[0];
            int64_t y = c->at[1] * g->stride[1] - g->before[1] + j * g->dilation[1];
            if (z < 0 || z >= g->in[0] || y < 0 || y >= g->in[1]) {
                fill_cells(l, dst, bytes);
                continue;
            }
            size_t start = (size_t)((c->n * g->in[0] + z) * g->in[1] + y) * (size_t)g->in[2];
            l->x = x + start * l->step;
            gather_line(l, dst);
        }
}

static void gather_adjoint(const qrn_conv_geometry *g, const char *x, const qrn_conv_cell *c,
                           const line *l, char *dst) {
    for (size_t tap = 0; tap < qrn_conv_taps(g); tap++, dst += l->cell) {
        int64_t from = qrn_conv_source(g, c, tap);
        if (from < 0)
            fill_cells(l, dst, l->cell);
        else
            memcpy(dst, x + (size_t)from * l->step, l->cell);
    }
}

// The cell behind c, in row-major order: cheaper than the divisions of qrn_conv_cell_at.
static void advance(const qrn_conv_geometry *g, qrn_conv_cell *c) {
    for (int i = 2; i >= 0; i--) {
        if (++c->at[i] < g->out[i])
            return;
        c->at[i] = 0;
    }
    c->n++;
}

void qrn_dense_gather(const qrn_dense_plan *p, const void *x, size_t cell, size_t n, size_t group,
                      size_t elem, int fill, void *dst, size_t dst_row) {
    const qrn_conv_geometry *g = &p->geo;
    qrn_conv_cell c = qrn_conv_cell_at(g, cell);
    line l = {.spread = g->dilation[2],
              .n = g->kernel[2],
              .size = g->in[2],
              .cell = g->cin / g->group * elem,
              .step = g->cin * elem,
              .elem = elem,
              .fill = fill};
    for (size_t i = 0; i < n; i++, advance(g, &c))
        if (g->transposed)
            gather_adjoint(g, x, &c, &l, (char *)dst + i * dst_row);
        else
            gather_row(g, (const char *)x + group * l.cell, &c, &l, (char *)dst + i * dst_row);
}

qrn_dense_part qrn_dense_part_of(const qrn_dense_plan *p, uint32_t task, uint32_t n_tasks) {
    qrn_dense_part part = {.r1 = p->rows, .u1 = qrn_panels(p->args->cols) * p->args->group};
    if (p->rows >= (size_t)QRN_DENSE_GRAIN * n_tasks || p->rows / QRN_DENSE_GRAIN > part.u1)
        qrn_split(p->rows, QRN_DENSE_GRAIN, task, n_tasks, &part.r0, &part.r1);
    else
        qrn_split(part.u1, 1, task, n_tasks, &part.u0, &part.u1);
    return part;
}

// Column of the product at which panel u begins.
static size_t panel_column(const qrn_dense_plan *p, size_t u) {
    size_t panels = qrn_panels(p->args->cols);
    return u / panels * p->args->cols + u % panels * QRN_PANEL;
}

void qrn_dense_tell(const qrn_kcall *k, const qrn_dense_plan *p, size_t r, size_t n, size_t u0,
                    size_t u1) {
    size_t c0 = panel_column(p, u0), c1 = panel_column(p, u1);
    if (!k->follower || n == 0)
        return;
    if (c1 - c0 == p->cout) {
        qrn_tell(k, r * p->cout, (r + n) * p->cout);
        return;
    }
    for (size_t i = r; i < r + n; i++)
        qrn_tell(k, i * p->cout + c0, i * p->cout + c1);
}

uint32_t qrn_dense_tasks(const qrn_dense_plan *p, uint32_t n_threads) {
    return p->rows * p->cout * p->args->depth < 100000 ? 1 : n_threads;
}
