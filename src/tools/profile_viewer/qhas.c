// SPDX-License-Identifier: MIT
//
// The HTP analysis summary of one execution (TOOL-QHS-01 to 04): sums of its pieces by unit, by
// type and by node, and the dominant path.
#include "tools/profile_viewer/optrace.h"
#include "tools/quern/output.h"

#include <string.h>

typedef struct total {
    const char *name, *type;
    uint32_t n;
    double cycles, dominant;
    uint64_t moved[4]; // DRAM read, write, VTCM read, write
} total;

typedef struct totals {
    total *list;
    uint32_t n;
    json_t *index; // name: its place in the list
} totals;

static void add_to(total *t, const qv_piece *p) {
    t->n++;
    t->cycles += p->end - p->begin;
    t->dominant += p->dominant;
    t->moved[0] += p->dram_read;
    t->moved[1] += p->dram_write;
    t->moved[2] += p->vtcm_read;
    t->moved[3] += p->vtcm_write;
}

static void add_by_name(totals *all, const char *name, const qv_piece *p) {
    json_t *key = qt_json_text(name);
    const json_t *at = json_object_get(all->index, json_string_value(key));
    uint32_t i = at ? (uint32_t)json_integer_value(at) : all->n;
    if (!at) {
        json_object_set_new(all->index, json_string_value(key), json_integer(all->n));
        all->list[all->n++].name = name;
    }
    add_to(&all->list[i], p);
    json_decref(key);
}

static void put_traffic(json_t *row, const total *t) {
    static const char *const keys[] = {"dram_read", "dram_write", "vtcm_read", "vtcm_write"};
    for (int k = 0; k < 4; k++)
        json_object_set_new(row, keys[k], json_integer((json_int_t)t->moved[k]));
}

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// --- sections

static json_t *resource_of(const qv_run *r, uint32_t tid, const char *type) {
    total sum = {0};
    double begin = 0, end = 0, timeline = r->end - r->begin;
    for (uint32_t i = 0; i < r->n; i++) {
        const qv_piece *p = &r->list[i];
        if (qv_threads[p->unit].tid != tid)
            continue;
        begin = sum.n && begin < p->begin ? begin : p->begin;
        end = sum.n && end > p->end ? end : p->end;
        add_to(&sum, p);
    }
    if (!sum.n)
        return NULL;
    json_t *row =
        json_pack("{s:s,s:i,s:f,s:f,s:f,s:f,s:f}", "type", type, "tid", (int)tid, "start_cycle",
                  begin, "end_cycle", end, "timeline_cycles", timeline, "cycles_used", sum.cycles,
                  "utilization", percent(sum.cycles, timeline));
    put_traffic(row, &sum);
    return row;
}

static uint64_t executed_us(const qt_call *c) {
    for (uint32_t i = 0; i < c->n; i++)
        if (c->events[i].type == 400)
            return c->events[i].value;
    return 0;
}

static json_t *overall(const qv_execution *x) {
    const qv_run *r = &x->run;
    json_t *threads = json_array();
    total sum = {0};
    double timeline = r->end - r->begin, us = timeline / r->per_us;
    for (uint32_t i = 0; i < r->n; i++)
        add_to(&sum, &r->list[i]);
    for (int u = 0; u < QV_UNITS; u++) {
        json_t *row = u == QV_WRITE ? NULL : resource_of(r, qv_threads[u].tid, qv_threads[u].type);
        if (row)
            json_array_append_new(threads, row);
    }
    json_t *row = json_pack("{s:i,s:s,s:f,s:f,s:I,s:f,s:f,s:I,s:I,s:I,s:{s:o}}", "htp", 0, "source",
                            r->modelled ? "modelled" : "measured on the host, 1 cycle for 1 ns",
                            "time_us", us, "inferences_per_second", us > 0 ? 1e6 / us : 0,
                            "graph_execute_us", (json_int_t)executed_us(x->call), "percent_idle",
                            percent(timeline - r->busy, timeline), "timeline_cycles", timeline,
                            "total_dram", (json_int_t)(sum.moved[0] + sum.moved[1]), "total_vtcm",
                            (json_int_t)(sum.moved[2] + sum.moved[3]), "peak_vtcm_alloc",
                            (json_int_t)r->peak_vtcm, "htp_resources", "data", threads);
    return json_pack("[o]", row);
}

