// SPDX-License-Identifier: MIT
//
// Finalizing a graph: compile, bind, realize, and buffers for what comes from the host.
#include "backend/gpu/gpu.h"

#include "base/env.h"
#include "base/mem.h"
#include "compiler/compile.h"
#include "core/host.h"

void qrn_gpu_graph_unrealize(qrn_gpu_graph *g) {
    qrn_gpu_recording_drop(g);
    for (uint32_t i = 0; g->plan && g->io && i < g->plan->cg->n_io; i++) {
        if (g->io[i])
            qrn_cl.clReleaseMemObject(g->io[i]);
        g->io[i] = NULL;
    }
    qrn_gpu_stages_drop(g);
    if (g->plan)
        qrn_gpu_unrealize(g->plan);
}

void qrn_gpu_graph_clear(qrn_gpu_graph *g) {
    qrn_gpu_graph_unrealize(g);
    qrn_free(g->io);
    qrn_free(g->stages);
    g->io = NULL;
    g->stages = NULL;
    qrn_gpu_plan_destroy(g->plan);
    g->plan = NULL;
    qrn_compiled_destroy(g->stored);
    g->stored = NULL;
}

static qrn_dtype declared(void *ctx, uint32_t tensor_id) {
    const qrn_tensor *t = qrn_context_tensor(((const qrn_api_graph *)ctx)->context, tensor_id);
    return t ? t->dtype : QRN_DTYPE_F32;
}

static void explain(void *ctx, const char *line) {
    const qrn_api_graph *g = ctx;
    qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO, "graph '%s': %s", g->ir->name, line);
}

static const qrn_gpu_device *device_of(const qrn_api_graph *g) {
    const qrn_gpu_context *c = qrn_gpu_context_of(g->context);
    return c->device.info ? &c->device : NULL;
}

static qrn_status bind(qrn_api_graph *g, const qrn_finalize_options *opt, qrn_compiled *cg,
                       qrn_gpu_plan **plan) {
    const qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    const qrn_gpu_device *d = device_of(g);
    bool keep = qrn_host_keeps_tensors(g);
    qrn_gpu_options o = {.device = d,
                         .precision = own->precision,
                         .keep_memory = own->keep_memory || keep,
                         .keep_nodes = own->keep_nodes || keep,
                         .host_steps = qrn_gpu_host_steps(),
                         .most_bytes = opt->most_bytes,
                         .declared = declared,
                         .ctx = g,
                         .explain = explain,
                         .explain_ctx = g};
    if (own->prepared)
        o.find = qrn_gpu_binary_find;
    QRN_TRY(qrn_gpu_binary_choices(g, cg, &o.known, &o.n_known));
    qrn_gpu_tuner_begin(d ? d->tuner : NULL);
    return qrn_bind_gpu(cg, &o, plan);
}

static qrn_status new_io(const qrn_api_graph *g, const qrn_gpu_plan *p, uint32_t i, cl_mem *out) {
    const qrn_cvalue *v = &p->cg->values[p->cg->io[i].value];
    const qrn_tensor *t = qrn_context_tensor(g->context, p->cg->io[i].tensor_id);
    if (t && t->role == QRN_ROLE_INOUT)
        return qrn_gpu_shared_memory(g->context, t->id, v->size_bytes, out);
    return qrn_gpu_new_buffer(p, v->size_bytes, NULL, out);
}

// Tuning runs kernels: never on memory of the context, which holds what other graphs wrote.
static bool may_tune(const qrn_api_graph *g, const qrn_gpu_plan *p) {
    for (uint32_t i = 0; i < p->cg->n_io; i++) {
        const qrn_tensor *t = qrn_context_tensor(g->context, p->cg->io[i].tensor_id);
        if (t && t->role == QRN_ROLE_INOUT)
            return false;
    }
    return true;
}

