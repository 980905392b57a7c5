// SPDX-License-Identifier: MIT
//
// Loops of the depthwise convolution: which rows of a window lie inside the input.
#include "kernels/conv/depthwise_f32.h"

#include "kernels/grid.h"

#define BAND (16 * 1024) // floats of output rows that are reported together
#define UNIT 32          // channels that a task takes at least

bool qrn_depthwise_f32_works(const qrn_kcall *k) {
    const qrn_conv_args *a = k->args;
    uint32_t last = a->n_spatial + 1;
    return !a->transposed && a->group == k->in[0]->dims[last] &&
           a->group == k->out[0]->dims[last] &&
           qrn_view_span(k->in[1], 0, a->n_spatial - 1) <= QRN_DEPTHWISE_ROWS;
}

typedef void (*line_fn)(const qrn_depthwise_line *l);

// The rows of the window of an output row that lie inside the input.
static void find_rows(const qrn_kcall *k, const qrn_conv_geometry *g, size_t row,
                      qrn_depthwise_line *l) {
    const float *x = k->in[0]->data, *w = k->in[1]->data;
    int64_t at[2] = {(int64_t)row / g->out[1] % g->out[0], (int64_t)row % g->out[1]};
    int64_t batch = (int64_t)row / g->out[1] / g->out[0];
    l->rows = 0;
    for (int64_t a = 0; a < g->kernel[0]; a++)
        for (int64_t b = 0; b < g->kernel[1]; b++) {
            int64_t i = at[0] * g->stride[0] - g->before[0] + a * g->dilation[0];
            int64_t j = at[1] * g->stride[1] - g->before[1] + b * g->dilation[1];
            if (i < 0 || i >= g->in[0] || j < 0 || j >= g->in[1])
                continue;
            int64_t from = ((batch * g->in[0] + i) * g->in[1] + j) * g->in[2];
            l->x[l->rows] = x + (size_t)from * g->cin;
            l->w[l->rows++] = w + (size_t)((a * g->kernel[1] + b) * g->kernel[2]) * g->cin;
        }
}

// Rows, and channels in units.
static qrn_grid_part part_of(const qrn_kcall *k, const qrn_conv_geometry *g) {
    const qrn_grid_work w = {.rows = g->batch * (size_t)(g->out[0] * g->out[1]),
                             .cols = (g->cin + UNIT - 1) / UNIT,
                             .of_row = 1,
                             .of_col = 1,
                             .of_part = k->follower ? 4 : 0};
    return qrn_grid_part_of(&w, k->task, k->n_tasks);
}

// Rows [from, to) of the channels that were wanted.
static void report(const qrn_kcall *k, const qrn_depthwise_line *l, size_t from, size_t to) {
    size_t cells = (size_t)l->cells;
    if (l->end - l->first == l->channels)
        qrn_report(k, from * cells * l->channels, to * cells * l->channels);
    else
        for (size_t i = from * cells; k->follower && i < to * cells; i++)
            qrn_report(k, i * l->channels + l->first, i * l->channels + l->end);
}

static qrn_status run(const qrn_kcall *k, line_fn line) {
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, k->in[0], k->out[0], k->in[1]->dims);
    qrn_depthwise_line l = {.bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL,
                            .taps = (size_t)g.kernel[2],
                            .channels = g.cin,
                            .width = g.in[2],
                            .cells = g.out[2],
                            .stride = g.stride[2],
                            .dilation = g.dilation[2],
                            .before = g.before[2],
                            .clamp = &((const qrn_conv_args *)k->args)->clamp};
    size_t width = (size_t)g.out[2] * g.cin;
    qrn_grid_part part = part_of(k, &g);
    l.first = part.c0 * UNIT;
    l.end = part.c1 * UNIT < g.cin ? part.c1 * UNIT : g.cin;
    for (size_t row = part.r0, reported = row; row < part.r1; row++) {
        find_rows(k, &g, row, &l);
        l.y = (float *)k->out[0]->data + row * width;
        line(&l);
        if ((row + 1 - reported) * width >= BAND || row + 1 == part.r1) {
            report(k, &l, reported, row + 1);
            reported = row + 1;
        }
    }
    return QRN_OK;
}

#if defined(__x86_64__)
qrn_status qrn_depthwise_f32_avx512(const qrn_kcall *k) {
    return run(k, qrn_depthwise_line_avx512);
}
qrn_status qrn_depthwise_f32_avx2(const qrn_kcall *k) { return run(k, qrn_depthwise_line_avx2); }
#elif defined(__aarch64__)
qrn_status qrn_depthwise_f32_neon(const qrn_kcall *k) { return run(k, qrn_depthwise_line_neon); }
#endif
