// SPDX-License-Identifier: MIT
//
// Which nodes the session's backend supports: the plan of all front ends, with the session's
// options.
#include "frontend/ort/affinity.h"

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

qrn_status qe_plan_make(qe_ep *ep, const qe_graph *g, ox_plan *out) {
    qe_graph_room room;
    planning p = {ep, g->model};
    const ox_options import = {.graph_configs = qe_graph_configs(ep, &room),
                               .allow_fp16 = ep->opt.allow_fp16,
                               .packages = ep->packages,
                               .n_packages = ep->n_packages};
    const ox_plan_options options = {.import = &import,
                                     .leave_borders = ep->opt.offload_io,
                                     .hides_inputs = qe_host_hides_inputs(),
                                     .trial = hush,
                                     .reject = reject,
                                     .ctx = &p};
    return ox_plan_make(g->model, ep->client, &options, out);
}
