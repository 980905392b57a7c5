// SPDX-License-Identifier: MIT
//
// Tuning of local sizes: of launches in one dimension that leave the size of work groups to the
// driver (such kernels use no local memory and no barriers, so the size cannot change a result),
// and of kernels whose writer lists sizes.
#include "base/sha256.h"
#include "bind/gpu/binder.h"
#include "bind/gpu/tune.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define N_RUNS 3

static const size_t sizes[] = {0, 32, 64, 128, 256, 512}; // 0: the driver's choice

typedef struct trial {
    qrn_gpu_plan *plan;
    qrn_gpu_launch *launch;
} trial;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double run_once(const trial *t, const size_t *local) {
    cl_command_queue q = t->plan->device->queue;
    const qrn_gpu_launch *l = t->launch;
    double start = now_us();
    cl_int err = qrn_cl.clEnqueueNDRangeKernel(q, l->kernel, l->n_dims, NULL, l->global, local, 0,
                                               NULL, NULL);
    if (qrn_cl.clFinish(q) != CL_SUCCESS || err != CL_SUCCESS)
        return -1;
    return now_us() - start;
}

static uint32_t n_variants(const qrn_gpu_launch *l) {
    return l->n_locals ? l->n_locals + 1 : (uint32_t)(sizeof sizes / sizeof sizes[0]);
}

// Variant 0 is what the launch has.
static qrn_gpu_local variant_of(const qrn_gpu_launch *l, uint32_t v) {
    qrn_gpu_local own = {{l->local[0], l->local[1], l->local[2]}};
    if (v == 0)
        return own;
    return l->n_locals ? l->locals[v - 1] : (qrn_gpu_local){{sizes[v], 1, 1}};
}

static bool fits(const trial *t, const qrn_gpu_local *local) {
    size_t all = 1;
    for (uint32_t d = 0; d < t->launch->n_dims; d++) {
        if (!local->size[d] || t->launch->global[d] % local->size[d] != 0)
            return false;
        all *= local->size[d];
    }
    return all <= t->plan->device->info->max_group;
}

static double measure_sizes(const trial *t, uint32_t variant) {
    qrn_gpu_local local = variant_of(t->launch, variant);
    if (variant && !fits(t, &local))
        return -1;
    const size_t *given = local.size[0] ? local.size : NULL;
    double best = run_once(t, given); // the first run may build
    for (int i = 0; i < N_RUNS && best >= 0; i++) {
        double us = run_once(t, given);
        best = i == 0 || us < best ? us : best;
    }
    return best;
}

static double measure(void *ctx, uint32_t variant, double *spent_us) {
    double start = now_us(), us = measure_sizes(ctx, variant);
    *spent_us += now_us() - start;
    return us;
}

static void describe(void *ctx, uint32_t variant, qrn_gpu_variant *out) {
    const qrn_gpu_launch *l = ((const trial *)ctx)->launch;
    qrn_gpu_local size = variant_of(l, variant);
    snprintf(out->kernel, sizeof out->kernel, "%.31s", l->entry);
    snprintf(out->local, sizeof out->local, "%zux%zux%zu", size.size[0], size.size[1],
             size.size[2]);
}

// A launch that can be run at any time: it reads and writes nothing that is kept.
static bool may_run(const qrn_gpu_plan *p, const qrn_gpu_launch *l) {
    if (l->host || l->refresh || (!l->n_locals && (l->n_dims != 1 || l->local[0])))
        return false;
    for (uint32_t i = 0; i < l->n_args; i++) {
        const qrn_gpu_arg *a = &l->args[i];
        if (!l->n_locals && (a->kind == QRN_GPU_ARG_BUFFER || a->kind == QRN_GPU_ARG_LOCAL ||
                             a->kind == QRN_GPU_ARG_OBJECT))
            return false; // of a package, or with local memory
        if (!qrn_gpu_is_value(a) || a->item == QRN_VAL_NONE)
            continue;
        const qrn_gpu_place *at = &p->places[a->item];
        if (at->space == QRN_GPU_STATE || at->space == QRN_GPU_FAULT ||
            (at->space == QRN_GPU_CONST && p->constants[at->index].writable))
            return false;
    }
    return true;
}

static cl_int bind_io(const qrn_gpu_launch *l, cl_mem *io) {
    cl_int err = CL_SUCCESS;
    for (uint32_t k = 0; k < l->n_io_args && err == CL_SUCCESS; k++)
        err = qrn_cl.clSetKernelArg(l->kernel, l->io_args[2 * k], sizeof(cl_mem),
                                    &io[l->io_args[2 * k + 1]]);
    return err;
}

// The text of the program says types and everything that is fused.
static void ask(const qrn_gpu_launch *l, qrn_gpu_question *q) {
    uint8_t digest[QRN_SHA256_BYTES];
    qrn_sha256 h;
    qrn_sha256_begin(&h);
    qrn_sha256_add(&h, l->source.text,
                   l->source.binary_bytes ? l->source.binary_bytes : strlen(l->source.text));
    qrn_sha256_end(&h, digest);
    *q = (qrn_gpu_question){.family = "local", .precision = 255};
    snprintf(q->shape, sizeof q->shape, "%.80s %zux%zux%zu", l->entry, l->global[0], l->global[1],
             l->global[2]);
    snprintf(q->types, sizeof q->types, "text %02x%02x%02x%02x%02x%02x", digest[0], digest[1],
             digest[2], digest[3], digest[4], digest[5]);
}

void qrn_gpu_tune_plan(qrn_gpu_plan *p, cl_mem *io) {
    if (p->tuned || (!p->device->tuner && !p->n_known))
        return;
    p->tuned = true;
    for (uint32_t i = 0; i < p->n_launches; i++) {
        qrn_gpu_launch *l = &p->launches[i];
        qrn_gpu_question q;
        trial one = {p, l};
        if (!may_run(p, l) || bind_io(l, io) != CL_SUCCESS)
            continue;
        ask(l, &q);
        uint32_t v = qrn_gpu_tune(p->device, p, p->cg, &q,
                                  &(qrn_gpu_candidates){n_variants(l), describe, measure, &one});
        qrn_gpu_local local = variant_of(l, v);
        if (v && fits(&one, &local))
            memcpy(l->local, local.size, sizeof l->local);
    }
}
