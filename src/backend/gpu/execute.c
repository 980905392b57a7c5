// SPDX-License-Identifier: MIT
//
// Executing a graph: inputs up, launches, outputs down. Executions of a context come one at a time.
#include "backend/gpu/gpu.h"

#include "base/mem.h"

#include <string.h>

typedef struct run {
    qrn_api_graph *g;
    qrn_gpu_graph *own;
    qrn_gpu_context *c;
    const qrn_gpu_plan *p;
    const qrn_run_options *opt;
    void **fetched; // [n_values] host copies for the trace, or NULL
} run;

static qrn_status failed(run *r, const qrn_gpu_launch *l, cl_int err) {
    r->c->lost |= qrn_cl_is_lost(err);
    const char *node = l && l->n_nodes ? r->p->cg->nodes[l->nodes[0]].name : "";
    return QRN_FAIL(r->c->lost ? QRN_E_COMM_FATAL : QRN_E_COMM,
                    "graph '%s' node '%s': kernel %s (global %zu %zu %zu, local %zu %zu %zu) "
                    "failed on '%s': %s%s",
                    r->g->ir->name, node, l ? l->entry : "transfer", l ? l->global[0] : 0,
                    l ? l->global[1] : 0, l ? l->global[2] : 0, l ? l->local[0] : 0,
                    l ? l->local[1] : 0, l ? l->local[2] : 0, r->p->device->info->name,
                    qrn_cl_error(err),
                    r->c->lost ? "; the device is lost: free the context and make a new one" : "");
}

// The device buffer of an application tensor in this call.
static cl_mem io_memory(const run *r, const qrn_binding *io, uint32_t i) {
    return io[i].memory.kind == QRN_MEMORY_DEVICE ? (cl_mem)(uintptr_t)io[i].memory.device
                                                  : r->own->io[i];
}

static size_t io_bytes(const run *r, uint32_t i) {
    return r->p->cg->values[r->p->cg->io[i].value].size_bytes;
}

static qrn_status bring_inputs(run *r, const qrn_binding *io) {
    for (uint32_t i = 0; i < r->p->cg->n_io; i++) {
        if (r->p->cg->io[i].is_output || io[i].memory.kind == QRN_MEMORY_DEVICE)
            continue;
        cl_int err = qrn_cl.clEnqueueWriteBuffer(r->c->queue, r->own->io[i], CL_FALSE, 0,
                                                 io_bytes(r, i), io[i].memory.host, 0, NULL, NULL);
        if (err != CL_SUCCESS)
            return failed(r, NULL, err);
    }
    return QRN_OK;
}

static qrn_status fetch_outputs(run *r, qrn_binding *io) {
    for (uint32_t i = 0; i < r->p->cg->n_io; i++) {
        const qrn_cvalue *v = &r->p->cg->values[r->p->cg->io[i].value];
        io[i].produced = r->p->cg->io[i].is_output;
        if (!io[i].produced)
            continue;
        io[i].rank = v->shape.rank;
        memcpy(io[i].dims, v->shape.dims, sizeof io[i].dims);
        if (io[i].memory.kind == QRN_MEMORY_DEVICE)
            continue;
        cl_int err = qrn_cl.clEnqueueReadBuffer(r->c->queue, r->own->io[i], CL_FALSE, 0,
                                                io_bytes(r, i), io[i].memory.host, 0, NULL, NULL);
        if (err != CL_SUCCESS)
            return failed(r, NULL, err);
    }
    return QRN_OK;
}

static qrn_status launch(run *r, const qrn_gpu_launch *l, const qrn_binding *io) {
    for (uint32_t k = 0; k < l->n_io_args; k++) {
        cl_mem m = io_memory(r, io, l->io_args[2 * k + 1]);
        cl_int err = qrn_cl.clSetKernelArg(l->kernel, l->io_args[2 * k], sizeof m, &m);
        if (err != CL_SUCCESS)
            return failed(r, l, err);
    }
    cl_int err = qrn_cl.clEnqueueNDRangeKernel(r->c->queue, l->kernel, l->n_dims, NULL, l->global,
                                               l->local[0] ? l->local : NULL, 0, NULL, NULL);
    return err == CL_SUCCESS ? QRN_OK : failed(r, l, err);
}

// --- traces: values on the host

static cl_mem memory_of(const run *r, const qrn_binding *io, const qrn_gpu_place *at) {
    return at->space == QRN_GPU_IO      ? io_memory(r, io, at->index)
           : at->space == QRN_GPU_CONST ? r->p->constants[at->index].memory
           : at->space == QRN_GPU_ARENA ? r->p->arena
                                        : NULL;
}

