// SPDX-License-Identifier: MIT
//
// Winograd's convolution on 8-bit values: packing and the work of a task. Tiles are done a block
// at a time: all their input is transformed, then for each panel of output channels come the
// 36 GEMMs and the output transform.
#include "kernels/gemm/winograd/winograd8.h"

#include "kernels/gemm/dense/dense8_columns.h"
#include "kernels/gemm/tiles/gemm_q8.h"

#include <string.h>

#define BLOCK_BYTES (448 * 1024) // of the matrices of a block: they stay in the second cache
#define SHIFT 64                 // bytes that keep matrices from fighting for places of a cache
#define TILES_LEAST 32           // with fewer, reading the larger weights costs what is saved
#define CHANNELS_LEAST 16
#define CHANNELS_MOST 227
#define LANES 32 // channels of a vector

bool qrn_winograd8_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y) {
    if (!qrn_winograd_shape(a))
        return false;
    size_t cin = x->dims[3], cells = (size_t)y->dims[1] * y->dims[2];
    size_t n = qrn_winograd_tiles(y, QRN_WINOGRAD_TILE);
    return cin >= CHANNELS_LEAST && cin <= CHANNELS_MOST && a->cols >= CHANNELS_LEAST &&
           n >= TILES_LEAST && 12 * n <= cells && qrn_panels(a->cols) < UINT32_MAX;
}

void qrn_winograd8_shape(const qrn_dense_args *a, uint32_t dims[4]) {
    dims[0] = (uint32_t)qrn_panels(a->cols);
    dims[1] = (uint32_t)(QRN_WINOGRAD_PLANES * qrn_winograd8_steps(a->depth / 9));
    dims[2] = QRN_PANEL;
    dims[3] = QRN_WINOGRAD8_DEPTH;
}

// Columns of a panel, of one tap and channel.
typedef int16_t columns[QRN_PANEL];

// The stored weights at depth k of a panel of dense8.
static void read_depth(const int8_t *panel, size_t k, columns w) {
    const int8_t *at = panel + k / QRN_Q8_DEPTH * QRN_Q8_DEPTH * QRN_PANEL + k % QRN_Q8_DEPTH;
    for (size_t j = 0; j < QRN_PANEL; j++)
        w[j] = at[j * QRN_Q8_DEPTH];
}

// G times (a, b, c): row i of the result at to[i * step].
static void filter(const columns a, const columns b, const columns c, columns *to, size_t step) {
    for (size_t j = 0; j < QRN_PANEL; j++) {
        int16_t even = (int16_t)(a[j] + 4 * c[j]), ends = (int16_t)(a[j] + c[j]);
        to[0][j] = (int16_t)(6 * a[j]);
        to[step][j] = (int16_t)(-ends - b[j]);
        to[2 * step][j] = (int16_t)(b[j] - ends);
        to[3 * step][j] = (int16_t)(even + 2 * b[j]);
        to[4 * step][j] = (int16_t)(even - 2 * b[j]);
        to[5 * step][j] = (int16_t)(6 * c[j]);
    }
}

// The matrices of one channel of a panel.
static void filter_channel(const int8_t *panel, size_t channels, size_t channel,
                           columns u[QRN_WINOGRAD_PLANES]) {
    columns g[9], half[QRN_WINOGRAD_WINDOW][3];
    for (size_t tap = 0; tap < 9; tap++)
        read_depth(panel, tap * channels + channel, g[tap]);
    for (size_t k = 0; k < 3; k++)
        filter(g[k], g[3 + k], g[6 + k], &half[0][k], 3);
    for (size_t i = 0; i < QRN_WINOGRAD_WINDOW; i++, u += QRN_WINOGRAD_WINDOW)
        filter(half[i][0], half[i][1], half[i][2], u, 1);
}

void qrn_winograd8_pack(const qrn_dense_args *a, const int8_t *dense8, int16_t *packed) {
    size_t cin = a->depth / 9, steps = qrn_winograd8_steps(cin), step = QRN_PANEL * 2;
    columns u[2][QRN_WINOGRAD_PLANES];
    for (size_t panel = 0; panel < qrn_panels(a->cols); panel++) {
        for (size_t s = 0; s < steps; s++) {
            filter_channel(dense8, cin, 2 * s, u[0]);
            if (2 * s + 1 < cin)
                filter_channel(dense8, cin, 2 * s + 1, u[1]);
            else
                memset(u[1], 0, sizeof u[1]);
            int16_t *to = packed + s * step;
            for (size_t p = 0; p < QRN_WINOGRAD_PLANES; p++, to += steps * step)
                for (size_t j = 0; j < QRN_PANEL; j++) {
                    to[2 * j] = u[0][p][j];
                    to[2 * j + 1] = u[1][p][j];
                }
        }
        dense8 += qrn_q8_steps(a->depth) * QRN_PANEL * QRN_Q8_DEPTH;
        packed += QRN_WINOGRAD_PLANES * steps * step;
    }
}

