// SPDX-License-Identifier: MIT
//
// Graph component: execute and executeAsync. Everything is checked before the backend runs.
#include "api/execute.h"

#include "api/tensor.h"
#include "base/env.h"
#include "base/mem.h"
#include "core/dump.h"
#include "core/observe.h"
#include "core/errors.h"

#include "QnnProperty.h"

#include <string.h>

// Tells the client the shapes that came out, and which outputs hold data.
static void write_back(const qrn_execution *e) {
    const qrn_api_graph *g = e->graph;
    for (uint32_t i = 0; i < g->n_io; i++) {
        if (!g->io[i].is_output || e->frame->place[i] == UINT32_MAX)
            continue;
        Qnn_Tensor_t *client = &e->outputs[e->frame->place[i]];
        const qrn_binding *b = &e->frame->io[i];
        const Qnn_TensorV2_t *c = qrn_client_tensor(client);
        const void *mine = e->frame->spare[i];
        const qrn_api_mem *memory = e->frame->memory[i];
        void *theirs = memory ? memory->memory.host : c->clientBuf.data;
        if (mine && b->memory.host == mine && b->produced && theirs)
            memcpy(theirs, mine, g->io[i].tensor->size_bytes * e->frame->n_batch);
        bool sized =
            b->produced && qrn_shape_is_result(g, &g->io[i]) && c->dimensions && c->rank == b->rank;
        for (uint32_t k = 0; sized && k < b->rank; k++)
            c->dimensions[k] = b->dims[k];
        if (!qrn_client_is_v2(client))
            continue;
        client->v2.isProduced = b->produced;
        if (b->produced && g->io[i].tensor->format == QRN_FORMAT_SPARSE)
            client->v2.sparseParams.hybridCoo.numSpecifiedElements = b->n_sparse;
    }
}

// "threads,graph,node,threads,tasks,span,busy,longest", the last three in nanoseconds
// (qrn_node_time).
static void log_threads(const qrn_api_graph *g, const qrn_call_record *r) {
    const qrn_compiled *cg = g->compiled;
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        const qrn_node_time *t = &r->node_times[i];
        if (t->n_tasks)
            qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
                    "threads,%s,%s,%u,%u,%llu,%llu,%llu", g->ir->name,
                    cg ? cg->nodes[i].name : g->ir->nodes[i]->name, t->n_threads, t->n_tasks,
                    (unsigned long long)t->span_ns, (unsigned long long)t->busy_ns,
                    (unsigned long long)t->longest_ns);
    }
}

qrn_status qrn_execution_run(qrn_execution *e) {
    qrn_frame *f = e->frame;
    qrn_run_options opt = {.poll = e->call.signal ? qrn_signal_poll : NULL,
                           .poll_ctx = e->call.signal,
                           .n_batch = f->n_batch};
    qrn_call_record r = {.kind = QRN_RECORD_EXECUTE,
                         .context = e->graph->context,
                         .graph = e->graph,
                         .queue_ns = e->queued_ns ? e->call.start_ns - e->queued_ns : 0};
    if (qrn_profile_detailed(e->call.profile)) {
        memset(f->node_times, 0, f->n_nodes * sizeof *f->node_times);
        r.node_times = opt.node_times = f->node_times;
        r.n_nodes = f->n_nodes;
        opt.per_thread = qrn_env_verbose("threads");
    }
    if (e->call.profile && qrn_this_backend.report_bytes) {
        memset(f->report, 0, qrn_this_backend.report_bytes);
        r.report = opt.report = f->report;
    }
    uint64_t start = qrn_call_now_ns();
    qrn_status entered = QRN_OK, s;
    if (e->queued_ns) // it waited since it was checked
        entered = qrn_context_check(e->graph->context);
    if (entered == QRN_OK && qrn_this_backend.graph_enter)
        entered = qrn_this_backend.graph_enter(e->graph);
    qrn_observe(e->graph, &opt);
    qrn_dump *dump = entered == QRN_OK ? qrn_dump_begin(e->graph, &opt) : NULL;
    s = entered == QRN_OK ? qrn_this_backend.graph_execute(e->graph, f->io, &opt) : entered;
    qrn_dump_end(dump, s);
    r.backend_ns = qrn_call_now_ns() - start;
    if (s == QRN_OK || s == QRN_E_EARLY) {
        write_back(e);
        qrn_call_report(&e->call, &r);
        if (opt.per_thread)
            log_threads(e->graph, &r);
    }
    if (entered == QRN_OK && qrn_this_backend.graph_leave)
        qrn_this_backend.graph_leave(e->graph);
    qrn_execution_drop(e);
    return s;
}

static void leave_memory(qrn_frame *f) {
    for (uint32_t i = 0; f->n_memory && i < f->n_io; i++)
        if (f->memory[i]) {
            qrn_handle_leave(f->memory[i]->handle, false);
            f->memory[i] = NULL;
            f->n_memory--;
        }
}

void qrn_execution_drop(qrn_execution *e) {
    leave_memory(e->frame);
    qrn_frame_give(e->graph, e->frame);
    e->frame = NULL;
}

