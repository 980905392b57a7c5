// SPDX-License-Identifier: MIT
//
// The rules for networks (HTP-NET) as functions of a step: each says whether the step breaks it and
// how long the step would take if it did not. Steps are judged one by one; times add up, so a
// rule's gain over all its steps is a sum as well.
#include "device/advice.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 64 // steps behind a step that are looked at for a parallel one

typedef struct look {
    const qd_graph *g;
    const qd_steps *steps;
    const qd_estimate *e;
    const qd_chip *chip;
    qd_precision p;
    double vtcm;
} look;

// What a rule finds: the time with the change, and what is to be said of the step.
typedef struct found {
    qd_time now, then;
    char *detail;
} found;

static bool is(const qd_step *s, const char *type) { return strcmp(s->op->type, type) == 0; }

static double floor32(double x) { return x < 32 ? x : 32 * floor(x / 32); }

static qd_time as_product(const look *l, const qd_step *s, qd_product size) {
    qd_step changed = *s;
    changed.padded = qd_padded(&size);
    return qd_time_of(&changed, l->chip, l->p, l->vtcm);
}

#define SAY(f, ...) snprintf((f)->detail, sizeof((qd_hit *)0)->detail, __VA_ARGS__)

// HTP-NET-03. One row is a classifier: its outputs are what they are.
static bool channels(const look *l, uint32_t i, found *f) {
    const qd_step *s = &l->steps->list[i];
    qd_product size = s->size;
    if (s->kind != QD_MATRIX || size.groups != 1 || size.rows * size.batch == 1 || !s->weights)
        return false;
    size.in = floor32(size.in);
    size.out = floor32(size.out);
    if (size.in == s->size.in && size.out == s->size.out)
        return false;
    f->then = as_product(l, s, size);
    SAY(f, "%.0f to %.0f channels; %.0f to %.0f would cost less", s->size.in, s->size.out, size.in,
        size.out);
    return true;
}

// HTP-NET-05: pixels of 2x2 become channels.
static bool shallow(const look *l, uint32_t i, found *f) {
    const qd_step *s = &l->steps->list[i];
    qd_product size = s->size;
    double k = sqrt(size.taps);
    if (s->kind != QD_MATRIX || size.groups != 1 || size.taps < 4 || size.in > 8 || k != floor(k) ||
        size.rows < 128)
        return false;
    if (s->in / size.in > 3 * size.rows * size.batch) { // stride 2: the rows stay
        size.taps = pow(ceil(k / 2), 2);
    } else {
        size.taps = pow(ceil((k + 1) / 2), 2);
        size.rows /= 4;
        size.out *= 4;
    }
    size.in *= 4;
    f->then = as_product(l, s, size);
    SAY(f, "%.0fx%.0f over %.0f channels; %.0fx%.0f over %.0f after space to depth", k, k,
        s->size.in, sqrt(size.taps), sqrt(size.taps), size.in);
    return true;
}

// HTP-NET-05: convolutions of the same input that do not fill their tiles.
static bool parallel(const look *l, uint32_t i, found *f) {
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_MATRIX || !s->weights || s->size.groups != 1)
        return false;
    for (uint32_t k = i + 1; k < l->steps->n && k <= i + NEAR; k++) {
        const qd_step *o = &l->steps->list[k];
        qd_product both = s->size;
        if (o->kind != QD_MATRIX || !o->weights || o->op->in[0] != s->op->in[0] ||
            o->size.taps != both.taps || o->size.groups != 1 || o->size.rows != both.rows)
            continue;
        both.out += o->size.out;
        if (qd_padded(&both) >= s->padded + o->padded)
            continue;
        const qd_time *t = &l->e->steps[k];
        f->then = as_product(l, s, both);
        f->then.matrix -= t->matrix;
        f->then.overhead -= t->overhead;
        SAY(f, "%.0f channels beside the %.0f of %.40s", s->size.out, o->size.out, o->op->name);
        return true;
    }
    return false;
}

static bool batchnorm(const look *l, uint32_t i, found *f) {
    const qd_step *s = &l->steps->list[i];
    if (!s->split)
        return false;
    SAY(f, "%u step%s of %.2f MB", qd_passes(s, l->p), l->p == QD_FP16 ? "" : "s",
        (s->in + s->out) * (l->p == QD_W8A8 ? 1 : 2) / 1e6);
    return true;
}

// HTP-NET-12.
static bool transpose(const look *l, uint32_t i, found *f) {
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_MOVE || !is(s, "Transpose"))
        return false;
    SAY(f, "moves %.2f MB", (s->in + s->out) * (l->p == QD_W8A8 ? 1 : 2) / 1e6);
    return true;
}

// HTP-NET-08: all but the last input must fill their tiles.
static bool concat(const look *l, uint32_t i, found *f) {
    const qd_step *s = &l->steps->list[i];
    if (!is(s, "Concat"))
        return false;
    const qd_value *y = &l->g->values[s->op->out[0]];
    for (uint32_t k = 0; k + 1 < s->op->n_in; k++) {
        const qd_value *x = &l->g->values[s->op->in[k]];
        uint32_t c = x->rank ? x->dims[x->rank - 1] : 0;
        if (y->rank && c != y->dims[y->rank - 1] && c % 32) {
            SAY(f, "input %u has %u channels, no multiple of 32", k, c);
            return true;
        }
    }
    return false;
}

// HTP-NET-06, HTP-NET-07.
static bool spill(const look *l, uint32_t i, found *f) {
    const qd_time *t = &l->e->steps[i];
    if (!(t->spill_bytes > 0))
        return false;
    f->then = *t;
    f->then.memory *= t->weight_bytes / (t->weight_bytes + t->spill_bytes);
    SAY(f, "%.1f MB more than its share of %.0f MB", t->spill_bytes / 1e6, l->vtcm / 1048576);
    return true;
}

