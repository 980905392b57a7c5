// SPDX-License-Identifier: MIT
//
// Reading an ONNX model. Messages are walked twice: once to count repeated fields, once to fill
// arrays of exactly that size, so that memory is bounded by the file's size. Graphs inside
// attributes are read recursively down to MAX_DEPTH.
#include "frontend/onnx/reader/model.h"

#include "base/file.h"
#include "base/mem.h"
#include "frontend/onnx/reader/reader.h"
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
    if (w->kind == 5)
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
        if (w.field == 7)
            QRN_TRY(ox_wire_count(&w, 5, &n_floats));
        if (w.field == 8)
            QRN_TRY(ox_wire_count(&w, 0, &n_ints));
        n_strings += w.field == 9;
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
    case 1:
        return ox_read_text(r, w, &a->name);
    case 2:
        return ox_wire_float(w, &a->f);
    case 3:
        return ox_wire_int(w, &a->i);
    case 4:
        QRN_TRY(ox_read_text(r, w, &a->s));
        a->s_len = w->bytes.n;
        return QRN_OK;
    case 5: {
        ox_tensor *t = array(r, 1, sizeof *t);
        if (!t)
            return no_memory();
        QRN_TRY(ox_wire_bytes(w, &b));
        a->t = t;
        return ox_read_tensor(r, b, t);
    }
    case 6:
        QRN_TRY(ox_wire_bytes(w, &b));
        return read_graph(r, b, &a->g);
    case 7:
        return add_floats(w, l);
    case 8:
        return ox_wire_ints(w, add_int, &l->ints);
    case 9:
        return ox_read_text(r, w, &l->strings[l->n_strings++]);
    case 20:
        QRN_TRY(ox_wire_int(w, &v));
        a->type = (int)v;
        return QRN_OK;
    case 21:
        return ox_read_text(r, w, &a->ref);
    default:
        return QRN_OK;
    }
}

// Files of the first IR versions do not say the type: the field that is there tells.
static int guess_type(const uint32_t *counts) {
    static const struct {
        uint8_t field, type;
    } of[] = {{7, 6}, {8, 7}, {9, 8}, {10, 9}, {11, 10}, {5, 4}, {6, 5}, {4, 3}, {2, 1}, {3, 2}};
    for (size_t k = 0; k < sizeof of / sizeof of[0]; k++)
        if (counts[of[k].field])
            return of[k].type;
    return 0;
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
    if (a->type == 0)
        a->type = guess_type(counts);
    if (a->type == 3 && !a->s)
        a->s = ""; // left out, as empty text may be
    a->n = a->type == 6 ? l.n_floats : a->type == 7 ? l.ints.n : a->type == 8 ? l.n_strings : 0;
    return QRN_OK;
}

static qrn_status read_node_field(ox_reader *r, const ox_wire *w, ox_node *n, ox_attr *attrs) {
    switch (w->field) {
    case 1:
        return ox_read_text(r, w, &n->in[n->n_in++]);
    case 2:
        return ox_read_text(r, w, &n->out[n->n_out++]);
    case 3:
        return ox_read_text(r, w, &n->name);
    case 4:
        return ox_read_text(r, w, &n->op);
    case 5: {
        ox_bytes b;
        QRN_TRY(ox_wire_bytes(w, &b));
        return read_attr(r, b, &attrs[n->n_attrs++]);
    }
    case 7:
        return ox_read_text(r, w, &n->domain);
    case 8:
        return ox_read_text(r, w, &n->overload);
    default:
        return QRN_OK;
    }
}

static qrn_status read_node(ox_reader *r, ox_bytes message, uint32_t index, ox_node *n) {
    uint32_t counts[MAX_FIELD];
    QRN_TRY(count_fields(r, message, counts));
    ox_attr *attrs = array(r, counts[5], sizeof *attrs);
    n->in = array(r, counts[1], sizeof *n->in);
    n->out = array(r, counts[2], sizeof *n->out);
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
    case 1:
        QRN_TRY(ox_wire_bytes(w, &b));
        QRN_TRY(read_node(r, b, g->n_nodes, &p->nodes[g->n_nodes]));
        g->n_nodes++;
        return QRN_OK;
    case 2:
        return ox_read_text(r, w, &g->name);
    case 5:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_tensor(r, b, &p->constants[g->n_constants++]);
    case 11:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_info(r, b, &p->inputs[g->n_inputs++]);
    case 12:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_info(r, b, &p->outputs[g->n_outputs++]);
    case 13:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_info(r, b, &p->infos[g->n_infos++]);
    case 15:
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
    graph_parts p = {array(r, counts[1], sizeof *p.nodes), array(r, counts[5], sizeof *p.constants),
                     array(r, counts[11], sizeof *p.inputs),
                     array(r, counts[12], sizeof *p.outputs),
                     array(r, counts[13], sizeof *p.infos)};
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
    ox_node *nodes = array(r, counts[7], sizeof *nodes);
    ox_attr *defaults = array(r, counts[11], sizeof *defaults);
    f->in = array(r, counts[4], sizeof *f->in);
    f->out = array(r, counts[5], sizeof *f->out);
    f->attrs = array(r, counts[6], sizeof *f->attrs);
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
        case 1:
            QRN_TRY(ox_read_text(r, &w, &f->name));
            break;
        case 4:
            QRN_TRY(ox_read_text(r, &w, &f->in[f->n_in++]));
            break;
        case 5:
            QRN_TRY(ox_read_text(r, &w, &f->out[f->n_out++]));
            break;
        case 6:
            QRN_TRY(ox_read_text(r, &w, &f->attrs[f->n_attrs++]));
            break;
        case 7:
            QRN_TRY(ox_wire_bytes(&w, &b));
            QRN_TRY(read_node(r, b, f->n_nodes, &nodes[f->n_nodes]));
            f->n_nodes++;
            break;
        case 10:
            QRN_TRY(ox_read_text(r, &w, &f->domain));
            break;
        case 11:
            QRN_TRY(ox_wire_bytes(&w, &b));
            QRN_TRY(read_attr(r, b, &defaults[f->n_defaults++]));
            break;
        case 13:
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
        if (w.field == 1)
            QRN_TRY(ox_read_text(r, &w, &o->domain));
        if (w.field == 2)
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
    ox_opset *opsets = array(r, counts[8], sizeof *opsets);
    ox_function *functions = array(r, counts[25], sizeof *functions);
    if (!opsets || !functions)
        return no_memory();
    m->opsets = opsets;
    m->functions = functions;
    m->producer = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        ox_bytes b;
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == 1)
            QRN_TRY(ox_wire_int(&w, &m->ir_version));
        if (w.field == 2)
            QRN_TRY(ox_read_text(r, &w, &m->producer));
        if (w.field != 7 && w.field != 8 && w.field != 25)
            continue;
        QRN_TRY(ox_wire_bytes(&w, &b));
        if (w.field == 7)
            QRN_TRY(read_graph(r, b, &m->graph));
        else if (w.field == 8)
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
    if (s == QRN_OK)
        return s;
    char why[QRN_MESSAGE_MAX];
    snprintf(why, sizeof why, "%s", qrn_message());
    return QRN_FAIL(s, "%.500s: %s", m->path, why);
}

static qrn_status new_model(const char *path, ox_model **out) {
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
    QRN_TRY(new_model(path, &m));
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
    QRN_TRY(new_model(name, &m));
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
