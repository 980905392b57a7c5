// SPDX-License-Identifier: MIT
//
// Connections across subgraphs. A branch may be filled before or after the node that runs it is
// added: both orders end with the same producers.
#include "core/branch.h"

#include "QnnOpDef.h"

static const char *const branch_params[] = {QNN_OP_IF_PARAM_THEN_GRAPH, QNN_OP_IF_PARAM_ELSE_GRAPH};
#define N_BRANCHES (sizeof(branch_params) / sizeof(branch_params[0]))

static bool is_control(const qrn_node *n) { return n->op && (n->op->flags & QRN_OP_CONTROL); }

// The k-th branch of a node; NULL when the node has none or it does not exist.
static const qrn_graph *branch_of(const qrn_node *n, size_t k) {
    if (!is_control(n))
        return NULL;
    const qrn_param *p = qrn_node_param(n, branch_params[k]);
    return p && p->present && p->value.s ? qrn_graph_find_subgraph(n->graph, p->value.s) : NULL;
}

static bool is_within(const qrn_graph *g, const qrn_graph *around) {
    for (; g; g = g->parent)
        if (g == around)
            return true;
    return false;
}

// Does a node of graph g, or of a branch that one of them runs, write the tensor?
static bool writes(const qrn_graph *g, const qrn_tensor *t) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] == t)
                return true;
        for (size_t k = 0; k < N_BRANCHES; k++) {
            const qrn_graph *branch = branch_of(n, k);
            if (branch && writes(branch, t))
                return true;
        }
    }
    return false;
}

// The node that runs this graph as a branch; NULL when there is none yet.
static qrn_node *caller_of(const qrn_graph *g) {
    for (uint32_t i = 0; g->parent && i < g->parent->n_nodes; i++)
        for (size_t k = 0; k < N_BRANCHES; k++)
            if (branch_of(g->parent->nodes[i], k) == g)
                return g->parent->nodes[i];
    return NULL;
}

static bool written_around(const qrn_graph *g, const qrn_tensor *t) {
    for (; g; g = g->parent)
        if (writes(g, t))
            return true;
    return false;
}

// The producer on record may stand in another branch: look in this graph and in those around it.
static qrn_status check_reads(const qrn_graph *g, const qrn_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qrn_tensor *t = n->in[i];
        bool made_by_a_node = t && (t->role == QRN_ROLE_NATIVE || t->role == QRN_ROLE_OUTPUT);
        if (!made_by_a_node || !t->producer || is_within(g, t->producer->graph) ||
            written_around(g, t))
            continue;
        return QRN_FAIL(QRN_E_UNCONNECTED,
                        "graph '%s' node '%s' (%s): input %u (tensor '%s') is written only in a "
                        "branch that does not come before it",
                        n->graph->name, n->name, n->type, i, t->name);
    }
    return QRN_OK;
}

// Is this node one of those that lead to graph g?
static bool runs(const qrn_node *n, const qrn_graph *g) {
    for (; g->parent; g = g->parent)
        if (caller_of(g) == n)
            return true;
    return false;
}

static qrn_status check_writes(const qrn_graph *g, const qrn_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qrn_tensor *t = n->out[i];
        const qrn_node *other = t ? t->producer : NULL;
        if (!other || other->graph == g || !is_within(g, other->graph) || runs(other, g))
            continue;
        return QRN_FAIL(QRN_E_TENSOR,
                        "graph '%s' node '%s' (%s): output %u (tensor '%s') is written by node "
                        "'%s' of graph '%s' already",
                        g->name, n->name, n->type, i, t->name, other->name, other->graph->name);
    }
    return QRN_OK;
}

qrn_status qrn_branch_check(const qrn_graph *g, const qrn_node *n) {
    for (size_t k = 0; is_control(n) && k < N_BRANCHES; k++) {
        const qrn_param *p = qrn_node_param(n, branch_params[k]);
        if (p && p->present && !branch_of(n, k))
            return QRN_FAIL(QRN_E_OP_CONFIG,
                            "graph '%s' node '%s' (%s): parameter '%s': no subgraph '%s'", g->name,
                            n->name, n->type, branch_params[k], p->value.s ? p->value.s : "");
    }
    QRN_TRY(check_reads(g, n));
    return check_writes(g, n);
}

// Whatever nodes of `branch` and of branches inside it write outside `outer` is written by
// `caller`.
static void lift(const qrn_graph *branch, const qrn_graph *outer, qrn_node *caller) {
    for (uint32_t i = 0; i < branch->n_nodes; i++) {
        const qrn_node *n = branch->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] && !is_within(n->out[k]->graph, outer))
                n->out[k]->producer = caller;
        for (size_t k = 0; k < N_BRANCHES; k++) {
            const qrn_graph *inner = branch_of(n, k);
            if (inner)
                lift(inner, outer, caller);
        }
    }
}

void qrn_branch_added(const qrn_graph *g, qrn_node *n) {
    for (size_t k = 0; k < N_BRANCHES; k++) {
        const qrn_graph *branch = branch_of(n, k);
        if (branch)
            lift(branch, branch, n);
    }
    for (qrn_node *caller; (caller = caller_of(g)) != NULL; g = g->parent)
        lift(g, g, caller);
}
