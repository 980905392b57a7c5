// SPDX-License-Identifier: MIT
//
// Which nodes the backend takes: the whole graph is imported for trial, each node is accepted or
// refused by the same code that compiles it later, and the accepted ones are grouped.
#include "frontend/ort/affinity.h"

#include "base/mem.h"
#include "base/strmap.h"

#include <string.h>

typedef struct trial {
    const ox_model *model;
    const ox_graph *graph;
    qrn_arena *arena;
    const char **why;
    bool no_memory;
} trial;

static void hear(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    trial *t = ctx;
    if (s == QRN_OK || n < t->graph->nodes || n >= t->graph->nodes + t->graph->n_nodes)
        return;
    // The node's own name and type stand before the reason anyway.
    const char *end = strncmp(why, "node '", 6) == 0 ? strstr(why, "): ") : NULL;
    const char *copy = qrn_arena_strdup(t->arena, end ? end + 3 : why);
    t->no_memory |= !copy;
    t->why[n - t->graph->nodes] = copy;
}

static qrn_status try_import(qe_ep *ep, void *arg) {
    trial *t = arg;
    qe_graph_room room;
    const ox_options options = {.graph_configs = qe_graph_configs(ep, &room),
                                .allow_fp16 = ep->opt.allow_fp16,
                                .packages = ep->packages,
                                .n_packages = ep->n_packages,
                                .report = hear,
                                .report_ctx = t};
    ox_result r = {0};
    QRN_TRY(ox_import_model(t->model, ep->client, &options, &r));
    qc_graph_destroy(r.graph);
    return t->no_memory ? QRN_FAIL(QRN_E_MEM, "no memory for the reasons of refusals") : QRN_OK;
}

static bool is_op(const ox_node *n, const char *op) { return strcmp(n->op, op) == 0; }

static bool is_quantizer(const ox_node *n) {
    return is_op(n, "QuantizeLinear") || is_op(n, "DequantizeLinear");
}

// Quantizing at the borders is left to the processor, so that the graph takes and gives codes.
static bool is_border(const ox_graph *g, const ox_node *n) {
    if (is_op(n, "QuantizeLinear") && n->n_in)
        for (uint32_t i = 0; i < g->n_inputs; i++)
            if (strcmp(g->inputs[i].name, n->in[0]) == 0)
                return true;
    if (is_op(n, "DequantizeLinear") && n->n_out)
        for (uint32_t i = 0; i < g->n_outputs; i++)
            if (strcmp(g->outputs[i].name, n->out[0]) == 0)
                return true;
    return false;
}

// --- groups

// Depth of a value: how many changes from refused to accepted nodes lie before it.
typedef struct depths {
    qrn_strmap of; // value's name to its maker's index + 1
    const qe_plan *plan;
    const uint32_t *depth;
} depths;

static uint32_t depth_behind(const depths *d, const char *name, bool taken) {
    uintptr_t maker = (uintptr_t)qrn_strmap_get(&d->of, name);
    if (!maker)
        return 0;
    bool other = d->plan->group[maker - 1] < 0;
    return d->depth[maker - 1] + (taken && other);
}

static uint32_t deepest_input(const depths *d, const ox_node *n, bool taken);

// What a body reads from outside counts as the node's inputs.
static uint32_t deepest_in_body(const depths *d, const ox_graph *g, bool taken) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t n = deepest_input(d, &g->nodes[i], taken);
        most = n > most ? n : most;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t n = depth_behind(d, g->outputs[i].name, taken);
        most = n > most ? n : most;
    }
    return most;
}

static uint32_t deepest_input(const depths *d, const ox_node *n, bool taken) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t k = depth_behind(d, n->in[i], taken);
        most = k > most ? k : most;
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].g) {
            uint32_t k = deepest_in_body(d, n->attrs[i].g, taken);
            most = k > most ? k : most;
        }
    return most;
}

// --- sinking

// Readers of what a node makes.
typedef struct readers {
    uint32_t least; // depth among them; UINT32_MAX: nobody reads it
    bool refused;   // one of them is
} readers;

