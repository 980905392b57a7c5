// SPDX-License-Identifier: MIT
//
// Events of calls. Microseconds are measured on the host; a remote call does not exist, so its
// events are the host's own function calls, seen from outside and inside. Cycles are measured times
// at the modelled clock (power.h). What a chip would take is added to finalize as a whole
// (prediction.h) and to executions node by node, in events of their own (modelled.h).
#include "backend/htp/profile/events.h"

#include "backend/htp/device/prediction.h"
#include "backend/htp/device/session.h"
#include "backend/htp/execute.h"
#include "backend/htp/options/options.h"
#include "backend/htp/power/power.h"
#include "backend/htp/profile/modelled.h"
#include "backend/htp/profile/optrace.h"
#include "core/services.h"

#include "HTP/QnnHtpProfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { B = 1, D = 2, L = 4 };

static const struct {
    uint32_t type, unit;
    unsigned levels;
    const char *identifier;
} events[] = {
#define EVENT(type, unit, levels, identifier)                                                      \
    {type, QNN_PROFILE_EVENTUNIT_##unit, levels, identifier},
#include "backend/htp/profile/events.def"
#undef EVENT
};

static unsigned level_of(const qrn_api_profile *p) {
    return qrn_profile_level(p) == QNN_HTP_PROFILE_LEVEL_LINTING ? L
           : qrn_profile_level(p) == QNN_PROFILE_LEVEL_DETAILED  ? D
                                                                 : B;
}

bool qrn_htp_profile_level(uint32_t level) { return level == QNN_HTP_PROFILE_LEVEL_LINTING; }

// Adds an event of the table, if the profile's level has it.
static uint32_t add(qrn_api_profile *p, uint32_t parent, uint32_t type, uint64_t value) {
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (events[i].type == type)
            return events[i].levels & level_of(p) ? qrn_profile_add(p, parent, type, events[i].unit,
                                                                    value, events[i].identifier)
                                                  : QRN_PROFILE_NONE;
    return QRN_PROFILE_NONE;
}

static uint32_t add_top(qrn_api_profile *p, uint32_t type, uint64_t value) {
    return add(p, QRN_PROFILE_TOP, type, value);
}

static uint64_t us(uint64_t ns) { return ns / 1000u; }

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static uint64_t cycles(uint64_t ns, uint64_t hz) {
    return (uint64_t)((double)ns * (double)hz / 1e9);
}

// --- ops

static uint32_t units_of(const char *op_type) {
    // These multiply matrices and stream weights; everything else is vector work.
    static const char *const matrix[] = {
        "Conv1d", "Conv2d", "Conv3d", "DepthWiseConv1d", "DepthWiseConv2d", "FullyConnected",
        "Lstm",   "Gru",    "MatMul", "TransposeConv1d", "TransposeConv2d", "TransposeConv3d"};
    for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++)
        if (strcmp(op_type, matrix[i]) == 0)
            return QRN_HTP_UNIT_HMX | QRN_HTP_UNIT_DMA;
    return QRN_HTP_UNIT_HVX;
}

// One line of the list of ops: a node, or one of the three that stand for the graph's ends.
typedef struct op_line {
    const char *name; // of the node; or what stands before " OpId_", may be ""
    bool is_node;
    uint32_t id;
    uint64_t spent_ns, gap_ns;
    uint32_t units;
} op_line;

static void op_text(const op_line *o, const char *unit, char *buf, size_t size) {
    const char *between = o->is_node ? ":" : *o->name ? " " : "";
    snprintf(buf, size, "%s%sOpId_%" PRIu32 "%s", o->name, between, o->id, unit);
}

// Line i in the order of execution: input, start, nodes, output. Application buffers are used where
// they lie: passing them in and out takes no time.
static op_line line_at(const qrn_call_record *r, uint32_t i) {
    const qrn_htp_report *report = r->report;
    if (i == 0)
        return (op_line){.name = "Input", .id = QRN_HTP_OP_INPUT};
    if (i == 1)
        return (op_line){.name = "", .id = QRN_HTP_OP_START, .spent_ns = report->power_ns};
    if (i == r->n_nodes + 2)
        return (op_line){.name = "Output", .id = QRN_HTP_OP_OUTPUT};
    const qrn_plan_node *n = &qrn_runner_plan(r->graph->runner)->nodes[i - 2];
    const qrn_node_time *t = &r->node_times[i - 2];
    return (op_line){n->name,     true,      QRN_HTP_OP_FIRST + i - 2,
                     t->spent_ns, t->gap_ns, units_of(n->type)};
}

