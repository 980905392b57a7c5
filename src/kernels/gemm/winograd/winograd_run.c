// SPDX-License-Identifier: MIT
//
// The work of a task of Winograd's convolutions. Tiles are done a block at a time: all their input
// is transformed, then for each panel of output channels come the GEMMs and the transformation
// back.
#include "kernels/gemm/winograd/winograd_run.h"

#define BLOCK_ELEMENTS (180 * 1024) // of the matrices of a block: they stay in the second cache
#define BLOCK_OF_F16 (384 * 1024)   // the same where each block transforms the weights again
#define TAPS_CHANNELS 16            // whose weights are converted together
#define SHIFT 16 // elements that keep matrices from fighting for the same places of a cache

// What a call is about.
typedef struct job {
    const qrn_kcall *call;
    const qrn_winograd_kernel *kernel;
    const qrn_dense_args *args;
    const qrn_winograd_weights *weights;
    qrn_conv_geometry geo;
    qrn_winograd_grid grid;
    size_t tile, planes; // of the kernel
    size_t v_plane, m_plane;
    float *v, *m, *u, *taps; // u, taps: fp16 only, a panel of weights and some of their taps
    size_t floats;           // of scratch for each task: the most that any smaller image needs
} job;

static job job_of(const qrn_kcall *k, const qrn_dense_args *a, const qrn_winograd_kernel *kernel,
                  const qrn_winograd_weights *w) {
    job j = {.call = k, .kernel = kernel, .args = a, .weights = w, .tile = kernel->tile};
    size_t block = w->f16 ? BLOCK_OF_F16 : BLOCK_ELEMENTS;
    j.planes = (j.tile + 2) * (j.tile + 2);
    j.geo = qrn_conv_geometry_of(&a->conv, k->in[0], k->out[0], a->kernel);
    size_t one = j.planes * (j.geo.cin + QRN_PANEL);
    j.grid = qrn_winograd_grid_of(&j.geo, j.tile, block, one);
    j.v_plane = j.grid.block * j.geo.cin + SHIFT;
    j.m_plane = j.grid.block * QRN_PANEL + SHIFT;
    j.floats = j.grid.block * one;
    j.floats += 2 * j.planes * SHIFT;
    size_t matrices = j.floats, u = w->f16 ? j.planes * j.geo.cin * QRN_PANEL : 0;
    j.floats += u + (w->f16 ? 9 * TAPS_CHANNELS * QRN_PANEL : 0);
    j.v = (float *)k->scratch + k->task * j.floats;
    j.m = j.v + j.planes * j.v_plane;
    j.u = j.v + matrices;
    j.taps = j.u + u;
    return j;
}

static void transform_input(const job *j, size_t first, size_t n) {
    const qrn_conv_geometry *g = &j->geo;
    const float *x = j->call->in[0]->data;
    qrn_winograd_input t = {
        .height = g->in[1], .width = g->in[2], .channels = g->cin, .v = j->v, .plane = j->v_plane};
    qrn_winograd_place p = qrn_winograd_place_of(&j->grid, g, first);
    for (size_t i = 0; i < n; i++, t.v += g->cin, qrn_winograd_next(&j->grid, g, &p)) {
        t.x = x + p.image * (size_t)(g->in[1] * g->in[2]) * g->cin;
        t.top = (int64_t)p.top - g->before[1];
        t.left = (int64_t)p.left - g->before[2];
        j->kernel->transform_input(&t);
    }
}

