// SPDX-License-Identifier: MIT
//
// Options as a whole: what may not be combined, what a device lacks, defaults, and what follows
// from options. Judged after a list was read and before it is taken.
#include "backend/htp/device/group.h"
#include "backend/htp/options/options.h"

#include "base/env.h"

#include "HTP/QnnHtpContext.h"

#include <string.h>

// Graphs of a context in which one or both compressions are used (HTP-DLBC-07).
#define DLBC_ONE_MAX 32u
#define DLBC_BOTH_MAX 16u
// Graphs of a context without: what the original library accepts.
#define GRAPHS_MAX 64u

bool qrn_htp_offline(void) { return !qrn_env_has(QRN_ENV_HTP, "online"); }

// --- defaults

uint64_t qrn_htp_vtcm_bytes(const qrn_api_graph *g) {
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    uint64_t most = (uint64_t)qrn_htp_device_of(g->context)->soc.vtcm_mb << 20;
    if (o->vtcm_bytes)
        return o->vtcm_bytes;
    return most < QRN_HTP_VTCM_DEFAULT ? most : QRN_HTP_VTCM_DEFAULT;
}

uint32_t qrn_htp_hvx_threads(const qrn_api_graph *g) {
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    if (o->hvx_threads)
        return o->hvx_threads;
    return qrn_htp_offline() ? QRN_HTP_HVX_OFFLINE : qrn_htp_device_of(g->context)->soc.hvx;
}

uint32_t qrn_htp_worker_limit(const qrn_api_graph *g) {
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    return o->hvx_asked ? o->hvx_threads : 0;
}

void qrn_htp_graph_settle(qrn_api_graph *g) {
    qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    o->vtcm_bytes = qrn_htp_vtcm_bytes(g);
    o->hvx_threads = qrn_htp_hvx_threads(g);
}

// --- priorities

// The switch of HTP-PRI-04.
static qrn_status check_restricted(const char *kind, const char *name, int priority) {
    if (priority <= QNN_PRIORITY_NORMAL || !qrn_env_has(QRN_ENV_HTP, "restricted"))
        return QRN_OK;
    return QRN_FAIL(QRN_E_NOT_PERMITTED,
                    "%s '%s': priority %d is restricted, allowed: up to NORMAL (%d)", kind, name,
                    priority, QNN_PRIORITY_NORMAL);
}

// --- contexts

static qrn_status conflict(const char *what, const char *with) {
    return QRN_FAIL(QRN_E_CONFIG, "context option %s cannot be combined with %s", what, with);
}

static qrn_status check_sharing(const qrn_api_context *c, const qrn_htp_context_options *o) {
    const qrn_soc *soc = &qrn_htp_device_of(c)->soc;
    if (!o->share_resources)
        return QRN_OK; // its kind does not matter then (HTP-CTX-30)
    if (c->persistent_binary && c->memory_limit_mb)
        return conflict("SHARE_RESOURCES",
                        "graph switching (PERSISTENT_BINARY with MEMORY_LIMIT_HINT)");
    if (o->share_type == SEQUENTIAL_WITH_VA_OPTIMIZATION && soc->arch < 73)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "context option SHARE_RESOURCES: kind 0 (sequential with address "
                        "optimization) needs v73, %s is of v%u; use kind 1",
                        soc->name, soc->arch);
    if (o->share_type == CONCURRENT_OPTIMIZATION && soc->arch < 81)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "context option SHARE_RESOURCES: kind 2 (concurrent) needs v81, %s is of "
                        "v%u; use kind 1",
                        soc->name, soc->arch);
    return QRN_OK;
}

// Every graph that is to be kept must be one that can run (HTP-MGS-03).
static qrn_status check_retention(const qrn_api_context *c) {
    for (size_t i = 0; c->retention_order && c->retention_order[i] && c->enable_graphs; i++) {
        size_t k = 0;
        while (c->enable_graphs[k] && strcmp(c->enable_graphs[k], c->retention_order[i]) != 0)
            k++;
        if (!c->enable_graphs[k])
            return QRN_FAIL(QRN_E_CONFIG,
                            "context option GRAPH_RETENTION_ORDER: graph '%s' is not among "
                            "ENABLE_GRAPHS",
                            c->retention_order[i]);
    }
    return QRN_OK;
}