static uint32_t n_lines(const qrn_call_record *r) { return r->n_nodes + 3; }

static uint64_t share(uint64_t n, double part) { return (uint64_t)((double)n * part); }

static void add_node(qrn_api_profile *p, uint32_t parent, const op_line *o, uint32_t unit,
                     uint64_t value, uint32_t *out) {
    char text[256];
    op_text(o, unit == QNN_PROFILE_EVENTUNIT_CYCLES ? " (cycles)" : "", text, sizeof text);
    *out = qrn_profile_add(p, parent, QNN_PROFILE_EVENTTYPE_NODE, unit, value, text);
}

// Nodes in cycles below 3003 and in microseconds below 3004.
static void add_detailed(qrn_api_profile *p, const qrn_call_record *r, uint64_t hz,
                         uint32_t in_cycles, uint32_t in_us) {
    uint32_t unused;
    for (uint32_t i = 0; i < n_lines(r); i++) {
        op_line o = line_at(r, i);
        add_node(p, in_cycles, &o, QNN_PROFILE_EVENTUNIT_CYCLES, cycles(o.spent_ns, hz), &unused);
    }
    for (uint32_t i = 0; i < n_lines(r); i++) {
        op_line o = line_at(r, i);
        if (o.is_node)
            add_node(p, in_us, &o, QNN_PROFILE_EVENTUNIT_MICROSEC, us(o.spent_ns + 500), &unused);
    }
}

// The host runs one step after the other: an op waits for the time between steps. Nothing runs in
// the background there, but would on the chip: so much of an op's own cycles overlaps as of its
// modelled ones (HTP-PRF-10 to 13).
static void add_linting(qrn_api_profile *p, const qrn_call_record *r, uint64_t hz) {
    uint64_t critical = 0;
    for (uint32_t i = 0; i < n_lines(r); i++) {
        op_line o = line_at(r, i);
        critical += cycles(o.spent_ns, hz) + cycles(o.gap_ns, hz);
    }
    uint32_t top =
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_CRITICAL_ACCEL_TIME_CYCLE, critical);
    for (uint32_t i = 0; i < n_lines(r); i++) {
        op_line o = line_at(r, i);
        uint32_t node;
        add_node(p, top, &o, QNN_PROFILE_EVENTUNIT_CYCLES, cycles(o.spent_ns, hz), &node);
        qrn_htp_shares shares = {0};
        if (o.is_node)
            shares = qrn_htp_overlap_shares(r->graph, o.id - QRN_HTP_OP_FIRST);
        add(p, node, QNN_HTP_PROFILE_EVENTTYPE_NODE_WAIT, cycles(o.gap_ns, hz));
        add(p, node, QNN_HTP_PROFILE_EVENTTYPE_NODE_OVERLAP,
            share(cycles(o.spent_ns, hz), shares.run));
        add(p, node, QNN_HTP_PROFILE_EVENTTYPE_NODE_WAIT_OVERLAP,
            share(cycles(o.gap_ns, hz), shares.wait));
        add(p, node, QNN_HTP_PROFILE_EVENTTYPE_NODE_RESOURCEMASK, o.units);
    }
}

// --- calls

static void record_yields(qrn_api_profile *p, const qrn_htp_report *h) {
    uint32_t top = add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_COUNT, h->n_yields);
    for (uint32_t i = 0; i < h->n_yields && i < QRN_HTP_MAX_YIELDS; i++) {
        const qrn_htp_yield *y = &h->yields[i];
        add(p, top, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_INSTANCE_RELEASE_TIME,
            us(y->release_ns));
        add(p, top, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_INSTANCE_WAIT_TIME,
            us(y->wait_ns));
        add(p, top, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_YIELD_INSTANCE_RESTORE_TIME,
            us(y->restore_ns));
    }
}