// What a call is about.
typedef struct job {
    const qrn_kcall *call;
    const qrn_winograd8_kernel *kernel;
    qrn_conv_geometry geo;
    qrn_winograd_grid grid;
    size_t panels, steps, row;   // elements of a row of v
    size_t v_plane, m_plane;     // elements
    size_t columns_bytes, bytes; // of scratch for each task: the most that any image needs
    qrn_dense8_columns columns;
    int16_t *v;
    int32_t *m;
    uint8_t *outside; // a cell of the zero point
} job;

static size_t whole(size_t n, size_t of) { return (n + of - 1) / of * of; }

static job job_of(const qrn_kcall *k, const qrn_winograd8_kernel *kernel) {
    const qrn_dense8_args *a = k->args;
    job j = {.call = k, .kernel = kernel, .panels = qrn_panels(a->dense.cols)};
    j.geo = qrn_conv_geometry_of(&a->dense.conv, k->in[0], k->out[0], a->dense.kernel);
    j.steps = qrn_winograd8_steps(j.geo.cin);
    j.row = whole(j.geo.cin, LANES);
    size_t tile = j.row * sizeof *j.v + QRN_PANEL * sizeof *j.m;
    tile *= QRN_WINOGRAD_PLANES;
    j.grid = qrn_winograd_grid_of(&j.geo, QRN_WINOGRAD_TILE, BLOCK_BYTES, tile);
    j.v_plane = j.grid.block * j.row + SHIFT / sizeof *j.v;
    j.m_plane = j.grid.block * QRN_PANEL + SHIFT / sizeof *j.m;
    j.columns_bytes = qrn_dense8_columns_bytes(j.panels) + j.row;
    j.bytes =
        whole(j.columns_bytes, 64) + j.grid.block * tile + (size_t)2 * QRN_WINOGRAD_PLANES * SHIFT;
    char *at = (char *)k->scratch + k->task * j.bytes;
    j.columns = qrn_dense8_columns_at(at, j.panels);
    j.outside = (uint8_t *)at + qrn_dense8_columns_bytes(j.panels);
    j.v = (int16_t *)(at + whole(j.columns_bytes, 64));
    j.m = (int32_t *)(j.v + QRN_WINOGRAD_PLANES * j.v_plane);
    return j;
}

// Where the cells under a tile are.
static void find_cells(const job *j, const uint8_t *image, int64_t top, int64_t left,
                       const uint8_t **cells) {
    int64_t height = j->geo.in[1], width = j->geo.in[2];
    size_t cin = j->geo.cin;
    if (top >= 0 && left >= 0 && top + QRN_WINOGRAD_WINDOW <= height &&
        left + QRN_WINOGRAD_WINDOW <= width) {
        const uint8_t *at = image + (size_t)(top * width + left) * cin;
        for (size_t i = 0; i < QRN_WINOGRAD_WINDOW; i++, at += (size_t)width * cin)
            for (size_t c = 0; c < QRN_WINOGRAD_WINDOW; c++)
                *cells++ = at + c * cin;
        return;
    }
    for (int64_t y = top; y < top + QRN_WINOGRAD_WINDOW; y++) {
        const uint8_t *line = image + (size_t)(y < 0 || y >= height ? 0 : y * width) * cin;
        for (int64_t x = left; x < left + QRN_WINOGRAD_WINDOW; x++) {
            bool inside = y >= 0 && y < height && x >= 0 && x < width;
            *cells++ = inside ? line + (size_t)x * cin : j->outside;
        }
    }
}

