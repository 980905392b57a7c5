// SPDX-License-Identifier: MIT
//
// Super nodes: nodes of a graph that fit a pattern of a package become one node, which the package
// implements. Patterns are tried in the order of registration, each from the first node on; a node
// belongs to one super node at most. A match is used only where nothing outside of it reads what
// the pattern connects, and nothing outside has to run between its nodes.
#include "backend/gpu/package_impl.h"

#include "base/mem.h"
#include "core/host.h"

#include <stdio.h>
#include <string.h>

#define MOST_OPS 16u
#define MOST_CONSTRAINTS 256u

typedef struct search {
    const qrn_api_graph *g;
    const qrn_graph *ir;
    uint32_t *first;         // [top + 2] where the readers of a tensor begin in `reader`
    const qrn_node **reader; // of all tensors
    uint32_t top;            // largest tensor id
    const qrn_node *
        *in_place; // [n_nodes] the node, NULL: a part of a super node, or the super node
    // The pattern, and what was found of it.
    const qrn_package *package;
    uint32_t optimization;
    const QnnGpuOpPackage_SuperNodeOptimization_t *pattern;
    uint32_t n_ops, n_found;
    const qrn_node *found[MOST_OPS];
    qrn_arena *arena; // of what is made
} search;

static qrn_status no_memory(const search *s) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", s->ir->name);
}

// --- readers

static qrn_status index_readers(search *s) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < s->ir->n_nodes; i++) {
        const qrn_node *n = s->ir->nodes[i];
        total += n->n_in;
        for (uint32_t k = 0; k < n->n_in + n->n_out; k++) {
            const qrn_tensor *t = k < n->n_in ? n->in[k] : n->out[k - n->n_in];
            s->top = t && t->id > s->top ? t->id : s->top;
        }
    }
    s->first = qrn_calloc((s->top + 3u) * sizeof *s->first);
    s->reader = qrn_calloc((total + 1u) * sizeof *s->reader);
    if (!s->first || !s->reader)
        return no_memory(s);
    // Counts, then beginnings one place ahead, which are moved on while readers are put in.
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < s->ir->n_nodes; i++)
            for (uint32_t k = 0; k < s->ir->nodes[i]->n_in; k++) {
                const qrn_tensor *t = s->ir->nodes[i]->in[k];
                if (t && pass)
                    s->reader[s->first[t->id + 1]++] = s->ir->nodes[i];
                else if (t)
                    s->first[t->id + 2]++;
            }
        for (uint32_t id = 0; !pass && id <= s->top; id++)
            s->first[id + 2] += s->first[id + 1];
    }
    return QRN_OK;
}

// --- one pattern

static bool is_found(const search *s, const qrn_node *n) {
    for (uint32_t i = 0; i < s->n_found; i++)
        if (s->found[i] == n)
            return true;
    return false;
}

static const qrn_tensor *output(const qrn_node *n, uint32_t i) {
    return i < n->n_out ? n->out[i] : NULL;
}
static const qrn_tensor *input(const qrn_node *n, uint32_t i) {
    return i < n->n_in ? n->in[i] : NULL;
}

// Do the edges between op `k`, which would be n, and those before it exist?
static bool is_connected(const search *s, uint32_t k, const qrn_node *n) {
    QnnGpuOpPackage_SuperNodeConnectionConstraint_t **c = s->pattern->connectionConstraints;
    for (; c && *c; c++) {
        const qrn_node *from = (*c)->producer == k  ? n
                               : (*c)->producer < k ? s->found[(*c)->producer]
                                                    : NULL;
        const qrn_node *to = (*c)->consumer == k  ? n
                             : (*c)->consumer < k ? s->found[(*c)->consumer]
                                                  : NULL;
        if (!from || !to)
            continue;
        const qrn_tensor *t = output(from, (*c)->producerOutputIndex);
        if (!t || input(to, (*c)->consumerInputIndex) != t)
            return false;
    }
    return true;
}