// The accelerator's part, from the whole of it to single ops.
static void record_accelerator(qrn_api_profile *p, const qrn_call_record *r, uint64_t hz) {
    const qrn_htp_report *h = r->report;
    uint64_t working = minus(h->engine_ns, h->acquire_ns + h->yield_ns), in_nodes = 0;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        in_nodes += r->node_times[i].spent_ns;
    uint32_t in_cycles =
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_TIME_CYCLE, cycles(working, hz));
    uint32_t in_us =
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_TIME_MICROSEC, us(h->engine_ns));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_EXCL_WAIT_TIME_MICROSEC, us(working));
    if (!r->node_times)
        return;
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_MISC_ACCEL_TIME_MICROSEC,
            us(minus(working, in_nodes)));
    if (level_of(p) == L)
        add_linting(p, r, hz);
    else
        add_detailed(p, r, hz, in_cycles, in_us);
    qrn_htp_record_modelled(p, r->graph, level_of(p) == L);
}

static void record_execute(qrn_api_profile *p, const qrn_call_record *r) {
    const qrn_htp_report *h = r->report;
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_NUMBER_OF_HVX_THREADS,
            qrn_htp_hvx_threads(r->graph));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_HOST_RPC_TIME_MICROSEC, us(r->backend_ns));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_HTP_RPC_TIME_MICROSEC, us(h->inside_ns));
    record_yields(p, h);
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_VTCM_ACQUIRE_TIME, us(h->acquire_ns));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_RESOURCE_POWER_UP_TIME, us(h->power_ns));
    record_accelerator(p, r, qrn_htp_clock_hz());
    uint32_t top = add_top(p, QNN_PROFILE_EVENTTYPE_EXECUTE, us(r->total_ns));
    if (r->queue_ns)
        add(p, top, QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT, us(r->queue_ns));
    if (qrn_profile_traces_ops(p))
        qrn_htp_optrace_execute(p, top, r);
}

// Which ops have no cost of their own: their numbers, below how many there are.
static void add_unknown(qrn_api_profile *p, uint32_t parent, const qrn_api_graph *g,
                        const qrn_htp_modelled *m) {
    for (uint32_t i = 0; i < m->x.n_unknown; i++) {
        uint32_t node = m->x.unknown[i];
        if (m->plan_of[node] != UINT32_MAX)
            qrn_profile_add(
                p, parent, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_MISSING_COST_OPID,
                QNN_PROFILE_EVENTUNIT_NONE, QRN_HTP_OP_FIRST + m->plan_of[node],
                g->ir->nodes[node]->name);
    }
}

// Cycles of the estimate are at the clock of full power, which it assumes.
static void record_prediction(qrn_api_profile *p, const qrn_api_graph *g) {
    qrn_htp_modelled *m = qrn_htp_modelled_make(g); // options may still change: it is not kept
    if (!m)
        return;
    const qrn_htp_prediction e = qrn_htp_summary(&m->x);
    double hz = (double)qrn_htp_corner_hz(DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, 0);
    const struct {
        uint32_t type;
        uint64_t value;
    } list[] = {
#define ESTIMATE(name) QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE##name
        {ESTIMATE(), 0},
        {ESTIMATE(_SIM_EXEC_CYCLES), (uint64_t)(e.us * hz / 1e6)},
        {ESTIMATE(_SIM_EXEC_LOWER_CYCLES), (uint64_t)(e.low_us * hz / 1e6)},
        {ESTIMATE(_SIM_EXEC_UPPER_CYCLES), (uint64_t)(e.high_us * hz / 1e6)},
        {ESTIMATE(_BANDWIDTH_STATS), 0},
        {ESTIMATE(_BANDWIDTH_STATS_HTP_ID), 0},
        {ESTIMATE(_INPUT_FILL), e.input_bytes},
        {ESTIMATE(_INTERMEDIATE_FILL), e.fill_bytes},
        {ESTIMATE(_INTERMEDIATE_SPILL), e.spill_bytes},
        {ESTIMATE(_INTER_HTP_FILL), 0}, // one NPU
        {ESTIMATE(_INTER_HTP_SPILL), 0},
        {ESTIMATE(_OUTPUT_SPILL), e.output_bytes},
        {ESTIMATE(_MISSING_COST_OPS), e.n_unknown},
#undef ESTIMATE
    };
    uint32_t last = QRN_PROFILE_NONE;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        last = add_top(p, list[i].type, list[i].value);
    if (level_of(p) == D)
        add_unknown(p, last, g, m);
    qrn_htp_modelled_free(m);
}

