// SPDX-License-Identifier: MIT
//
// How tasks share the tiles and the panels of Winograd's convolutions.
#include "kernels/gemm/winograd/winograd_run.h"

#define ROWS 14 // of a register tile, each a tile of the image
// What grid.h wants to know, in quarters of the product of a tile and a panel.
#define OF_TILE 1 // its transformation
#define OF_PANEL 16
#define OF_PIECE 8

#define TASK_PRODUCTS 50000 // of a task at least, counted as without the method

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t up(size_t n, size_t of) { return (n + of - 1) / of; }

qrn_winograd_grid qrn_winograd_grid_of(const qrn_conv_geometry *g, size_t tile, size_t block_bytes,
                                       size_t tile_bytes) {
    qrn_winograd_grid w = {.tile = tile};
    w.down = up((size_t)g->out[1], tile);
    w.across = up((size_t)g->out[2], tile);
    w.all = g->batch * w.down * w.across;
    size_t n = tile_bytes ? block_bytes / tile_bytes : ROWS;
    n = n < ROWS ? ROWS : n < 2 * ROWS ? n : n / ROWS * ROWS;
    w.block = least(n, w.all);
    return w;
}

qrn_winograd_place qrn_winograd_place_of(const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                                         size_t at) {
    size_t oh = (size_t)g->out[1], ow = (size_t)g->out[2];
    qrn_winograd_place p = {.image = at / w->across / w->down,
                            .top = at / w->across % w->down * w->tile,
                            .left = at % w->across * w->tile};
    p.lines = least(oh - p.top, w->tile);
    p.cells = least(ow - p.left, w->tile);
    return p;
}

void qrn_winograd_next(const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                       qrn_winograd_place *p) {
    size_t oh = (size_t)g->out[1], ow = (size_t)g->out[2];
    p->left += w->tile;
    if (p->left >= ow) {
        p->left = 0;
        p->top += w->tile;
        if (p->top >= oh) {
            p->top = 0;
            p->image++;
        }
        p->lines = least(oh - p->top, w->tile);
    }
    p->cells = least(ow - p->left, w->tile);
}

qrn_grid_part qrn_winograd_part_of(const qrn_winograd_grid *w, const qrn_kcall *k, size_t panels) {
    const qrn_grid_work work = {.rows = w->all,
                                .cols = panels,
                                .of_row = OF_TILE,
                                .of_col = OF_PANEL,
                                .of_part = k->follower ? OF_PIECE : 0};
    return qrn_grid_part_of(&work, k->task, k->n_tasks);
}

uint32_t qrn_winograd_tasks_of(const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                               uint32_t n_threads) {
    size_t products = w->all * w->tile * w->tile * 9 * g->cin * g->cout / TASK_PRODUCTS;
    return products < 1 ? 1 : (uint32_t)least(products, n_threads);
}

size_t qrn_winograd_block(const qrn_winograd_grid *w, size_t n) {
    size_t blocks = up(n, w->block);
    return least(least(up(up(n, blocks), ROWS) * ROWS, w->block), n);
}

void qrn_winograd_report(const qrn_kcall *k, const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                         size_t at, size_t n, size_t c0, size_t c1) {
    size_t oh = (size_t)g->out[1], ow = (size_t)g->out[2], cout = g->cout;
    size_t from = c0 * QRN_PANEL, to = least(c1 * QRN_PANEL, cout), run;
    for (size_t end = at + n; k->follower && at < end; at += run) {
        qrn_winograd_place p = qrn_winograd_place_of(w, g, at);
        run = least(end - at, w->across - at % w->across); // in one line of tiles
        size_t cells = least(run * w->tile, ow - p.left);
        for (size_t y = p.top; y < p.top + p.lines; y++) {
            size_t cell = (p.image * oh + y) * ow + p.left;
            if (to - from == cout) {
                qrn_report(k, cell * cout, (cell + cells) * cout);
                continue;
            }
            for (size_t c = cell; c < cell + cells; c++)
                qrn_report(k, c * cout + from, c * cout + to);
        }
    }
}
