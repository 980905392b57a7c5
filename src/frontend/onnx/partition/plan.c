// SPDX-License-Identifier: MIT
//
// Trials: which nodes are accepted in the whole graph, and then in their groups.
#include "frontend/onnx/partition/plan_groups.h"

#include "base/mem.h"

#include <string.h>

typedef struct trial {
    const ox_model *model;
    qc_client *client;
    const ox_plan_options *opt;
    const char **why;
    qrn_status *status;
    ox_info *shapes; // NULL: not learned
    uint32_t n_shapes, room;
    qrn_strmap constants; // names of values
    bool whole;           // the model, not a group
    bool no_memory;
} trial;

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "no memory for the partitions"); }

static void note_verdict(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    trial *t = ctx;
    const ox_graph *g = t->model->graph;
    if (s == QRN_OK || n < g->nodes || n >= g->nodes + g->n_nodes)
        return;
    // The node's own name and type are reported before the reason anyway.
    const char *end = strncmp(why, "node '", 6) == 0 ? strstr(why, "): ") : NULL;
    const char *copy = qrn_arena_strdup(t->model->arena, end ? end + 3 : why);
    t->no_memory |= !copy;
    t->why[n - g->nodes] = copy;
    t->status[n - g->nodes] = s;
}

static void note_value(void *ctx, const ox_val *v) {
    static const char mark;
    trial *t = ctx;
    if (v->kind != OX_TENSOR || t->n_shapes == t->room)
        return;
    ox_info info = {.name = v->name,
                    .type = v->type,
                    .has_shape = true,
                    .rank = v->rank,
                    .enc = t->model->import_foreign ? v->enc : NULL};
    for (uint32_t i = 0; i < v->rank; i++)
        info.dims[i] = v->dims[i];
    t->shapes[t->n_shapes++] = info;
    if (v->data && !qrn_strmap_put(&t->constants, v->name, (void *)(uintptr_t)&mark))
        t->no_memory = true;
}

static qrn_status import(void *arg) {
    trial *t = arg;
    ox_options options = *t->opt->import;
    ox_result r = {0};
    options.report = note_verdict;
    options.report_ctx = t;
    options.value = t->shapes ? note_value : NULL;
    options.value_ctx = t;
    options.fused = true;
    if (!t->whole)
        options.note = NULL; // it was reported
    QRN_TRY(ox_import_model(t->model, t->client, &options, &r));
    qc_graph_destroy(r.graph);
    return t->no_memory ? no_memory() : QRN_OK;
}

qrn_status ox_in_trial(qc_client *c, const ox_plan_options *opt, qrn_status (*fn)(void *),
                       void *arg) {
    Qnn_ContextHandle_t kept;
    QRN_TRY(qc_trial_begin(c, &kept));
    if (opt->trial)
        opt->trial(opt->ctx, true);
    qrn_status s = fn(arg);
    if (opt->trial)
        opt->trial(opt->ctx, false);
    qc_trial_end(c, kept);
    return s;
}

// --- the whole graph

static bool is_op(const ox_node *n, const char *op) { return strcmp(n->op, op) == 0; }

static uint32_t count_outputs(const ox_graph *g) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].n_out;
    return n;
}

static qrn_status learn(trial *t, ox_plan *plan) {
    const ox_graph *g = t->model->graph;
    plan->shapes = t->shapes;
    plan->n_shapes = t->n_shapes;
    plan->constant = qrn_arena_alloc(t->model->arena, (g->n_nodes + 1) * sizeof *plan->constant);
    plan->copied = qrn_arena_alloc(t->model->arena, (g->n_nodes + 1) * sizeof *plan->copied);
    if (!plan->constant || !plan->copied)
        return no_memory();
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool all = g->nodes[i].n_out > 0 && !plan->why[i];
        for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
            all &= qrn_strmap_get(&t->constants, g->nodes[i].out[k]) != NULL;
        plan->constant[i] = all;
        // A float that leaves a group is no quantized value any more: as onnxruntime does, every
        // reader gets a DequantizeLinear of its own.
        plan->copied[i] = all || (!plan->why[i] && is_op(&g->nodes[i], "DequantizeLinear"));
    }
    return QRN_OK;
}

