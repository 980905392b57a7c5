// SPDX-License-Identifier: MIT
//
// Executing a graph: inputs up, launches, outputs down. Executions of a context come one at a time.
#include "backend/gpu/execute.h"

#include "base/env.h"
#include "base/mem.h"

#include <string.h>

qrn_status qrn_gpu_failure(qrn_gpu_context *c, cl_int err) {
    if (qrn_cl_is_lost(err))
        atomic_store(&c->lost, true);
    return c->lost ? QRN_E_COMM : QRN_E_SYSTEM;
}

static qrn_status failed(qrn_gpu_run *r, const qrn_gpu_launch *l, const char *what, cl_int err) {
    qrn_status s = qrn_gpu_failure(r->c, err);
    const char *node = l && l->n_nodes ? r->p->cg->nodes[l->nodes[0]].name : "";
    const char *lost =
        s == QRN_E_COMM ? "; the device is lost: free the context and make a new one" : "";
    if (!l)
        return QRN_FAIL(s, "graph '%s': %s failed on '%s': %s%s", r->g->ir->name, what,
                        r->p->device->info->name, qrn_cl_error(err), lost);
    return QRN_FAIL(s,
                    "graph '%s' node '%s': kernel %s (global %zu %zu %zu, local %zu %zu %zu) "
                    "failed on '%s': %s%s",
                    r->g->ir->name, node, l->entry, l->global[0], l->global[1], l->global[2],
                    l->local[0], l->local[1], l->local[2], r->p->device->info->name,
                    qrn_cl_error(err), lost);
}

cl_mem qrn_gpu_io_memory(const qrn_gpu_run *r, uint32_t i) {
    return r->io[i].memory.kind == QRN_MEMORY_DEVICE ? qrn_gpu_memory_buffer(&r->io[i].memory)
                                                     : qrn_gpu_staged(r, i);
}

static size_t io_bytes(const qrn_gpu_run *r, uint32_t i) {
    return r->p->cg->values[r->p->cg->io[i].value].size_bytes;
}

// Does the tensor lie in host memory: does it have to be transferred? Context tensors that the
// caller left out stay on the device.
static bool is_hosted(const qrn_gpu_run *r, uint32_t i) {
    return r->io[i].memory.kind == QRN_MEMORY_HOST || r->io[i].memory.kind == QRN_MEMORY_SHARED;
}

static qrn_status bring_inputs(qrn_gpu_run *r) {
    for (uint32_t i = 0; i < r->p->cg->n_io; i++) {
        if (r->p->cg->io[i].is_output || !is_hosted(r, i))
            continue;
        cl_int err = qrn_gpu_send(r, i, io_bytes(r, i));
        if (err != CL_SUCCESS)
            return failed(r, NULL, "the transfer of an input", err);
    }
    return QRN_OK;
}

static qrn_status fetch_outputs(qrn_gpu_run *r) {
    for (uint32_t i = 0; i < r->p->cg->n_io; i++) {
        qrn_binding *io = &r->io[i];
        const qrn_cvalue *v = &r->p->cg->values[r->p->cg->io[i].value];
        io->produced = r->p->cg->io[i].is_output;
        if (!io->produced)
            continue;
        io->rank = v->shape.rank;
        memcpy(io->dims, v->shape.dims, sizeof io->dims);
        if (!is_hosted(r, i))
            continue;
        cl_int err = qrn_gpu_fetch(r, i, io_bytes(r, i));
        if (err != CL_SUCCESS)
            return failed(r, NULL, "the transfer of an output", err);
    }
    return QRN_OK;
}

static void end_outputs(qrn_gpu_run *r) {
    for (uint32_t i = 0; i < r->p->cg->n_io; i++)
        if (r->p->cg->io[i].is_output && is_hosted(r, i))
            qrn_gpu_fetched(r, i, io_bytes(r, i));
}

static qrn_status check_memory(const qrn_gpu_run *r) {
    const qrn_compiled *cg = r->p->cg;
    for (uint32_t i = 0; i < cg->n_io; i++)
        QRN_TRY(qrn_gpu_memory_check(r->g, &cg->values[cg->io[i].value], &r->io[i].memory,
                                     cg->io[i].is_output));
    return QRN_OK;
}

static qrn_status launch(qrn_gpu_run *r, uint32_t at) {
    qrn_gpu_launch *l = &r->p->launches[at];
    if (l->host)
        return qrn_gpu_run_host(r, l);
    if (l->refresh)
        QRN_TRY(l->refresh(l->refresh_ctx, l));
    for (uint32_t k = 0; k < l->n_io_args; k++) {
        cl_mem m = qrn_gpu_io_memory(r, l->io_args[2 * k + 1]);
        cl_int err = qrn_cl.clSetKernelArg(l->kernel, l->io_args[2 * k], sizeof m, &m);
        if (err != CL_SUCCESS)
            return failed(r, l, NULL, err);
    }
    cl_int err = qrn_cl.clEnqueueNDRangeKernel(r->queue, l->kernel, l->n_dims, NULL, l->global,
                                               l->local[0] ? l->local : NULL, 0, NULL,
                                               r->events ? &r->events[at] : NULL);
    return err == CL_SUCCESS ? QRN_OK : failed(r, l, NULL, err);
}

