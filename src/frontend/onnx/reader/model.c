// SPDX-License-Identifier: MIT
//
// Reading an ONNX model. Messages are walked twice: once to count repeated fields, once to fill
// arrays of exactly that size, so that memory is bounded by the file's size. Graphs inside
// attributes are read recursively down to MAX_DEPTH.
#include "frontend/onnx/reader/model.h"

#include "base/file.h"
#include "base/mem.h"
#include "frontend/onnx/reader/reader.h"
#include "frontend/onnx/reader/schema.h"
#include "frontend/onnx/reader/wire.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 32

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory"); }

qrn_status ox_read_text(ox_reader *r, const ox_wire *w, const char **out) {
    ox_bytes b;
    QRN_TRY(ox_wire_bytes(w, &b));
    char *s = qrn_arena_alloc(r->model->arena, b.n + 1);
    if (!s)
        return no_memory();
    memcpy(s, b.p, b.n);
    *out = s;
    return QRN_OK;
}

// Counts the fields of a message by number; numbers of 64 and more are ignored.
#define MAX_FIELD 64
static qrn_status count_fields(const ox_reader *r, ox_bytes message, uint32_t *counts) {
    ox_wire w = ox_wire_of(r->base, message);
    memset(counts, 0, MAX_FIELD * sizeof *counts);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        if (w.field < MAX_FIELD)
            counts[w.field]++;
    }
}

static void *array(ox_reader *r, size_t n, size_t elem) {
    size_t bytes;
    return qrn_mul_size(n, elem, &bytes) ? qrn_arena_alloc(r->model->arena, bytes) : NULL;
}

// --- attributes and nodes

static qrn_status read_graph(ox_reader *r, ox_bytes message, ox_graph **out);

typedef struct int_list {
    int64_t *p;
    uint32_t n, cap;
} int_list;

static qrn_status add_int(void *ctx, int64_t v) {
    int_list *l = ctx;
    if (l->n < l->cap)
        l->p[l->n++] = v;
    return QRN_OK;
}

// The lists of an attribute while they are filled; each has room for what the message holds.
typedef struct attr_lists {
    float *floats;
    int_list ints;
    const char **strings;
    uint32_t n_floats, n_strings;
} attr_lists;

static qrn_status add_floats(const ox_wire *w, attr_lists *l) {
    if (w->kind == OX_FIXED32)
        return ox_wire_float(w, &l->floats[l->n_floats++]);
    memcpy(l->floats + l->n_floats, w->bytes.p, w->bytes.n);
    l->n_floats += (uint32_t)(w->bytes.n / sizeof(float));
    return QRN_OK;
}

static qrn_status make_lists(ox_reader *r, ox_bytes message, attr_lists *l) {
    size_t n_floats = 0, n_ints = 0, n_strings = 0;
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == PB_ATTR_FLOATS)
            QRN_TRY(ox_wire_count(&w, OX_FIXED32, &n_floats));
        if (w.field == PB_ATTR_INTS)
            QRN_TRY(ox_wire_count(&w, OX_VARINT, &n_ints));
        n_strings += w.field == PB_ATTR_STRINGS;
    }
    *l = (attr_lists){.floats = array(r, n_floats, sizeof *l->floats),
                      .ints = {array(r, n_ints, sizeof *l->ints.p), 0, (uint32_t)n_ints},
                      .strings = array(r, n_strings, sizeof(void *))};
    return l->floats && l->ints.p && l->strings ? QRN_OK : no_memory();
}

static qrn_status read_attr_field(ox_reader *r, const ox_wire *w, ox_attr *a, attr_lists *l) {
    ox_bytes b;
    int64_t v;
    switch (w->field) {
    case PB_ATTR_NAME:
        return ox_read_text(r, w, &a->name);
    case PB_ATTR_FLOAT:
        return ox_wire_float(w, &a->f);
    case PB_ATTR_INT:
        return ox_wire_int(w, &a->i);
    case PB_ATTR_STRING:
        QRN_TRY(ox_read_text(r, w, &a->s));
        a->s_len = w->bytes.n;
        return QRN_OK;
    case PB_ATTR_TENSOR: {
        ox_tensor *t = array(r, 1, sizeof *t);
        if (!t)
            return no_memory();
        QRN_TRY(ox_wire_bytes(w, &b));
        a->t = t;
        return ox_read_tensor(r, b, t);
    }
    case PB_ATTR_GRAPH:
        QRN_TRY(ox_wire_bytes(w, &b));
        return read_graph(r, b, &a->g);
    case PB_ATTR_FLOATS:
        return add_floats(w, l);
    case PB_ATTR_INTS:
        return ox_wire_ints(w, add_int, &l->ints);
    case PB_ATTR_STRINGS:
        return ox_read_text(r, w, &l->strings[l->n_strings++]);
    case PB_ATTR_TYPE:
        QRN_TRY(ox_wire_int(w, &v));
        a->type = (int)v;
        return QRN_OK;
    case PB_ATTR_REF_NAME:
        return ox_read_text(r, w, &a->ref);
    default:
        return QRN_OK;
    }
}