static void transform_input(const job *j, size_t first, size_t n) {
    const qrn_conv_geometry *g = &j->geo;
    const qrn_view *x = j->call->in[0];
    size_t image = (size_t)(g->in[1] * g->in[2]) * g->cin;
    qrn_winograd8_input t = {
        .channels = g->cin, .is_signed = x->dtype == QRN_DTYPE_SQ8, .v = j->v, .plane = j->v_plane};
    qrn_winograd_place p = qrn_winograd_place_of(&j->grid, g, first);
    for (size_t i = 0; i < n; i++, t.v += j->row, qrn_winograd_next(&j->grid, g, &p)) {
        find_cells(j, (const uint8_t *)x->data + p.image * image, (int64_t)p.top - g->before[1],
                   (int64_t)p.left - g->before[2], t.cells);
        j->kernel->transform_input(&t);
    }
}

static void transform_output(const job *j, size_t first, size_t n, size_t panel) {
    size_t ow = (size_t)j->geo.out[2], oh = (size_t)j->geo.out[1], cout = j->geo.cout;
    size_t col = panel * QRN_PANEL;
    uint8_t *y = j->call->out[0]->data;
    qrn_requant8 requant = j->columns.requant;
    requant.m += col;
    requant.exact += col;
    qrn_winograd8_output t = {.m = j->m,
                              .plane = j->m_plane,
                              .column = j->columns.add + col,
                              .requant = &requant,
                              .y_line = ow * cout,
                              .y_cell = cout,
                              .cols = (uint32_t)(cout - col < QRN_PANEL ? cout - col : QRN_PANEL)};
    qrn_winograd_place p = qrn_winograd_place_of(&j->grid, &j->geo, first);
    for (size_t i = 0; i < n; i++, t.m += QRN_PANEL, qrn_winograd_next(&j->grid, &j->geo, &p)) {
        t.y = y + ((p.image * oh + p.top) * ow + p.left) * cout + col;
        t.lines = p.lines;
        t.cells = p.cells;
        j->kernel->transform_output(&t);
    }
}

// The 36 GEMMs of one panel.
static void multiply(const job *j, size_t panel, size_t n_tiles) {
    const int16_t *all = j->call->in[QRN_DENSE8_MATRICES]->data;
    size_t size = j->steps * QRN_PANEL * QRN_WINOGRAD8_DEPTH;
    qrn_winograd8_gemm t = {.a = j->v,
                            .a_row = j->row,
                            .b = all + panel * QRN_WINOGRAD_PLANES * size,
                            .steps = j->steps,
                            .rows = n_tiles,
                            .c = j->m,
                            .low = j->geo.cout - panel * QRN_PANEL <= QRN_PANEL / 2};
    bool last = panel + 1 == j->panels;
    for (size_t p = 0; p < QRN_WINOGRAD_PLANES; p++) {
        t.next = last && p + 1 == QRN_WINOGRAD_PLANES ? all : t.b + size;
        j->kernel->multiply(&t);
        t.a += j->v_plane;
        t.b += size;
        t.c += j->m_plane;
    }
}

bool qrn_winograd8_works(const qrn_kcall *k) {
    return k->n_in > QRN_DENSE8_MATRICES && k->in[QRN_DENSE8_MATRICES];
}

bool qrn_winograd8_reads(const qrn_kernel *row) { return row->works == qrn_winograd8_works; }

qrn_status qrn_winograd8_run(const qrn_kcall *k, const qrn_winograd8_kernel *kernel) {
    job j = job_of(k, kernel);
    qrn_grid_part part = qrn_winograd_part_of(&j.grid, k, j.panels);
    if (part.r0 >= part.r1 || part.c0 >= part.c1)
        return QRN_OK;
    qrn_dense8_columns_make(&j.columns, k, 128, part.c0, part.c1);
    memset(j.outside, (uint8_t)-k->in[0]->quant->offset, j.row);
    for (size_t at = part.r0, n; at < part.r1; at += n) {
        n = qrn_winograd_block(&j.grid, part.r1 - at);
        transform_input(&j, at, n);
        for (size_t panel = part.c0; panel < part.c1; panel++) {
            multiply(&j, panel, n);
            transform_output(&j, at, n, panel);
        }
        qrn_winograd_report(k, &j.grid, &j.geo, at, n, part.c0, part.c1);
    }
    return QRN_OK;
}

uint32_t qrn_winograd8_tasks(const qrn_kcall *k, uint32_t n_threads) {
    job j = job_of(k, NULL);
    return qrn_winograd_tasks_of(&j.grid, &j.geo, n_threads);
}

size_t qrn_winograd8_scratch(const qrn_kcall *k) { return k->n_tasks * job_of(k, NULL).bytes; }
