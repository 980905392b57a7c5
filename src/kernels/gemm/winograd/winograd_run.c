// SPDX-License-Identifier: MIT
//
// The work of a task of Winograd's convolutions. Lines of tiles are done a block at a time: all
// their input is transformed, then for each panel of output channels come the GEMMs and the
// transformation back.
#include "kernels/gemm/winograd/winograd_run.h"

#define BLOCK_ELEMENTS (180 * 1024) // of the matrices of a block: they stay in the second cache
#define BLOCK_OF_F16 (384 * 1024)   // the same where each block transforms the weights again
#define TAPS_CHANNELS 16            // whose weights are converted together
#define SHIFT 16 // elements that keep matrices from fighting for the same places of a cache

static size_t tiles(int64_t cells, size_t tile) { return ((size_t)cells + tile - 1) / tile; }

// What a call is about.
typedef struct job {
    const qrn_kcall *call;
    const qrn_winograd_kernel *kernel;
    const qrn_dense_args *args;
    const qrn_winograd_weights *weights;
    qrn_conv_geometry geo;
    size_t tile, planes; // of the kernel
    size_t down, across; // tiles of an image
    size_t lines;        // of tiles, of a block
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
    j.down = tiles(j.geo.out[1], j.tile);
    j.across = tiles(j.geo.out[2], j.tile);
    size_t line = j.planes * j.across * (j.geo.cin + QRN_PANEL);
    j.lines = line && line < block ? block / line : 1;
    j.lines = j.lines < j.down ? j.lines : j.down;
    j.v_plane = j.lines * j.across * j.geo.cin + SHIFT;
    j.m_plane = j.lines * j.across * QRN_PANEL + SHIFT;
    j.floats = line < block ? block : line;
    j.floats = j.floats < j.down * line ? j.floats : j.down * line;
    j.floats += 2 * j.planes * SHIFT;
    size_t matrices = j.floats, u = w->f16 ? j.planes * j.geo.cin * QRN_PANEL : 0;
    j.floats += u + (w->f16 ? 9 * TAPS_CHANNELS * QRN_PANEL : 0);
    j.v = (float *)k->scratch + k->task * j.floats;
    j.m = j.v + j.planes * j.v_plane;
    j.u = j.v + matrices;
    j.taps = j.u + u;
    return j;
}

static void transform_input_lines(const job *j, size_t image, size_t first, size_t lines) {
    const qrn_conv_geometry *g = &j->geo;
    qrn_winograd_input t = {
        .height = g->in[1], .width = g->in[2], .channels = g->cin, .v = j->v, .plane = j->v_plane};
    t.x = (const float *)j->call->in[0]->data + image * (size_t)(g->in[1] * g->in[2]) * g->cin;
    for (size_t y = first; y < first + lines; y++)
        for (size_t x = 0; x < j->across; x++, t.v += g->cin) {
            t.top = (int64_t)(y * j->tile) - g->before[1];
            t.left = (int64_t)(x * j->tile) - g->before[2];
            j->kernel->transform_input(&t);
        }
}

static void transform_output_lines(const job *j, size_t image, size_t first, size_t lines,
                                   size_t col) {
    const qrn_kcall *k = j->call;
    size_t ow = (size_t)j->geo.out[2], oh = (size_t)j->geo.out[1], cout = j->geo.cout;
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    qrn_winograd_output t = {.m = j->m,
                             .clamp = &j->args->conv.clamp,
                             .plane = j->m_plane,
                             .bias = bias ? bias + col : NULL,
                             .y_line = ow * cout,
                             .y_cell = cout,
                             .channels = cout - col < QRN_PANEL ? cout - col : QRN_PANEL};
    for (size_t y = first; y < first + lines; y++)
        for (size_t x = 0; x < j->across; x++, t.m += QRN_PANEL) {
            size_t top = y * j->tile, left = x * j->tile;
            t.y = (float *)k->out[0]->data + ((image * oh + top) * ow + left) * cout + col;
            t.lines = oh - top < j->tile ? oh - top : j->tile;
            t.cells = ow - left < j->tile ? ow - left : j->tile;
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

// The lines of tiles [first, first + lines) of an image.
static void run_block(const job *j, size_t image, size_t first, size_t lines) {
    size_t ow = (size_t)j->geo.out[2], oh = (size_t)j->geo.out[1], cout = j->geo.cout;
    transform_input_lines(j, image, first, lines);
    for (size_t panel = 0; panel < qrn_panels(cout); panel++) {
        multiply(j, panel, lines * j->across);
        transform_output_lines(j, image, first, lines, panel * QRN_PANEL);
    }
    size_t top = first * j->tile, end = (first + lines) * j->tile;
    qrn_report(j->call, (image * oh + top) * ow * cout,
               (image * oh + (end < oh ? end : oh)) * ow * cout);
}

qrn_status qrn_winograd_run(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, const qrn_winograd_weights *w) {
    job j = job_of(k, a, kernel, w);
    size_t begin, end;
    qrn_split(j.geo.batch * j.down, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t at = begin, n; at < end; at += n) {
        size_t first = at % j.down, left = end - at < j.down - first ? end - at : j.down - first;
        size_t blocks = (left + j.lines - 1) / j.lines; // of about the same size
        n = (left + blocks - 1) / blocks;
        run_block(&j, at / j.down, first, n);
    }
    return QRN_OK;
}

uint32_t qrn_winograd_tasks(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, uint32_t n_threads) {
    job j = job_of(k, a, kernel, &(qrn_winograd_weights){0});
    size_t lines = j.geo.batch * j.down;
    return lines < n_threads ? (uint32_t)lines : n_threads;
}

size_t qrn_winograd_scratch(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, const qrn_winograd_weights *w) {
    job j = job_of(k, a, kernel, w);
    return k->n_tasks * j.floats * sizeof(float);
}
