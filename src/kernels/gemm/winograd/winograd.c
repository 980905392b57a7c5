// SPDX-License-Identifier: MIT
//
// Winograd's convolution of floats: packing, the reference row and the family.
#include "kernels/gemm/winograd/winograd.h"

#include "kernels/gemm/dense/dense.h"

#include <math.h>

#define TILES_LEAST 16 // of an image: with fewer, reading the larger weights costs what is saved
#define CHANNELS_LEAST 32
#define LANES_MOST 16

#define LANES 4
#define TILE QRN_WINOGRAD_TILE
#define NAME winograd_ref
#define GEMM qrn_gemm_f32_ref
#define LINKAGE static
#include "kernels/gemm/winograd/winograd.inc"

bool qrn_winograd_shape(const qrn_dense_args *a) {
    const qrn_conv_args *c = &a->conv;
    if (a->rows || c->n_spatial != 2 || c->transposed || a->group != 1)
        return false;
    for (int i = 0; i < 2; i++)
        if (a->kernel[i] != 3 || c->stride[i] != 1 || c->dilation[i] != 1)
            return false;
    return true;
}

bool qrn_winograd_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y) {
    if (!qrn_winograd_shape(a))
        return false;
    size_t cin = x->dims[3], cout = y->dims[3], cells = (size_t)y->dims[1] * y->dims[2];
    size_t n = qrn_winograd_tiles(y, QRN_WINOGRAD_TILE);
    return cin % LANES_MOST == 0 && cout % LANES_MOST == 0 && cin >= CHANNELS_LEAST &&
           cout >= CHANNELS_LEAST && n >= TILES_LEAST && 8 * n <= cells && cin < UINT32_MAX / 64;
}

// G times a column of three: six rows, for a panel of output channels. The rows of points +-p share
// their even and odd part.
static void filter_column(double (*to)[QRN_PANEL], size_t step, double (*g)[QRN_PANEL],
                          size_t apart) {
    static const double root = 1.41421356237309504880;
    const double *g0 = g[0], *g1 = g[apart], *g2 = g[2 * apart];
    for (size_t j = 0; j < QRN_PANEL; j++) {
        double even = (g0[j] + 2.0 * g2[j]) * (1.0 / 6.0), odd = g1[j] * (root / 6.0);
        to[0][j] = g0[j];
        to[step][j] = even + odd;
        to[2 * step][j] = even - odd;
        even = (g0[j] + 0.5 * g2[j]) * (-1.0 / 1.5), odd = g1[j] * (-1.0 / (1.5 * root));
        to[3 * step][j] = even + odd;
        to[4 * step][j] = even - odd;
        to[5 * step][j] = g2[j];
    }
}

// The matrices of one input channel and one panel; the first of them goes to `to`, the others
// `plane` floats behind each other. `filter`: its first tap, the others `tap` floats apart.
static void pack_panel(const float *filter, size_t tap, size_t width, float *to, size_t plane) {
    double g[9][QRN_PANEL] = {{0}}, half[18][QRN_PANEL], all[6][QRN_PANEL];
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < width; j++)
            g[i][j] = (double)filter[i * tap + j];
    for (size_t k = 0; k < 3; k++)
        filter_column(half + k, 3, g + k, 3);
    for (size_t i = 0; i < QRN_WINOGRAD_WINDOW; i++) {
        filter_column(all, 1, half + 3 * i, 1);
        for (size_t k = 0; k < QRN_WINOGRAD_WINDOW; k++, to += plane)
            for (size_t j = 0; j < QRN_PANEL; j++)
                to[j] = (float)all[k][j];
    }
}

void qrn_winograd_pack(const qrn_dense_args *a, const float *filter, float *packed) {
    size_t cout = a->cols, cin = a->depth / QRN_WINOGRAD_PLANES;
    for (size_t c = 0; c < cin; c++)
        for (size_t j = 0; j < cout; j += QRN_PANEL)
            pack_panel(filter + c * cout + j, cin * cout,
                       cout - j < QRN_PANEL ? cout - j : QRN_PANEL,
                       packed + (j / QRN_PANEL * a->depth + c) * QRN_PANEL, cin * QRN_PANEL);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "winograd_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = row_##isa,     \
        .tasks = tasks_##isa, .scratch = scratch_##isa                                             \
    }
#define FUNCTION(isa, kernel)                                                                      \
    static qrn_status row_##isa(const qrn_kcall *k) {                                              \
        return qrn_winograd_run(k, k->args, &kernel,                                               \
                                &(qrn_winograd_weights){.packed = k->in[1]->data});                \
    }                                                                                              \
    static uint32_t tasks_##isa(const qrn_kcall *k, uint32_t n_threads) {                          \
        return qrn_winograd_tasks(k, k->args, &kernel, n_threads);                                 \
    }                                                                                              \
    static size_t scratch_##isa(const qrn_kcall *k) {                                              \
        return qrn_winograd_scratch(k, k->args, &kernel, &(qrn_winograd_weights){0});              \
    }

#if defined(__x86_64__)
FUNCTION(avx512, qrn_winograd_f32_avx512)
FUNCTION(avx2, qrn_winograd_f32_avx2)
#elif defined(__aarch64__)
FUNCTION(neon, qrn_winograd_f32_neon)
#endif
FUNCTION(ref, winograd_ref)

static const qrn_kernel winograd_rows[] = {
#if defined(__x86_64__)
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_REPORTS(winograd, sizeof(qrn_dense_args));
