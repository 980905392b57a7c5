// SPDX-License-Identifier: MIT
//
// Looks behind handles, for tests of what no client can see.
#ifndef QRN_TESTS_HTP_INSIDE_H
#define QRN_TESTS_HTP_INSIDE_H

#include "backend/htp/options/options.h"
#include "htp_options.h"

static inline const qrn_htp_graph_options *options_of(Qnn_GraphHandle_t g) {
    return &qrn_htp_graph_of(qrn_handle_get(QRN_KIND_GRAPH, g))->options;
}

// The options that a new graph with this one has.
static inline qrn_htp_graph_options graph_taken(const htp_world *w, QnnHtpGraph_CustomConfig_t x) {
    static unsigned count;
    char name[32];
    Qnn_GraphHandle_t g = NULL;
    snprintf(name, sizeof name, "taken%u", count++);
    HTP_OK(graph_with(w, name, &x, 1, &g));
    return *options_of(g);
}

static inline qrn_api_context *context_object(Qnn_ContextHandle_t c) {
    qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, c);
    assert_non_null(o);
    return o;
}

#endif
