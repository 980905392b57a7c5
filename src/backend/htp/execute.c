// SPDX-License-Identifier: MIT
//
// Executing: a graph takes the engine before its first step and gives way between steps to graphs
// of higher priority. The engine is taken inside the run, after the lock that graphs with state
// have: a second call of such a graph waits without keeping the engine from the first.
#include "backend/htp/execute.h"

#include "backend/htp/device/engine.h"
#include "backend/htp/device/group.h"
#include "backend/htp/numerics/overflow.h"
#include "backend/htp/device/restart.h"

typedef struct run {
    qrn_htp_turn turn;
    const qrn_api_context *context;
    const qrn_run_options *opt; // of the call
    qrn_htp_report *report;     // never NULL
    uint64_t asked_ns;          // for the engine, first
    uint64_t given_ns;          // back
} run;

static qrn_status take_engine(run *r) {
    r->asked_ns = qrn_call_now_ns();
    QRN_TRY(qrn_htp_engine_take(&r->turn));
    r->report->acquire_ns = r->turn.granted_ns - r->asked_ns;
    r->report->power_ns = qrn_call_now_ns() - r->turn.granted_ns;
    return qrn_htp_restart_check(r->context);
}

static qrn_status yield(run *r) {
    uint64_t start = qrn_call_now_ns();
    qrn_htp_engine_give(&r->turn);
    r->given_ns = qrn_call_now_ns();
    QRN_TRY(qrn_htp_engine_take(&r->turn));
    uint64_t end = qrn_call_now_ns(), granted = r->turn.granted_ns;
    qrn_htp_report *p = r->report;
    if (p->n_yields < QRN_HTP_MAX_YIELDS)
        p->yields[p->n_yields] =
            (qrn_htp_yield){.release_ns = r->given_ns - start,
                            .wait_ns = granted > r->given_ns ? granted - r->given_ns : 0,
                            .restore_ns = end - granted};
    p->n_yields++;
    p->yield_ns += end - start;
    return qrn_htp_restart_check(r->context);
}

// Before each step.
static qrn_status between_steps(void *ctx) {
    run *r = ctx;
    QRN_TRY(qrn_htp_restart_check(r->context));
    if (r->opt->poll)
        QRN_TRY(r->opt->poll(r->opt->poll_ctx));
    if (!r->turn.holds)
        return take_engine(r);
    return qrn_htp_engine_wanted(&r->turn) ? yield(r) : QRN_OK;
}

static qrn_htp_turn turn_of(const qrn_api_graph *g, const qrn_run_options *opt) {
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    return (qrn_htp_turn){.priority = g->priority,
                          .shares = o->concurrency != 0,
                          .vtcm_from = o->pge_offset,
                          .vtcm_end = (uint64_t)o->pge_offset + o->pge_size,
                          .poll = opt->poll,
                          .poll_ctx = opt->poll_ctx};
}

qrn_status qrn_htp_run(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    QRN_TRY(qrn_htp_cross(g->context));
    uint64_t start = opt->report ? qrn_call_now_ns() : 0;
    qrn_htp_report unwanted = {0};
    run r = {.turn = turn_of(g, opt),
             .context = g->context,
             .opt = opt,
             .report = opt->report ? opt->report : &unwanted};
    qrn_run_options o = *opt;
    o.poll = between_steps;
    o.poll_ctx = &r;
    qrn_htp_group_batch(g->context, opt->n_batch);
    qrn_htp_watch watch;
    qrn_htp_watch_begin(&watch, g, &o);
    qrn_status s = qrn_runner_run(g->runner, io, &o);
    qrn_htp_watch_end(&watch);
    if (r.turn.holds) {
        qrn_htp_engine_give(&r.turn);
        r.given_ns = qrn_call_now_ns();
    }
    if (opt->report) {
        r.report->engine_ns = r.given_ns - r.asked_ns;
        r.report->inside_ns = qrn_call_now_ns() - start;
    }
    return s;
}
