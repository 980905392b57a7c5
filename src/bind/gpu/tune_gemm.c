// SPDX-License-Identifier: MIT
//
// Tuning of GEMMs: tiles, and into how many parts sums are cut. Variants add in another order, so
// that their results differ in the last bits: one that differs by more is no candidate.
#include "bind/gpu/gemm.h"
#include "bind/gpu/trial.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tuning {
    qrn_gpu_binder *b;
    const qrn_gpu_gemm *g;
    const qrn_gpu_gemm_variants *v;
    qrn_gpu_outcome reference; // of variant 0
} tuning;

// As results are compared with exact ones: 1e-5 of the largest in f32, more for long sums.
static double tolerance_of(const tuning *t) {
    qrn_dtype y = t->b->plan->places[qrn_gpu_result(t->b)].type;
    double sums = 2e-7 * sqrt((double)t->g->depth);
    return y == QRN_DTYPE_F16 ? 1e-3 : sums > 1e-5 ? sums : 1e-5;
}

static double measure(void *ctx, uint32_t i, double *spent_us) {
    tuning *t = ctx;
    qrn_gpu_mark from = qrn_gpu_mark_of(t->b->plan);
    qrn_gpu_outcome made = {0};
    double us = -1;
    if (i > 0 && !t->reference.data)
        return -1;
    if (t->v->add(t->b, t->g, t->v->ctx, i) == QRN_OK)
        us = qrn_gpu_try(t->b, &from, qrn_gpu_result(t->b), &made, spent_us);
    else
        qrn_message_clear();
    qrn_gpu_go_back(t->b->plan, &from);
    if (us >= 0 && i > 0 && !qrn_gpu_agree(&made, &t->reference, tolerance_of(t)))
        us = -1;
    if (i == 0 && us >= 0)
        t->reference = made;
    else
        qrn_free(made.data);
    return us;
}

static void describe(void *ctx, uint32_t i, qrn_gpu_variant *out) {
    const tuning *t = ctx;
    t->v->describe(t->v->ctx, i, out);
}

static const char *type_of(const qrn_gpu_binder *b, qrn_val v) {
    return qrn_dtypes[b->plan->places[v].type].token;
}

static void ask(const qrn_gpu_binder *b, const qrn_gpu_gemm *g, qrn_gpu_question *q) {
    const int32_t *p = g->params; // of gemm_cpu.cl: kernel, strides
    *q = (qrn_gpu_question){.family = "gemm", .precision = b->opt->precision};
    snprintf(q->shape, sizeof q->shape, "m%zu n%zu k%zu b%zu %dx%d/%dx%d %s %s e%u", g->rows,
             g->cols, g->depth, g->batch, p[5], p[6], p[7], p[8], g->direct ? "rows" : "taps",
             g->fixed ? "constant" : "computed", b->group->n - 1);
    snprintf(q->types, sizeof q->types, "%s %s %s", type_of(b, g->step->in[0]),
             type_of(b, g->step->in[1]), type_of(b, qrn_gpu_result(b)));
}

qrn_status qrn_gpu_gemm_tuned(qrn_gpu_binder *b, const qrn_gpu_gemm *g,
                              const qrn_gpu_gemm_variants *v) {
    tuning t = {.b = b, .g = g, .v = v};
    qrn_gpu_question q;
    uint32_t i = 0;
    if (v->n > 1 && (b->opt->device->tuner || b->plan->n_known)) {
        ask(b, g, &q);
        i = qrn_gpu_tune(b->opt->device, b->plan, b->cg, &q,
                         &(qrn_gpu_candidates){v->n, describe, measure, &t});
    }
    qrn_free(t.reference.data);
    return v->add(b, g, v->ctx, i);
}
