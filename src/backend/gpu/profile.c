// SPDX-License-Identifier: MIT
//
// Profiles. BASIC has the host's time of a call. DETAILED adds to an execution what its parts took
// and, from OpenCL events on a queue of their own, what each kernel took: one NODE event for all
// launches of a fused group. The sum of them (DEVICE) stands beside the wall time (EXECUTE): events
// cost time themselves, so profiles are not for comparing wall times.
#include "backend/gpu/execute.h"

#include "base/mem.h"

#include "QnnProfile.h"

#include <stdio.h>
#include <string.h>

// --- during an execution

static cl_command_queue queue_of(qrn_gpu_context *c) {
    cl_int err;
    if (!c->profile_queue)
        c->profile_queue = qrn_cl.clCreateCommandQueue(c->device.context, c->device.info->id,
                                                       CL_QUEUE_PROFILING_ENABLE, &err);
    return c->profile_queue;
}

void qrn_gpu_profile_begin(qrn_gpu_run *r) {
    const qrn_gpu_backend *b = qrn_gpu_backend_of(r->g->context->backend);
    r->queue = r->c->device.queue;
    if (!r->opt->node_times || !r->opt->report || b->options.no_kernel_profiling)
        return;
    cl_command_queue q = queue_of(r->c);
    r->events = q ? qrn_calloc((r->p->n_launches + 1u) * sizeof *r->events) : NULL;
    if (r->events)
        r->queue = q;
    else
        qrn_log(r->g->context->backend->log, QNN_LOG_LEVEL_WARN,
                "graph '%s': the device has no queue with profiling: kernels are not timed",
                r->g->ir->name);
}

static uint64_t time_of(cl_event e) {
    cl_ulong start = 0, end = 0;
    bool known = qrn_cl.clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_START, sizeof start, &start,
                                                NULL) == CL_SUCCESS &&
                 qrn_cl.clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof end, &end,
                                                NULL) == CL_SUCCESS;
    return known && end > start ? end - start : 0;
}

void qrn_gpu_profile_end(qrn_gpu_run *r) {
    qrn_gpu_times *report = r->opt->report;
    for (uint32_t i = 0; r->events && i < r->p->n_launches; i++) {
        if (!r->events[i])
            continue;
        uint64_t ns = time_of(r->events[i]);
        r->opt->node_times[r->p->launches[i].nodes[0]].spent_ns += ns;
        report->device_ns += ns;
        qrn_cl.clReleaseEvent(r->events[i]);
    }
    if (report)
        report->has_kernels = r->events != NULL;
    qrn_free(r->events);
    r->events = NULL;
}

// --- afterwards

static void add(qrn_api_profile *p, uint32_t parent, uint32_t type, uint64_t ns, const char *name) {
    qrn_profile_add(p, parent, type, QNN_PROFILE_EVENTUNIT_MICROSEC, (ns + 500) / 1000, name);
}

// The launch whose list of nodes names the group: several begin with the same node when a node
// needs several kernels. NULL: an earlier one speaks for it.
static const qrn_gpu_launch *speaker(const qrn_gpu_plan *p, uint32_t i) {
    const qrn_gpu_launch *best = &p->launches[i];
    for (uint32_t k = 0; k < p->n_launches; k++) {
        const qrn_gpu_launch *o = &p->launches[k];
        if (o->nodes[0] != best->nodes[0])
            continue;
        if (k < i)
            return NULL;
        if (o->n_nodes > best->n_nodes)
            best = o;
    }
    return best;
}

static void add_nodes(qrn_api_profile *p, uint32_t top, const qrn_call_record *r) {
    const qrn_gpu_plan *plan = qrn_gpu_graph_of(r->graph)->plan;
    for (uint32_t i = 0; i < plan->n_launches; i++) {
        const qrn_gpu_launch *l = speaker(plan, i);
        char name[1024];
        size_t n = 0;
        for (uint32_t k = 0; l && k < l->n_nodes && n < sizeof name - 1; k++)
            n += (size_t)snprintf(name + n, sizeof name - n, "%s%s", k ? "+" : "",
                                  plan->cg->nodes[l->nodes[k]].name);
        if (l && l->host && n < sizeof name - 1)
            snprintf(name + n, sizeof name - n, " (host step)");
        if (l)
            add(p, top, QNN_PROFILE_EVENTTYPE_NODE, r->node_times[l->nodes[0]].spent_ns, name);
    }
}

static void add_execute(qrn_api_profile *p, const qrn_call_record *r) {
    const qrn_gpu_times *report = r->report;
    uint32_t top = qrn_profile_add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_EXECUTE,
                                   QNN_PROFILE_EVENTUNIT_MICROSEC, (r->total_ns + 500) / 1000,
                                   "QNN (execute) time");
    if (!r->node_times || !report)
        return;
    add(p, top, QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT, report->wait_ns, "Queue wait time");
    add(p, top, QNN_PROFILE_EVENTTYPE_EXECUTE_PREPROCESS, report->before_ns, "Input transfer time");
    if (report->has_kernels)
        add(p, top, QNN_PROFILE_EVENTTYPE_EXECUTE_DEVICE, report->device_ns,
            "Device time (sum of the kernels)");
    add(p, top, QNN_PROFILE_EVENTTYPE_EXECUTE_POSTPROCESS, report->after_ns,
        "Finish and output transfer time");
    if (report->has_kernels)
        add_nodes(p, top, r);
}

void qrn_gpu_record(qrn_api_profile *p, const qrn_call_record *r) {
    switch (r->kind) {
    case QRN_RECORD_INIT:
        add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_INIT, r->total_ns, "QNN (load binary) time");
        break;
    case QRN_RECORD_FINALIZE:
        add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_FINALIZE, r->total_ns, "QNN (finalize) time");
        break;
    case QRN_RECORD_EXECUTE:
        add_execute(p, r);
        break;
    case QRN_RECORD_DEINIT:
        add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_DEINIT, r->total_ns, "QNN (deinit) time");
        break;
    default:
        break;
    }
}