static bool meets(const QnnGpuOpPackage_TensorConstraint_t *c, const qrn_tensor *t) {
    switch (c->type) {
    case QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DATA_TYPE:
        return qrn_dtypes[t->dtype].code == (uint32_t)c->dataType;
    case QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_RANK:
        return t->shape.rank == c->rank;
    case QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DIMENSION:
        return c->dimension.index < t->shape.rank &&
               t->shape.dims[c->dimension.index] == c->dimension.size;
    case QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_TENSOR_TYPE:
        return (uint32_t)t->role == (uint32_t)c->tensorType; // the numbers are the API's
    default:
        return false;
    }
}

static bool meets_all(const search *s, uint32_t k, const qrn_node *n) {
    QnnGpuOpPackage_TensorConstraint_t **c = s->pattern->tensorConstraints;
    for (; c && *c; c++) {
        if ((*c)->operationIndex != k)
            continue;
        const qrn_tensor *t = (*c)->source == QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_OUTPUT
                                  ? output(n, (*c)->index)
                                  : input(n, (*c)->index);
        if (!t || !meets(*c, t))
            return false;
    }
    return true;
}

// Is output `i` of op `k` one that the pattern connects?
static bool is_inner(const search *s, uint32_t k, uint32_t i) {
    QnnGpuOpPackage_SuperNodeConnectionConstraint_t **c = s->pattern->connectionConstraints;
    for (; c && *c; c++)
        if ((*c)->producer == k && (*c)->producerOutputIndex == i)
            return true;
    return false;
}

static bool is_closed(const search *s) {
    uint32_t last = 0;
    for (uint32_t k = 0; k < s->n_ops; k++)
        last = s->found[k]->index > last ? s->found[k]->index : last;
    for (uint32_t k = 0; k < s->n_ops; k++)
        for (uint32_t i = 0; i < s->found[k]->n_out; i++) {
            const qrn_tensor *t = s->found[k]->out[i];
            if (!t)
                continue;
            bool inner = is_inner(s, k, i);
            if (inner && t->role != QRN_ROLE_NATIVE)
                return false;
            for (uint32_t r = s->first[t->id]; r < s->first[t->id + 1]; r++)
                if (!is_found(s, s->reader[r]) && (inner || s->reader[r]->index <= last))
                    return false;
        }
    return true;
}

static bool find_from(search *s, uint32_t k);

static bool try_node(search *s, uint32_t k, const qrn_node *n) {
    bool own = n && (n->op || strcmp(n->package, s->package->info->packageName) == 0);
    if (!own || strcmp(n->type, s->pattern->operations[k]) != 0 || is_found(s, n) ||
        s->in_place[n->index] != n || !is_connected(s, k, n) || !meets_all(s, k, n))
        return false;
    s->found[k] = n;
    s->n_found = k + 1;
    if (find_from(s, k + 1))
        return true;
    s->n_found = k;
    return false;
}

// Nodes for op k and those behind it; the pattern connects op k with one before it.
static bool find_from(search *s, uint32_t k) {
    QnnGpuOpPackage_SuperNodeConnectionConstraint_t **c = s->pattern->connectionConstraints;
    if (k == s->n_ops)
        return is_closed(s);
    while ((*c)->producer > k || (*c)->consumer > k || ((*c)->producer != k && (*c)->consumer != k))
        c++;
    if ((*c)->producer == k) {
        const qrn_tensor *t = input(s->found[(*c)->consumer], (*c)->consumerInputIndex);
        return t && try_node(s, k, t->producer);
    }
    const qrn_tensor *t = output(s->found[(*c)->producer], (*c)->producerOutputIndex);
    for (uint32_t r = t ? s->first[t->id] : 0; t && r < s->first[t->id + 1]; r++)
        if (try_node(s, k, s->reader[r]))
            return true;
    return false;
}

// --- the node that stands for a match