static qrn_status run_launches(qrn_gpu_run *r) {
    if (qrn_gpu_replay(r))
        return QRN_OK;
    for (uint32_t i = 0; i < r->p->n_launches; i++) {
        if (r->opt->poll)
            QRN_TRY(r->opt->poll(r->opt->poll_ctx));
        QRN_TRY(launch(r, i));
        if (r->trace)
            qrn_gpu_report(r, i);
    }
    return QRN_OK;
}

// Kernels skip indices that are out of range and leave a note.
static qrn_status check_fault(qrn_gpu_run *r, cl_int node) {
    const cl_int none = 0;
    if (node == 0)
        return QRN_OK;
    cl_int err = qrn_cl.clEnqueueWriteBuffer(r->queue, r->p->fault_memory, CL_TRUE, 0, sizeof none,
                                             &none, 0, NULL, NULL);
    if (err != CL_SUCCESS)
        return failed(r, NULL, "a transfer", err);
    const qrn_cnode *n = (uint32_t)node <= r->p->cg->n_nodes ? &r->p->cg->nodes[node - 1] : NULL;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "graph '%s' node '%s' (%s): an index in its data is out of range",
                    r->g->ir->name, n ? n->name : "", n ? n->type : "");
}

// What kernels leave for the host: a fault, then numbers of rows.
static qrn_status fetch_reports(qrn_gpu_run *r, cl_int *reports) {
    if (!r->p->fault_memory)
        return QRN_OK;
    cl_int err =
        qrn_cl.clEnqueueReadBuffer(r->queue, r->p->fault_memory, CL_FALSE, 0,
                                   (1u + r->p->n_slots) * sizeof *reports, reports, 0, NULL, NULL);
    return err == CL_SUCCESS ? QRN_OK : failed(r, NULL, "a transfer", err);
}

static void report_rows(qrn_gpu_run *r, const cl_int *reports) {
    for (uint32_t i = 0; i < r->p->n_rows_of; i++)
        r->io[r->p->rows_of[i].io].dims[0] = (uint32_t)reports[r->p->rows_of[i].slot];
}

static qrn_status run_all(qrn_gpu_run *r) {
    cl_int reports[1 + QRN_GPU_MAX_ROWS] = {0};
    qrn_gpu_times *times = r->opt->report;
    uint64_t start = qrn_call_now_ns();
    qrn_status s = qrn_gpu_enter(r);
    if (s == QRN_OK)
        s = bring_inputs(r);
    if (times)
        times->before_ns = qrn_call_now_ns() - start;
    if (s == QRN_OK)
        s = run_launches(r);
    uint64_t launched = qrn_call_now_ns();
    if (s == QRN_OK)
        s = fetch_reports(r, reports);
    if (s == QRN_OK)
        s = fetch_outputs(r);
    if (s == QRN_OK)
        s = qrn_gpu_leave(r);
    // Also after a failure: the client's memory is in use until then.
    cl_int err = qrn_cl.clFinish(r->queue);
    if (times)
        times->after_ns = qrn_call_now_ns() - launched;
    if (err == CL_SUCCESS && s == QRN_OK) {
        end_outputs(r);
        report_rows(r, reports);
    }
    if (err == CL_SUCCESS)
        return s == QRN_OK ? check_fault(r, reports[0]) : s;
    atomic_store(&r->c->lost, true); // what the device still does to the memory is unknown
    return failed(r, NULL, "finishing the execution", err);
}

static qrn_status no_device(const qrn_api_graph *g) {
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "graph '%s': QUERN_GPU_DEVICE=none: graphs are compiled and stored, but cannot "
                    "be executed without an OpenCL device",
                    g->ir->name);
}

static qrn_status run(qrn_gpu_run *r) {
    uint64_t start = qrn_call_now_ns();
    QRN_TRY(check_memory(r));
    if (!r->opt->trace && qrn_env_get(QRN_ENV_GPU_CHECK)) {
        r->trace = qrn_gpu_check_values;
        r->trace_ctx = r;
    }
    if (r->trace && !(r->fetched = qrn_calloc((r->p->cg->n_values + 1u) * sizeof *r->fetched)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", r->g->ir->name);
    pthread_mutex_lock(&r->c->lock);
    if (r->opt->report)
        ((qrn_gpu_times *)r->opt->report)->wait_ns = qrn_call_now_ns() - start;
    qrn_gpu_profile_begin(r);
    qrn_status s = r->c->lost ? qrn_gpu_context_check(r->g->context) : run_all(r);
    qrn_gpu_profile_end(r);
    pthread_mutex_unlock(&r->c->lock);
    qrn_gpu_drop_values(r);
    return s;
}

qrn_status qrn_gpu_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    qrn_gpu_run r = {.g = g,
                     .own = own,
                     .c = qrn_gpu_context_of(g->context),
                     .p = own->plan,
                     .io = io,
                     .opt = opt,
                     .trace = opt->trace,
                     .trace_ctx = opt->trace_ctx};
    uint64_t start = qrn_call_now_ns();
    if (g->disabled)
        return QRN_FAIL(QRN_E_DISABLED, "graph '%s' was left out by the context's ENABLE_GRAPHS",
                        g->ir->name);
    if (!r.p->device)
        return no_device(g);
    pthread_rwlock_rdlock(&r.c->binding);
    qrn_status s = run(&r);
    pthread_rwlock_unlock(&r.c->binding);
    if (s == QRN_OK)
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
                "graph '%s' execute: total host time %llu us", g->ir->name,
                (unsigned long long)((qrn_call_now_ns() - start) / 1000));
    return s;
}
