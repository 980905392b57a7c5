// SPDX-License-Identifier: MIT
//
// Tensors shown to a function of the client, node by node. Runs on the thread that executes.
#include "core/observe.h"

static void trace(void *graph, uint32_t node, const qrn_values *values) {
    const qrn_api_graph *g = graph;
    const qrn_observer *o = &g->context->backend->own->observer;
    const qrn_cnode *n = &g->compiled->nodes[node];
    qrn_view view;
    for (uint32_t i = 0; i < n->n_out && o->tensor; i++) {
        if (n->out[i] == UINT32_MAX || !values->get(values->run, n->out[i], &view) || !view.data ||
            view.n_sparse || view.n_sparse_dims)
            continue;
        const QuernBackend_Tensor_t t = {.name = g->compiled->values[n->out[i]].name,
                                         .data_type = qrn_dtypes[view.dtype].code,
                                         .rank = view.rank,
                                         .dims = view.dims,
                                         .data = view.data};
        o->tensor(o->ctx, &t);
    }
}

void qrn_observe(const qrn_api_graph *g, qrn_run_options *opt) {
    if (!g->context->backend->own->observer.tensor || !g->compiled)
        return;
    opt->trace = trace;
    opt->trace_ctx = (void *)(uintptr_t)g; // only read
}
