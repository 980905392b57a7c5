// SPDX-License-Identifier: MIT
//
// Nodes and tensors of graphs in context binaries.
#include "binary/nodes.h"

#include <string.h>

// --- from a graph

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
}

qrn_status qrn_bin_list_tensors(qrn_arena *arena, const qrn_graph *g,
                                bool (*drop)(const void *ctx, const qrn_tensor *t), const void *ctx,
                                qrn_bin_graph *out) {
    out->tensors = qrn_arena_alloc(arena, g->n_tensors * sizeof(qrn_tensor *));
    for (uint32_t i = 0; out->tensors && i < g->n_tensors; i++) {
        if (g->tensors[i]->role == QRN_ROLE_NULL) // stands for nothing
            continue;
        qrn_tensor *t = qrn_arena_copy(arena, g->tensors[i], sizeof *t);
        if (!t)
            return no_memory();
        if (drop && drop(ctx, t))
            t->data = NULL;
        out->tensors[out->n_tensors++] = t;
    }
    return out->tensors ? QRN_OK : no_memory();
}

static bool list_operands(qrn_arena *arena, const qrn_node *n, qrn_bin_node *out) {
    uint32_t *ids = qrn_arena_alloc(arena, (n->n_in + n->n_out) * sizeof *ids);
    for (uint32_t i = 0; ids && i < n->n_in; i++)
        ids[i] = n->in[i] ? n->in[i]->id : 0;
    for (uint32_t i = 0; ids && i < n->n_out; i++)
        ids[n->n_in + i] = n->out[i] ? n->out[i]->id : 0;
    out->in = ids;
    out->out = ids ? ids + n->n_in : NULL;
    out->n_in = n->n_in;
    out->n_out = n->n_out;
    return ids != NULL;
}

static bool list_params(qrn_arena *arena, const qrn_node *n, qrn_bin_node *out) {
    const char **names = qrn_arena_alloc(arena, n->n_params * sizeof *names);
    qrn_param *params = qrn_arena_alloc(arena, n->n_params * sizeof *params);
    for (uint32_t i = 0; names && params && i < n->n_params; i++) {
        if (!n->params[i].present)
            continue;
        names[out->n_params] = n->op ? n->op->params[i].name : n->param_names[i];
        params[out->n_params++] = n->params[i];
    }
    out->param_names = names;
    out->params = params;
    return names && params;
}

qrn_status qrn_bin_list_nodes(qrn_arena *arena, const qrn_graph *g, qrn_bin_graph *out) {
    qrn_bin_node *nodes = qrn_arena_alloc(arena, g->n_nodes * sizeof *nodes);
    for (uint32_t i = 0; nodes && i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        nodes[i] = (qrn_bin_node){.name = n->name, .package = n->package, .type = n->type};
        if (!list_operands(arena, n, &nodes[i]) || !list_params(arena, n, &nodes[i]))
            return no_memory();
    }
    out->nodes = nodes;
    out->n_nodes = g->n_nodes;
    return nodes ? QRN_OK : no_memory();
}

// --- to a graph

static qrn_status no_memory_for(const char *graph) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory while loading it", graph);
}

static qrn_status find_op(const qrn_bin_graph *g, const qrn_bin_lookup *lookup,
                          const qrn_bin_node *from, qrn_node *n) {
    if (strcmp(from->package, lookup->package) == 0)
        n->op = qrn_op_find(from->type);
    else
        n->user_op = lookup->user_op(lookup->ctx, from->package, from->type);
    if (n->op || n->user_op)
        return QRN_OK;
    if (strcmp(from->package, lookup->package) == 0)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: graph '%s' node '%s': this library has no op '%s' of "
                        "package '%s'",
                        g->name, from->name, from->type, from->package);
    return QRN_FAIL(QRN_E_BINARY,
                    "context binary: graph '%s' node '%s': op '%s' of package '%s' is not "
                    "registered: register its op package before the context is created",
                    g->name, from->name, from->type, from->package);
}

// Parameters of the library's ops go to the places of the op's row, by name.
static qrn_status fill_params(const qrn_bin_graph *g, const qrn_bin_node *from, qrn_node *n) {
    for (uint32_t i = 0; i < from->n_params; i++) {
        uint32_t at = 0;
        while (at < n->n_params && strcmp(n->op->params[at].name, from->param_names[i]) != 0)
            at++;
        if (at == n->n_params || n->params[at].present)
            return QRN_FAIL(QRN_E_BINARY,
                            "context binary: graph '%s' node '%s' (%s): parameter '%s' is "
                            "unknown, or there twice",
                            g->name, n->name, n->type, from->param_names[i]);
        n->params[at] = from->params[i];
    }
    return QRN_OK;
}

// A package's op has its parameters as the client gave them.
static void copy_params(const qrn_bin_node *from, qrn_node *n) {
    for (uint32_t i = 0; i < from->n_params; i++) {
        n->params[i] = from->params[i];
        n->param_names[i] = from->param_names[i];
    }
}

static void fill_operands(const qrn_bin_lookup *lookup, const uint32_t *ids, uint32_t n,
                          qrn_tensor **out) {
    for (uint32_t i = 0; i < n; i++)
        out[i] = lookup->tensor(lookup->ctx, ids[i]);
}

static qrn_status make_node(const qrn_bin_graph *graph, const qrn_bin_lookup *lookup,
                            const qrn_bin_node *from, qrn_graph *g, qrn_node **out) {
    qrn_arena *a = g->arena;
    qrn_node *n = qrn_arena_alloc(a, sizeof *n);
    if (!n)
        return no_memory_for(graph->name);
    *n = (qrn_node){.name = from->name,
                    .package = from->package,
                    .type = from->type,
                    .n_in = from->n_in,
                    .n_out = from->n_out,
                    .graph = g};
    QRN_TRY(find_op(graph, lookup, from, n));
    n->n_params = n->op ? n->op->n_params : from->n_params;
    n->in = qrn_arena_alloc(a, n->n_in * sizeof *n->in);
    n->out = qrn_arena_alloc(a, n->n_out * sizeof *n->out);
    n->params = qrn_arena_alloc(a, n->n_params * sizeof *n->params);
    if (n->user_op)
        n->param_names = qrn_arena_alloc(a, n->n_params * sizeof *n->param_names);
    if (!n->in || !n->out || !n->params || (n->user_op && !n->param_names))
        return no_memory_for(graph->name);
    fill_operands(lookup, from->in, n->n_in, n->in);
    fill_operands(lookup, from->out, n->n_out, n->out);
    if (n->op)
        QRN_TRY(fill_params(graph, from, n));
    else
        copy_params(from, n);
    *out = n;
    return QRN_OK;
}

qrn_status qrn_bin_make_nodes(const qrn_bin_graph *from, const qrn_bin_lookup *lookup,
                              qrn_graph *g) {
    for (uint32_t i = 0; i < from->n_nodes; i++) {
        qrn_node *n = NULL;
        QRN_TRY(make_node(from, lookup, &from->nodes[i], g, &n));
        QRN_TRY(qrn_graph_add_node(g, n));
    }
    return QRN_OK;
}
