// SPDX-License-Identifier: MIT
//
// The vector rows of the col2im family, one file per ISA, and what all rows share. Directions: 0
// height, 1 width.
#ifndef QRN_KERNELS_COLUMNS_COLUMNS_ROWS_H
#define QRN_KERNELS_COLUMNS_COLUMNS_ROWS_H

#include "kernels/columns/columns.h"

#include <string.h>

static inline size_t qrn_columns_positions(const qrn_columns_args *a, uint32_t dir, uint32_t size) {
    int64_t room = (int64_t)a->before[dir] + size + a->after[dir] - 1 -
                   (int64_t)(a->kernel[dir] - 1) * a->dilation[dir];
    return room < 0 ? 0 : (size_t)(room / a->stride[dir] + 1);
}

// The window position whose cell lies on a coordinate; -1 when there is none.
static inline int64_t qrn_columns_position_of(const qrn_columns_args *a, uint32_t dir,
                                              size_t coordinate, size_t cell, size_t n) {
    int64_t from = (int64_t)coordinate + a->before[dir] - (int64_t)cell * a->dilation[dir];
    if (from < 0 || from % a->stride[dir] || from / a->stride[dir] >= (int64_t)n)
        return -1;
    return from / a->stride[dir];
}

#define QRN_COLUMNS_DENSE 64 // rows of a window, at most

qrn_status qrn_col2im_f32_avx2(const qrn_kcall *k);
qrn_status qrn_col2im_f64_avx2(const qrn_kcall *k);
qrn_status qrn_col2im_f32_neon(const qrn_kcall *k);
qrn_status qrn_col2im_f64_neon(const qrn_kcall *k);
qrn_status qrn_col2im_f32_avx512(const qrn_kcall *k);
qrn_status qrn_col2im_f64_avx512(const qrn_kcall *k);
// Windows that move by one column, of QRN_COLUMNS_DENSE rows at most, in images of one channel.
qrn_status qrn_col2im_dense_avx512(const qrn_kcall *k);

#endif
