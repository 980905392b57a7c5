// SPDX-License-Identifier: MIT
//
// The im2col and col2im families. Directions: 0 height, 1 width.
#include "kernels/columns/columns_rows.h"

#include "base/cpu.h"

// Coordinate of a window cell for a window position; -1 outside the image.
static int64_t image_cell(const qrn_columns_args *a, uint32_t dir, size_t position, size_t cell,
                          uint32_t size) {
    int64_t at =
        (int64_t)position * a->stride[dir] + (int64_t)cell * a->dilation[dir] - a->before[dir];
    return at < 0 || at >= size ? -1 : at;
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

#ifdef __x86_64__
static bool is_dense(const qrn_kcall *k) {
    const qrn_columns_args *a = k->args;
    return a->stride[1] == 1 && a->kernel[0] <= QRN_COLUMNS_DENSE && k->out[0]->dims[3] == 1;
}
#endif

// clang-format off
#define COL2IM_ROW(type, DOMAIN, isa, ISA)                                                         \
    {.name = "col2im_" #type "_" #isa, .domain = DOMAIN, .needs = ISA,                             \
     .fn = qrn_col2im_##type##_##isa, .tasks = tasks}
// clang-format on

static const qrn_kernel col2im_rows[] = {
#ifdef __x86_64__
    {.name = "col2im_dense_avx512",
     .domain = QRN_DOMAIN_F32,
     .needs = QRN_ISA_AVX512,
     .works = is_dense,
     .fn = qrn_col2im_dense_avx512,
     .tasks = tasks},
    COL2IM_ROW(f32, QRN_DOMAIN_F32, avx512, QRN_ISA_AVX512),
    COL2IM_ROW(f32, QRN_DOMAIN_F32, avx2, QRN_ISA_AVX2),
    COL2IM_ROW(f64, QRN_DOMAIN_F64, avx512, QRN_ISA_AVX512),
    COL2IM_ROW(f64, QRN_DOMAIN_F64, avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    COL2IM_ROW(f32, QRN_DOMAIN_F32, neon, QRN_ISA_NEON),
    COL2IM_ROW(f64, QRN_DOMAIN_F64, neon, QRN_ISA_NEON),
#endif
    {.name = "col2im_f32_ref", .domain = QRN_DOMAIN_F32, .fn = col2im_f32_ref, .tasks = tasks},
    {.name = "col2im_f64_ref", .domain = QRN_DOMAIN_F64, .fn = col2im_f64_ref, .tasks = tasks},
};
QRN_FAMILY(col2im, sizeof(qrn_columns_args));