// Files of the first IR versions do not say the type: the field that is there decides.
static int guess_type(const uint32_t *counts) {
    static const struct {
        uint8_t field, type;
    } of[] = {{PB_ATTR_FLOATS, OX_ATTR_FLOATS},   {PB_ATTR_INTS, OX_ATTR_INTS},
              {PB_ATTR_STRINGS, OX_ATTR_STRINGS}, {PB_ATTR_TENSORS, OX_ATTR_TENSORS},
              {PB_ATTR_GRAPHS, OX_ATTR_GRAPHS},   {PB_ATTR_TENSOR, OX_ATTR_TENSOR},
              {PB_ATTR_GRAPH, OX_ATTR_GRAPH},     {PB_ATTR_STRING, OX_ATTR_STRING},
              {PB_ATTR_FLOAT, OX_ATTR_FLOAT},     {PB_ATTR_INT, OX_ATTR_INT}};
    for (size_t k = 0; k < sizeof of / sizeof of[0]; k++)
        if (counts[of[k].field])
            return of[k].type;
    return OX_ATTR_NONE;
}

static qrn_status read_attr(ox_reader *r, ox_bytes message, ox_attr *a) {
    attr_lists l;
    uint32_t counts[MAX_FIELD];
    QRN_TRY(count_fields(r, message, counts));
    QRN_TRY(make_lists(r, message, &l));
    a->name = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        QRN_TRY(read_attr_field(r, &w, a, &l));
    }
    a->floats = l.floats;
    a->ints = l.ints.p;
    a->strings = l.strings;
    if (a->type == OX_ATTR_NONE)
        a->type = guess_type(counts);
    if (a->type == OX_ATTR_STRING && !a->s)
        a->s = ""; // left out, as empty text may be
    a->n = a->type == OX_ATTR_FLOATS    ? l.n_floats
           : a->type == OX_ATTR_INTS    ? l.ints.n
           : a->type == OX_ATTR_STRINGS ? l.n_strings
                                        : 0;
    return QRN_OK;
}

static qrn_status read_node_field(ox_reader *r, const ox_wire *w, ox_node *n, ox_attr *attrs) {
    switch (w->field) {
    case PB_NODE_INPUT:
        return ox_read_text(r, w, &n->in[n->n_in++]);
    case PB_NODE_OUTPUT:
        return ox_read_text(r, w, &n->out[n->n_out++]);
    case PB_NODE_NAME:
        return ox_read_text(r, w, &n->name);
    case PB_NODE_OP_TYPE:
        return ox_read_text(r, w, &n->op);
    case PB_NODE_ATTRIBUTE: {
        ox_bytes b;
        QRN_TRY(ox_wire_bytes(w, &b));
        return read_attr(r, b, &attrs[n->n_attrs++]);
    }
    case PB_NODE_DOMAIN:
        return ox_read_text(r, w, &n->domain);
    case PB_NODE_OVERLOAD:
        return ox_read_text(r, w, &n->overload);
    default:
        return QRN_OK;
    }
}

static qrn_status read_node(ox_reader *r, ox_bytes message, uint32_t index, ox_node *n) {
    uint32_t counts[MAX_FIELD];
    QRN_TRY(count_fields(r, message, counts));
    ox_attr *attrs = array(r, counts[PB_NODE_ATTRIBUTE], sizeof *attrs);
    n->in = array(r, counts[PB_NODE_INPUT], sizeof *n->in);
    n->out = array(r, counts[PB_NODE_OUTPUT], sizeof *n->out);
    if (!attrs || !n->in || !n->out)
        return no_memory();
    n->name = n->op = n->domain = n->overload = "";
    n->attrs = attrs;
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        QRN_TRY(read_node_field(r, &w, n, attrs));
    }
    if (strcmp(n->domain, "ai.onnx") == 0)
        n->domain = "";
    if (n->name[0])
        return QRN_OK;
    char made[96];
    snprintf(made, sizeof made, "%.64s_%u", n->op, index);
    n->name = qrn_arena_strdup(r->model->arena, made);
    return n->name ? QRN_OK : no_memory();
}

// --- graphs

typedef struct graph_parts {
    ox_node *nodes;
    ox_tensor *constants;
    ox_info *inputs, *outputs, *infos;
} graph_parts;

