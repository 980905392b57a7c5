// SPDX-License-Identifier: MIT
//
// Graph component: execute and executeAsync. Client buffers are bound where they lie. Tensors are
// matched by id, in any order; everything is checked before the backend runs.
#include "api/execute.h"

#include "api/errors.h"
#include "api/tensor.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static uint32_t count_nodes(const qrn_api_graph *g) {
    return g->runner ? qrn_runner_plan(g->runner)->n_nodes : g->ir->n_nodes;
}

static const char *node_name(const qrn_api_graph *g, uint32_t i) {
    return g->runner ? qrn_runner_plan(g->runner)->nodes[i].name : g->ir->nodes[i]->name;
}

static qrn_frame *new_frame(const qrn_api_graph *g) {
    uint32_t n_nodes = count_nodes(g);
    qrn_frame *f = qrn_calloc(sizeof(*f) + n_nodes * sizeof(uint64_t) +
                              g->n_io * (sizeof(qrn_binding) + sizeof(void *) + sizeof(uint32_t)));
    if (!f)
        return NULL;
    f->n_nodes = n_nodes;
    f->n_io = g->n_io;
    f->node_ns = (uint64_t *)(f + 1);
    f->io = (qrn_binding *)(f->node_ns + n_nodes);
    f->spare = (void **)(f->io + g->n_io);
    f->place = (uint32_t *)(f->spare + g->n_io);
    return f;
}

static qrn_frame *take_frame(qrn_api_graph *g) {
    pthread_mutex_lock(&g->context->lock);
    qrn_frame *f = g->frames;
    if (f)
        g->frames = f->next;
    pthread_mutex_unlock(&g->context->lock);
    return f ? f : new_frame(g);
}

static void give_frame(qrn_api_graph *g, qrn_frame *f) {
    pthread_mutex_lock(&g->context->lock);
    f->next = g->frames;
    g->frames = f;
    pthread_mutex_unlock(&g->context->lock);
}

void qrn_api_graph_free_frames(qrn_api_graph *g) {
    while (g->frames) {
        qrn_frame *next = g->frames->next;
        for (uint32_t i = 0; i < g->frames->n_io; i++)
            qrn_free(g->frames->spare[i]);
        qrn_free(g->frames);
        g->frames = next;
    }
}

static qrn_status tensor_fail(const qrn_api_graph *g, const qrn_tensor *t, qrn_status s,
                              const char *what) {
    return QRN_FAIL(s, "graph '%s' tensor '%s': %s", g->ir->name, t->name, what);
}

// Does the shape of this output come out of the execution?
static bool shape_is_result(const qrn_api_graph *g, const qrn_api_io *io) {
    return io->is_output &&
           (io->tensor->has_dynamic || (g->runner && qrn_runner_plan(g->runner)->dynamic));
}

// Current dimensions, when the client gives any, against those of creation.
static qrn_status bind_shape(const qrn_api_graph *g, const qrn_api_io *io, const Qnn_TensorV2_t *c,
                             qrn_binding *b) {
    const qrn_tensor *t = io->tensor;
    b->rank = t->shape.rank;
    memcpy(b->dims, t->shape.dims, sizeof(b->dims));
    if (c->rank == 0 || !c->dimensions || shape_is_result(g, io))
        return QRN_OK;
    if (c->rank != t->shape.rank)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': rank %u, expected %u", g->ir->name,
                        t->name, c->rank, t->shape.rank);
    for (uint32_t i = 0; i < c->rank; i++) {
        uint32_t d = c->dimensions[i], most = t->shape.dims[i];
        if (t->dynamic[i] && (d == 0 || d > most))
            return QRN_FAIL(QRN_E_DYNAMIC_SHAPE,
                            "graph '%s' tensor '%s': dimension %u is %u, allowed 1 to %u",
                            g->ir->name, t->name, i, d, most);
        if (!t->dynamic[i] && d != most)
            return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': dimension %u is %u, expected %u",
                            g->ir->name, t->name, i, d, most);
        b->dims[i] = d;
    }
    return QRN_OK;
}