static bool start(qrn_arena *a, uint32_t n, totals *t) {
    *t = (totals){.list = qrn_arena_alloc(a, (n + (size_t)1) * sizeof *t->list),
                  .index = json_object()};
    return t->list && t->index;
}

static json_t *types_of(qrn_arena *a, const qv_run *r, bool htp) {
    totals all;
    json_t *rows = json_array();
    double active = 0;
    bool ok = start(a, r->n, &all);
    for (uint32_t i = 0; ok && i < r->n; i++) {
        const qv_piece *p = &r->list[i];
        active += p->end - p->begin;
        add_by_name(&all, htp ? p->type : qv_op_type(r, p->op), p);
    }
    for (uint32_t i = 0; i < all.n; i++) {
        const total *t = &all.list[i];
        json_t *row =
            htp ? json_pack("{s:o,s:i,s:f,s:f}", "op", qt_json_text(t->name), "instances",
                            (int)t->n, "cycles", t->cycles, "dominant_path_cycles", t->dominant)
                : json_pack("{s:o,s:f,s:f}", "op", qt_json_text(t->name), "cycles", t->cycles,
                            "percent_of_active_cycles", percent(t->cycles, active));
        put_traffic(row, t);
        json_array_append_new(rows, row);
    }
    json_decref(all.index);
    return rows;
}

// Nodes that have work; those that run within the step of another one are not listed.
static json_t *nodes_of(qrn_arena *a, const qv_run *r) {
    json_t *rows = json_array();
    total *list = qrn_arena_alloc(a, (r->s->n_ops + (size_t)1) * sizeof *list);
    for (uint32_t i = 0; list && i < r->n; i++)
        if (r->list[i].op != QT_NO_INDEX)
            add_to(&list[r->list[i].op], &r->list[i]);
    for (uint32_t i = 0; list && i < r->s->n_ops; i++)
        if (list[i].n)
            json_array_append_new(
                rows, json_pack("{s:o,s:o,s:f,s:f}", "op", qt_json_text(r->s->ops[i].name),
                                "op_type", qt_json_text(r->s->ops[i].type), "cycles",
                                list[i].cycles, "dominant_path_cycles", list[i].dominant));
    return rows;
}

static json_t *pieces_of(const qv_run *r) {
    json_t *rows = json_array();
    for (uint32_t i = 0; i < r->n; i++) {
        const qv_piece *p = &r->list[i];
        json_array_append_new(
            rows,
            json_pack("{s:o,s:o,s:b,s:b,s:b,s:f,s:n,s:f,s:f,s:f}", "op", qt_json_text(p->type),
                      "qnn_op", qt_json_text(qv_op_name(r, p->op)), "hmx", p->unit == QV_HMX, "hvx",
                      p->unit == QV_HVX, "dma", p->unit == QV_READ || p->unit == QV_WRITE, "cycles",
                      p->end - p->begin, "cycles_per_packet", "dominant_path_cycles", p->dominant,
                      "start_cycle", p->begin, "end_cycle", p->end));
    }
    return rows;
}

static json_t *path_of(const qv_run *r) {
    json_t *rows = json_array();
    for (uint32_t i = 0; i < r->n_path; i++) {
        const qv_part *x = &r->path[i];
        const qv_piece *p = &r->list[x->piece];
        json_array_append_new(rows, json_pack("{s:o,s:o,s:s,s:f,s:f,s:f}", "qnn_op",
                                              qt_json_text(qv_op_name(r, p->op)), "htp_op",
                                              qt_json_text(p->type), "unit",
                                              qv_threads[p->unit].type, "start_cycle", x->begin,
                                              "end_cycle", x->end, "dp_cycles", x->end - x->begin));
    }
    return rows;
}

json_t *qv_qhas_json(qrn_arena *a, const qv_execution *x) {
    const qv_run *r = &x->run;
    return json_pack("{s:o,s:s,s:{s:{s:o},s:{s:o},s:{s:o},s:{s:o},s:{s:o},s:{s:o}}}", "model_id",
                     qt_json_text(r->s->graph), "producer", "Quern " QUERN_VERSION, "data",
                     "htp_overall_summary", "data", overall(x), "qnn_op_types", "data",
                     types_of(a, r, false), "qnn_op_instances_nodes", "data", nodes_of(a, r),
                     "htp_op_types", "data", types_of(a, r, true), "htp_op_instances", "data",
                     pieces_of(r), "dominant_path_htp_0", "data", path_of(r));
}
