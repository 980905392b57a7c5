// SPDX-License-Identifier: MIT
//
// How the rows of a GEMM in single precision come before the tiles of gemm_f32.h:
//   rows     as they lie in x
//   windows  a convolution without padding reads the lines of its windows where they lie in x
//   band     one with padding reads them in a copy of some lines of x with zeros around them
//   gather   everything else, and rows whose distance would make them fight for the same places
//            of the first cache, are copied row by row
#ifndef QRN_KERNELS_GEMM_DENSE_FEED_H
#define QRN_KERNELS_GEMM_DENSE_FEED_H

#include "kernels/gemm/tiles/gemm_f32.h"

typedef enum qrn_feed_way {
    QRN_FEED_ROWS,
    QRN_FEED_WINDOWS,
    QRN_FEED_BAND,
    QRN_FEED_GATHER
} qrn_feed_way;

typedef struct qrn_dense_feed {
    const qrn_dense_plan *plan;
    qrn_feed_way way;
    size_t step;   // rows at a time; windows and band: lines of output cells
    size_t stride; // gather: floats between rows; windows and band: cells of a line
    size_t floats; // of scratch for each task
} qrn_dense_feed;

// Makes a column of cells (images of width 1, as convolutions over time have them) a line: tiles
// are filled along lines.
void qrn_dense_plan_lines(qrn_dense_plan *p);

// near: somebody goes on with the results at once.
qrn_dense_feed qrn_dense_feed_of(const qrn_dense_plan *p, const qrn_gemm_f32_kernel *kernel,
                                 bool near);

// Brings rows of a group from r on, at most up to `end`: sets the left side of *g. Returns how many
size_t qrn_dense_feed_rows(const qrn_dense_feed *f, const float *x, size_t group, size_t r,
                           size_t end, float *scratch, qrn_gemm_f32_block *g);

#endif