static qrn_status read_graph_field(ox_reader *r, const ox_wire *w, ox_graph *g, graph_parts *p) {
    ox_bytes b;
    switch (w->field) {
    case PB_GRAPH_NODE:
        QRN_TRY(ox_wire_bytes(w, &b));
        QRN_TRY(read_node(r, b, g->n_nodes, &p->nodes[g->n_nodes]));
        g->n_nodes++;
        return QRN_OK;
    case PB_GRAPH_NAME:
        return ox_read_text(r, w, &g->name);
    case PB_GRAPH_INITIALIZER:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_tensor(r, b, &p->constants[g->n_constants++]);
    case PB_GRAPH_INPUT:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_info(r, b, &p->inputs[g->n_inputs++]);
    case PB_GRAPH_OUTPUT:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_info(r, b, &p->outputs[g->n_outputs++]);
    case PB_GRAPH_VALUE_INFO:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_info(r, b, &p->infos[g->n_infos++]);
    case PB_GRAPH_SPARSE_INITIALIZER:
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "offset %zu: sparse initializers are not supported; store "
                        "them dense",
                        ox_wire_offset(w));
    default:
        return QRN_OK;
    }
}

static qrn_status read_graph(ox_reader *r, ox_bytes message, ox_graph **out) {
    if (r->depth >= MAX_DEPTH)
        return QRN_FAIL(QRN_E_BINARY, "offset %zu: graphs nested deeper than %d",
                        (size_t)(message.p - r->base), MAX_DEPTH);
    r->depth++;
    uint32_t counts[MAX_FIELD];
    QRN_TRY(count_fields(r, message, counts));
    ox_graph *g = array(r, 1, sizeof *g);
    graph_parts p = {array(r, counts[PB_GRAPH_NODE], sizeof *p.nodes),
                     array(r, counts[PB_GRAPH_INITIALIZER], sizeof *p.constants),
                     array(r, counts[PB_GRAPH_INPUT], sizeof *p.inputs),
                     array(r, counts[PB_GRAPH_OUTPUT], sizeof *p.outputs),
                     array(r, counts[PB_GRAPH_VALUE_INFO], sizeof *p.infos)};
    if (!g || !p.nodes || !p.constants || !p.inputs || !p.outputs || !p.infos)
        return no_memory();
    *g = (ox_graph){.name = "",
                    .nodes = p.nodes,
                    .constants = p.constants,
                    .inputs = p.inputs,
                    .outputs = p.outputs,
                    .infos = p.infos};
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        QRN_TRY(read_graph_field(r, &w, g, &p));
    }
    r->depth--;
    *out = g;
    return QRN_OK;
}

// --- functions and the model

static qrn_status read_function(ox_reader *r, ox_bytes message, ox_function *f) {
    uint32_t counts[MAX_FIELD];
    QRN_TRY(count_fields(r, message, counts));
    ox_node *nodes = array(r, counts[PB_FUNCTION_NODE], sizeof *nodes);
    ox_attr *defaults = array(r, counts[PB_FUNCTION_DEFAULT], sizeof *defaults);
    f->in = array(r, counts[PB_FUNCTION_INPUT], sizeof *f->in);
    f->out = array(r, counts[PB_FUNCTION_OUTPUT], sizeof *f->out);
    f->attrs = array(r, counts[PB_FUNCTION_ATTRIBUTE], sizeof *f->attrs);
    if (!nodes || !defaults || !f->in || !f->out || !f->attrs)
        return no_memory();
    f->name = f->domain = f->overload = "";
    f->nodes = nodes;
    f->defaults = defaults;
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        ox_bytes b;
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        switch (w.field) {
        case PB_FUNCTION_NAME:
            QRN_TRY(ox_read_text(r, &w, &f->name));
            break;
        case PB_FUNCTION_INPUT:
            QRN_TRY(ox_read_text(r, &w, &f->in[f->n_in++]));
            break;
        case PB_FUNCTION_OUTPUT:
            QRN_TRY(ox_read_text(r, &w, &f->out[f->n_out++]));
            break;
        case PB_FUNCTION_ATTRIBUTE:
            QRN_TRY(ox_read_text(r, &w, &f->attrs[f->n_attrs++]));
            break;
        case PB_FUNCTION_NODE:
            QRN_TRY(ox_wire_bytes(&w, &b));
            QRN_TRY(read_node(r, b, f->n_nodes, &nodes[f->n_nodes]));
            f->n_nodes++;
            break;
        case PB_FUNCTION_DOMAIN:
            QRN_TRY(ox_read_text(r, &w, &f->domain));
            break;
        case PB_FUNCTION_DEFAULT:
            QRN_TRY(ox_wire_bytes(&w, &b));
            QRN_TRY(read_attr(r, b, &defaults[f->n_defaults++]));
            break;
        case PB_FUNCTION_OVERLOAD:
            QRN_TRY(ox_read_text(r, &w, &f->overload));
            break;
        default:
            break;
        }
    }
}