static void note_reader(const depths *d, readers *list, const char *name, uint32_t i) {
    uintptr_t maker = (uintptr_t)qrn_strmap_get(&d->of, name);
    if (!maker || maker - 1 == i)
        return;
    readers *r = &list[maker - 1];
    r->refused |= d->plan->group[i] < 0;
    if (d->depth[i] < r->least)
        r->least = d->depth[i];
}

static void note_node(const depths *d, readers *list, const ox_node *n, uint32_t i) {
    for (uint32_t k = 0; k < n->n_in; k++)
        note_reader(d, list, n->in[k], i);
    for (uint32_t k = 0; k < n->n_attrs; k++) {
        const ox_graph *body = n->attrs[k].g;
        for (uint32_t j = 0; body && j < body->n_nodes; j++)
            note_node(d, list, &body->nodes[j], i);
        for (uint32_t j = 0; body && j < body->n_outputs; j++)
            note_reader(d, list, body->outputs[j].name, i);
    }
}

// Moves accepted nodes to the group of their first reader, where all readers are accepted: the
// DequantizeLinear of a weight belongs to the convolution that reads it, however deep that lies.
static qrn_status sink(const ox_graph *g, const depths *d, uint32_t *depth) {
    readers *list = qrn_alloc((g->n_nodes + 1) * sizeof *list);
    if (!list)
        return QRN_E_MEM;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        list[i] = (readers){UINT32_MAX, false};
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        bool moves = d->plan->group[i] >= 0 && !list[i].refused && list[i].least != UINT32_MAX;
        if (moves && list[i].least > depth[i])
            depth[i] = list[i].least;
        note_node(d, list, &g->nodes[i], i);
    }
    qrn_free(list);
    return QRN_OK;
}

// Accepted nodes of one depth are a group. A path from a group to a refused node and on to an
// accepted one arrives deeper, so no path returns.
static qrn_status group_nodes(const ox_graph *g, qe_plan *plan) {
    uint32_t *depth = qrn_calloc((g->n_nodes + 1) * sizeof *depth);
    depths d = {.plan = plan, .depth = depth};
    qrn_status s = depth ? QRN_OK : QRN_E_MEM;
    for (uint32_t i = 0; i < g->n_nodes && s == QRN_OK; i++) {
        const ox_node *n = &g->nodes[i];
        depth[i] = deepest_input(&d, n, plan->group[i] >= 0);
        for (uint32_t j = 0; j < n->n_out && s == QRN_OK; j++)
            if (n->out[j][0] && !qrn_strmap_put(&d.of, n->out[j], (void *)(uintptr_t)(i + 1)))
                s = QRN_E_MEM;
    }
    if (s == QRN_OK)
        s = sink(g, &d, depth);
    for (uint32_t i = 0; i < g->n_nodes && s == QRN_OK; i++) {
        if (plan->group[i] < 0)
            continue;
        plan->group[i] = (int32_t)depth[i];
        if (depth[i] >= plan->n_groups)
            plan->n_groups = depth[i] + 1;
    }
    qrn_strmap_clear(&d.of);
    qrn_free(depth);
    return s == QRN_OK ? s : QRN_FAIL(QRN_E_MEM, "no memory for the partitions");
}

static bool nothing_refused(const ox_graph *g, const qe_plan *plan) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (plan->why[i])
            return false;
    return true;
}

// Groups that compute nothing are not worth a graph; the others are counted from 0.
static qrn_status drop_idle(const ox_graph *g, qe_plan *plan) {
    uint32_t n = plan->n_groups, kept = 0;
    int32_t *number = qrn_alloc((n + 1) * sizeof *number);
    if (!number)
        return QRN_FAIL(QRN_E_MEM, "no memory for the partitions");
    for (uint32_t k = 0; k < n; k++)
        number[k] = -1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (plan->group[i] >= 0 && !is_quantizer(&g->nodes[i]))
            number[plan->group[i]] = 0;
    for (uint32_t k = 0; k < n; k++)
        if (number[k] == 0)
            number[k] = (int32_t)kept++;
    // A model of nothing else keeps what it asks for.
    bool alone = kept == 0 && nothing_refused(g, plan);
    for (uint32_t k = 0; k < n && alone; k++)
        number[k] = (int32_t)k;
    plan->n_groups = alone ? n : kept;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (plan->group[i] >= 0) {
            plan->group[i] = number[plan->group[i]];
            plan->n_taken += plan->group[i] >= 0;
        }
    qrn_free(number);
    return QRN_OK;
}