// HTP-NET-04.
static bool division(const look *l, uint32_t i, found *f) {
    qd_step s = l->steps->list[i];
    if (!s.divides)
        return false;
    s.effort = 1;
    f->then = qd_time_of(&s, l->chip, l->p, l->vtcm);
    bool constant = s.op->n_in > 1 && l->g->values[s.op->in[1]].constant;
    SAY(f, constant ? "by a constant" : "by another value");
    return true;
}

// HTP-NET-04.
static bool prelu(const look *l, uint32_t i, found *f) {
    const qd_step *s = &l->steps->list[i];
    if (!is(s, "Prelu"))
        return false;
    SAY(f, "a slope for each channel");
    return true;
}

// HTP-NET-10: these never join a convolution.
static bool activation(const look *l, uint32_t i, found *f) {
    static const char *const types[] = {"Elu", "Gelu", "Sigmoid", "Tanh", "ElementWiseNeuron"};
    const qd_step *s = &l->steps->list[i];
    if (s->kind != QD_HEAVY || s->source == UINT32_MAX ||
        l->steps->list[s->source].kind > QD_DEPTHWISE)
        return false;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        if (is(s, types[k])) {
            SAY(f, "behind %.60s", l->steps->list[s->source].op->name);
            return true;
        }
    return false;
}

static const struct {
    const char *rule;
    bool (*breaks)(const look *l, uint32_t i, found *f); // leaves `then` zero: the step goes away
    bool at_most;
    const char *change;
} rules[] = {
    {"channels", channels, false,
     "use multiples of 32 channels: a part of a tile of 32 costs as much as a full one"},
    {"shallow", shallow, false,
     "fold 2x2 pixels into channels (space to depth) before a convolution of few channels"},
    {"parallel", parallel, false, "merge convolutions that read the same input into one"},
    {"batchnorm", batchnorm, false,
     "put batch normalization behind a convolution, into which it folds"},
    {"transpose", transpose, false, "arrange dimensions so that no Transpose is needed"},
    {"concat", concat, true,
     "give all inputs of a channel Concat but the last a multiple of 32 channels"},
    {"spill", spill, false,
     "keep a step's activations within half the VTCM: smaller pictures or "
     "fewer channels at this size"},
    {"division", division, false, "multiply by the reciprocal instead of dividing"},
    {"prelu", prelu, false, "Relu or LeakyRelu joins the step before it"},
    {"activation", activation, false,
     "Relu, Relu6 or HardSwish joins the convolution before it; this activation does not"},
};

#define N_RULES (sizeof rules / sizeof rules[0])

static double core_of(const qd_time *t) { return t->matrix + t->vector + t->overhead; }

static double gain_of(const look *l, double core, double memory) {
    return l->e->us -
           qd_total(l->e->start, fmax(0, l->e->core - core), fmax(0, l->e->memory - memory));
}

static int best_hit(const void *a, const void *b) {
    const qd_hit *x = a, *y = b;
    return x->gain > y->gain ? -1 : x->gain < y->gain ? 1 : x->step < y->step ? -1 : 1;
}

static int best_advice(const void *a, const void *b) {
    const qd_advice *x = a, *y = b;
    return x->gain > y->gain ? -1 : x->gain < y->gain ? 1 : strcmp(x->rule, y->rule);
}

// All steps that break rule r; `room` holds as many hits as there are steps.
static void apply(const look *l, size_t r, qd_hit *room, qd_advice *out) {
    double core = 0, memory = 0;
    *out = (qd_advice){.rule = rules[r].rule,
                       .change = rules[r].change,
                       .at_most = rules[r].at_most,
                       .hits = room};
    for (uint32_t i = 0; i < l->steps->n; i++) {
        qd_hit *h = &room[out->n];
        *h = (qd_hit){.step = i};
        found f = {.now = l->e->steps[i], .detail = h->detail};
        if (!rules[r].breaks(l, i, &f))
            continue;
        double less = core_of(&f.now) - core_of(&f.then), bytes = f.now.memory - f.then.memory;
        h->gain = gain_of(l, less, bytes);
        if (!(h->gain > 0))
            continue;
        core += less;
        memory += bytes;
        out->n++;
    }
    out->gain = gain_of(l, core, memory);
    if (out->n)
        qsort(room, out->n, sizeof *room, best_hit);
}

qrn_status qd_advise(const qd_graph *g, const qd_steps *steps, const qd_estimate *e,
                     const qd_chip *chip, qd_precision p, double vtcm_bytes, qrn_arena *arena,
                     qd_advices *out) {
    const look l = {g, steps, e, chip, p, vtcm_bytes > 0 ? vtcm_bytes : chip->vtcm_mb * 1048576.0};
    qd_hit *room = qrn_calloc((steps->n + 1) * sizeof *room);
    *out = (qd_advices){.list = qrn_arena_alloc(arena, N_RULES * sizeof *out->list)};
    bool failed = !room || !out->list;
    for (size_t r = 0; !failed && r < N_RULES; r++) {
        qd_advice *a = &out->list[out->n];
        apply(&l, r, room, a);
        if (!a->n || a->gain < 1e-3 * e->us)
            continue;
        a->hits = qrn_arena_copy(arena, room, a->n * sizeof *room);
        failed = !a->hits;
        out->n++;
    }
    qrn_free(room);
    if (failed)
        return QRN_FAIL(QRN_E_MEM, "estimate: no memory");
    if (out->n)
        qsort(out->list, out->n, sizeof *out->list, best_advice);
    return QRN_OK;
}