static qrn_status check_graph(const qrn_api_graph *g) {
    if (g->ir->parent)
        return QRN_FAIL(QRN_E_SUBGRAPH, "graph '%s' is a subgraph and is not executed by itself",
                        g->ir->name);
    if (g->disabled)
        return QRN_FAIL(QRN_E_DISABLED, "graph '%s' was left out by ENABLE_GRAPHS", g->ir->name);
    if (!g->ir->finalized || g->own->stale)
        return QRN_FAIL(QRN_E_NOT_FINALIZED, "graph '%s' is not finalized%s", g->ir->name,
                        g->own->stale ? " since its tensors were updated" : "");
    return QRN_OK;
}

// The client's side of one call.
typedef struct request {
    const Qnn_Tensor_t *inputs;
    uint32_t n_inputs;
    Qnn_Tensor_t *outputs;
    uint32_t n_outputs;
    const void *profile, *signal;
} request;

// All checks of a call; on success the execution holds a frame, but neither profile nor signal.
static qrn_status prepare(qrn_api_graph *g, const request *r, qrn_execution *e) {
    *e = (qrn_execution){.graph = g, .outputs = r->outputs};
    QRN_TRY(qrn_context_check(g->context));
    QRN_TRY(check_graph(g));
    if ((r->n_inputs && !r->inputs) || (r->n_outputs && !r->outputs))
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': %u inputs and %u outputs, but a list is NULL",
                        g->ir->name, r->n_inputs, r->n_outputs);
    QRN_TRY(qrn_call_find(&e->call, g->context->backend, g, r->profile, r->signal));
    if (!qrn_this_backend.graph_execute)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': the backend does not execute graphs",
                        g->ir->name);
    e->frame = qrn_frame_take(g);
    if (!e->frame)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a call", g->ir->name);
    qrn_status s = qrn_bind_all(g, e->frame, r->inputs, r->n_inputs, r->outputs, r->n_outputs);
    if (s != QRN_OK)
        qrn_execution_drop(e);
    return s;
}

static qrn_status execute(qrn_api_graph *g, const request *r) {
    qrn_execution e;
    QRN_TRY(prepare(g, r, &e));
    qrn_status s = qrn_call_begin(&e.call);
    if (s != QRN_OK) {
        qrn_execution_drop(&e);
        return s;
    }
    s = qrn_execution_run(&e);
    qrn_call_end(&e.call);
    return s;
}

Qnn_ErrorHandle_t QnnGraph_execute(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs,
                                   uint32_t numInputs, Qnn_Tensor_t *outputs, uint32_t numOutputs,
                                   Qnn_ProfileHandle_t profileHandle,
                                   Qnn_SignalHandle_t signalHandle) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin(QRN_KIND_GRAPH, graphHandle);
    if (!g)
        return qrn_api_end(QRN_COMP_GRAPH,
                           QRN_FAIL(QRN_E_HANDLE, "graph_execute: not a graph handle"), NULL);
    request r = {inputs, numInputs, outputs, numOutputs, profileHandle, signalHandle};
    return qrn_api_end(QRN_COMP_GRAPH, execute(g, &r), g->context->backend->log);
}

static qrn_status execute_async(qrn_api_graph *g, const request *r, Qnn_NotifyFn_t notify,
                                void *param) {
    qrn_execution e;
    qrn_status s = prepare(g, r, &e);
    if (s == QRN_E_PROFILE) // has no code in this function
        return QRN_E_ARGUMENT;
    if (s != QRN_OK)
        return s;
    if (!(qrn_this_backend.features & QRN_FEATURE_ASYNC))
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': asynchronous execution is not supported",
                     g->ir->name);
    else if (e.call.signal && !qrn_has_capability(QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE_ASYNC_SIGNAL))
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': executeAsync supports no signal", g->ir->name);
    else
        s = qrn_signal_begin(e.call.signal);
    if (s != QRN_OK) {
        qrn_execution_drop(&e);
        return s;
    }
    e.notify = notify;
    e.notify_param = param;
    e.queued_ns = qrn_call_now_ns();
    s = qrn_async_submit(g->context, &e);
    if (s != QRN_OK) {
        qrn_signal_end(e.call.signal);
        qrn_execution_drop(&e);
    }
    return s;
}

Qnn_ErrorHandle_t QnnGraph_executeAsync(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs,
                                        uint32_t numInputs, Qnn_Tensor_t *outputs,
                                        uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle,
                                        Qnn_SignalHandle_t signalHandle, Qnn_NotifyFn_t notifyFn,
                                        void *notifyParam) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin(QRN_KIND_GRAPH, graphHandle);
    if (!g)
        return qrn_api_end(QRN_COMP_GRAPH,
                           QRN_FAIL(QRN_E_HANDLE, "graph_executeAsync: not a graph handle"), NULL);
    request r = {inputs, numInputs, outputs, numOutputs, profileHandle, signalHandle};
    return qrn_api_end(QRN_COMP_GRAPH, execute_async(g, &r, notifyFn, notifyParam),
                       g->context->backend->log);
}
