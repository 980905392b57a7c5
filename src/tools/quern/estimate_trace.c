// SPDX-License-Identifier: MIT
//
// The timeline of an estimate in the trace format that Perfetto and Chrome read: one track for each
// engine. Steps follow each other as the model adds them up; traffic to memory starts with the
// first step and runs beside them.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX = 1, VECTOR, OVERHEAD, MEMORY };

static void name_track(json_t *events, int track, const char *name) {
    json_array_append_new(events,
                          json_pack("{s:s,s:s,s:i,s:i,s:{s:s}}", "name", "thread_name", "ph", "M",
                                    "pid", 1, "tid", track, "args", "name", name));
}

// Appends a slice and returns its end.
static double slice(json_t *events, int track, json_t *name, double start, double us,
                    json_t *args) {
    json_t *e = json_pack("{s:o,s:s,s:i,s:i,s:f,s:f}", "name", name, "ph", "X", "pid", 1, "tid",
                          track, "ts", start, "dur", us);
    if (e && args)
        json_object_set_new(e, "args", args);
    json_array_append_new(events, e);
    return start + us;
}

static json_t *facts(const qd_step *s, const qd_time *t) {
    return json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f}", "op", s->op->type, "class",
                     qd_class_names[s->kind], "bound", qd_bound_names[qd_bound(t)], "macs", s->macs,
                     "padded_macs", s->padded, "weight_bytes", t->weight_bytes, "spill_bytes",
                     t->spill_bytes);
}

static void add_steps(json_t *events, const qt_estimates *r) {
    const qd_estimate *e = &r->rows[0].e;
    double core = e->start, memory = e->start;
    for (uint32_t i = 0; i < r->net->steps.n; i++) {
        const qd_step *s = &r->net->steps.list[i];
        const qd_time *t = &e->steps[i];
        bool matrix = s->kind == QD_MATRIX;
        core = slice(events, OVERHEAD, qt_json_text(s->op->name), core, t->overhead, NULL);
        core = slice(events, matrix ? MATRIX : VECTOR, qt_json_text(s->op->name), core,
                     matrix ? t->matrix : t->vector, facts(s, t));
        if (t->memory > 0)
            memory = slice(events, MEMORY, qt_json_text(s->op->name), memory, t->memory, NULL);
    }
    double end = fmax(core, memory);
    if (e->us > end)
        slice(events, OVERHEAD, json_string("waiting for memory or for units"), end, e->us - end,
              NULL);
}

bool qt_estimate_trace(const qt_estimates *r, const char *path) {
    const qt_estimate *row = &r->rows[0];
    json_t *events = json_array();
    char title[64], process[256];
    if (!row->known) {
        qt_error("%s: there is no estimate to draw", path);
        json_decref(events);
        return false;
    }
    snprintf(process, sizeof process, "%s on %s (estimated)", qd_precision_names[row->precision],
             qt_chip_title(row->at.chip, title, sizeof title));
    json_array_append_new(events, json_pack("{s:s,s:s,s:i,s:{s:s}}", "name", "process_name", "ph",
                                            "M", "pid", 1, "args", "name", process));
    name_track(events, MATRIX, "matrix unit (HMX)");
    name_track(events, VECTOR, "vector unit (HVX)");
    name_track(events, OVERHEAD, "start and steps");
    name_track(events, MEMORY, "memory (DMA)");
    slice(events, OVERHEAD, json_string("start"), 0, row->e.start, NULL);
    add_steps(events, r);
    json_t *all = json_pack("{s:o,s:s}", "traceEvents", events, "displayTimeUnit", "ms");
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    if (!text) {
        qt_error("%s: no memory", path);
        return false;
    }
    const qt_part part = {text, strlen(text)};
    bool done = qt_write_file(path, &part, 1);
    free(text);
    return done;
}