static char *join_names(const search *s) {
    size_t n = 1;
    for (uint32_t i = 0; i < s->n_ops; i++)
        n += strlen(s->found[i]->name) + 1;
    char *name = qrn_arena_alloc(s->arena, n);
    size_t at = 0;
    for (uint32_t i = 0; name && i < s->n_ops; i++)
        at += (size_t)snprintf(name + at, n - at, "%s%s", i ? "+" : "", s->found[i]->name);
    return name;
}

static bool lists(qrn_tensor *const *list, uint32_t n, const qrn_tensor *t) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == t)
            return true;
    return false;
}

// What comes from outside, and what leaves.
static bool add_tensors(const search *s, qrn_node *n) {
    uint32_t n_in = 0, n_out = 0;
    for (uint32_t k = 0; k < s->n_ops; k++) {
        n_in += s->found[k]->n_in;
        n_out += s->found[k]->n_out;
    }
    n->in = qrn_arena_alloc(s->arena, (n_in + 1u) * sizeof *n->in);
    n->out = qrn_arena_alloc(s->arena, (n_out + 1u) * sizeof *n->out);
    if (!n->in || !n->out)
        return false;
    for (uint32_t k = 0; k < s->n_ops; k++) {
        for (uint32_t i = 0; i < s->found[k]->n_in; i++) {
            qrn_tensor *t = s->found[k]->in[i];
            if (t && !(t->producer && is_found(s, t->producer)) && !lists(n->in, n->n_in, t))
                n->in[n->n_in++] = t;
        }
        for (uint32_t i = 0; i < s->found[k]->n_out; i++)
            if (s->found[k]->out[i] && !is_inner(s, k, i))
                n->out[n->n_out++] = s->found[k]->out[i];
    }
    return true;
}

static qrn_status replace(search *s) {
    qrn_node *n = qrn_arena_alloc(s->arena, sizeof *n);
    qrn_gpu_super *super = qrn_arena_alloc(s->arena, sizeof *super);
    if (!n || !super)
        return no_memory(s);
    *super = (qrn_gpu_super){.op = {.package = (qrn_package *)(uintptr_t)s->package, .name = ""},
                             .optimization = s->optimization,
                             .n_nodes = s->n_ops};
    super->nodes = qrn_arena_copy(s->arena, s->found, s->n_ops * sizeof *s->found);
    *n = (qrn_node){.name = join_names(s),
                    .package = s->package->info->packageName,
                    .type = "",
                    .user_op = super,
                    .graph = s->found[0]->graph};
    if (!super->nodes || !n->name || !add_tensors(s, n))
        return no_memory(s);
    for (uint32_t k = 0; k < s->n_ops; k++) {
        s->in_place[s->found[k]->index] = NULL;
        n->index = s->found[k]->index > n->index ? s->found[k]->index : n->index;
    }
    s->in_place[n->index] = n;
    qrn_log(s->g->context->backend->log, QNN_LOG_LEVEL_INFO,
            "graph '%s': nodes %s are one super node of package '%s' (%s)", s->ir->name, n->name,
            n->package, s->package->info->optimizations[s->optimization]->name);
    return QRN_OK;
}

// --- patterns

// Why a pattern cannot be used; NULL: it can. Sets n_ops.
static const char *check_pattern(search *s) {
    QnnGpuOpPackage_SuperNodeConnectionConstraint_t **c = s->pattern->connectionConstraints;
    bool joined[MOST_OPS] = {true};
    uint32_t n = 0, n_edges = 0;
    while (s->pattern->operations && s->pattern->operations[n])
        if (++n > MOST_OPS)
            return "it has more than 16 ops";
    s->n_ops = n;
    if (n < 2)
        return "it has less than two ops";
    for (; c && *c; c++) {
        uint32_t a = (*c)->producer, b = (*c)->consumer;
        if (a >= n || b >= n || a == b || ++n_edges > MOST_CONSTRAINTS)
            return "it connects ops that it does not have";
        joined[a > b ? a : b] = true;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!joined[k])
            return "an op of it is not connected with one before it";
    return NULL;
}

