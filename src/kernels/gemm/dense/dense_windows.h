// SPDX-License-Identifier: MIT
//
// Convolutions of 16-bit values without gathering: lines of the image are brought to pairs of bytes
// (gemm_planes.h) with their padding, and the windows of neighbouring cells are rows of the GEMM
// that overlap. A window is parts of equally many steps, one for each row of the kernel where its
// cells lie side by side, else one for each cell.
#ifndef QRN_KERNELS_GEMM_DENSE_WINDOWS_H
#define QRN_KERNELS_GEMM_DENSE_WINDOWS_H

#include "kernels/gemm/tiles/gemm_planes.h"

#define QRN_WINDOW_PARTS 49
#define QRN_WINDOWS_BYTES (256 * 1024) // of lines at most: they stay in the second cache

typedef struct qrn_windows {
    const qrn_conv_geometry *g;
    size_t cell, line; // bytes of a cell, of a line with its padding
    size_t lines;      // lines of the output that are done together; 0: windows do not do
    uint32_t n_parts;
    size_t parts[QRN_WINDOW_PARTS]; // where they begin, in bytes
} qrn_windows;

// Windows of a convolution, if it can be done with that: `lines` is 0 if not.
qrn_windows qrn_windows_of(const qrn_dense_plan *p, const qrn_view *x);
// Bytes of lines of the image that are held at a time.
size_t qrn_windows_bytes(const qrn_windows *w);

// What is under the windows of `n` lines of the output from number `first` on, all in one image.
void qrn_windows_make(const qrn_windows *w, const qrn_planes_ops *ops, const qrn_view *x,
                      size_t first, size_t n, uint8_t *dst);

#endif