static void record_finalize(qrn_api_profile *p, const qrn_call_record *r) {
    const qrn_htp_graph *g = qrn_htp_graph_of(r->graph);
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_HOST_RPC_TIME_MICROSEC, us(r->backend_ns));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_HTP_RPC_TIME_MICROSEC, us(g->prepare_ns));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_ACCEL_TIME_MICROSEC, us(g->compile_ns));
    if (r->again)
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_AFTER_TENSOR_UPDATES_QNN,
                us(r->total_ns));
    record_prediction(p, r->graph);
    uint32_t top = add_top(p, QNN_PROFILE_EVENTTYPE_FINALIZE, us(r->total_ns));
    if (qrn_profile_traces_ops(p))
        qrn_htp_optrace_schematic(p, top, r->graph);
}

static void record_init(qrn_api_profile *p, const qrn_call_record *r) {
    uint64_t graphs_ns = 0;
    for (uint32_t i = 0; i < qrn_context_n_graphs(r->context); i++)
        graphs_ns += qrn_htp_graph_of(qrn_context_graph(r->context, i))->prepare_ns;
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_CONTEXT_LOAD_BIN_HOST_RPC_TIME_MICROSEC,
            us(r->backend_ns));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_CONTEXT_LOAD_BIN_HTP_RPC_TIME_MICROSEC, us(r->backend_ns));
    add_top(p, QNN_HTP_PROFILE_EVENTTYPE_CONTEXT_LOAD_BIN_ACCEL_TIME_MICROSEC, us(graphs_ns));
    add_top(p, QNN_PROFILE_EVENTTYPE_INIT, us(r->total_ns));
    uint64_t heap = 0;
    if (qrn_htp_heap_before(r->context, &heap))
        add_top(p, QRN_HTP_EVENT_HEAP_BEFORE, heap);
}

// Says once per profile what its numbers are (HTP-PRF-05).
static void log_source(qrn_api_profile *p) {
    if (!qrn_profile_first(p))
        return;
    qrn_log(qrn_profile_log(p), QNN_LOG_LEVEL_INFO,
            "profile: times are measured on this host; cycles are measured times at the modelled "
            "clock of %" PRIu64 " Hz; the time on a SoC is modelled at full power",
            qrn_htp_clock_hz());
}

void qrn_htp_record(qrn_api_profile *p, const qrn_call_record *r) {
    log_source(p);
    switch (r->kind) {
    case QRN_RECORD_INIT:
        record_init(p, r);
        return;
    case QRN_RECORD_FINALIZE:
        record_finalize(p, r);
        return;
    case QRN_RECORD_EXECUTE:
        record_execute(p, r);
        return;
    case QRN_RECORD_DEINIT:
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_DEINIT_HOST_RPC_TIME_MICROSEC,
                us(r->backend_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_DEINIT_HTP_RPC_TIME_MICROSEC, us(r->backend_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_DEINIT_ACCEL_TIME_MICROSEC, us(r->backend_ns));
        add_top(p, QNN_PROFILE_EVENTTYPE_DEINIT, us(r->total_ns));
        if (r->has_heap)
            add_top(p, QRN_HTP_EVENT_HEAP_AFTER, r->heap_bytes);
        return;
    case QRN_RECORD_APPLY:
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_APPLY_BINARY_SECTION_RPC, us(r->backend_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_APPLY_BINARY_SECTION_QNN_ACC, us(r->backend_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_APPLY_BINARY_SECTION_ACC, us(r->backend_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_APPLY_BINARY_SECTION_QNN, us(r->total_ns));
        return;
    case QRN_RECORD_UPDATE:
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_UPDATE_EXTRACT_INFO, us(r->update.read_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_UPDATE_CHECK_FIX_TENSORS, us(r->update.edit_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_UPDATE_REPACKAGE, us(r->update.write_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_UPDATE_FREE_RESOURCES, us(r->update.free_ns));
        add_top(p, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_UPDATE_BINARY_SECTION_QNN, us(r->total_ns));
        return;
    }
}
