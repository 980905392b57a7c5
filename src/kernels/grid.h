// SPDX-License-Identifier: MIT
//
// How a product of rows by columns is divided among tasks: into a grid of parts of about equal
// size, as many as there are tasks or a few less. Rows alone are cut where that goes evenly; where
// there are too few of them, or where they would leave threads idle, columns are cut too.
#ifndef QRN_KERNELS_GRID_H
#define QRN_KERNELS_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Rows, and columns in units: panels. What a task spends beside its products, each in quarters of
// the product of a row and a unit.
typedef struct qrn_grid_work {
    size_t rows, cols;
    uint32_t of_row;  // to bring a row, which each cut of the columns does again
    uint32_t of_col;  // to bring a unit of columns, which each cut of the rows does again
    uint32_t of_part; // of a row whose columns are cut: what is done with its results in pieces
} qrn_grid_work;

// Rows [r0, r1) times units [c0, c1); of an idle task both are empty.
typedef struct qrn_grid_part {
    size_t r0, r1, c0, c1;
} qrn_grid_part;

qrn_grid_part qrn_grid_part_of(const qrn_grid_work *w, uint32_t task, uint32_t n_tasks);

#endif
