// SPDX-License-Identifier: MIT
//
// Finalizing a graph. One that fails leaves the graph as it was; one that succeeds ends its
// changes, unless updateable tensors are updated.
#include "base/env.h"
#include "base/mem.h"
#include "core/clock.h"
#include "core/frame.h"
#include "core/graph.h"

const qrn_tensor *qrn_api_graph_unwritten(const qrn_api_graph *g) {
    for (uint32_t i = 0; i < g->ir->n_tensors; i++)
        if (g->ir->tensors[i]->role == QRN_ROLE_OUTPUT && !g->ir->tensors[i]->producer)
            return g->ir->tensors[i];
    return NULL;
}

qrn_status qrn_api_graph_ready(const qrn_api_graph *g) {
    if (g->ir->finalized && !g->own->stale)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' is finalized already", g->ir->name);
    if (g->context->is_trial)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s': its context is for trials, without weights",
                        g->ir->name);
    if (g->ir->n_nodes == 0)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' has no nodes", g->ir->name);
    const qrn_tensor *t = qrn_api_graph_unwritten(g);
    if (t)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s': no node writes output tensor '%s'",
                        g->ir->name, t->name);
    return QRN_OK;
}

static void mark_finalized(qrn_graph *g) {
    g->finalized = true;
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        mark_finalized(g->subgraphs[i]);
}

static qrn_status list_compiled_io(qrn_api_graph *g, const qrn_compiled *p, qrn_api_io *io) {
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&g->context->own->lock);
    for (uint32_t i = 0; i < p->n_io && s == QRN_OK; i++) {
        uint32_t id = p->io[i].tensor_id;
        io[i].tensor =
            id && id <= g->context->own->n_tensors ? g->context->own->tensors[id - 1] : NULL;
        io[i].is_output = p->io[i].is_output;
        if (!io[i].tensor)
            s = QRN_FAIL(QRN_E_FINALIZE,
                         "graph '%s': the compiled graph uses tensor id %u, which is unknown",
                         g->ir->name, id);
    }
    pthread_mutex_unlock(&g->context->own->lock);
    return s;
}

// Does some node need the tensor: as an operand that its op requires?
static bool is_needed(const qrn_graph *g, const qrn_tensor *t) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k] == t &&
                (!n->op || k >= n->op->n_ins || n->op->ins[k].presence != QRN_OPTIONAL))
                return true;
    }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (is_needed(g->subgraphs[i], t))
            return true;
    return false;
}

// Steps with one operand (conversions) cannot do without it, whatever the op says.
static bool is_needed_by_step(const qrn_compiled *p, uint32_t value) {
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].n_in == 1 && p->steps[i].in[0] == value)
            return true;
    return false;
}

// An output that is left out goes to a spare buffer; an input must be one that no op needs.
static void find_lacking(const qrn_api_graph *g, const qrn_compiled *p, qrn_api_io *io,
                         uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        io[i].may_lack = qrn_tensor_has_memory(io[i].tensor) ||
                         (io[i].tensor->optional_io &&
                          (io[i].is_output || (!is_needed(g->ir, io[i].tensor) &&
                                               !(p && is_needed_by_step(p, p->io[i].value)))));
}

qrn_status qrn_api_graph_list_io(qrn_api_graph *g) {
    const qrn_compiled *p = g->compiled;
    size_t room = p ? p->n_io : g->ir->n_tensors;
    qrn_api_io *io = qrn_calloc((room + 1) * sizeof(*io));
    if (!io)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
    uint32_t n = 0;
    qrn_status s = p ? list_compiled_io(g, p, io) : QRN_OK;
    if (s != QRN_OK) {
        qrn_free(io);
        return s;
    }
    for (int pass = 0; !p && pass < 2; pass++)
        for (uint32_t i = 0; i < g->ir->n_tensors; i++)
            if (g->ir->tensors[i]->role == (pass ? QRN_ROLE_OUTPUT : QRN_ROLE_INPUT))
                io[n++] = (qrn_api_io){.tensor = g->ir->tensors[i], .is_output = pass == 1};
    n = p ? p->n_io : n;
    find_lacking(g, p, io, n);
    qrn_free(g->io);
    g->io = io;
    g->n_io = n;
    g->n_plan_nodes = p ? p->n_nodes : g->ir->n_nodes;
    g->plan_dynamic = p && p->dynamic;
    return QRN_OK;
}

