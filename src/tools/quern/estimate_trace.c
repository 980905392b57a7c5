// SPDX-License-Identifier: MIT
//
// A schedule in the trace format that Perfetto and Chrome read: one track for each engine, one for
// the start and the control of steps, and the VTCM that is taken as a counter.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

enum { MATRIX = 1, VECTOR, CONTROL, MEMORY };

static void name_track(json_t *events, int track, const char *name) {
    json_array_append_new(events,
                          json_pack("{s:s,s:s,s:i,s:i,s:{s:s}}", "name", "thread_name", "ph", "M",
                                    "pid", 1, "tid", track, "args", "name", name));
}

static void slice(json_t *events, int track, json_t *name, double begin, double end, json_t *args) {
    if (end <= begin) {
        json_decref(name);
        json_decref(args);
        return;
    }
    json_t *e = json_pack("{s:o,s:s,s:i,s:i,s:f,s:f}", "name", name, "ph", "X", "pid", 1, "tid",
                          track, "ts", begin, "dur", end - begin);
    if (e && args)
        json_object_set_new(e, "args", args);
    json_array_append_new(events, e);
}

static json_t *facts(const qd_slot *x, const qd_op *ops) {
    json_t *o =
        json_pack("{s:s,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f}", "class", qd_class_names[x->kind],
                  "fused_ops", (int)x->n_ops, "row_tiles", (int)x->cuts, "macs", x->macs,
                  "padded_macs", x->padded, "in_bytes", x->in_bytes, "out_bytes", x->out_bytes,
                  "weight_bytes", x->weight_bytes, "spill_bytes", x->spill_bytes);
    if (o && ops)
        json_object_set_new(o, "op", qt_json_text(ops[x->op].type));
    return o;
}

static json_t *titled(const char *what, const char *name) {
    char text[256];
    snprintf(text, sizeof text, "%s %s", what, name);
    return qt_json_text(text);
}

static void add_slot(json_t *events, const qd_slot *x, const qd_op *ops) {
    slice(events, CONTROL, qt_json_text(x->name), x->begin, x->begin + x->control, NULL);
    slice(events, CONTROL, titled("waiting for memory:", x->name), x->begin + x->control, x->run,
          NULL);
    slice(events, x->kind == QD_MATRIX ? MATRIX : VECTOR, qt_json_text(x->name), x->run, x->end,
          facts(x, ops));
    slice(events, MEMORY, titled("weights", x->name), x->fetch.begin, x->fetch.end,
          json_pack("{s:f}", "bytes", x->weight_bytes));
    slice(events, MEMORY, titled("spill and fill", x->name), x->swap.begin, x->swap.end,
          json_pack("{s:f}", "bytes", x->spill_bytes));
}

// Tensors that wait outside take no time in the model: they are marks.
static void add_waiting(json_t *events, const qd_schedule *s) {
    for (uint32_t i = 0; i < s->n_swaps; i++) {
        const qd_swap *w = &s->swaps[i];
        if (w->waited)
            json_array_append_new(
                events, json_pack("{s:s,s:s,s:s,s:i,s:i,s:f,s:{s:I}}", "name",
                                  w->fill ? "fill, not charged" : "spill, not charged", "ph", "i",
                                  "s", "t", "pid", 1, "tid", MEMORY, "ts", s->slots[w->step].begin,
                                  "args", "bytes", (json_int_t)w->bytes));
    }
}

static void add_level(json_t *events, double at, uint32_t bytes) {
    json_array_append_new(events,
                          json_pack("{s:s,s:s,s:i,s:f,s:{s:I}}", "name", "VTCM taken", "ph", "C",
                                    "pid", 1, "ts", at, "args", "bytes", (json_int_t)bytes));
}

static bool add_levels(json_t *events, const qd_schedule *s) {
    qrn_arena *arena = qrn_arena_create();
    const uint32_t *taken = arena ? qd_occupancy(s, arena) : NULL;
    add_level(events, 0, 0);
    for (uint32_t i = 0; taken && i < s->n_slots; i++)
        if (i == 0 || taken[i] != taken[i - 1])
            add_level(events, s->slots[i].begin, taken[i]);
    add_level(events, s->us, 0);
    qrn_arena_destroy(arena);
    return taken != NULL;
}

static json_t *trace_of(const qd_schedule *s, const qd_op *ops) {
    json_t *events = json_array();
    char process[256];
    snprintf(process, sizeof process, "%s on %s (modelled)", qd_precision_names[s->precision],
             s->chip);
    json_array_append_new(events, json_pack("{s:s,s:s,s:i,s:{s:o}}", "name", "process_name", "ph",
                                            "M", "pid", 1, "args", "name", qt_json_text(process)));
    name_track(events, MATRIX, "matrix unit (HMX)");
    name_track(events, VECTOR, "vector unit (HVX)");
    name_track(events, CONTROL, "start and steps");
    name_track(events, MEMORY, "memory (DMA)");
    slice(events, CONTROL, json_string("start"), 0, s->start, NULL);
    for (uint32_t i = 0; i < s->n_slots; i++)
        add_slot(events, &s->slots[i], ops);
    add_waiting(events, s);
    if (!add_levels(events, s)) {
        json_decref(events);
        return NULL;
    }
    return json_pack("{s:o,s:s}", "traceEvents", events, "displayTimeUnit", "ms");
}

bool qt_schedule_trace(const qd_schedule *s, const qd_op *ops, const char *path) {
    char *text = qt_json_dump(trace_of(s, ops), JSON_COMPACT);
    if (!text)
        return false;
    const qt_part part = {text, strlen(text)};
    bool done = qt_write_file(path, &part, 1);
    free(text);
    return done;
}
