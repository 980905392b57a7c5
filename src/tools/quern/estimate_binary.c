// SPDX-License-Identifier: MIT
//
// quern estimate for context binaries: the schedule that was stored when the model was compiled for
// a chip, read back. Nothing is estimated anew.
#include "tools/quern/binary.h"
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"

static int report_text(const QnnSystemContext_GraphInfoV3_t *g, const qd_schedule *s, bool steps,
                       uint64_t top) {
    char title[160];
    snprintf(title, sizeof title, "graph %.128s, schedule", g->graphName);
    qt_print_schedule(s, title);
    qt_print("  %s: start %.3f ms, units %.3f ms, memory %.3f ms; perhaps %.2f to "
             "%.2f ms\n",
             qd_precision_names[s->precision], s->start / 1e3, s->core / 1e3, s->memory / 1e3,
             s->us / 1e3 * QT_LOW(true), s->us / 1e3 * QT_HIGH(true));
    return steps ? qt_print_slots(s, top) : QT_EXIT_OK;
}

static json_t *report_json(const QnnSystemContext_GraphInfoV3_t *g, const qd_schedule *s,
                           bool steps) {
    return json_pack("{s:o,s:f,s:f,s:f,s:o}", "name", qt_json_text(g->graphName), "ms", s->us / 1e3,
                     "low_ms", s->us / 1e3 * QT_LOW(true), "high_ms", s->us / 1e3 * QT_HIGH(true),
                     "schedule", qt_schedule_json(s, steps));
}

typedef struct reporting {
    const char *path, *trace;
    bool json, steps;
    uint64_t top;
    double clock;
    json_t *list;
    double ms; // of the first one
    bool reported;
} reporting;

static int report_graph(reporting *t, const QnnSystemContext_GraphInfoV3_t *g, qrn_arena *arena) {
    qd_schedule s;
    bool known;
    if (!qt_binary_schedule(g, arena, &s, &known))
        return QT_EXIT_FAILURE;
    if (!known)
        return QT_EXIT_OK;
    qd_reclock(&s, t->clock);
    if (!t->reported && t->trace && !qt_schedule_trace(&s, NULL, t->trace))
        return QT_EXIT_FAILURE;
    t->ms = t->reported ? t->ms : s.us / 1e3;
    t->reported = true;
    if (!t->json)
        return report_text(g, &s, t->steps, t->top);
    json_array_append_new(t->list, report_json(g, &s, t->steps));
    return QT_EXIT_OK;
}

static int report(reporting *t, const qt_binary *b) {
    int code = QT_EXIT_OK;
    qrn_arena *arena = qrn_arena_create();
    for (uint32_t i = 0; i < b->info->numGraphs && code == QT_EXIT_OK; i++)
        code = arena ? report_graph(t, &b->info->graphs[i].graphInfoV3, arena) : QT_EXIT_FAILURE;
    qrn_arena_destroy(arena);
    if (code == QT_EXIT_OK && !t->reported) {
        qt_error("%s: no stored schedule: it was compiled without a target SoC, or no SoC of "
                 "its architecture was measured; compile it with --soc, or estimate the model",
                 t->path);
        code = QT_EXIT_REFUSED;
    }
    return code;
}

int qt_estimate_binary(const char *path, bool json, bool steps, uint64_t top, const char *trace,
                       double clock) {
    qt_binary b = {0};
    reporting t = {.path = path,
                   .trace = trace,
                   .json = json,
                   .steps = steps,
                   .top = top,
                   .clock = clock,
                   .list = json_array()};
    int code = qt_binary_open(path, &b);
    if (code == QT_EXIT_OK)
        code = report(&t, &b);
    qt_binary_close(&b);
    if (code != QT_EXIT_OK || !json) {
        json_decref(t.list);
        return code == QT_EXIT_OK ? qt_close_stdout() : code;
    }
    return qt_print_json(
        json_pack("{s:o,s:f,s:o}", "model", qt_json_text(path), "ms", t.ms, "graphs", t.list));
}