static qrn_status find_all(search *s, const QnnGpuOpPackage_Optimization_t *o) {
    const char *name = o && o->name ? o->name : "(no name)";
    const char *problem = !o || !o->name ? "it has no name"
                          : o->type != QNN_GPU_OPTIMIZATION_TYPE_SUPER_NODE
                              ? "it is not a super node"
                          : !o->superNode ? "it has no pattern"
                                          : NULL;
    s->pattern = problem ? NULL : o->superNode;
    if (!problem)
        problem = check_pattern(s);
    if (problem) {
        qrn_log(s->g->context->backend->log, QNN_LOG_LEVEL_WARN,
                "optimization '%s' of package '%s' is not used: %s", name,
                s->package->info->packageName, problem);
        return QRN_OK;
    }
    for (uint32_t i = 0; i < s->ir->n_nodes; i++) {
        s->n_found = 0;
        if (try_node(s, 0, s->ir->nodes[i]))
            QRN_TRY(replace(s));
    }
    return QRN_OK;
}

// Packages in the order of registration: the list is newest first.
static qrn_status find_in_packages(search *s, const qrn_package *p) {
    if (!p)
        return QRN_OK;
    QRN_TRY(find_in_packages(s, p->next));
    s->package = p;
    for (s->optimization = 0; p->info->optimizations && s->optimization < p->info->numOptimizations;
         s->optimization++)
        QRN_TRY(find_all(s, p->info->optimizations[s->optimization]));
    return QRN_OK;
}

// A copy of the graph with the nodes that are left.
static qrn_status make_graph(const search *s, const qrn_graph **out) {
    qrn_graph *copy = qrn_arena_copy(s->arena, s->ir, sizeof *copy);
    if (!copy ||
        !(copy->nodes = qrn_arena_alloc(s->arena, (s->ir->n_nodes + 1u) * sizeof *copy->nodes)))
        return no_memory(s);
    copy->n_nodes = 0;
    for (uint32_t i = 0; i < s->ir->n_nodes; i++)
        if (s->in_place[i])
            copy->nodes[copy->n_nodes++] = (qrn_node *)(uintptr_t)s->in_place[i];
    if (copy->n_nodes < s->ir->n_nodes)
        *out = copy;
    return QRN_OK;
}

static bool has_optimizations(const qrn_package *p) {
    for (; p; p = p->next)
        if (p->info->optimizations && p->info->numOptimizations)
            return true;
    return false;
}

qrn_status qrn_gpu_super_nodes(qrn_api_graph *g, const qrn_graph **out) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    qrn_packages *all = &qrn_gpu_backend_of(g->context->backend)->packages;
    pthread_mutex_lock(&all->lock);
    const qrn_package *packages = all->packages; // none goes before the backend does
    pthread_mutex_unlock(&all->lock);
    *out = g->ir;
    if (own->keep_nodes || qrn_host_keeps_tensors(g) || g->ir->n_subgraphs ||
        !has_optimizations(packages))
        return QRN_OK;
    search s = {.g = g, .ir = g->ir};
    QRN_TRY(qrn_gpu_user_arena(own, &s.arena));
    qrn_status status = index_readers(&s);
    s.in_place = qrn_calloc((g->ir->n_nodes + 1u) * sizeof *s.in_place);
    if (status == QRN_OK && !s.in_place)
        status = no_memory(&s);
    for (uint32_t i = 0; status == QRN_OK && i < g->ir->n_nodes; i++)
        s.in_place[i] = g->ir->nodes[i];
    if (status == QRN_OK)
        status = find_in_packages(&s, packages);
    if (status == QRN_OK)
        status = make_graph(&s, out);
    qrn_free(s.first);
    qrn_free(s.reader);
    qrn_free(s.in_place);
    return status;
}
