// SPDX-License-Identifier: MIT
//
// Winograd's convolution: packing, the reference row, and the work of a task. Lines of tiles are
// done a block at a time: all their input is transformed, then for each panel of output channels
// come the 36 products and the transformation back.
#include "kernels/gemm/winograd.h"

#include "kernels/gemm/dense.h"

#include <math.h>

#define BLOCK_ELEMENTS (180 * 1024) // of the matrices of a block: they stay in the second cache
#define SHIFT 16       // elements that keep matrices from fighting for the same places of a cache
#define TILES_LEAST 16 // of an image: with fewer, reading the larger weights costs what is saved
#define CHANNELS_LEAST 32
#define LANES_MOST 16

#define LANES 4
#define NAME winograd_ref
#define GEMM qrn_gemm_f32_ref
#define LINKAGE static
#include "kernels/gemm/winograd.inc"

static size_t tiles(int64_t cells) {
    return ((size_t)cells + QRN_WINOGRAD_TILE - 1) / QRN_WINOGRAD_TILE;
}

bool qrn_winograd_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y) {
    const qrn_conv_args *c = &a->conv;
    if (a->rows || c->n_spatial != 2 || c->transposed || a->group != 1)
        return false;
    for (int i = 0; i < 2; i++)
        if (a->kernel[i] != 3 || c->stride[i] != 1 || c->dilation[i] != 1)
            return false;
    size_t cin = x->dims[3], cout = y->dims[3], cells = (size_t)y->dims[1] * y->dims[2];
    size_t n = tiles(y->dims[1]) * tiles(y->dims[2]);
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

// What a call is about.
typedef struct job {
    const qrn_kcall *call;
    const qrn_winograd_kernel *kernel;
    const qrn_dense_args *args;
    qrn_conv_geometry geo;
    size_t down, across; // tiles of an image
    size_t lines;        // of tiles, of a block
    size_t v_plane, m_plane;
    float *v, *m;
    size_t floats; // of scratch for each task: the most that any smaller image needs
} job;

static job job_of(const qrn_kcall *k, const qrn_winograd_kernel *kernel) {
    job j = {.call = k, .kernel = kernel, .args = k->args};
    j.geo = qrn_conv_geometry_of(&j.args->conv, k->in[0], k->out[0], j.args->kernel);
    j.down = tiles(j.geo.out[1]);
    j.across = tiles(j.geo.out[2]);
    size_t line = QRN_WINOGRAD_PLANES * j.across * (j.geo.cin + QRN_PANEL);
    j.lines = line && line < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / line : 1;
    j.lines = j.lines < j.down ? j.lines : j.down;
    j.v_plane = j.lines * j.across * j.geo.cin + SHIFT;
    j.m_plane = j.lines * j.across * QRN_PANEL + SHIFT;
    j.floats = line < BLOCK_ELEMENTS ? BLOCK_ELEMENTS : line;
    j.floats = j.floats < j.down * line ? j.floats : j.down * line;
    j.floats += (size_t)2 * QRN_WINOGRAD_PLANES * SHIFT;
    j.v = (float *)k->scratch + k->task * j.floats;
    j.m = j.v + QRN_WINOGRAD_PLANES * j.v_plane;
    return j;
}

static void take_lines(const job *j, size_t image, size_t first, size_t lines) {
    const qrn_conv_geometry *g = &j->geo;
    qrn_winograd_input t = {
        .height = g->in[1], .width = g->in[2], .channels = g->cin, .v = j->v, .plane = j->v_plane};
    t.x = (const float *)j->call->in[0]->data + image * (size_t)(g->in[1] * g->in[2]) * g->cin;
    for (size_t y = first; y < first + lines; y++)
        for (size_t x = 0; x < j->across; x++, t.v += g->cin) {
            t.top = (int64_t)(y * QRN_WINOGRAD_TILE) - g->before[1];
            t.left = (int64_t)(x * QRN_WINOGRAD_TILE) - g->before[2];
            j->kernel->take(&t);
        }
}

static void give_lines(const job *j, size_t image, size_t first, size_t lines, size_t col) {
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
            size_t top = y * QRN_WINOGRAD_TILE, left = x * QRN_WINOGRAD_TILE;
            t.y = (float *)k->out[0]->data + ((image * oh + top) * ow + left) * cout + col;
            t.lines = oh - top < QRN_WINOGRAD_TILE ? oh - top : QRN_WINOGRAD_TILE;
            t.cells = ow - left < QRN_WINOGRAD_TILE ? ow - left : QRN_WINOGRAD_TILE;
            j->kernel->give(&t);
        }
}

// The 36 products of one panel.
static void multiply(const job *j, size_t panel, size_t n_tiles) {
    size_t cin = j->geo.cin, cols = j->geo.cout - panel * QRN_PANEL;
    const float *b = (const float *)j->call->in[1]->data + panel * j->args->depth * QRN_PANEL;
    bool last = (panel + 1) * QRN_PANEL >= j->geo.cout;
    for (size_t p = 0; p < QRN_WINOGRAD_PLANES; p++, b += cin * QRN_PANEL) {
        qrn_gemm_f32_strip t = {.a = j->v + p * j->v_plane,
                                .a_row = cin,
                                .segments = 1,
                                .length = cin,
                                .b = b,
                                .c = j->m + p * j->m_plane,
                                .c_row = QRN_PANEL,
                                .rows = n_tiles,
                                .cols = (uint32_t)(cols < QRN_PANEL ? cols : QRN_PANEL)};
        if (!last || p + 1 < QRN_WINOGRAD_PLANES) {
            t.soon = b + cin * QRN_PANEL;
            t.n_soon = cin * QRN_PANEL;
        }
        j->kernel->gemm->strip(&t);
    }
}

// The lines of tiles [first, first + lines) of an image.
static void run_block(const job *j, size_t image, size_t first, size_t lines) {
    size_t ow = (size_t)j->geo.out[2], oh = (size_t)j->geo.out[1], cout = j->geo.cout;
    take_lines(j, image, first, lines);
    for (size_t panel = 0; panel < qrn_panels(cout); panel++) {
        multiply(j, panel, lines * j->across);
        give_lines(j, image, first, lines, panel * QRN_PANEL);
    }
    size_t top = first * QRN_WINOGRAD_TILE, end = (first + lines) * QRN_WINOGRAD_TILE;
    qrn_tell(j->call, (image * oh + top) * ow * cout,
             (image * oh + (end < oh ? end : oh)) * ow * cout);
}

static qrn_status run(const qrn_kcall *k, const qrn_winograd_kernel *kernel) {
    job j = job_of(k, kernel);
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

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    job j = job_of(k, NULL);
    size_t lines = j.geo.batch * j.down;
    return lines < n_threads ? (uint32_t)lines : n_threads;
}

static size_t scratch(const qrn_kcall *k) {
    job j = job_of(k, NULL);
    return k->n_tasks * j.floats * sizeof(float);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "winograd_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit,                      \
        .fn = winograd_##isa##_row, .tasks = tasks, .scratch = scratch                             \
    }
#define FUNCTION(isa, kernel)                                                                      \
    static qrn_status winograd_##isa##_row(const qrn_kcall *k) { return run(k, &kernel); }

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
QRN_FAMILY_TELLS(winograd, sizeof(qrn_dense_args));
