// SPDX-License-Identifier: MIT
//
// Life of a graph up to finalize. A graph and what belongs to it is used by one thread at a time;
// the list of graphs is guarded by the context's lock.
#include "core/graph.h"

#include "base/mem.h"
#include "core/branch.h"
#include "core/frame.h"
#include "core/profile.h"

#include <string.h>

// Adds to the context's list unless the name is taken.
static qrn_status enter(qrn_api_context *c, qrn_api_graph *g) {
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&c->own->lock);
    if (qrn_strmap_get(&c->own->graph_names, g->ir->name))
        s = QRN_FAIL(QRN_E_NAME, "the context has a graph '%s' already", g->ir->name);
    if (s == QRN_OK && c->own->n_graphs == c->own->cap_graphs) {
        uint32_t cap = c->own->cap_graphs ? 2 * c->own->cap_graphs : 8;
        qrn_api_graph **list =
            qrn_realloc(c->own->graphs, c->own->n_graphs * sizeof(void *), cap * sizeof(void *));
        if (list) {
            c->own->graphs = list;
            c->own->cap_graphs = cap;
        } else {
            s = QRN_FAIL(QRN_E_MEM, "out of memory for graph '%s'", g->ir->name);
        }
    }
    if (s == QRN_OK && !qrn_strmap_put(&c->own->graph_names, g->ir->name, g))
        s = QRN_FAIL(QRN_E_MEM, "out of memory for graph '%s'", g->ir->name);
    if (s == QRN_OK)
        c->own->graphs[c->own->n_graphs++] = g;
    else if (c->own->n_graphs == 0) { // a failure leaves nothing behind
        qrn_free(c->own->graphs);
        c->own->graphs = NULL;
        c->own->cap_graphs = 0;
    }
    pthread_mutex_unlock(&c->own->lock);
    return s;
}

// Takes the graph and its tensors out of the context's tables.
static void leave(qrn_api_graph *g) {
    qrn_api_context *c = g->context;
    pthread_mutex_lock(&c->own->lock);
    for (uint32_t k = 0; k < g->ir->n_tensors; k++)
        c->own->tensors[g->ir->tensors[k]->id - 1] = NULL;
    uint32_t i = c->own->n_graphs; // it is one of the newest
    while (i-- > 0 && c->own->graphs[i] != g)
        continue;
    if (i < c->own->n_graphs) {
        qrn_strmap_remove(&c->own->graph_names, g->ir->name);
        memmove(&c->own->graphs[i], &c->own->graphs[i + 1],
                (c->own->n_graphs - i - 1) * sizeof(void *));
        c->own->n_graphs--;
    }
    pthread_mutex_unlock(&c->own->lock);
}

// Frees everything but the backend's part.
static void destroy(qrn_api_graph *g) {
    if (g->own->bound_profile)
        qrn_profile_unbind(g->own->bound_profile);
    qrn_runner_destroy(g->runner);
    qrn_frames_free(g);
    qrn_exec_buffers_free(g->own->buffers);
    qrn_strmap_clear(&g->own->names);
    qrn_free(g->own->retired);
    qrn_free(g->io);
    qrn_handle_free(g->handle);
    if (g->ir)
        qrn_arena_destroy(g->ir->arena);
    qrn_free(g);
}

void qrn_api_graph_free(qrn_api_graph *g) {
    if (qrn_this_backend.graph_free)
        qrn_this_backend.graph_free(g);
    destroy(g);
}

void qrn_api_graph_discard(qrn_api_graph *g) {
    leave(g);
    if (g->ir->parent)
        g->ir->parent->n_subgraphs--;
    qrn_api_graph_free(g);
}

static bool make_ir(qrn_api_graph *g, const char *name) {
    qrn_arena *a = qrn_arena_create();
    if (!a)
        return false;
    qrn_graph *ir = qrn_arena_alloc(a, sizeof(*ir));
    const char *copy = ir ? qrn_arena_strdup(a, name) : NULL;
    if (!copy) {
        qrn_arena_destroy(a);
        return false;
    }
    ir->name = copy;
    ir->arena = a;
    g->ir = ir;
    return true;
}