// Bytes that the client's buffer must have.
static size_t needed_bytes(const qrn_api_io *io, const qrn_binding *b) {
    const qrn_tensor *t = io->tensor;
    if (io->is_output || !t->has_dynamic || t->format != QRN_FORMAT_DENSE)
        return t->size_bytes;
    qrn_shape now = {.rank = b->rank};
    memcpy(now.dims, b->dims, sizeof(now.dims));
    size_t count = 0, bytes = 0;
    qrn_shape_count(&now, &count); // no larger than the declared shape, which fits
    qrn_dtype_bytes(t->dtype, count, &bytes);
    return bytes;
}

static qrn_status bind_data(const qrn_api_graph *g, const qrn_api_io *io, const Qnn_TensorV2_t *c,
                            qrn_binding *b) {
    const qrn_tensor *t = io->tensor;
    size_t have = 0, need = needed_bytes(io, b);
    b->data = NULL;
    if (c->memType == QNN_TENSORMEMTYPE_RAW) {
        b->data = c->clientBuf.data;
        have = c->clientBuf.dataSize;
    } else if (c->memType == QNN_TENSORMEMTYPE_MEMHANDLE) {
        const qrn_api_mem *m = qrn_handle_get(QRN_KIND_MEM, c->memHandle);
        if (!m)
            return tensor_fail(g, t, QRN_E_TENSOR, "not a memory handle");
        if (m->context != g->context)
            return tensor_fail(g, t, QRN_E_WRONG_CONTEXT,
                               "the memory handle belongs to another context");
        b->data = m->data;
        have = m->size_bytes;
    } else {
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': memory type %d, allowed 0 and 1",
                        g->ir->name, t->name, (int)c->memType);
    }
    if (!b->data && t->optional_io)
        return QRN_OK; // the same as leaving the tensor out
    if (!b->data)
        return tensor_fail(g, t, QRN_E_TENSOR, "the buffer is NULL");
    if (have < need)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': buffer of %zu bytes, expected %zu",
                        g->ir->name, t->name, have, need);
    return QRN_OK;
}

// The number of elements of an output is a result: an earlier one may still stand there.
static qrn_status check_sparse(const qrn_api_graph *g, const qrn_api_io *io,
                               const Qnn_Tensor_t *client) {
    const qrn_tensor *t = io->tensor;
    if (t->format != QRN_FORMAT_SPARSE)
        return QRN_OK;
    const Qnn_SparseParams_t *p = &client->v2.sparseParams;
    uint32_t n = p->hybridCoo.numSpecifiedElements, most = t->n_sparse_elements;
    if (!qrn_client_is_v2(client) || p->type != QNN_SPARSE_LAYOUT_HYBRID_COO ||
        (io->is_output ? n > most : n != most) ||
        p->hybridCoo.numSparseDimensions != t->n_sparse_dims)
        return QRN_FAIL(QRN_E_SPARSITY,
                        "graph '%s' tensor '%s': expected %u sparse elements over %u dimensions",
                        g->ir->name, t->name, t->n_sparse_elements, t->n_sparse_dims);
    return QRN_OK;
}

// Position of a tensor among the bindings; the search starts at `hint`, since clients keep an
// order.
static uint32_t find_io(const qrn_api_graph *g, uint32_t id, uint32_t hint) {
    for (uint32_t k = 0; k < g->n_io; k++) {
        uint32_t i = hint + k < g->n_io ? hint + k : hint + k - g->n_io;
        if (g->io[i].tensor->id == id)
            return i;
    }
    return UINT32_MAX;
}