static qrn_status try_whole(const ox_model *m, qc_client *c, const ox_plan_options *opt,
                            ox_plan *plan) {
    trial t = {.model = m,
               .client = c,
               .opt = opt,
               .why = plan->why,
               .status = plan->status,
               .whole = true};
    if (opt->learn) {
        t.room = count_outputs(m->graph);
        t.shapes = qrn_arena_alloc(m->arena, (t.room + 1) * sizeof *t.shapes);
        if (!t.shapes)
            return no_memory();
    }
    qrn_status s = ox_in_trial(c, opt, import, &t);
    if (s == QRN_OK && opt->learn)
        s = learn(&t, plan);
    qrn_strmap_clear(&t.constants);
    return s;
}

// --- groups

// Quantizing at the model's borders.
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

static bool has_bodies(const ox_node *n) {
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].g)
            return true;
    return false;
}

// Why a node that was accepted in the whole graph is rejected in its group.
static const char *explain(const ox_plan_options *opt, const ox_node *n, const char *why) {
    return opt->hides_inputs && has_bodies(n)
               ? "its bodies read values that onnxruntime hands to providers from 1.27 on"
               : why;
}

// May a partition get less than its nodes read?
static bool must_try(const ox_plan_options *opt, const ox_graph *g) {
    for (uint32_t i = 0; opt->hides_inputs && i < g->n_nodes; i++)
        if (has_bodies(&g->nodes[i]))
            return true;
    return false;
}

// Tries each group alone: nodes may be accepted in the whole graph and rejected behind a border.
// Nodes that are rejected lose their group.
static qrn_status try_groups(const ox_model *m, qc_client *c, const ox_plan_options *opt,
                             ox_plan *plan, bool *changed) {
    for (uint32_t k = 0; k < plan->n_groups; k++) {
        ox_model sub;
        uint32_t *index;
        QRN_TRY(ox_submodel(m, plan, k, opt->hides_inputs, &sub, &index));
        uint32_t n = sub.graph->n_nodes;
        if (n == 0)
            continue;
        trial t = {.model = &sub,
                   .client = c,
                   .opt = opt,
                   .why = qrn_arena_alloc(m->arena, (n + 1) * sizeof *t.why),
                   .status = qrn_arena_alloc(m->arena, (n + 1) * sizeof *t.status)};
        if (!t.why || !t.status)
            return no_memory();
        QRN_TRY(ox_in_trial(c, opt, import, &t));
        for (uint32_t i = 0; i < n; i++)
            if (t.why[i] && !plan->why[index[i]]) {
                plan->why[index[i]] = explain(opt, &sub.graph->nodes[i], t.why[i]);
                plan->status[index[i]] = t.status[i];
                *changed = true;
            }
    }
    return QRN_OK;
}

static qrn_status group_again(const ox_graph *g, const ox_plan_options *opt, ox_plan *plan) {
    plan->n_groups = plan->n_taken = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool leave = opt->leave_borders && is_border(g, &g->nodes[i]);
        plan->group[i] = plan->why[i] || leave ? -1 : 0;
    }
    QRN_TRY(ox_group_nodes(g, plan));
    return ox_drop_idle_groups(g, plan);
}

const char *ox_plan_reason(const ox_graph *g, const ox_plan *plan, uint32_t i) {
    if (plan->group[i] >= 0 || plan->why[i])
        return plan->group[i] >= 0 ? NULL : plan->why[i];
    return plan->leaves_borders && is_border(g, &g->nodes[i])
               ? "quantizing at the borders is left to other providers "
                 "(offload_graph_io_quantization)"
               : "nothing but quantizers would be in its partition";
}

qrn_status ox_plan_make(const ox_model *m, qc_client *c, const ox_plan_options *opt, ox_plan *out) {
    const ox_graph *g = m->graph;
    size_t n = g->n_nodes + 1;
    *out = (ox_plan){.group = qrn_arena_alloc(m->arena, n * sizeof *out->group),
                     .why = qrn_arena_alloc(m->arena, n * sizeof *out->why),
                     .status = qrn_arena_alloc(m->arena, n * sizeof *out->status),
                     .leaves_borders = opt->leave_borders};
    if (!out->group || !out->why || !out->status)
        return no_memory();
    QRN_TRY(try_whole(m, c, opt, out));
    if (opt->reject)
        QRN_TRY(opt->reject(opt->ctx, out->why));
    QRN_TRY(group_again(g, opt, out));
    // Each round rejects at least one more node.
    for (bool changed = out->n_taken < g->n_nodes || must_try(opt, g); changed;) {
        changed = false;
        QRN_TRY(try_groups(m, c, opt, out, &changed));
        if (changed)
            QRN_TRY(group_again(g, opt, out));
    }
    return QRN_OK;
}