static void transform_output(const job *j, size_t first, size_t n, size_t col) {
    const qrn_kcall *k = j->call;
    size_t ow = (size_t)j->geo.out[2], oh = (size_t)j->geo.out[1], cout = j->geo.cout;
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    float *y = k->out[0]->data;
    qrn_winograd_output t = {.m = j->m,
                             .clamp = &j->args->conv.clamp,
                             .plane = j->m_plane,
                             .bias = bias ? bias + col : NULL,
                             .y_line = ow * cout,
                             .y_cell = cout,
                             .channels = cout - col < QRN_PANEL ? cout - col : QRN_PANEL};
    qrn_winograd_place p = qrn_winograd_place_of(&j->grid, &j->geo, first);
    for (size_t i = 0; i < n; i++, t.m += QRN_PANEL, qrn_winograd_next(&j->grid, &j->geo, &p)) {
        t.y = y + ((p.image * oh + p.top) * ow + p.left) * cout + col;
        t.lines = p.lines;
        t.cells = p.cells;
        j->kernel->transform_output(&t);
    }
}

// Converts and transforms a panel of fp16 weights, some channels at a time.
static void transform_weights(const job *j, size_t panel) {
    const qrn_winograd_weights *w = j->weights;
    size_t cin = j->geo.cin;
    const uint16_t *from = w->f16 + panel * 9 * cin * QRN_PANEL;
    for (size_t c = 0, n; c < cin; c += n) {
        n = cin - c < TAPS_CHANNELS ? cin - c : TAPS_CHANNELS;
        for (size_t tap = 0; tap < 9; tap++)
            w->to_f32(from + (tap * cin + c) * QRN_PANEL, n * QRN_PANEL, w->wide_range,
                      j->taps + tap * n * QRN_PANEL);
        j->kernel->transform_weights(j->taps, n * QRN_PANEL, j->u + c * QRN_PANEL, cin * QRN_PANEL);
    }
}

// The GEMMs of one panel.
static void multiply(const job *j, size_t panel, size_t n_tiles) {
    size_t cin = j->geo.cin, cols = j->geo.cout - panel * QRN_PANEL;
    bool last = j->weights->f16 || (panel + 1) * QRN_PANEL >= j->geo.cout;
    const float *b = j->u;
    if (j->weights->f16)
        transform_weights(j, panel);
    else
        b = j->weights->packed + panel * j->args->depth * QRN_PANEL;
    for (size_t p = 0; p < j->planes; p++, b += cin * QRN_PANEL) {
        qrn_gemm_f32_strip t = {.a = j->v + p * j->v_plane,
                                .a_row = cin,
                                .segments = 1,
                                .length = cin,
                                .b = b,
                                .c = j->m + p * j->m_plane,
                                .c_row = QRN_PANEL,
                                .rows = n_tiles,
                                .cols = (uint32_t)(cols < QRN_PANEL ? cols : QRN_PANEL)};
        if (!last || p + 1 < j->planes) {
            t.soon = b + cin * QRN_PANEL;
            t.n_soon = cin * QRN_PANEL;
        }
        j->kernel->gemm->strip(&t);
    }
}

qrn_status qrn_winograd_run(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, const qrn_winograd_weights *w) {
    job j = job_of(k, a, kernel, w);
    qrn_grid_part part = qrn_winograd_part_of(&j.grid, k, qrn_panels(j.geo.cout));
    for (size_t at = part.r0, n; at < part.r1; at += n) {
        n = qrn_winograd_block(&j.grid, part.r1 - at);
        transform_input(&j, at, n);
        for (size_t panel = part.c0; panel < part.c1; panel++) {
            multiply(&j, panel, n);
            transform_output(&j, at, n, panel * QRN_PANEL);
        }
        qrn_winograd_report(k, &j.grid, &j.geo, at, n, part.c0, part.c1);
    }
    return QRN_OK;
}

uint32_t qrn_winograd_tasks(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, uint32_t n_threads) {
    job j = job_of(k, a, kernel, &(qrn_winograd_weights){0});
    return qrn_winograd_tasks_of(&j.grid, &j.geo, n_threads);
}

size_t qrn_winograd_scratch(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, const qrn_winograd_weights *w) {
    job j = job_of(k, a, kernel, w);
    return k->n_tasks * j.floats * sizeof(float);
}