// Weights that were packed are not kept a second time. A graph that may be finalized again, or
// whose ops are watched, needs them; constants of a binary are not ours to free.
static bool may_release(const qrn_api_graph *g) {
    if (g->context->from_binary)
        return false;
    for (uint32_t i = 0; i < g->ir->n_tensors; i++)
        if (g->ir->tensors[i]->updateable)
            return false;
    return !g->keeps_data;
}

static void release_data(void *graph, uint32_t tensor_id) {
    qrn_api_graph *g = graph;
    pthread_mutex_lock(&g->context->own->lock);
    qrn_tensor *t = g->context->own->tensors[tensor_id - 1];
    qrn_blobs_drop(&g->context->own->blobs, t->data);
    t->data = NULL;
    pthread_mutex_unlock(&g->context->own->lock);
}

static void log_line(void *backend, const char *line) {
    qrn_log(((qrn_api_backend *)backend)->log, QNN_LOG_LEVEL_INFO, "compiled: %s", line);
}

// QUERN_VERBOSE=compiled, for every backend that compiles and for graphs of binaries.
static qrn_status log_compiled(const qrn_api_graph *g) {
    if (!g->compiled || !qrn_env_verbose("compiled"))
        return QRN_OK;
    return qrn_compiled_print(g->compiled, log_line, g->context->backend);
}

// Builds the new executable form beside the old one and swaps them at the end.
qrn_status qrn_api_graph_build(qrn_api_graph *g, const qrn_finalize_options *opt,
                               uint64_t *backend_ns) {
    qrn_runner *old = g->runner;
    qrn_compiled *old_compiled = g->compiled;
    g->runner = NULL;
    g->compiled = NULL;
    uint64_t start = qrn_call_now_ns();
    qrn_status s = qrn_this_backend.graph_finalize(g, opt);
    *backend_ns = qrn_call_now_ns() - start;
    if (s == QRN_OK)
        s = log_compiled(g);
    if (s == QRN_OK)
        s = qrn_api_graph_list_io(g);
    if (s != QRN_OK) {
        qrn_runner_destroy(g->runner);
        g->runner = old;
        g->compiled = old_compiled;
        return s;
    }
    qrn_runner_destroy(old);
    if (g->runner)
        qrn_runner_finish(g->runner, g->context->backend->pool,
                          may_release(g) ? release_data : NULL, g);
    qrn_frames_free(g);
    pthread_mutex_lock(&g->context->own->lock);
    for (uint32_t i = 0; i < g->own->n_retired; i++)
        qrn_blobs_drop(&g->context->own->blobs, g->own->retired[i]);
    pthread_mutex_unlock(&g->context->own->lock);
    g->own->n_retired = 0;
    g->own->stale = false;
    mark_finalized(g->ir);
    return QRN_OK;
}

qrn_status qrn_api_graph_complete(qrn_api_graph *g, const qrn_finalize_options *opt) {
    uint64_t unused;
    QRN_TRY(qrn_api_graph_ready(g));
    return qrn_api_graph_build(g, opt, &unused);
}

qrn_status qrn_api_graph_complete_again(qrn_api_graph *g, const qrn_finalize_options *opt) {
    bool was_stale = g->own->stale;
    g->own->stale = true;
    qrn_status s = qrn_api_graph_complete(g, opt);
    if (s != QRN_OK)
        g->own->stale = was_stale;
    return s;
}
