// SPDX-License-Identifier: MIT
//
// Gathering (im2col) of rows of GEMMs: what lies under the window of each output cell. Cells whose
// window lies within the image, which are nearly all, are done in runs along the innermost
// dimension, piece of the window by piece; the others one by one.
#include "kernels/gemm/dense/dense_plan.h"

#include <string.h>

// What all rows have in common. A piece of the window is a row of the kernel where the cells of one
// lie side by side, else a single cell.
typedef struct gather {
    const qrn_conv_geometry *g;
    qrn_dense_copy_fn copy;
    const char *x;      // of the group
    size_t cell, step;  // bytes of a cell, and from one to the next
    size_t bytes, elem; // of a piece, of an element
    int64_t pieces;     // of a row of the kernel
    int fill;
    size_t dst_row;
} gather;

// Bytes that stand for cells outside the input.
static void fill_bytes(const gather *w, char *dst, size_t bytes) {
    if (w->elem != 2) {
        memset(dst, w->fill, bytes);
        return;
    }
    uint16_t q = (uint16_t)w->fill;
    for (size_t i = 0; i < bytes; i += sizeof q)
        memcpy(dst + i, &q, sizeof q);
}

// Copies n pieces of `part` to twice as many bytes: the first and the last `part` of each.
static inline __attribute__((always_inline)) void copy_ends(char *dst, size_t dst_step,
                                                            const char *src, size_t src_step,
                                                            size_t n, size_t bytes,
                                                            const size_t part) {
    for (size_t i = 0; i < n; i++, dst += dst_step, src += src_step) {
        memcpy(dst, src, part);
        memcpy(dst + bytes - part, src + bytes - part, part);
    }
}

void qrn_dense_copy(void *to, size_t dst_step, const void *from, size_t src_step, size_t n,
                    size_t bytes) {
    char *dst = to;
    const char *src = from;
    if (bytes > 128)
        for (size_t i = 0; i < n; i++, dst += dst_step, src += src_step)
            memcpy(dst, src, bytes);
    else if (bytes >= 64)
        copy_ends(dst, dst_step, src, src_step, n, bytes, 64);
    else if (bytes >= 32)
        copy_ends(dst, dst_step, src, src_step, n, bytes, 32);
    else if (bytes >= 16)
        copy_ends(dst, dst_step, src, src_step, n, bytes, 16);
    else if (bytes >= 8)
        copy_ends(dst, dst_step, src, src_step, n, bytes, 8);
    else if (bytes >= 4)
        copy_ends(dst, dst_step, src, src_step, n, bytes, 4);
    else if (bytes >= 2)
        copy_ends(dst, dst_step, src, src_step, n, bytes, 2);
    else if (bytes)
        copy_ends(dst, dst_step, src, src_step, n, bytes, 1);
}

// First cell of the line of x that row (i, j) of the window of c lies in; NULL: outside.
static const char *line_of(const gather *w, const qrn_conv_cell *c, int64_t i, int64_t j) {
    const qrn_conv_geometry *g = w->g;
    int64_t z = c->at[0] * g->stride[0] - g->before[0] + i * g->dilation[0];
    int64_t y = c->at[1] * g->stride[1] - g->before[1] + j * g->dilation[1];
    if (z < 0 || z >= g->in[0] || y < 0 || y >= g->in[1])
        return NULL;
    return w->x + (size_t)((c->n * g->in[0] + z) * g->in[1] + y) * (size_t)g->in[2] * w->step;
}

// n cells of a line from c on whose windows lie within it.
static void gather_run(const gather *w, const qrn_conv_cell *c, size_t n, char *dst) {
    const qrn_conv_geometry *g = w->g;
    size_t first = (size_t)(c->at[2] * g->stride[2] - g->before[2]);
    for (int64_t i = 0; i < g->kernel[0]; i++)
        for (int64_t j = 0; j < g->kernel[1]; j++) {
            const char *line = line_of(w, c, i, j);
            for (int64_t k = 0; k < w->pieces; k++, dst += w->bytes) {
                size_t at = first + (size_t)(k * g->dilation[2]);
                if (line)
                    w->copy(dst, w->dst_row, line + at * w->step, (size_t)g->stride[2] * w->step, n,
                            w->bytes);
                for (size_t r = 0; !line && r < n; r++)
                    fill_bytes(w, dst + r * w->dst_row, w->bytes);
            }
        }
}

// A row of the kernel, which lies partly outside.
static void gather_line(const gather *w, const char *line, int64_t first, char *dst) {
    const qrn_conv_geometry *g = w->g;
    if (w->pieces == 1) {
        int64_t lo = first < 0 ? -first : 0, hi = g->in[2] - first;
        lo = lo < g->kernel[2] ? lo : g->kernel[2];
        hi = hi < lo ? lo : hi < g->kernel[2] ? hi : g->kernel[2];
        size_t before = (size_t)lo * w->cell, within = (size_t)(hi - lo) * w->cell;
        fill_bytes(w, dst, before);
        if (within)
            w->copy(dst + before, 0, line + (size_t)(first + lo) * w->step, 0, 1, within);
        fill_bytes(w, dst + before + within, w->bytes - before - within);
        return;
    }
    for (int64_t k = 0; k < g->kernel[2]; k++, dst += w->cell) {
        int64_t at = first + k * g->dilation[2];
        if (at < 0 || at >= g->in[2])
            fill_bytes(w, dst, w->cell);
        else
            w->copy(dst, 0, line + (size_t)at * w->step, 0, 1, w->cell);
    }
}