qrn_status qrn_api_graph_new(qrn_api_context *c, qrn_api_graph *parent, const char *name,
                             qrn_api_graph **graph) {
    qrn_api_graph *g = QRN_OBJECT_NEW(qrn_api_graph, qrn_graph_own);
    if (!g || !make_ir(g, name)) {
        qrn_free(g);
        return QRN_FAIL(QRN_E_MEM, "out of memory for graph '%s'", name);
    }
    g->context = c;
    g->priority = c->priority;
    g->own->profiled_runs_left = UINT32_MAX;
    qrn_status s = QRN_OK;
    g->handle = qrn_handle_new(QRN_KIND_GRAPH, g);
    g->own->outermost = parent ? parent->own->outermost : g->handle;
    if (!g->handle)
        s = QRN_FAIL(QRN_E_MEM, "out of memory for graph '%s'", name);
    if (s == QRN_OK && qrn_this_backend.graph_create)
        s = qrn_this_backend.graph_create(g);
    if (s != QRN_OK) {
        destroy(g);
        return s;
    }
    s = enter(c, g);
    if (s != QRN_OK) {
        qrn_api_graph_free(g);
        return s;
    }
    if (parent)
        s = qrn_graph_add_subgraph(parent->ir, g->ir);
    if (s != QRN_OK) {
        qrn_api_graph_discard(g);
        return s;
    }
    *graph = g;
    return QRN_OK;
}

qrn_api_graph *qrn_api_graph_find(qrn_api_context *c, const char *name) {
    pthread_mutex_lock(&c->own->lock);
    qrn_api_graph *found = qrn_strmap_get(&c->own->graph_names, name);
    pthread_mutex_unlock(&c->own->lock);
    return found;
}

qrn_tensor *qrn_api_graph_tensor(const qrn_api_graph *g, const char *name) {
    return qrn_strmap_get(&g->own->names, name);
}

qrn_status qrn_node_check(qrn_api_backend *b, const qrn_api_context *c, const qrn_node *n,
                          const void *op_config) {
    if (!n->op) {
        if (!op_config || !qrn_this_backend.package_validate)
            return QRN_OK;
        return qrn_this_backend.package_validate(b, n->user_op, op_config);
    }
    qrn_shape few[32], *shapes = few;
    size_t total = (size_t)n->n_in + n->n_out, bytes;
    if (total > sizeof(few) / sizeof(few[0])) {
        shapes = qrn_mul_size(total, sizeof(*shapes), &bytes) ? qrn_alloc(bytes) : NULL;
        if (!shapes)
            return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", n->name);
    }
    qrn_op_call call = qrn_node_call(n, shapes, shapes + n->n_in);
    qrn_status s = qrn_op_validate(&call);
    if (s == QRN_OK)
        s = qrn_support_check(qrn_this_backend.support, &call);
    if (s == QRN_OK && qrn_this_backend.op_check)
        s = qrn_this_backend.op_check(b, c, &call);
    if (shapes != few)
        qrn_free(shapes);
    return s;
}

qrn_status qrn_api_graph_add_node(qrn_api_graph *g, qrn_node *n) {
    QRN_TRY(qrn_branch_check(g->ir, n));
    QRN_TRY(qrn_graph_add_node(g->ir, n));
    qrn_branch_added(g->ir, n);
    return QRN_OK;
}

static bool is_priority(int p) {
    switch (p) {
    case QNN_PRIORITY_LOW:
    case QNN_PRIORITY_NORMAL_LOW:
    case QNN_PRIORITY_NORMAL:
    case QNN_PRIORITY_NORMAL_HIGH:
    case QNN_PRIORITY_HIGH:
    case QNN_PRIORITY_HIGH_PLUS:
    case QNN_PRIORITY_CRITICAL:
    case QNN_PRIORITY_CRITICAL_PLUS:
        return true;
    default:
        return false;
    }
}

qrn_status qrn_priority_check(int priority) {
    if (!is_priority(priority))
        return QRN_FAIL(QRN_E_CONFIG, "priority %d is not one of the API's", priority);
    if (priority != QNN_PRIORITY_DEFAULT && !(qrn_this_backend.features & QRN_FEATURE_PRIORITY))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "priority %d: only the default %d is supported",
                        priority, QNN_PRIORITY_DEFAULT);
    return QRN_OK;
}
