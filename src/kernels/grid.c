// SPDX-License-Identifier: MIT
//
// Dividing products among tasks: every way to cut the columns is tried, with as many cuts of the
// rows as tasks are left for it.
#include "kernels/grid.h"

#include "kernels/kernel.h"

// Many rows are cut between whole register tiles, few of them anywhere.
#define GRAIN 12
#define MANY_ROWS 60 // of a task

typedef struct grid {
    size_t down, across; // cuts of rows and of columns
    size_t grain;        // of rows
} grid;

static size_t up(size_t n, size_t of) { return (n + of - 1) / of; }

// In quarters of products of a row and a unit: the largest part's.
static uint64_t cost_of(const qrn_grid_work *w, const grid *g) {
    size_t rows = up(up(w->rows, g->grain), g->down) * g->grain, cols = up(w->cols, g->across);
    rows = rows < w->rows ? rows : w->rows;
    uint64_t row = w->of_row + (g->across > 1 ? w->of_part : 0);
    return 4 * (uint64_t)rows * cols + row * rows + (uint64_t)w->of_col * cols;
}

static grid best_grid(const qrn_grid_work *w, uint32_t n_tasks) {
    grid best = {0};
    uint64_t least = UINT64_MAX;
    for (size_t across = 1; across <= n_tasks && across <= w->cols; across++) {
        grid g = {.down = n_tasks / across, .across = across};
        g.grain = w->rows >= g.down * MANY_ROWS ? GRAIN : 1;
        uint64_t cost = cost_of(w, &g);
        if (cost < least) {
            least = cost;
            best = g;
        }
    }
    return best;
}

qrn_grid_part qrn_grid_part_of(const qrn_grid_work *w, uint32_t task, uint32_t n_tasks) {
    qrn_grid_part p = {.r1 = w->rows, .c1 = w->cols};
    if (n_tasks < 2)
        return p;
    grid g = best_grid(w, n_tasks);
    if (task >= g.down * g.across)
        return (qrn_grid_part){0};
    qrn_split(w->rows, g.grain, task / (uint32_t)g.across, (uint32_t)g.down, &p.r0, &p.r1);
    qrn_split(w->cols, 1, task % (uint32_t)g.across, (uint32_t)g.across, &p.c0, &p.c1);
    return p;
}
