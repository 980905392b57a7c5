// SPDX-License-Identifier: MIT
//
// A trial is a small plan: the new launches, with every block of memory that they touch as a
// constant of its own, filled with numbers between -1 and 1.
#include "bind/gpu/trial.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define BATCH_US 1500.0 // runs that are timed together take about so long
#define MOST_RUNS 50
#define N_BATCHES 2

typedef struct trial {
    qrn_gpu_binder *b;
    qrn_gpu_device device; // without sharing of constants
    qrn_gpu_plan plan;
    uint32_t *index_of; // [n_places] by block: constant + 1
    void **fills;       // [n_constants] heap, or NULL
} trial;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

qrn_gpu_mark qrn_gpu_mark_of(const qrn_gpu_plan *p) {
    return (qrn_gpu_mark){.n_launches = p->n_launches,
                          .n_places = p->n_places,
                          .n_constants = p->n_constants,
                          .n_params = p->n_params,
                          .n_rows_of = p->n_rows_of,
                          .n_slots = p->n_slots,
                          .has_fault = p->has_fault};
}

void qrn_gpu_go_back(qrn_gpu_plan *p, const qrn_gpu_mark *m) {
    p->n_launches = m->n_launches;
    p->n_places = m->n_places;
    p->n_constants = m->n_constants;
    p->n_params = m->n_params;
    p->n_rows_of = m->n_rows_of;
    p->n_slots = m->n_slots;
    p->has_fault = m->has_fault;
}

// --- memory

static size_t elem_bytes(qrn_dtype t) { return (qrn_dtypes[t].bits + 7u) / 8u; }

// The block that a place lies in: a number of the places.
static uint32_t block_of(const qrn_gpu_binder *b, uint32_t item) {
    if (item >= b->cg->n_values)
        return item;
    return qrn_compiled_owner(b->cg, qrn_gpu_is_joined(b, item) ? b->joins[item].whole : item);
}

static size_t block_bytes(const qrn_gpu_binder *b, uint32_t block) {
    const qrn_gpu_place *at = &b->plan->places[block];
    return block < b->cg->n_values ? qrn_gpu_count(b, block) * elem_bytes(at->type)
                                   : (size_t)at->offset; // scratch: its size
}

static void *fill(qrn_dtype type, size_t bytes) {
    uint32_t seed = 12345;
    void *data = qrn_calloc(bytes + 1);
    for (size_t i = 0; data && qrn_dtype_is_float(type) && i < bytes / elem_bytes(type); i++) {
        seed = seed * 1664525u + 1013904223u;
        float v = (float)(seed >> 8) / 8388608.0f - 1.0f;
        if (type == QRN_DTYPE_F32)
            ((float *)data)[i] = v;
        else if (type == QRN_DTYPE_F16)
            ((uint16_t *)data)[i] = qrn_f16_from_f64((double)v);
    }
    return data;
}

// A constant for the block; false: out of memory.
static bool add_block(trial *t, uint32_t block) {
    const qrn_gpu_place *at = &t->b->plan->places[block];
    qrn_gpu_const c = {.bytes = block_bytes(t->b, block)};
    if (t->index_of[block])
        return true;
    if (at->space == QRN_GPU_CONST && at->index != UINT32_MAX)
        c = t->b->plan->constants[at->index];
    else
        c.data = t->fills[t->plan.n_constants] = fill(at->type, (size_t)c.bytes);
    c.memory = NULL;
    c.pooled = false;
    t->plan.constants[t->plan.n_constants] = c;
    t->index_of[block] = ++t->plan.n_constants;
    return c.data != NULL;
}

static bool add_place(trial *t, uint32_t item) {
    const qrn_gpu_place *at = &t->b->plan->places[item];
    uint32_t block = block_of(t->b, item);
    if (at->space == QRN_GPU_STATE || at->space == QRN_GPU_FAULT || !add_block(t, block))
        return false;
    uint64_t offset = item >= t->b->cg->n_values ? 0 : at->offset;
    if (qrn_gpu_is_joined(t->b, item))
        offset = t->b->joins[item].at * elem_bytes(at->type);
    t->plan.places[item] = (qrn_gpu_place){.space = QRN_GPU_CONST,
                                           .type = at->type,
                                           .index = t->index_of[block] - 1,
                                           .offset = offset};
    return true;
}

// --- the small plan

