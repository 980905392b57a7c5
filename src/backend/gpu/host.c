// SPDX-License-Identifier: MIT
//
// Executing host steps (QUERN_GPU_HOST_STEPS): operands down, the kernel of the CPU, results up.
// The queue waits for each of them.
#include "backend/gpu/execute.h"

#include <stdio.h>
#include <string.h>

static cl_mem memory_of(const qrn_gpu_run *r, const qrn_gpu_place *at) {
    return at->space == QRN_GPU_IO ? qrn_gpu_io_memory(r, at->index) : r->p->arena;
}

static cl_int read_operand(const qrn_gpu_run *r, const qrn_gpu_host *h, qrn_val v, void *to) {
    const qrn_gpu_place *at = &r->p->places[v];
    const qrn_cvalue *val = &r->p->cg->values[v];
    bool narrow = at->type != val->dtype;
    size_t bytes = narrow ? val->size_bytes / 2 : val->size_bytes;
    cl_int err = qrn_cl.clEnqueueReadBuffer(r->queue, memory_of(r, at), CL_TRUE, (size_t)at->offset,
                                            bytes, narrow ? h->staging : to, 0, NULL, NULL);
    for (size_t i = 0; err == CL_SUCCESS && narrow && i < bytes / 2; i++)
        ((float *)to)[i] = qrn_f16_to_f32(((const uint16_t *)h->staging)[i]);
    return err;
}

static cl_int write_result(const qrn_gpu_run *r, const qrn_gpu_host *h, qrn_val v,
                           const void *from) {
    const qrn_gpu_place *at = &r->p->places[v];
    const qrn_cvalue *val = &r->p->cg->values[v];
    bool narrow = at->type != val->dtype;
    size_t bytes = narrow ? val->size_bytes / 2 : val->size_bytes;
    for (size_t i = 0; narrow && i < bytes / 2; i++)
        ((uint16_t *)h->staging)[i] = qrn_f16_from_f64((double)((const float *)from)[i]);
    return qrn_cl.clEnqueueWriteBuffer(r->queue, memory_of(r, at), CL_TRUE, (size_t)at->offset,
                                       bytes, narrow ? h->staging : from, 0, NULL, NULL);
}

static bool is_moved(const qrn_gpu_run *r, qrn_val v) {
    return v != QRN_VAL_NONE && r->p->cg->values[v].kind != QRN_CV_CONST;
}

static qrn_status failed(qrn_gpu_run *r, const qrn_gpu_launch *l, cl_int err) {
    return QRN_FAIL(qrn_gpu_failure(r->c, err),
                    "graph '%s' node '%s': a transfer for its host step failed on '%s': %s",
                    r->g->ir->name, r->p->cg->nodes[l->nodes[0]].name, r->p->device->info->name,
                    qrn_cl_error(err));
}

qrn_status qrn_gpu_run_host(qrn_gpu_run *r, const qrn_gpu_launch *l) {
    const qrn_gpu_host *h = l->host;
    const qrn_cstep *s = h->step;
    const qrn_cnode *node = &r->p->cg->nodes[l->nodes[0]];
    uint64_t start = qrn_call_now_ns();
    cl_int err = CL_SUCCESS;
    for (uint32_t i = 0; i < s->n_in && err == CL_SUCCESS; i++)
        if (is_moved(r, s->in[i]))
            err = read_operand(r, h, s->in[i], h->views[i].data);
    if (err != CL_SUCCESS)
        return failed(r, l, err);
    qrn_status st = h->kernel->fn(&h->call);
    if (st != QRN_OK)
        return QRN_FAIL(st, "graph '%s' node '%s' (%s): its data cannot be computed on",
                        r->g->ir->name, node->name, node->type);
    for (uint32_t i = 0; i < s->n_out && err == CL_SUCCESS; i++)
        if (is_moved(r, s->out[i]))
            err = write_result(r, h, s->out[i], h->views[s->n_in + i].data);
    if (r->events)
        r->opt->node_times[l->nodes[0]].spent_ns += qrn_call_now_ns() - start;
    return err == CL_SUCCESS ? QRN_OK : failed(r, l, err);
}

void qrn_gpu_report_host(const qrn_api_graph *g) {
    const qrn_gpu_plan *p = qrn_gpu_graph_of(g)->plan;
    char names[900];
    size_t n = 0;
    names[0] = 0;
    for (uint32_t i = 0; i < p->n_launches && n < sizeof names - 200; i++) {
        const qrn_gpu_launch *l = &p->launches[i];
        if (l->host)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s'%.60s' (%.60s)", n ? ", " : "",
                                  p->cg->nodes[l->nodes[0]].name, p->cg->nodes[l->nodes[0]].type);
    }
    if (p->n_host)
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
                "graph '%s': %u host steps, which run on the CPU: %s", g->ir->name, p->n_host,
                names);
}
