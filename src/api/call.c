// SPDX-License-Identifier: MIT
//
// Profile and signal of one call.
#include "api/call.h"

#include "core/clock.h"

// A graph that is bound to a profile uses that one, as long as its options say so.
static qrn_status pick_profile(qrn_api_backend *b, qrn_api_graph *g, const void *handle,
                               qrn_api_profile **profile) {
    if (!g || !g->own->bound_profile)
        return qrn_profile_get(handle, b, profile);
    if (handle)
        return QRN_FAIL(
            QRN_E_ARGUMENT,
            "graph '%s': a profile is bound to the graph, the call may not have its own",
            g->ir->name);
    bool wanted = !g->own->profiling_off && g->own->profiled_runs_left > 0;
    *profile = wanted ? g->own->bound_profile : NULL;
    return QRN_OK;
}

qrn_status qrn_call_find(qrn_call *call, qrn_api_backend *b, qrn_api_graph *g, const void *profile,
                         const void *signal) {
    *call = (qrn_call){.graph = g};
    qrn_status s = qrn_signal_get(signal, b, &call->signal);
    if (s == QRN_E_HANDLE) // the code for bad handles speaks of the graph or context
        s = QRN_E_ARGUMENT;
    if (s != QRN_OK)
        return s;
    return pick_profile(b, g, profile, &call->profile);
}

qrn_status qrn_call_open(qrn_call *call) {
    QRN_TRY(qrn_profile_open(call->profile, call->graph));
    qrn_api_graph *g = call->graph;
    unsigned left = g ? atomic_load(&g->own->profiled_runs_left) : 0;
    if (call->profile && g && g->own->bound_profile)
        while (left && left != UINT32_MAX &&
               !atomic_compare_exchange_weak(&g->own->profiled_runs_left, &left, left - 1))
            continue;
    call->start_ns = qrn_call_now_ns();
    return QRN_OK;
}

qrn_status qrn_call_begin(qrn_call *call) {
    QRN_TRY(qrn_signal_begin(call->signal));
    // The profile comes last, because opening drops the events of the call before.
    qrn_status s = qrn_call_open(call);
    if (s != QRN_OK)
        qrn_signal_end(call->signal);
    return s;
}

static void report_execute(qrn_api_profile *p, const qrn_call_record *r, uint32_t top) {
    if (r->queue_ns)
        qrn_profile_add(p, top, QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT,
                        QNN_PROFILE_EVENTUNIT_MICROSEC, r->queue_ns / 1000u, "queue wait time");
    const qrn_compiled *cg = r->graph->compiled;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        qrn_profile_add(p, top, QNN_PROFILE_EVENTTYPE_NODE, QNN_PROFILE_EVENTUNIT_MICROSEC,
                        (r->node_times[i].spent_ns + 500u) / 1000u,
                        cg ? cg->nodes[i].name : r->graph->ir->nodes[i]->name);
}

void qrn_call_report(const qrn_call *call, qrn_call_record *r) {
    // clang-format off
    static const struct { uint32_t type; const char *name; } events[] = {
        [QRN_RECORD_INIT] = {QNN_PROFILE_EVENTTYPE_INIT, "QNN (load binary) time"},
        [QRN_RECORD_FINALIZE] = {QNN_PROFILE_EVENTTYPE_FINALIZE, "QNN (finalize) time"},
        [QRN_RECORD_EXECUTE] = {QNN_PROFILE_EVENTTYPE_EXECUTE, "QNN (execute) time"},
        [QRN_RECORD_DEINIT] = {QNN_PROFILE_EVENTTYPE_DEINIT, "QNN (deinit) time"},
        [QRN_RECORD_APPLY] = {0, NULL}, // backends that have sections have events for them
        [QRN_RECORD_UPDATE] = {0, NULL},
    };
    // clang-format on
    qrn_api_profile *p = call->profile;
    if (!p)
        return;
    r->total_ns = qrn_call_now_ns() - call->start_ns;
    if (qrn_this_backend.record) {
        qrn_this_backend.record(p, r);
        return;
    }
    if (!events[r->kind].type)
        return;
    uint32_t top =
        qrn_profile_add(p, QRN_PROFILE_TOP, events[r->kind].type, QNN_PROFILE_EVENTUNIT_MICROSEC,
                        r->total_ns / 1000u, events[r->kind].name);
    if (r->kind == QRN_RECORD_EXECUTE)
        report_execute(p, r, top);
}

void qrn_call_end(qrn_call *call) {
    qrn_profile_close(call->profile);
    qrn_signal_end(call->signal);
}