qrn_status qrn_htp_context_check(const qrn_api_context *c, const qrn_htp_context_options *o,
                                 qrn_config_phase phase) {
    QRN_TRY(check_restricted("context", "", c->priority));
    QRN_TRY(qrn_htp_group_check_priority(c, c->priority));
    QRN_TRY(check_sharing(c, o));
    QRN_TRY(check_retention(c));
    if (o->lora_ram_preload && !o->lora_weight_sharing && phase == QRN_CONFIG_CREATE)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED: needs "
                        "LORA_WEIGHT_SHARING_ENABLED");
    return QRN_OK;
}

// --- graphs

// Graphs of the context when one of them has new options, and what the strictest of them allows.
typedef struct dlbc_count {
    const qrn_api_graph *graph;
    const qrn_htp_graph_options *options; // new ones of the graph
    uint32_t n, most;
} dlbc_count;

static uint32_t dlbc_limit(const qrn_htp_graph_options *o) {
    return o->dlbc && o->dlbc_weights   ? DLBC_BOTH_MAX
           : o->dlbc || o->dlbc_weights ? DLBC_ONE_MAX
                                        : GRAPHS_MAX;
}

static qrn_status count_dlbc(void *arg, const qrn_api_graph *g) {
    dlbc_count *x = arg;
    uint32_t limit = dlbc_limit(g == x->graph ? x->options : &qrn_htp_graph_of(g)->options);
    x->most = limit < x->most ? limit : x->most;
    x->n++;
    return QRN_OK;
}

static qrn_status check_dlbc(const qrn_api_graph *g, const qrn_htp_graph_options *o) {
    qrn_api_context *c = g->context;
    if ((o->dlbc || o->dlbc_weights) && qrn_htp_context_of(c)->options.weight_sharing)
        return QRN_FAIL(QRN_E_INCONSISTENT,
                        "graph '%s': option %s cannot be combined with WEIGHT_SHARING_ENABLED of "
                        "its context",
                        g->ir->name, o->dlbc ? "DLBC" : "DLBC_WEIGHTS");
    // Where the graphs before this one are more than DLBC allows, none of them has it: each was
    // checked when it came.
    dlbc_count x = {.graph = g, .options = o, .n = qrn_context_n_graphs(c), .most = dlbc_limit(o)};
    if (x.n <= DLBC_ONE_MAX + 1) {
        x.n = 0;
        qrn_context_each_graph(c, count_dlbc, &x);
    }
    if (x.n > x.most)
        return QRN_FAIL(QRN_E_CREATE,
                        "graph '%s': the context has %u graphs, %s at most %u are allowed; put "
                        "further ones into another context",
                        g->ir->name, x.n, x.most < GRAPHS_MAX ? "with DLBC" : "on the HTP", x.most);
    return QRN_OK;
}

// What several cores exclude (HTP-MLC-02) and what parallel graphs exclude (HTP-PGE-02).
static qrn_status check_cores(const qrn_api_graph *g, const qrn_htp_graph_options *o) {
    const char *other = NULL;
    if (o->n_cores > 1 && o->concurrency)
        other = "PARALLEL_GRAPH_EXECUTION_CONFIG";
    else if (o->n_cores > 1 && qrn_htp_context_of(g->context)->options.weight_sharing)
        other = "WEIGHT_SHARING_ENABLED of its context";
    if (other)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': NUM_CORES of %u cannot be combined with %s",
                        g->ir->name, o->n_cores, other);
    return QRN_OK;
}

qrn_status qrn_htp_graph_check(const qrn_api_graph *g, const qrn_htp_graph_options *o) {
    QRN_TRY(check_restricted("graph", g->ir->name, g->priority));
    QRN_TRY(qrn_htp_group_check_priority(g->context, g->priority));
    QRN_TRY(check_dlbc(g, o));
    return check_cores(g, o);
}