// Objects of a plan, and buffers for its application tensors.
static qrn_status realize(const qrn_api_graph *g, qrn_gpu_graph *made) {
    const qrn_gpu_device *d = device_of(g);
    uint32_t n_io = made->plan->cg->n_io;
    if (!made->io && !(made->io = qrn_calloc((n_io + 1u) * sizeof *made->io)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
    if (!d)
        return QRN_OK;
    QRN_TRY(qrn_gpu_realize(made->plan, d));
    for (uint32_t i = 0; i < n_io; i++)
        QRN_TRY(new_io(g, made->plan, i, &made->io[i]));
    // Filling them ends here: an execution with a profile runs on another queue.
    cl_int err = qrn_cl.clFinish(d->queue);
    if (err != CL_SUCCESS)
        return QRN_FAIL(qrn_gpu_failure(qrn_gpu_context_of(g->context), err),
                        "graph '%s': buffers of its tensors cannot be made on '%s': %s",
                        g->ir->name, d->info->name, qrn_cl_error(err));
    QRN_TRY(qrn_gpu_stages_make(g, made));
    if (may_tune(g, made->plan))
        qrn_gpu_tune_plan(made->plan, made->io);
    return qrn_gpu_recording_make(made);
}

qrn_status qrn_gpu_graph_realize(const qrn_api_graph *g) { return realize(g, g->impl); }

// What a compiled graph depends on beside the graph.
static uint32_t how_of(const qrn_api_graph *g) {
    if (qrn_host_keeps_tensors(g) || qrn_env_get(QRN_ENV_PASSES))
        return QRN_GPU_NOT_STORED;
    return (uint32_t)QRN_FP16_AS_F32 << 8 | (qrn_gpu_graph_of(g)->keep_nodes ? 8u : 0u);
}

// Nodes that a file holds are validated before anything is made of them.
static qrn_status check_nodes(const qrn_api_graph *g) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    for (uint32_t i = 0; own->unchecked && i < g->ir->n_nodes; i++)
        QRN_TRY(qrn_node_check(g->context->backend, g->context, g->ir->nodes[i], NULL));
    own->unchecked = false;
    return QRN_OK;
}

static qrn_status compile(qrn_api_graph *g, const qrn_finalize_options *opt, qrn_compiled **cg) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    qrn_compile_options o = {.fp16 = QRN_FP16_AS_F32,
                             .binder_fuses = true,
                             .keep_tensors = qrn_host_keeps_tensors(g) || own->keep_nodes,
                             .most_bytes = opt->most_bytes,
                             .lower_user = qrn_gpu_user_lower,
                             .ctx = g,
                             .poll = opt->poll,
                             .poll_ctx = opt->poll_ctx};
    const qrn_graph *ir;
    QRN_TRY(check_nodes(g));
    QRN_TRY(qrn_gpu_super_nodes(g, &ir));
    if (ir != g->ir)
        own->how = QRN_GPU_NOT_STORED;
    return qrn_compile(ir, &o, cg);
}

// The compiled graph of a binary, when it was compiled as it would be here; else it is compiled.
static qrn_status get_compiled(qrn_api_graph *g, const qrn_finalize_options *opt,
                               qrn_compiled **cg) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    qrn_compiled *stored = own->stored;
    bool fits = stored && own->stored_how == how_of(g) && own->stored_how != QRN_GPU_NOT_STORED;
    own->stored = NULL;
    own->how = how_of(g);
    qrn_status s = fits ? qrn_compiled_verify(stored, true) : QRN_OK;
    if (fits && s == QRN_OK)
        s = qrn_gpu_check_graph(stored);
    if (fits && s == QRN_OK) {
        *cg = stored;
        return QRN_OK;
    }
    qrn_compiled_destroy(stored);
    own->prepared = NULL; // steps and values would be others
    return s == QRN_OK ? compile(g, opt, cg) : s;
}

static qrn_status build(qrn_api_graph *g, const qrn_finalize_options *opt) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    qrn_compiled *cg = NULL;
    QRN_TRY(get_compiled(g, opt, &cg));
    qrn_gpu_graph made = *own;
    made.plan = NULL;
    made.io = NULL;
    made.stages = NULL;
    made.recording = NULL;
    qrn_status s = bind(g, opt, cg, &made.plan);
    if (s == QRN_OK)
        s = realize(g, &made);
    if (s != QRN_OK) {
        if (!made.plan)
            qrn_compiled_destroy(cg);
        qrn_gpu_graph_clear(&made);
        return s;
    }
    made.user_ops = own->user_ops; // lowering has added to it
    qrn_gpu_graph_clear(own);
    *own = made;
    g->compiled = cg;
    return QRN_OK;
}

qrn_status qrn_gpu_finalize(qrn_api_graph *g, const qrn_finalize_options *opt) {
    uint64_t start = qrn_call_now_ns();
    qrn_gpu_context *c = qrn_gpu_context_of(g->context);
    pthread_rwlock_rdlock(&c->binding);
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    const void *before = own->user_ops; // of an earlier finalize
    qrn_status s = build(g, opt);
    pthread_rwlock_unlock(&c->binding);
    if (s != QRN_OK)
        qrn_gpu_user_free(own, before);
    if (s != QRN_OK)
        return s;
    const qrn_gpu_plan *p = qrn_gpu_graph_of(g)->plan;
    qrn_gpu_binary_report(g);
    qrn_gpu_report_host(g);
    qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
            "graph '%s' finalize: %u launches, %zu bytes of intermediate tensors, total host time "
            "%llu us",
            g->ir->name, p->n_launches, p->arena_bytes,
            (unsigned long long)((qrn_call_now_ns() - start) / 1000));
    return QRN_OK;
}