static bool begin(trial *t, qrn_gpu_binder *b, const qrn_gpu_mark *from) {
    qrn_gpu_plan *p = b->plan;
    uint32_t n_args = 0;
    *t = (trial){.b = b, .device = *b->opt->device};
    t->device.shares = NULL;
    t->plan = (qrn_gpu_plan){.cg = b->cg,
                             .launches = p->launches + from->n_launches,
                             .n_launches = p->n_launches - from->n_launches,
                             .params = p->params,
                             .n_params = p->n_params,
                             .n_places = p->n_places};
    for (uint32_t i = 0; i < t->plan.n_launches; i++)
        n_args += t->plan.launches[i].n_args;
    t->plan.places = qrn_calloc((p->n_places + 1u) * sizeof *t->plan.places);
    t->plan.constants = qrn_calloc((n_args + 2u) * sizeof *t->plan.constants);
    t->index_of = qrn_calloc((p->n_places + 1u) * sizeof *t->index_of);
    t->fills = qrn_calloc((n_args + 2u) * sizeof *t->fills);
    bool ok = t->plan.places && t->plan.constants && t->index_of && t->fills;
    for (uint32_t i = 0; ok && i < t->plan.n_launches; i++)
        for (uint32_t k = 0; ok && k < t->plan.launches[i].n_args; k++) {
            const qrn_gpu_arg *a = &t->plan.launches[i].args[k];
            if (qrn_gpu_is_value(a) && a->item != QRN_VAL_NONE)
                ok = add_place(t, a->item);
        }
    if (ok && qrn_gpu_realize(&t->plan, &t->device) != QRN_OK) {
        qrn_message_clear();
        ok = false;
    }
    return ok;
}

static void end(trial *t) {
    qrn_gpu_unrealize(&t->plan);
    for (uint32_t i = 0; t->fills && i < t->plan.n_constants; i++)
        qrn_free(t->fills[i]);
    qrn_free(t->fills);
    qrn_free(t->index_of);
    qrn_free(t->plan.constants);
    qrn_free(t->plan.places);
    qrn_free(t->plan.state_memory);
}

// Microseconds of a run, of n; negative: it failed.
static double run(const trial *t, uint32_t n) {
    cl_command_queue q = t->device.queue;
    cl_int err = CL_SUCCESS;
    double start = now_us();
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t i = 0; i < t->plan.n_launches && err == CL_SUCCESS; i++) {
            const qrn_gpu_launch *l = &t->plan.launches[i];
            err = qrn_cl.clEnqueueNDRangeKernel(q, l->kernel, l->n_dims, NULL, l->global,
                                                l->local[0] ? l->local : NULL, 0, NULL, NULL);
        }
    if (qrn_cl.clFinish(q) != CL_SUCCESS || err != CL_SUCCESS)
        return -1;
    return (now_us() - start) / n;
}

// The first run is not counted: drivers build kernels then.
static double measure(const trial *t, double *spent_us) {
    double best = run(t, 1), start = now_us();
    double one = best < 0 ? best : run(t, 1);
    uint32_t n = one < BATCH_US / MOST_RUNS ? MOST_RUNS : (uint32_t)(BATCH_US / one) + 1;
    best = one;
    for (int i = 0; i < N_BATCHES && best >= 0; i++) {
        double us = run(t, n);
        best = us < 0 || us < best ? us : best;
    }
    *spent_us += now_us() - start;
    return best;
}

static bool fetch(const trial *t, qrn_val y, qrn_gpu_outcome *out) {
    uint32_t block = block_of(t->b, y), index = t->index_of[block];
    if (!index)
        return false;
    const qrn_gpu_const *c = &t->plan.constants[index - 1];
    uint64_t at;
    cl_mem m = qrn_gpu_memory_of(&t->plan,
                                 &(qrn_gpu_place){.space = QRN_GPU_CONST, .index = index - 1}, &at);
    *out = (qrn_gpu_outcome){qrn_alloc((size_t)c->bytes), (size_t)c->bytes,
                             t->b->plan->places[block].type};
    return out->data &&
           qrn_cl.clEnqueueReadBuffer(t->device.queue, m, CL_TRUE, (size_t)at, out->bytes,
                                      out->data, 0, NULL, NULL) == CL_SUCCESS;
}

double qrn_gpu_try(qrn_gpu_binder *b, const qrn_gpu_mark *from, qrn_val y, qrn_gpu_outcome *out,
                   double *spent_us) {
    trial t;
    double us = -1;
    if (begin(&t, b, from)) {
        us = measure(&t, spent_us);
        if (us >= 0 && !fetch(&t, y, out))
            us = -1;
    }
    end(&t);
    return us;
}

// --- results

static double number(const qrn_gpu_outcome *o, size_t i) {
    return o->type == QRN_DTYPE_F16 ? (double)qrn_f16_to_f32(((const uint16_t *)o->data)[i])
                                    : (double)((const float *)o->data)[i];
}

bool qrn_gpu_agree(const qrn_gpu_outcome *a, const qrn_gpu_outcome *reference, double tolerance) {
    if (a->bytes != reference->bytes || a->type != reference->type)
        return false;
    if (a->type != QRN_DTYPE_F16 && a->type != QRN_DTYPE_F32)
        return memcmp(a->data, reference->data, a->bytes) == 0;
    size_t n = a->bytes / elem_bytes(a->type);
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double v = fabs(number(reference, i));
        largest = isfinite(v) && v > largest ? v : largest;
    }
    for (size_t i = 0; i < n; i++) {
        double x = number(a, i), y = number(reference, i);
        bool same = x == y || (isnan(x) && isnan(y)); // what follows may be a logarithm
        if (!same && !(fabs(x - y) <= tolerance * largest))
            return false;
    }
    return true;
}