typedef struct trace {
    run *r;
    const qrn_binding *io;
} trace;

static void widen(const uint16_t *src, size_t n, float *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = qrn_f16_to_f32(src[i]);
}

static bool get_value(const void *ctx, uint32_t v, qrn_view *view) {
    const trace *t = ctx;
    run *r = t->r;
    const qrn_cvalue *val = &r->p->cg->values[v];
    const qrn_gpu_place *at = &r->p->places[v];
    cl_mem m = memory_of(r, t->io, at);
    *view = qrn_compiled_view(r->p->cg, v);
    if (at->space == QRN_GPU_CONST && view->data)
        return true;
    view->data = NULL;
    bool narrow = at->type != val->dtype;
    size_t bytes = narrow ? val->size_bytes / 2 : val->size_bytes;
    char *raw = m && at->index != UINT32_MAX ? qrn_alloc(2 * val->size_bytes + 8) : NULL;
    if (!raw || qrn_cl.clEnqueueReadBuffer(r->c->queue, m, CL_TRUE, at->offset, bytes,
                                           raw + (narrow ? val->size_bytes : 0), 0, NULL,
                                           NULL) != CL_SUCCESS) {
        qrn_free(raw);
        return false;
    }
    if (narrow)
        widen((const uint16_t *)(raw + val->size_bytes), val->size_bytes / 4, (float *)raw);
    qrn_free(r->fetched[v]);
    view->data = r->fetched[v] = raw;
    return true;
}

static void report(run *r, const qrn_binding *io, uint32_t i) {
    const qrn_gpu_launch *l = &r->p->launches[i];
    const qrn_gpu_launch *next = i + 1 < r->p->n_launches ? l + 1 : NULL;
    uint32_t node = l->nodes[l->n_nodes - 1];
    if (next && next->nodes[0] == node)
        return;
    trace t = {r, io};
    for (uint32_t k = 0; k < l->n_nodes; k++)
        r->opt->trace(r->opt->trace_ctx, l->nodes[k], &(qrn_values){&t, get_value});
}

static qrn_status run_launches(run *r, const qrn_binding *io) {
    for (uint32_t i = 0; i < r->p->n_launches; i++) {
        if (r->opt->poll)
            QRN_TRY(r->opt->poll(r->opt->poll_ctx));
        QRN_TRY(launch(r, &r->p->launches[i], io));
        if (r->opt->trace)
            report(r, io, i);
    }
    return QRN_OK;
}

// Kernels skip indices that are out of range and leave a note.
static qrn_status check_fault(run *r, cl_int node) {
    const cl_int none = 0;
    if (node == 0)
        return QRN_OK;
    cl_int err = qrn_cl.clEnqueueWriteBuffer(r->c->queue, r->p->fault_memory, CL_TRUE, 0,
                                             sizeof none, &none, 0, NULL, NULL);
    if (err != CL_SUCCESS)
        return failed(r, NULL, err);
    const qrn_cnode *n = (uint32_t)node <= r->p->cg->n_nodes ? &r->p->cg->nodes[node - 1] : NULL;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "graph '%s' node '%s' (%s): an index in its data is out of range",
                    r->g->ir->name, n ? n->name : "", n ? n->type : "");
}

static qrn_status run_all(run *r, qrn_binding *io) {
    cl_int fault = 0;
    QRN_TRY(bring_inputs(r, io));
    qrn_status s = run_launches(r, io);
    if (s == QRN_OK && r->p->fault_memory) {
        cl_int read = qrn_cl.clEnqueueReadBuffer(r->c->queue, r->p->fault_memory, CL_FALSE, 0,
                                                 sizeof fault, &fault, 0, NULL, NULL);
        s = read == CL_SUCCESS ? QRN_OK : failed(r, NULL, read);
    }
    if (s == QRN_OK)
        s = fetch_outputs(r, io);
    cl_int err =
        qrn_cl.clFinish(r->c->queue); // also after a failure: the client's memory is in use
    return s != QRN_OK ? s : err == CL_SUCCESS ? check_fault(r, fault) : failed(r, NULL, err);
}

qrn_status qrn_gpu_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    run r = {.g = g, .own = own, .c = qrn_gpu_context_of(g->context), .p = own->plan, .opt = opt};
    if (opt->trace && !(r.fetched = qrn_calloc((r.p->cg->n_values + 1u) * sizeof *r.fetched)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
    pthread_mutex_lock(&r.c->lock);
    qrn_status s = run_all(&r, io);
    pthread_mutex_unlock(&r.c->lock);
    for (uint32_t v = 0; r.fetched && v < r.p->cg->n_values; v++)
        qrn_free(r.fetched[v]);
    qrn_free(r.fetched);
    return s;
}
