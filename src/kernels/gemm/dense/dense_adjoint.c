// SPDX-License-Identifier: MIT
//
// Transposed convolutions as GEMMs of taps. Sums keep the order of the taps, so that they are those
// of a GEMM over the whole depth.
#include "kernels/gemm/dense/dense_adjoint.h"

#include <string.h>

#define LINE_ELEMENTS (64 * 1024) // results of the lines that are done together
#define ROWS_WANTED 112           // of them: bringing the weights does not count then

// What is computed: where phases of narrow results were put side by side, not what the args say.
typedef struct job {
    const qrn_dense_adjoint *t;
    qrn_conv_geometry g;
    size_t cols;       // of a cell of the output
    const float *b;    // [panels][depth][32]; NULL: fp16
    const float *bias; // may be NULL
    const qrn_clamp *clamp;
} job;

// Cells of a line that have the same taps: n of them, a stride apart, the first being `cell`.
typedef struct run {
    const int64_t *at; // the line: z and y
    int64_t cell;
    size_t n, image, taps; // taps: of x that find a cell
} run;

bool qrn_dense_adjoint_fits(const qrn_dense_args *a, const qrn_gemm_f32_kernel *kernel) {
    return !a->rows && a->conv.transposed && kernel->depth_block != SIZE_MAX;
}

// Cell of the input that tap k brings to cell `at` of dimension i; -1: none.
static int64_t source(const qrn_conv_geometry *g, int i, int64_t at, int64_t k) {
    int64_t pos = at + g->before[i] - k * g->dilation[i];
    if (pos < 0 || pos % g->stride[i])
        return -1;
    pos /= g->stride[i];
    return pos < g->in[i] ? pos : -1;
}

static size_t count_taps(const qrn_conv_geometry *g, int i, int64_t at) {
    size_t n = 0;
    for (int64_t k = 0; k < g->kernel[i]; k++)
        n += source(g, i, at, k) >= 0;
    return n;
}

// How many cells from `cell` on, a stride apart, have its taps.
static size_t run_length(const qrn_conv_geometry *g, int64_t cell) {
    int64_t s = g->stride[2], n = (g->out[2] - cell + s - 1) / s;
    for (int64_t k = 0; k < g->kernel[2]; k++) {
        int64_t pos = cell + g->before[2] - k * g->dilation[2];
        if (pos % s)
            continue;
        int64_t change = pos < 0 ? -pos / s : g->in[2] - pos / s;
        n = change > 0 && change < n ? change : n;
    }
    return (size_t)n;
}

// The weights of a tap in a panel, as floats.
static const float *tap_weights(const job *j, size_t panel, size_t tap) {
    const qrn_dense_adjoint *t = j->t;
    size_t n = j->g.cin * QRN_PANEL, at = (panel * qrn_conv_taps(&j->g) + tap) * n;
    if (j->b)
        return j->b + at;
    const uint16_t *bits = t->call->in[1]->data;
    t->engine->to_f32(bits + at, n, t->wide_range, t->converted);
    return t->converted;
}

static void run_cells(const job *j, const run *r, size_t panel, float *c) {
    const qrn_conv_geometry *g = &j->g;
    const float *x = j->t->call->in[0]->data;
    size_t col = panel * QRN_PANEL, left = j->cols - col, done = 0;
    size_t all = r->taps * count_taps(g, 0, r->at[0]) * count_taps(g, 1, r->at[1]);
    qrn_gemm_f32_strip strip = {.a_row = g->cin,
                                .segments = 1,
                                .bias = j->bias ? j->bias + col : NULL,
                                .c = c + col,
                                .c_row = (size_t)g->stride[2] * j->cols,
                                .rows = r->n,
                                .cols = (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL)};
    if (all == 0) {
        strip.clamp = j->clamp;
        j->t->engine->gemm->strip(&strip);
    }
    for (int64_t kz = 0; kz < g->kernel[0] && all; kz++) {
        int64_t z = source(g, 0, r->at[0], kz);
        for (int64_t ky = 0; ky < g->kernel[1] && z >= 0; ky++) {
            int64_t y = source(g, 1, r->at[1], ky);
            for (int64_t kx = 0; kx < g->kernel[2] && y >= 0; kx++) {
                int64_t from = source(g, 2, r->cell, kx);
                if (from < 0)
                    continue;
                size_t line = (r->image * (size_t)g->in[0] + (size_t)z) * (size_t)g->in[1];
                size_t cell = (line + (size_t)y) * (size_t)g->in[2] + (size_t)from;
                strip.a = x + cell * g->cin;
                strip.length = g->cin;
                strip.b =
                    tap_weights(j, panel, (size_t)((kz * g->kernel[1] + ky) * g->kernel[2] + kx));
                strip.resume = done++ > 0;
                strip.clamp = done == all ? j->clamp : NULL;
                j->t->engine->gemm->strip(&strip);
            }
        }
    }
}

