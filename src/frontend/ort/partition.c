// SPDX-License-Identifier: MIT
//
// Which nodes the session's backend supports: the plan of all front ends, with the session's
// options.
#include "frontend/ort/affinity.h"
#include "frontend/ort/defaults.h"

#include <stdlib.h>

typedef struct planning {
    qe_ep *ep;
    const ox_model *model;
} planning;

static void hush(void *ctx, bool begins) {
    (void)ctx;
    qe_hush_library(begins ? QE_HUSH_ALL : QE_HUSH_NOTHING);
}

static qrn_status reject(void *ctx, const char **why) {
    const planning *p = ctx;
    return qe_affinity_refuse(p->ep, p->model->graph, p->model->arena, why);
}

// Graphs of one context of the HTP; a session has one context.
#define HTP_GRAPHS 64u

typedef struct size_of_group {
    uint32_t group, n_nodes;
} size_of_group;

static int larger_first(const void *a, const void *b) {
    const size_of_group *x = a, *y = b;
    if (x->n_nodes != y->n_nodes)
        return x->n_nodes > y->n_nodes ? -1 : 1;
    return x->group > y->group ? 1 : -1;
}

// Keeps the largest partitions; the others are left to other providers.
static qrn_status keep_largest(const ox_model *m, ox_plan *plan) {
    const uint32_t n = plan->n_groups, n_nodes = m->graph->n_nodes;
    size_of_group *sizes = qrn_arena_alloc(m->arena, n * sizeof *sizes);
    int32_t *now = qrn_arena_alloc(m->arena, n * sizeof *now);
    if (!sizes || !now)
        return QRN_FAIL(QRN_E_MEM, "partitions: no memory");
    for (uint32_t i = 0; i < n; i++)
        sizes[i] = (size_of_group){i, 0}, now[i] = -1;
    for (uint32_t i = 0; i < n_nodes; i++)
        if (plan->group[i] >= 0)
            sizes[plan->group[i]].n_nodes++;
    qsort(sizes, n, sizeof *sizes, larger_first);
    for (uint32_t i = 0; i < HTP_GRAPHS; i++)
        now[sizes[i].group] = (int32_t)i;
    plan->n_taken = 0;
    for (uint32_t i = 0; i < n_nodes; i++) {
        bool was_taken = plan->group[i] >= 0;
        plan->group[i] = was_taken ? now[plan->group[i]] : -1;
        plan->n_taken += plan->group[i] >= 0;
        if (was_taken && plan->group[i] < 0) {
            plan->why[i] = "a context of the HTP has at most 64 graphs, and its partition is "
                           "among the smallest";
            plan->status[i] = QRN_E_UNSUPPORTED;
        }
    }
    plan->n_groups = HTP_GRAPHS;
    return QRN_OK;
}

static qrn_status plan_model(qe_ep *ep, const ox_model *m, ox_plan *out) {
    qe_graph_room room;
    planning p = {ep, m};
    const ox_options import = {.graph_configs = qe_graph_configs(ep, "trial", &room),
                               .allow_fp16 = ep->opt.allow_fp16,
                               .packages = ep->packages,
                               .n_packages = ep->n_packages};
    const ox_plan_options options = {.import = &import,
                                     .leave_borders = ep->opt.offload_io,
                                     .hides_inputs = qe_host_hides_inputs(),
                                     .trial = hush,
                                     .reject = reject,
                                     .ctx = &p};
    return ox_plan_make(m, ep->client, &options, out);
}

// May inputs with a default become constants? Not where another session would run the graph, or
// where the partition does not see the values that it must compare.
static bool may_freeze(const qe_ep *ep) {
    return !ep->opt.context_enable && !ep->opt.prepare_and_load && !qe_host_hides_inputs();
}

// Nodes that are rejected may need the defaults of inputs as constants: kept if that takes more.
static qrn_status freeze(qe_ep *ep, const qe_graph *g, ox_plan *plan) {
    const ox_graph *graph = g->model->graph;
    ox_model frozen;
    ox_plan other;
    uint32_t n = 0;
    QRN_TRY(qe_defaults_needed(g, plan, &frozen, &n));
    if (!n)
        return QRN_OK;
    QRN_TRY(plan_model(ep, &frozen, &other));
    if (other.n_taken <= plan->n_taken)
        return QRN_OK;
    const ox_tensor *list = &frozen.graph->constants[graph->n_constants];
    qe_say(ep->log, ORT_LOG_INFO,
           "%u inputs with a default are compiled as constants, '%s' the first: %u more nodes are "
           "supported; a run with another value compiles again",
           n, list[0].name, other.n_taken - plan->n_taken);
    *plan = other;
    return qe_defaults_freeze(ep, list, n);
}

qrn_status qe_plan_make(qe_ep *ep, const qe_graph *g, ox_plan *out) {
    QRN_TRY(plan_model(ep, g->model, out));
    if (out->n_taken < g->model->graph->n_nodes && g->n_defaults && may_freeze(ep))
        QRN_TRY(freeze(ep, g, out));
    return ep->client->is_htp && out->n_groups > HTP_GRAPHS ? keep_largest(g->model, out) : QRN_OK;
}
