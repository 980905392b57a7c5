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

// Row i of G times three numbers that are `step` apart.
static double filter_row(int i, const double *g, int step) {
    static const double root = 1.41421356237309504880;
    double g1 = g[step], g2 = g[2 * step];
    switch (i) {
    case 0:
        return g[0];
    case 1:
        return (g[0] + root * g1 + 2.0 * g2) / 6.0;
    case 2:
        return (g[0] - root * g1 + 2.0 * g2) / 6.0;
    case 3:
        return -(g[0] + g1 / root + g2 / 2.0) / 1.5;
    case 4:
        return -(g[0] - g1 / root + g2 / 2.0) / 1.5;
    default:
        return g2;
    }
}

void qrn_winograd_pack(const qrn_dense_args *a, const float *filter, float *packed) {
    size_t cout = a->cols, cin = a->depth / QRN_WINOGRAD_PLANES;
    for (size_t c = 0; c < cin; c++)
        for (size_t j = 0; j < qrn_panels(cout) * QRN_PANEL; j++) {
            double g[9] = {0}, half[18];
            for (size_t tap = 0; tap < 9 && j < cout; tap++)
                g[tap] = (double)filter[(tap * cin + c) * cout + j];
            for (int i = 0; i < QRN_WINOGRAD_WINDOW; i++)
                for (int k = 0; k < 3; k++)
                    half[i * 3 + k] = filter_row(i, g + k, 3);
            float *to = packed + (j / QRN_PANEL * a->depth + c) * QRN_PANEL + j % QRN_PANEL;
            for (int i = 0; i < QRN_WINOGRAD_PLANES; i++, to += cin * QRN_PANEL)
                *to = (float)filter_row(i % QRN_WINOGRAD_WINDOW, half + i / QRN_WINOGRAD_WINDOW * 3,
                                        1);
        }
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
