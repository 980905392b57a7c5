// SPDX-License-Identifier: MIT
//
// The im2col and col2im families. Directions: 0 height, 1 width.
#include "kernels/columns/columns.h"

static size_t n_positions(const qrn_columns_args *a, uint32_t dir, uint32_t size) {
    int64_t room = (int64_t)a->before[dir] + size + a->after[dir] - 1 -
                   (int64_t)(a->kernel[dir] - 1) * a->dilation[dir];
    return room < 0 ? 0 : (size_t)(room / a->stride[dir] + 1);
}

// Coordinate of a window cell for a window position; -1 outside the image.
static int64_t image_cell(const qrn_columns_args *a, uint32_t dir, size_t position, size_t cell,
                          uint32_t size) {
    int64_t at =
        (int64_t)position * a->stride[dir] + (int64_t)cell * a->dilation[dir] - a->before[dir];
    return at < 0 || at >= size ? -1 : at;
}

// The window position whose cell lies on a coordinate; -1 when there is none.
static int64_t position_of(const qrn_columns_args *a, uint32_t dir, size_t coordinate, size_t cell,
                           size_t n) {
    int64_t from = (int64_t)coordinate + a->before[dir] - (int64_t)cell * a->dilation[dir];
    if (from < 0 || from % a->stride[dir] || from / a->stride[dir] >= (int64_t)n)
        return -1;
    return from / a->stride[dir];
}

#define T float
#define IM2COL im2col_f32_ref
#define COL2IM col2im_f32_ref
#include "kernels/columns/columns.inc"
#undef T
#undef IM2COL
#undef COL2IM
#define T double
#define IM2COL im2col_f64_ref
#define COL2IM col2im_f64_ref
#include "kernels/columns/columns.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) + qrn_view_count(k->out[0]) < 16384 ? 1 : n_threads;
}

static const qrn_kernel im2col_rows[] = {
    {.name = "im2col_f32_ref", .domain = QRN_DOMAIN_F32, .fn = im2col_f32_ref, .tasks = tasks},
    {.name = "im2col_f64_ref", .domain = QRN_DOMAIN_F64, .fn = im2col_f64_ref, .tasks = tasks},
};
QRN_FAMILY(im2col, sizeof(qrn_columns_args));

static const qrn_kernel col2im_rows[] = {
    {.name = "col2im_f32_ref", .domain = QRN_DOMAIN_F32, .fn = col2im_f32_ref, .tasks = tasks},
    {.name = "col2im_f64_ref", .domain = QRN_DOMAIN_F64, .fn = col2im_f64_ref, .tasks = tasks},
};
QRN_FAMILY(col2im, sizeof(qrn_columns_args));
