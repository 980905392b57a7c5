// SPDX-License-Identifier: MIT
//
// The graph of an execution in the form of a converter's model JSON (TOOL-HTJ-01), which viewers of
// networks draw: nodes with what they cost as parameters.
#include "tools/profile_viewer/optrace.h"
#include "tools/quern/output.h"

#include <stdio.h>

enum { UINT_64 = 0x0164, FLOAT_32 = 0x0232, STRING = 0x0608 }; // types of the API
enum { WRITTEN_BY_APP = 0, READ_BY_APP = 1, NATIVE = 3, CONSTANT = 4 };

typedef struct cost {
    bool used;
    double cycles, dominant;
    uint64_t dram, vtcm;
    const char *unit;
} cost;

// Names are keys: temporaries have none, and two values may share one.
static const char *value_name(const qt_schematic *s, uint32_t v, char *buf, size_t size) {
    if (!s->values[v].name[0])
        snprintf(buf, size, "temporary_%u", v);
    return s->values[v].name[0] ? s->values[v].name : buf;
}

static uint32_t kind_of(const qv_run *r, uint32_t v) {
    const qt_value *x = &r->s->values[v];
    bool made = r->maker[v] != QT_NO_INDEX;
    return x->storage == 1   ? CONSTANT
           : x->storage != 2 ? NATIVE
           : made            ? READ_BY_APP
                             : WRITTEN_BY_APP;
}

static void put_value(json_t *tensors, const qv_run *r, uint32_t v) {
    const qt_value *x = &r->s->values[v];
    char buf[32];
    json_t *dims = json_array(), *name = qt_json_text(value_name(r->s, v, buf, sizeof buf));
    for (uint32_t i = 0; i < x->rank; i++)
        json_array_append_new(dims, json_integer(x->dims[i]));
    json_t *t = json_pack("{s:I,s:i,s:i,s:I,s:{s:i,s:i},s:O,s:o,s:I}", "id", (json_int_t)x->tensor,
                          "type", (int)kind_of(r, v), "dataFormat", 0, "data_type",
                          (json_int_t)x->type, "quant_params", "definition", 0, "encoding", 0,
                          "dims", dims, "current_dims", dims, "bytes", (json_int_t)x->bytes);
    json_object_set_new(tensors, json_string_value(name), t);
    json_decref(name);
}

static json_t *names_of(json_t *tensors, const qv_run *r, const uint32_t *list, uint32_t n) {
    json_t *names = json_array();
    for (uint32_t i = 0; i < n; i++) {
        char buf[32];
        if (list[i] == QT_NO_INDEX)
            continue;
        put_value(tensors, r, list[i]);
        json_array_append_new(names, qt_json_text(value_name(r->s, list[i], buf, sizeof buf)));
    }
    return names;
}

static json_t *number(int type, json_t *value) {
    char key[16];
    snprintf(key, sizeof key, "%d", type);
    json_t *o = json_object();
    json_object_set_new(o, key, value);
    return o;
}

static void put_node(json_t *graph, const qv_run *r, uint32_t i, const cost *c) {
    const qt_op *op = &r->s->ops[i];
    json_t *tensors = json_object_get(graph, "tensors"), *name = qt_json_text(op->name);
    json_t *params =
        json_pack("{s:o,s:o,s:o,s:o,s:o}", "op_id", number(UINT_64, json_integer(op->id)), "cycles",
                  number(FLOAT_32, json_real(c->cycles)), "dominant_path_cycles",
                  number(FLOAT_32, json_real(c->dominant)), "dram_bytes",
                  number(UINT_64, json_integer((json_int_t)c->dram)), "vtcm_bytes",
                  number(UINT_64, json_integer((json_int_t)c->vtcm)));
    if (r->home[i] != i && r->home[i] != QT_NO_INDEX)
        json_object_set_new(params, "runs_within",
                            number(STRING, qt_json_text(r->s->ops[r->home[i]].name)));
    else
        json_object_set_new(params, "unit", number(STRING, json_string(c->unit ? c->unit : "")));
    json_object_set_new(json_object_get(graph, "nodes"), json_string_value(name),
                        json_pack("{s:s,s:o,s:{},s:o,s:o,s:o}", "package", "qti.aisw", "type",
                                  qt_json_text(op->type), "tensor_params", "scalar_params", params,
                                  "input_names", names_of(tensors, r, op->in, op->n_in),
                                  "output_names", names_of(tensors, r, op->out, op->n_out)));
    json_decref(name);
}

static void add_up(const qv_run *r, cost *costs) {
    for (uint32_t i = 0; i < r->n; i++) {
        const qv_piece *p = &r->list[i];
        if (p->op == QT_NO_INDEX)
            continue;
        cost *c = &costs[p->op];
        c->used = true;
        c->cycles += p->end - p->begin;
        c->dominant += p->dominant;
        c->dram += p->dram_read + p->dram_write;
        c->vtcm += p->vtcm_read + p->vtcm_write;
        if (p->unit != QV_READ && p->unit != QV_WRITE)
            c->unit = qv_threads[p->unit].type;
    }
}

json_t *qv_graph_json(qrn_arena *a, const qv_run *r) {
    cost *costs = qrn_arena_alloc(a, (r->s->n_ops + (size_t)1) * sizeof *costs);
    json_t *graph = json_pack("{s:{},s:{}}", "tensors", "nodes");
    json_t *types = json_object();
    if (!costs || !graph || !types) {
        json_decref(graph);
        json_decref(types);
        return NULL;
    }
    add_up(r, costs);
    for (uint32_t i = 0; i < r->s->n_ops; i++) {
        uint32_t home = r->home[i];
        if (home != QT_NO_INDEX ? !costs[home].used : r->zoomed)
            continue;
        json_t *type = qt_json_text(r->s->ops[i].type);
        json_object_set_new(types, json_string_value(type), json_true());
        json_decref(type);
        put_node(graph, r, i, &costs[i]);
    }
    json_t *list = json_array();
    const char *key;
    json_t *value;
    json_object_foreach(types, key, value) json_array_append_new(list, json_string(key));
    json_decref(types);
    return json_pack("{s:o,s:s,s:s,s:s,s:o,s:o}", "model.cpp", qt_json_text(r->s->graph),
                     "model.bin", "NA", "coverter_command", "", "copyright_str", "", "op_types",
                     list, "graph", graph);
}
