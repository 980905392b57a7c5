// SPDX-License-Identifier: MIT
//
// The work of a task of the dense families of single precision.
#include "kernels/gemm/dense/dense_run.h"

#include "kernels/gemm/dense/dense_adjoint.h"
#include "kernels/gemm/dense/dense_feed.h"

// A task: what it reads and where its scratch lies.
typedef struct job {
    const qrn_kcall *call;
    const qrn_dense_engine *engine;
    qrn_dense_plan plan;
    qrn_dense_feed feed;
    bool wide_range;
    float *rows, *converted;
} job;

// Are all weights of a group converted at once?
static bool converts_all(const qrn_dense_args *a) {
    return (uint64_t)qrn_panels(a->cols) * QRN_PANEL * a->depth <= QRN_GEMM_F32_NEAR;
}

static size_t converted_floats(const qrn_dense_engine *e, const qrn_dense_args *a) {
    if (!e->to_f32 || converts_all(a))
        return e->to_f32 ? qrn_panels(a->cols) * QRN_PANEL * a->depth : 0;
    size_t most = e->gemm->depth_block > a->depth ? a->depth : e->gemm->depth_block;
    // Segments are not cut: the longest is that of a window of one line, or of a column that counts
    // as a line (qrn_dense_plan_lines).
    size_t line = a->depth;
    uint32_t n = a->rows ? 0 : a->conv.n_spatial;
    uint32_t outer = n > 1 && a->kernel[n - 1] == 1 ? n - 2 : n - (n > 0);
    for (uint32_t i = 0; i < outer; i++)
        line /= a->kernel[i] ? a->kernel[i] : 1;
    return (most > line || a->rows ? most : line) * QRN_PANEL;
}

// Floats of a task for its rows.
static size_t row_floats(const qrn_dense_plan *p, const qrn_dense_engine *e) {
    return qrn_dense_adjoint_fits(p->args, e->gemm) ? qrn_dense_adjoint_floats(p->args)
                                                    : qrn_dense_feed_of(p, e->gemm, false).floats;
}

static void run_few(const job *j, const qrn_gemm_f32_block *g) {
    for (size_t c = 0; c < g->cols; c += QRN_PANEL) {
        size_t left = g->cols - c;
        qrn_gemm_f32_strip t = {.a = g->a,
                                .a_row = g->a_row,
                                .length = g->length,
                                .bias = g->bias ? g->bias + c : NULL,
                                .c = g->c + c,
                                .c_row = g->c_row,
                                .rows = g->rows,
                                .cols = (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL)};
        j->engine->few(&t, g->f16 + c * g->length, j->wide_range);
    }
}

// Rows of the part times panels [p0, p1) of a group.
static void run_group(const job *j, size_t group, size_t p0, size_t p1,
                      const qrn_dense_part *part) {
    const qrn_kcall *k = j->call;
    const qrn_dense_plan *p = &j->plan;
    const qrn_dense_args *a = p->args;
    const qrn_dense_engine *e = j->engine;
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    size_t col = group * a->cols + p0 * QRN_PANEL, n;
    size_t first = (group * qrn_panels(a->cols) + p0) * a->depth * QRN_PANEL;
    qrn_gemm_f32_block g = {.bias = bias ? bias + col : NULL,
                            .c_row = p->cout,
                            .clamp = a->conv.clamp.on ? &a->conv.clamp : NULL,
                            .to_f32 = e->to_f32,
                            .wide_range = j->wide_range,
                            .converted = j->converted};
    if (e->to_f32)
        g.f16 = (const uint16_t *)k->in[1]->data + first;
    else
        g.b = (const float *)k->in[1]->data + first;
    bool few_rows = e->few && part->r1 - part->r0 <= QRN_FEW_ROWS;
    if (g.f16 && converts_all(a) && !few_rows) {
        e->to_f32(g.f16, (p1 - p0) * QRN_PANEL * a->depth, j->wide_range, j->converted);
        g.b = j->converted;
        g.f16 = NULL;
    }
    g.cols = (p1 * QRN_PANEL < a->cols ? p1 * QRN_PANEL : a->cols) - p0 * QRN_PANEL;
    for (size_t r = part->r0; r < part->r1; r += n) {
        n = qrn_dense_feed_rows(&j->feed, k->in[0]->data, group, r, part->r1, j->rows, &g);
        g.c = (float *)k->out[0]->data + r * p->cout + col;
        if (g.f16 && e->few && n <= QRN_FEW_ROWS && g.segments == 1 && g.lines == 1)
            run_few(j, &g);
        else
            qrn_gemm_f32_run(e->gemm, &g);
        if (a->group == 1)
            qrn_dense_report(k, p, r, n, p0, p1);
    }
}

qrn_status qrn_dense_run(const qrn_kcall *k, const qrn_dense_args *a, const qrn_dense_engine *e,
                         bool wide_range) {
    job j = {.call = k, .engine = e, .plan = qrn_dense_plan_of(a, k->in[0], k->out[0])};
    qrn_dense_plan_lines(&j.plan);
    j.feed = qrn_dense_feed_of(&j.plan, e->gemm, k->follower != NULL);
    j.wide_range = wide_range;
    j.plan.followed = k->follower != NULL;
    size_t converted = converted_floats(e, a);
    j.converted = (float *)k->scratch + k->task * (converted + row_floats(&j.plan, e));
    j.rows = j.converted + converted;
    if (qrn_dense_adjoint_fits(a, e->gemm)) {
        qrn_dense_adjoint_run(&(qrn_dense_adjoint){.call = k,
                                                   .engine = e,
                                                   .plan = &j.plan,
                                                   .wide_range = wide_range,
                                                   .scratch = j.rows,
                                                   .converted = j.converted,
                                                   .converts_all = converts_all(a)});
        return QRN_OK;
    }
    qrn_dense_part part = qrn_dense_part_of(&j.plan, k->task, k->n_tasks);
    size_t panels = qrn_panels(a->cols);
    for (size_t u = part.u0, end; u < part.u1 && part.r0 < part.r1; u = end) {
        size_t group = u / panels, last = (group + 1) * panels;
        end = last < part.u1 ? last : part.u1;
        run_group(&j, group, u - group * panels, end - group * panels, &part);
    }
    if (a->group > 1)
        qrn_dense_report(k, &j.plan, part.r0, part.r1 - part.r0, part.u0, part.u1);
    return QRN_OK;
}

uint32_t qrn_dense_run_tasks(const qrn_kcall *k, const qrn_dense_args *a, uint32_t n_threads) {
    qrn_dense_plan p = qrn_dense_plan_of(a, k->in[0], k->out[0]);
    return qrn_dense_tasks(&p, n_threads);
}

size_t qrn_dense_run_scratch(const qrn_kcall *k, const qrn_dense_args *a,
                             const qrn_dense_engine *e) {
    qrn_dense_plan p = qrn_dense_plan_of(a, k->in[0], k->out[0]);
    qrn_dense_plan_lines(&p);
    return k->n_tasks * (converted_floats(e, a) + row_floats(&p, e)) * sizeof(float);
}