static qrn_status read_opset(ox_reader *r, ox_bytes message, ox_opset *o) {
    o->domain = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == PB_OPSET_DOMAIN)
            QRN_TRY(ox_read_text(r, &w, &o->domain));
        if (w.field == PB_OPSET_VERSION)
            QRN_TRY(ox_wire_int(&w, &o->version));
    }
    if (strcmp(o->domain, "ai.onnx") == 0)
        o->domain = "";
    return QRN_OK;
}

const ox_function *ox_model_function(const ox_model *m, const char *domain, const char *name,
                                     const char *overload) {
    const ox_function *f = qrn_strmap_get(&m->functions_by_name, name);
    overload = overload ? overload : "";
    while (f && (strcmp(f->domain, domain) != 0 || strcmp(f->overload, overload) != 0))
        f = f->next;
    return f;
}

// Calls are looked up for every node: by name, and the first definition comes first.
static qrn_status index_functions(ox_model *m, ox_function *functions) {
    for (uint32_t i = m->n_functions; i-- > 0;) {
        ox_function *f = &functions[i];
        f->next = qrn_strmap_get(&m->functions_by_name, f->name);
        if (!qrn_strmap_put(&m->functions_by_name, f->name, f))
            return no_memory();
    }
    return QRN_OK;
}

static qrn_status read_model(ox_reader *r, ox_bytes message) {
    ox_model *m = r->model;
    uint32_t counts[MAX_FIELD];
    QRN_TRY(count_fields(r, message, counts));
    ox_opset *opsets = array(r, counts[PB_MODEL_OPSET], sizeof *opsets);
    ox_function *functions = array(r, counts[PB_MODEL_FUNCTION], sizeof *functions);
    ox_fact *facts = array(r, counts[PB_MODEL_METADATA], sizeof *facts);
    if (!opsets || !functions || !facts)
        return no_memory();
    m->facts = facts;
    m->opsets = opsets;
    m->functions = functions;
    m->producer = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        ox_bytes b;
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == PB_MODEL_IR_VERSION)
            QRN_TRY(ox_wire_int(&w, &m->ir_version));
        if (w.field == PB_MODEL_PRODUCER)
            QRN_TRY(ox_read_text(r, &w, &m->producer));
        if (w.field != PB_MODEL_GRAPH && w.field != PB_MODEL_OPSET &&
            w.field != PB_MODEL_FUNCTION && w.field != PB_MODEL_METADATA)
            continue;
        QRN_TRY(ox_wire_bytes(&w, &b));
        if (w.field == PB_MODEL_METADATA)
            facts[m->n_facts++] = (ox_fact){b.p, b.n};
        else if (w.field == PB_MODEL_GRAPH)
            QRN_TRY(read_graph(r, b, &m->graph));
        else if (w.field == PB_MODEL_OPSET)
            QRN_TRY(read_opset(r, b, &opsets[m->n_opsets++]));
        else
            QRN_TRY(read_function(r, b, &functions[m->n_functions++]));
    }
    if (!m->graph || m->ir_version <= 0)
        return QRN_FAIL(QRN_E_BINARY, "not an ONNX model: %s",
                        m->graph ? "no IR version" : "no graph");
    QRN_TRY(index_functions(m, functions));
    return ox_check_standard(m);
}

static qrn_status parse(ox_model *m, const void *data, size_t size) {
    ox_reader r = {.model = m, .base = data};
    qrn_status s = read_model(&r, (ox_bytes){data, size});
    return s == QRN_OK ? QRN_OK : ox_fail_file(m->path, s, data, size);
}

qrn_status ox_model_new(const char *path, ox_model **out) {
    qrn_arena *arena = qrn_arena_create();
    ox_model *m = arena ? qrn_arena_alloc(arena, sizeof *m) : NULL;
    const char *name = m ? qrn_arena_strdup(arena, path) : NULL;
    if (!name) {
        qrn_arena_destroy(arena);
        return no_memory();
    }
    m->arena = arena;
    m->path = name;
    *out = m;
    return QRN_OK;
}

qrn_status ox_model_open(const char *path, ox_model **out) {
    ox_model *m;
    QRN_TRY(ox_model_new(path, &m));
    const qrn_file *f = NULL;
    qrn_status s = ox_map_file(m, path, &f);
    if (s == QRN_OK)
        s = parse(m, f->data, f->size);
    if (s != QRN_OK)
        ox_model_close(m);
    else
        *out = m;
    return s;
}

qrn_status ox_model_parse(const void *data, size_t size, const char *name, ox_model **out) {
    ox_model *m;
    QRN_TRY(ox_model_new(name, &m));
    qrn_status s = parse(m, data, size);
    if (s != QRN_OK)
        ox_model_close(m);
    else
        *out = m;
    return s;
}

void ox_model_close(ox_model *m) {
    if (!m)
        return;
    ox_unmap_files(m);
    qrn_strmap_clear(&m->functions_by_name);
    qrn_arena_destroy(m->arena);
}