static qrn_status bind_one(const qrn_api_graph *g, qrn_frame *f, const Qnn_Tensor_t *client,
                           bool is_output, uint32_t place, uint32_t *hint) {
    if (client->version != QNN_TENSOR_VERSION_1 && client->version != QNN_TENSOR_VERSION_2)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s': %s %u has version %d, allowed 1 and 2",
                        g->ir->name, is_output ? "output" : "input", place, (int)client->version);
    const Qnn_TensorV2_t *c = qrn_client_tensor(client);
    uint32_t at = find_io(g, c->id, *hint);
    if (at == UINT32_MAX || g->io[at].is_output != is_output)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s': %s %u: tensor id %u is no %s of the graph",
                        g->ir->name, is_output ? "output" : "input", place, c->id,
                        is_output ? "output" : "input");
    const qrn_tensor *t = g->io[at].tensor;
    if (f->place[at] != UINT32_MAX)
        return tensor_fail(g, t, QRN_E_TENSOR, "given twice");
    qrn_dtype given = qrn_dtype_from_code((uint32_t)c->dataType);
    if (given != QRN_DTYPE_COUNT && given != t->dtype)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': data type %s, expected %s",
                        g->ir->name, t->name, qrn_dtypes[given].token, qrn_dtypes[t->dtype].token);
    QRN_TRY(bind_shape(g, &g->io[at], c, &f->io[at]));
    QRN_TRY(check_sparse(g, &g->io[at], client));
    QRN_TRY(bind_data(g, &g->io[at], c, &f->io[at]));
    f->io[at].produced = false;
    f->place[at] = place;
    *hint = at + 1 < g->n_io ? at + 1 : 0;
    return QRN_OK;
}

static qrn_status make_spare(const qrn_api_graph *g, qrn_frame *f, uint32_t i) {
    if (!f->spare[i])
        f->spare[i] = qrn_alloc(g->io[i].tensor->size_bytes);
    if (!f->spare[i])
        return tensor_fail(g, g->io[i].tensor, QRN_E_MEM, "out of memory for a buffer");
    return QRN_OK;
}

// Kernels need elements at their natural alignment; other buffers go through one of ours.
static qrn_status align(const qrn_api_graph *g, qrn_frame *f, uint32_t i) {
    const qrn_tensor *t = g->io[i].tensor;
    size_t element = qrn_dtypes[t->dtype].bits / 8u;
    if (t->format == QRN_FORMAT_SPARSE && element < sizeof(int32_t))
        element = sizeof(int32_t); // indices come first
    if (element < 2 || (uintptr_t)f->io[i].data % element == 0)
        return QRN_OK;
    QRN_TRY(make_spare(g, f, i));
    if (!g->io[i].is_output)
        memcpy(f->spare[i], f->io[i].data, needed_bytes(&g->io[i], &f->io[i]));
    f->io[i].data = f->spare[i];
    return QRN_OK;
}

// A tensor without a buffer: absent for the ops, or written to a buffer of ours.
static qrn_status bind_lacking(const qrn_api_graph *g, qrn_frame *f, uint32_t i) {
    const qrn_tensor *t = g->io[i].tensor;
    if (!g->io[i].may_lack)
        return tensor_fail(g, t, QRN_E_TENSOR,
                           g->io[i].is_output ? "output is missing" : "input is missing");
    if (!g->io[i].is_output)
        return QRN_OK;
    QRN_TRY(make_spare(g, f, i));
    f->io[i].data = f->spare[i];
    f->io[i].rank = t->shape.rank;
    memcpy(f->io[i].dims, t->shape.dims, sizeof(t->shape.dims));
    return QRN_OK;
}

static qrn_status bind_all(const qrn_api_graph *g, qrn_frame *f, const Qnn_Tensor_t *inputs,
                           uint32_t n_inputs, const Qnn_Tensor_t *outputs, uint32_t n_outputs) {
    for (uint32_t i = 0; i < g->n_io; i++) {
        f->place[i] = UINT32_MAX;
        f->io[i] = (qrn_binding){0};
    }
    uint32_t hint = 0;
    for (uint32_t i = 0; i < n_inputs; i++)
        QRN_TRY(bind_one(g, f, &inputs[i], false, i, &hint));
    for (uint32_t i = 0; i < n_outputs; i++)
        QRN_TRY(bind_one(g, f, &outputs[i], true, i, &hint));
    for (uint32_t i = 0; i < g->n_io; i++)
        QRN_TRY(f->io[i].data ? align(g, f, i) : bind_lacking(g, f, i));
    return QRN_OK;
}