// --- trials

static bool has_bodies(const ox_node *n) {
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].g)
            return true;
    return false;
}

// Why a node that was taken in the whole graph is refused in its group.
static const char *explain(const ox_node *n, const char *why) {
    return qe_host_hides_inputs() && has_bodies(n)
               ? "its bodies read values that onnxruntime hands to providers from 1.27 on"
               : why;
}

// May the host give to a partition less than its nodes read?
static bool must_try(const ox_graph *g) {
    for (uint32_t i = 0; qe_host_hides_inputs() && i < g->n_nodes; i++)
        if (has_bodies(&g->nodes[i]))
            return true;
    return false;
}

// Tries each group alone: nodes may be taken in the whole graph and refused behind a border. Nodes
// that are refused lose their group; *changed tells.
static qrn_status try_groups(qe_ep *ep, const qe_graph *g, qe_plan *plan, bool *changed) {
    qrn_arena *arena = g->model->arena;
    for (uint32_t k = 0; k < plan->n_groups; k++) {
        ox_model sub;
        uint32_t *index;
        QRN_TRY(qe_submodel(g->model, plan, k, &sub, &index));
        if (sub.graph->n_nodes == 0)
            continue;
        trial t = {.model = &sub, .graph = sub.graph, .arena = arena};
        t.why = qrn_arena_alloc(arena, (sub.graph->n_nodes + 1) * sizeof *t.why);
        if (!t.why)
            return QRN_FAIL(QRN_E_MEM, "no memory for the partitions");
        QRN_TRY(qe_in_scratch(ep, try_import, &t));
        for (uint32_t i = 0; i < sub.graph->n_nodes; i++)
            if (t.why[i]) {
                plan->why[index[i]] = explain(&sub.graph->nodes[i], t.why[i]);
                *changed = true;
            }
    }
    return QRN_OK;
}

static qrn_status group_again(qe_ep *ep, const ox_graph *g, qe_plan *plan) {
    plan->n_groups = plan->n_taken = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool leave = ep->opt.offload_io && is_border(g, &g->nodes[i]);
        plan->group[i] = plan->why[i] || leave ? -1 : 0;
    }
    QRN_TRY(group_nodes(g, plan));
    return drop_idle(g, plan);
}

const char *qe_plan_reason(const ox_graph *g, const qe_plan *plan, uint32_t i) {
    return plan->group[i] >= 0          ? NULL
           : plan->why[i]               ? plan->why[i]
           : is_border(g, &g->nodes[i]) ? "quantizing at the borders is left to other providers "
                                          "(offload_graph_io_quantization)"
                                        : "nothing but quantizers would be in its partition";
}

qrn_status qe_plan_make(qe_ep *ep, const qe_graph *g, qe_plan *out) {
    const ox_graph *graph = g->model->graph;
    qrn_arena *arena = g->model->arena;
    size_t n = graph->n_nodes + 1;
    *out = (qe_plan){.group = qrn_arena_alloc(arena, n * sizeof *out->group),
                     .why = qrn_arena_alloc(arena, n * sizeof *out->why)};
    if (!out->group || !out->why)
        return QRN_FAIL(QRN_E_MEM, "no memory for the partitions");
    trial t = {.model = g->model, .graph = graph, .arena = arena, .why = out->why};
    QRN_TRY(qe_in_scratch(ep, try_import, &t));
    QRN_TRY(qe_affinity_refuse(ep, graph, arena, out->why));
    QRN_TRY(group_again(ep, graph, out));
    // Each round refuses at least one more node.
    for (bool changed = out->n_taken < graph->n_nodes || must_try(graph); changed;) {
        changed = false;
        QRN_TRY(try_groups(ep, g, out, &changed));
        if (changed)
            QRN_TRY(group_again(ep, graph, out));
    }
    return QRN_OK;
}
