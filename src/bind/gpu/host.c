// SPDX-License-Identifier: MIT
//
// Steps that no kernel of the device can do, for options.host_steps: each becomes a launch of its
// own that runs the kernel of the CPU on host copies of its operands.
#include "bind/gpu/binder.h"

#include "base/cpu.h"

#include <string.h>

// Types that only steps of quantized graphs have: kernels of the device were written for others.
static bool is_foreign(const qrn_gpu_binder *b, qrn_val v) {
    if (v == QRN_VAL_NONE || qrn_gpu_value(b, v)->kind == QRN_CV_CONST)
        return false;
    return qrn_dtype_is_fixed(qrn_gpu_value(b, v)->dtype) ||
           qrn_gpu_value(b, v)->dtype == QRN_DTYPE_F64;
}

bool qrn_gpu_wants_host(const qrn_gpu_binder *b, const qrn_cstep *s) {
    if (!b->opt->host_steps || s->kind != QRN_CSTEP_OP || qrn_gpu_is_element_wise(b, s))
        return false;
    bool foreign = s->domain == QRN_DOMAIN_F64;
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++)
        foreign |= is_foreign(b, i < s->n_in ? s->in[i] : s->out[i - s->n_in]);
    return foreign || !qrn_gpu_op_of(s->op);
}

static qrn_status no_memory(const qrn_gpu_binder *b) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a host step", b->cg->name);
}

// Memory of the graph's arena; NULL: there is none, or it would be more than a file may take.
static void *take(qrn_gpu_binder *b, size_t bytes) {
    size_t most = b->opt->most_bytes ? b->opt->most_bytes : SIZE_MAX;
    if (bytes > most - b->host_bytes)
        return NULL;
    b->host_bytes += bytes;
    return qrn_arena_alloc(b->cg->arena, bytes);
}

// The view of operand i: constants as they are, others in memory of their own.
static bool set_view(qrn_gpu_binder *b, qrn_gpu_host *h, uint32_t i, qrn_val v, size_t *staging) {
    const qrn_cvalue *val = qrn_gpu_value(b, v);
    h->ptrs[i] = &h->views[i];
    if (val->kind == QRN_CV_CONST) {
        bool there = qrn_compiled_data(b->cg, v) != NULL;
        h->views[i] = qrn_compiled_view(b->cg, v);
        return there;
    }
    h->views[i] = qrn_compiled_view(b->cg, v);
    if (b->plan->places[v].type != val->dtype && val->size_bytes > *staging)
        *staging = val->size_bytes;
    h->views[i].data = take(b, val->size_bytes);
    return h->views[i].data != NULL;
}

static qrn_status prepare(qrn_gpu_binder *b, const qrn_cstep *s, qrn_gpu_host *h) {
    uint32_t n = s->n_in + s->n_out;
    size_t staging = 0;
    h->step = s;
    if (qrn_cstep_writes_shapes(s))
        return qrn_gpu_reject(b, s, "its shapes depend on data, which host steps do not support");
    if (s->op == &qrn_cop_buffer)
        return qrn_gpu_reject(b, s, "an execution may end before it has a result");
    h->views = qrn_arena_alloc(b->cg->arena, (n + 1u) * sizeof *h->views);
    h->ptrs = qrn_arena_alloc(b->cg->arena, (n + 1u) * sizeof *h->ptrs);
    if (!h->views || !h->ptrs)
        return no_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        qrn_val v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        if (v != QRN_VAL_NONE && !set_view(b, h, i, v, &staging))
            return no_memory(b);
    }
    h->call = (qrn_kcall){.args = s->args,
                          .in = h->ptrs,
                          .out = h->ptrs + s->n_in,
                          .n_in = s->n_in,
                          .n_out = s->n_out,
                          .n_tasks = 1};
    h->kernel = qrn_kernel_select(s->op->family, (qrn_domain)s->domain, &h->call, qrn_cpu_isa());
    if (!h->kernel)
        return qrn_gpu_reject(b, s, "there is no kernel for the CPU either");
    size_t scratch = h->kernel->scratch ? h->kernel->scratch(&h->call) : 0;
    h->staging = take(b, staging + 1);
    h->call.scratch = scratch ? take(b, scratch) : NULL;
    h->call.state = s->state_bytes ? take(b, s->state_bytes) : NULL;
    bool ok = h->staging && (!scratch || h->call.scratch) && (!s->state_bytes || h->call.state);
    return ok ? QRN_OK : no_memory(b);
}

static qrn_status add_step(qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_gpu_host *h = qrn_arena_alloc(b->cg->arena, sizeof *h);
    uint32_t n = s->n_in + s->n_out;
    qrn_gpu_launch l = {.source = {.text = "", .options = ""}, .entry = "host", .host = h};
    l.args = qrn_arena_alloc(b->cg->arena, (n + 1u) * sizeof *l.args);
    if (!h || !l.args)
        return no_memory(b);
    QRN_TRY(prepare(b, s, h));
    for (uint32_t i = 0; i < n; i++) { // what has to have memory when this runs
        qrn_val v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        if (v != QRN_VAL_NONE && qrn_gpu_value(b, v)->kind != QRN_CV_CONST)
            l.args[l.n_args++] = (qrn_gpu_arg){.kind = QRN_GPU_ARG_VALUE, .item = v};
    }
    b->plan->n_host++;
    return qrn_gpu_add_launch(b, &l);
}

qrn_status qrn_gpu_bind_host(qrn_gpu_binder *b, const qrn_gpu_group *g) {
    for (uint32_t i = 0; i < g->n; i++) {
        qrn_gpu_group one = {.steps = {g->steps[i]}, .n = 1};
        b->group = &one;
        qrn_status s = add_step(b, &b->cg->steps[g->steps[i]]);
        b->group = g;
        QRN_TRY(s);
    }
    return QRN_OK;
}