static void gather_cell(const gather *w, const qrn_conv_cell *c, char *dst) {
    const qrn_conv_geometry *g = w->g;
    int64_t first = c->at[2] * g->stride[2] - g->before[2];
    size_t bytes = (size_t)g->kernel[2] * w->cell;
    for (int64_t i = 0; i < g->kernel[0]; i++)
        for (int64_t j = 0; j < g->kernel[1]; j++, dst += bytes) {
            const char *line = line_of(w, c, i, j);
            if (line)
                gather_line(w, line, first, dst);
            else
                fill_bytes(w, dst, bytes);
        }
}

// Cell of the input that tap k brings to cell `at` of dimension i of a transposed convolution; -1:
// none.
static int64_t adjoint_source(const qrn_conv_geometry *g, int i, int64_t at, int64_t k) {
    int64_t pos = at + g->before[i] - k * g->dilation[i];
    return pos < 0 || pos % g->stride[i] || pos / g->stride[i] >= g->in[i] ? -1
                                                                           : pos / g->stride[i];
}

// A tap of n cells of a line from column `at` on: those that have a source are a stride apart.
static void adjoint_tap(const gather *w, const char *line, int64_t at, size_t n, int64_t k,
                        char *dst) {
    const qrn_conv_geometry *g = w->g;
    int64_t s = g->stride[2], pos = at + g->before[2] - k * g->dilation[2];
    int64_t skip = pos < 0 ? -pos : (s - pos % s) % s;
    int64_t from = (pos + skip) / s, left = (int64_t)n - skip;
    int64_t count = left > 0 ? (left + s - 1) / s : 0;
    count = count < g->in[2] - from ? count : g->in[2] - from;
    if (count > 0)
        w->copy(dst + (size_t)skip * w->dst_row, (size_t)s * w->dst_row,
                line + (size_t)from * w->step, w->step, (size_t)count, w->cell);
}

// n cells of a line from c on. Most taps find no source: everything is filled first.
static void gather_adjoint(const gather *w, const qrn_conv_cell *c, size_t n, char *dst) {
    const qrn_conv_geometry *g = w->g;
    size_t bytes = qrn_conv_taps(g) * w->cell;
    fill_bytes(w, dst, bytes);
    for (size_t i = 1; i < n; i++)
        memcpy(dst + i * w->dst_row, dst, bytes);
    for (int64_t i = 0; i < g->kernel[0]; i++)
        for (int64_t j = 0; j < g->kernel[1]; j++) {
            int64_t z = adjoint_source(g, 0, c->at[0], i), y = adjoint_source(g, 1, c->at[1], j);
            for (int64_t k = 0; k < g->kernel[2]; k++, dst += w->cell) {
                if (z < 0 || y < 0)
                    continue;
                size_t line = (size_t)((c->n * g->in[0] + z) * g->in[1] + y) * (size_t)g->in[2];
                adjoint_tap(w, w->x + line * w->step, c->at[2], n, k, dst);
            }
        }
}

// The first cell of the line behind c's.
static void next_line(const qrn_conv_geometry *g, qrn_conv_cell *c) {
    c->at[2] = 0;
    for (int i = 1; i >= 0; i--) {
        if (++c->at[i] < g->out[i])
            return;
        c->at[i] = 0;
    }
    c->n++;
}

// Cells [lo, hi) of every line have their windows within it.
static void inner_cells(const qrn_conv_geometry *g, int64_t *lo, int64_t *hi) {
    int64_t last = g->in[2] - 1 - (g->kernel[2] - 1) * g->dilation[2] + g->before[2];
    *lo = (g->before[2] + g->stride[2] - 1) / g->stride[2];
    *hi = last < 0 ? 0 : last / g->stride[2] + 1;
    *hi = *hi < g->out[2] ? *hi : g->out[2];
}

void qrn_dense_gather(const qrn_dense_plan *p, const void *x, size_t cell, size_t n, size_t group,
                      size_t elem, int fill, void *dst, size_t dst_row) {
    const qrn_conv_geometry *g = &p->geo;
    gather w = {.g = g,
                .copy = p->copy,
                .cell = g->cin / g->group * elem,
                .step = g->cin * elem,
                .elem = elem,
                .fill = fill,
                .dst_row = dst_row};
    bool side_by_side = w.cell == w.step && g->dilation[2] == 1;
    w.x = (const char *)x + (g->transposed ? 0 : group * w.cell);
    w.pieces = side_by_side ? 1 : g->kernel[2];
    w.bytes = side_by_side ? (size_t)g->kernel[2] * w.cell : w.cell;
    qrn_conv_cell c = qrn_conv_cell_at(g, cell);
    char *to = dst;
    int64_t lo, hi, run;
    inner_cells(g, &lo, &hi);
    for (int64_t left = (int64_t)n; left > 0; left -= run, to += (size_t)run * dst_row) {
        bool inner = !g->transposed && c.at[2] >= lo && c.at[2] < hi;
        run = inner ? hi - c.at[2] : g->transposed ? g->out[2] - c.at[2] : 1;
        run = run < left ? run : left;
        if (inner)
            gather_run(&w, &c, (size_t)run, to);
        else if (g->transposed)
            gather_adjoint(&w, &c, (size_t)run, to);
        else
            gather_cell(&w, &c, to);
        c.at[2] += run;
        if (c.at[2] == g->out[2])
            next_line(g, &c);
    }
}