static void run_line(const job *j, size_t line, size_t panel) {
    const qrn_conv_geometry *g = &j->g;
    size_t height = (size_t)g->out[1], depth = (size_t)g->out[0];
    int64_t at[2] = {(int64_t)(line / height % depth), (int64_t)(line % height)};
    float *c = (float *)j->t->call->out[0]->data + line * (size_t)g->out[2] * j->cols;
    for (int64_t first = 0; first < g->stride[2]; first++) {
        run r = {.at = at, .image = line / height / depth};
        for (r.cell = first; r.cell < g->out[2]; r.cell += (int64_t)r.n * g->stride[2]) {
            r.n = run_length(g, r.cell);
            r.taps = count_taps(g, 2, r.cell);
            run_cells(j, &r, panel, c + (size_t)r.cell * j->cols);
        }
    }
}

// --- few columns

// Can the results of all phases of a cell of x be one row? Each has one tap of x, they lie side by
// side and fit a panel.
static bool are_narrow(const qrn_dense_args *a) {
    uint32_t i = a->conv.n_spatial - 1;
    return a->conv.stride[i] > 1 && a->kernel[i] == a->conv.stride[i] && a->conv.dilation[i] == 1 &&
           a->conv.before[i] == 0 && (uint64_t)a->cols * a->kernel[i] <= QRN_PANEL;
}

size_t qrn_dense_adjoint_floats(const qrn_dense_args *a) {
    if (!are_narrow(a))
        return 0;
    return ((size_t)a->depth / a->kernel[a->conv.n_spatial - 1] + 1) * QRN_PANEL;
}

// Puts the phases side by side: a kernel of one column, with a column of results for each of its
// columns before.
static void join_phases(job *j) {
    qrn_conv_geometry *g = &j->g;
    size_t phases = (size_t)g->kernel[2], lines = (size_t)(g->kernel[0] * g->kernel[1]);
    float *b = j->t->scratch, *bias = b + lines * g->cin * QRN_PANEL;
    memset(b, 0, (lines * g->cin + 1) * QRN_PANEL * sizeof *b);
    for (size_t line = 0; line < lines; line++)
        for (size_t p = 0; p < phases; p++) {
            const float *from = tap_weights(j, 0, line * phases + p);
            float *to = b + line * g->cin * QRN_PANEL + p * j->cols;
            for (size_t k = 0; k < g->cin; k++)
                memcpy(to + k * QRN_PANEL, from + k * QRN_PANEL, j->cols * sizeof *to);
        }
    for (size_t i = 0; j->bias && i < phases * j->cols; i++)
        bias[i] = j->bias[i % j->cols];
    j->b = b;
    j->bias = j->bias ? bias : NULL;
    j->cols *= phases;
    g->kernel[2] = g->stride[2] = 1;
    g->out[2] = g->in[2];
}

static job job_of(const qrn_dense_adjoint *t) {
    const qrn_dense_args *a = t->plan->args;
    const qrn_kcall *k = t->call;
    job j = {.t = t,
             .g = t->plan->geo,
             .cols = a->cols,
             .bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL,
             .clamp = a->conv.clamp.on ? &a->conv.clamp : NULL};
    if (!t->engine->to_f32) {
        j.b = k->in[1]->data;
    } else if (t->converts_all) {
        t->engine->to_f32(k->in[1]->data, qrn_panels(a->cols) * QRN_PANEL * a->depth, t->wide_range,
                          t->converted);
        j.b = t->converted;
    }
    if (are_narrow(a) && j.g.out[2] == j.g.in[2] * j.g.stride[2])
        join_phases(&j);
    return j;
}

void qrn_dense_adjoint_run(const qrn_dense_adjoint *t) {
    qrn_dense_plan lines = *t->plan;
    size_t width = (size_t)t->plan->geo.out[2], cells = width * t->plan->cout + 1;
    lines.rows = width ? lines.rows / width : 0;
    lines.direct = true;
    qrn_dense_part part = qrn_dense_part_of(&lines, t->call->task, t->call->n_tasks);
    if (part.r0 >= part.r1 || part.u0 >= part.u1)
        return;
    job j = job_of(t);
    size_t step = LINE_ELEMENTS / cells, few = ROWS_WANTED / width + 1, n;
    step = step < few ? few : step;
    for (size_t r = part.r0; r < part.r1; r += n) {
        n = part.r1 - r < step ? part.r1 - r : step;
        for (size_t u = part.u0; u < part.u1; u++)
            for (size_t i = 0; i < n; i++)
                run_line(&j, r + i, u);
        qrn_dense_report(t->call, t->plan, r * width, n * width, part.u0, part.u1);
    }
}