static void record(const qrn_execution *e) {
    qrn_api_profile *p = e->call.profile;
    if (!p)
        return;
    uint32_t top = qrn_profile_add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_EXECUTE,
                                   QNN_PROFILE_EVENTUNIT_MICROSEC, qrn_call_elapsed_us(&e->call),
                                   "QNN (execute) time");
    if (e->queued_ns)
        qrn_profile_add(p, top, QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT,
                        QNN_PROFILE_EVENTUNIT_MICROSEC, (e->call.start_ns - e->queued_ns) / 1000u,
                        "queue wait time");
    for (uint32_t i = 0; qrn_profile_detailed(p) && i < e->frame->n_nodes; i++)
        qrn_profile_add(p, top, QNN_PROFILE_EVENTTYPE_NODE, QNN_PROFILE_EVENTUNIT_MICROSEC,
                        (e->frame->node_ns[i] + 500u) / 1000u, node_name(e->graph, i));
}

static void *client_data(const Qnn_TensorV2_t *c) {
    if (c->memType == QNN_TENSORMEMTYPE_RAW)
        return c->clientBuf.data;
    const qrn_api_mem *m = qrn_handle_get(QRN_KIND_MEM, c->memHandle);
    return m ? m->data : NULL;
}

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
        void *theirs = client_data(c);
        if (mine && b->data == mine && b->produced && theirs)
            memcpy(theirs, mine, g->io[i].tensor->size_bytes);
        bool sized =
            b->produced && shape_is_result(g, &g->io[i]) && c->dimensions && c->rank == b->rank;
        for (uint32_t k = 0; sized && k < b->rank; k++)
            c->dimensions[k] = b->dims[k];
        if (!qrn_client_is_v2(client))
            continue;
        client->v2.isProduced = b->produced;
        if (b->produced && g->io[i].tensor->format == QRN_FORMAT_SPARSE)
            client->v2.sparseParams.hybridCoo.numSpecifiedElements = b->n_sparse;
    }
}

qrn_status qrn_execution_run(qrn_execution *e) {
    qrn_run_options opt = {.poll = e->call.signal ? qrn_signal_poll : NULL,
                           .poll_ctx = e->call.signal};
    if (qrn_profile_detailed(e->call.profile)) {
        memset(e->frame->node_ns, 0, e->frame->n_nodes * sizeof(uint64_t));
        opt.node_ns = e->frame->node_ns;
    }
    qrn_status s = qrn_this_backend.graph_execute(e->graph, e->frame->io, &opt);
    if (s == QRN_OK || s == QRN_E_EARLY) {
        record(e);
        write_back(e);
    }
    qrn_execution_drop(e);
    return s;
}

void qrn_execution_drop(qrn_execution *e) {
    give_frame(e->graph, e->frame);
    e->frame = NULL;
}

static qrn_status check_graph(const qrn_api_graph *g) {
    if (g->ir->parent)
        return QRN_FAIL(QRN_E_SUBGRAPH, "graph '%s' is a subgraph and is not executed by itself",
                        g->ir->name);
    if (g->disabled)
        return QRN_FAIL(QRN_E_DISABLED, "graph '%s' was left out by ENABLE_GRAPHS", g->ir->name);
    if (!g->ir->finalized || g->stale)
        return QRN_FAIL(QRN_E_NOT_FINALIZED, "graph '%s' is not finalized%s", g->ir->name,
                        g->stale ? " since its tensors were updated" : "");
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
    QRN_TRY(check_graph(g));
    if ((r->n_inputs && !r->inputs) || (r->n_outputs && !r->outputs))
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': %u inputs and %u outputs, but a list is NULL",
                        g->ir->name, r->n_inputs, r->n_outputs);
    QRN_TRY(qrn_call_find(&e->call, g->context->backend, g, r->profile, r->signal));
    if (!qrn_this_backend.graph_execute)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': the backend does not execute graphs",
                        g->ir->name);
    e->frame = take_frame(g);
    if (!e->frame)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a call", g->ir->name);
    qrn_status s = bind_all(g, e->frame, r->inputs, r->n_inputs, r->outputs, r->n_outputs);
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
    qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, graphHandle);
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
    qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, graphHandle);
    if (!g)
        return qrn_api_end(QRN_COMP_GRAPH,
                           QRN_FAIL(QRN_E_HANDLE, "graph_executeAsync: not a graph handle"), NULL);
    request r = {inputs, numInputs, outputs, numOutputs, profileHandle, signalHandle};
    return qrn_api_end(QRN_COMP_GRAPH, execute_async(g, &r, notifyFn, notifyParam),
                       g->context->backend->log);
}
