// SPDX-License-Identifier: MIT
//
// Schedules in words and as JSON, whether they were made just now or came out of a context binary.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <math.h>
#include <stdlib.h>

typedef struct traffic {
    uint64_t spill, fill, waited; // bytes; waited: not charged by the model
    uint32_t cut;                 // steps in row tiles
} traffic;

static traffic traffic_of(const qd_schedule *s) {
    traffic t = {0};
    for (uint32_t i = 0; i < s->n_swaps; i++)
        *(s->swaps[i].waited ? &t.waited
          : s->swaps[i].fill ? &t.fill
                             : &t.spill) += s->swaps[i].bytes;
    for (uint32_t i = 0; i < s->n_slots; i++)
        t.cut += s->slots[i].cuts > 1;
    return t;
}

// --- JSON

static json_t *json_engines(uint32_t set) {
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{QD_HVX, "HVX"}, {QD_HMX, "HMX"}, {QD_DMA, "DMA"}};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (set & names[i].bit)
            json_array_append_new(list, json_string(names[i].name));
    return list;
}

static json_t *json_slot(const qd_slot *x) {
    return json_pack("{s:o,s:i,s:s,s:i,s:o,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,"
                     "s:f}",
                     "name", qt_json_text(x->name), "op", (int)x->op, "class",
                     qd_class_names[x->kind], "fused_ops", (int)x->n_ops, "engines",
                     json_engines(x->engines), "row_tiles", (int)x->cuts, "macs", x->macs,
                     "padded_macs", x->padded, "in_bytes", x->in_bytes, "out_bytes", x->out_bytes,
                     "weight_bytes", x->weight_bytes, "spill_bytes", x->spill_bytes, "begin_us",
                     x->begin, "control_us", x->control, "run_us", x->run, "end_us", x->end,
                     "fetch_begin_us", x->fetch.begin, "fetch_end_us", x->fetch.end,
                     "swap_begin_us", x->swap.begin, "swap_end_us", x->swap.end);
}

static void add_lists(json_t *o, const qd_schedule *s) {
    json_t *slots = json_array(), *tiles = json_array(), *swaps = json_array();
    for (uint32_t i = 0; i < s->n_slots; i++)
        json_array_append_new(slots, json_slot(&s->slots[i]));
    for (uint32_t i = 0; i < s->n_tiles; i++) {
        const qd_tile *t = &s->tiles[i];
        json_array_append_new(
            tiles, json_pack("{s:I,s:s,s:I,s:I,s:I,s:I}", "tensor", (json_int_t)t->value, "kind",
                             t->weights ? "weights" : "activation", "offset", (json_int_t)t->offset,
                             "bytes", (json_int_t)t->bytes, "first", (json_int_t)t->first, "last",
                             (json_int_t)t->last));
    }
    for (uint32_t i = 0; i < s->n_swaps; i++) {
        const qd_swap *w = &s->swaps[i];
        json_array_append_new(swaps, json_pack("{s:I,s:I,s:s,s:b,s:I}", "tensor",
                                               (json_int_t)w->value, "step", (json_int_t)w->step,
                                               "kind", w->fill ? "fill" : "spill", "charged",
                                               !w->waited, "bytes", (json_int_t)w->bytes));
    }
    json_object_set_new(o, "slots", slots);
    json_object_set_new(o, "tiles", tiles);
    json_object_set_new(o, "swaps", swaps);
}

json_t *qt_schedule_json(const qd_schedule *s, bool all) {
    traffic t = traffic_of(s);
    json_t *marks = json_array();
    for (uint32_t bit = 1; bit < QD_MARKS; bit <<= 1)
        if (s->marks & bit)
            json_array_append_new(marks, json_string(qd_mark_text(bit)));
    json_t *o = json_pack("{s:o,s:s,s:f,s:i,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:f,s:o}", "chip",
                          qt_json_text(s->chip), "precision", qd_precision_names[s->precision],
                          "ms", s->us / 1e3, "steps", (int)s->n_slots, "hvx_threads",
                          (int)s->hvx_threads, "vtcm_bytes", (int)s->vtcm_bytes, "peak_vtcm_bytes",
                          (int)s->peak_bytes, "steps_in_row_tiles", (int)t.cut, "spill_bytes",
                          (json_int_t)t.spill, "fill_bytes", (json_int_t)t.fill, "uncharged_bytes",
                          (json_int_t)t.waited, "scale", s->scale, "uncalibrated", marks);
    json_t *parts = json_pack("{s:f,s:f,s:f}", "start", s->start / 1e3, "core", s->core / 1e3,
                              "memory", s->memory / 1e3);
    if (o)
        json_object_set_new(o, "parts_ms", parts);
    if (o && all)
        add_lists(o, s);
    return o;
}

// --- text

void qt_print_schedule(const qd_schedule *s, const char *title) {
    traffic t = traffic_of(s);
    char a[32], b[32], cut[96] = "", waited[64] = "";
    if (t.cut)
        snprintf(cut, sizeof cut, "; %u step%s in row tiles, spill %s, fill %s", t.cut,
                 t.cut == 1 ? "" : "s", qt_bytes_text((double)t.spill, a, sizeof a),
                 qt_bytes_text((double)t.fill, b, sizeof b));
    if (t.waited)
        snprintf(waited, sizeof waited, "; %s wait outside, which is not charged",
                 qt_bytes_text((double)t.waited, a, sizeof a));
    qt_print("%s: %u steps, %.3f ms on %s (modelled); VTCM %s of %s at most%s%s\n", title,
             s->n_slots, s->us / 1e3, s->chip, qt_bytes_text(s->peak_bytes, a, sizeof a),
             qt_bytes_text(s->vtcm_bytes, b, sizeof b), cut, waited);
    for (uint32_t bit = 1; bit < QD_MARKS; bit <<= 1)
        if (s->marks & bit)
            qt_print("%s: uncalibrated: %s\n", title, qd_mark_text(bit));
}

static int slowest_first(const void *a, const void *b) {
    const qd_slot *x = *(const qd_slot *const *)a, *y = *(const qd_slot *const *)b;
    double dx = x->end - x->begin, dy = y->end - y->begin;
    return dx > dy ? -1 : dx < dy ? 1 : x < y ? -1 : 1;
}

int qt_print_slots(const qd_schedule *s, uint64_t top) {
    const qd_slot **list = calloc((size_t)s->n_slots + 1, sizeof(const qd_slot *));
    if (!list) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < s->n_slots; i++)
        list[i] = &s->slots[i];
    qsort(list, s->n_slots, sizeof *list, slowest_first);
    qt_print("\n      us  share  class      wait us  row tiles  MB in+out  MB weights  step\n");
    for (uint32_t i = 0; i < s->n_slots && i < top; i++) {
        const qd_slot *x = list[i];
        qt_print("%8.1f  %4.1f%%  %-9s  %7.1f  %9u  %9.2f  %10.2f  %s%s\n", x->end - x->begin,
                 100 * (x->end - x->begin) / s->us, qd_class_names[x->kind],
                 fmax(0, x->run - x->begin - x->control), x->cuts,
                 (x->in_bytes + x->out_bytes) / 1e6, x->weight_bytes / 1e6, x->name,
                 x->n_ops > 1 ? " +" : "");
    }
    free(list);
    return QT_EXIT_OK;
}
