// SPDX-License-Identifier: MIT
//
// Building models in memory, and writing them in ONNX's format.
#include "onnx_model.h"

#include <stdarg.h>
#include <stdio.h>

const char *m_text(scrap *mem, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t size = n > 0 && (size_t)n < sizeof text ? (size_t)n + 1 : 1;
    char *copy = scrap_new(mem, size, 0);
    memcpy(copy, text, size - 1);
    return copy;
}

m_graph *m_graph_new(scrap *mem, const char *name) {
    m_graph *g = scrap_new(mem, sizeof *g, 0);
    g->name = name;
    return g;
}

m_node *m_add_node(scrap *mem, m_graph *g, const char *op, const char *domain) {
    if (g->n_nodes == M_NODES)
        return NULL;
    m_node *n = scrap_new(mem, sizeof *n, 0);
    n->op = op;
    n->domain = domain;
    n->name = "";
    return g->nodes[g->n_nodes++] = n;
}

m_tensor *m_add_constant(scrap *mem, m_graph *g, const char *name, int type, uint32_t rank,
                         const int64_t *dims) {
    if (g->n_constants == M_VALUES)
        return NULL;
    m_tensor *t = scrap_new(mem, sizeof *t, 0);
    t->name = name;
    t->type = type;
    t->rank = rank;
    t->bytes = m_type_bytes(type);
    for (uint32_t i = 0; i < rank; i++) {
        t->dims[i] = dims[i];
        t->bytes *= (size_t)dims[i];
    }
    t->data = scrap_new(mem, t->bytes, 0);
    return g->constants[g->n_constants++] = t;
}

void m_add_info(m_info *list, uint32_t *n, uint32_t cap, const char *name, int type, int32_t rank,
                const int64_t *dims) {
    if (*n == cap)
        return;
    m_info *i = &list[(*n)++];
    *i = (m_info){.name = name, .type = type, .has_shape = rank >= 0};
    for (int32_t d = 0; d < rank; d++)
        i->dims[i->rank++] = dims[d];
}

void m_node_in(m_node *n, const char *name) {
    if (n->n_in < M_OPERANDS)
        n->in[n->n_in++] = name;
}

void m_node_out(m_node *n, const char *name) {
    if (n->n_out < M_OPERANDS)
        n->out[n->n_out++] = name;
}

m_attr *m_node_attr(m_node *n, const char *name, int type) {
    m_attr *a = &n->attrs[n->n_attrs < M_ATTRS - 1 ? n->n_attrs++ : M_ATTRS - 1];
    *a = (m_attr){.name = name, .type = type};
    return a;
}

size_t m_type_bytes(int type) {
    static const uint8_t bytes[] = {
        [1] = 4,  [2] = 1,  [3] = 1,  [4] = 2,  [5] = 2,  [6] = 4,  [7] = 8, [9] = 1,
        [10] = 2, [11] = 8, [12] = 4, [13] = 8, [16] = 2, [21] = 1, [22] = 1};
    return type > 0 && (size_t)type < sizeof bytes ? bytes[type] : 0;
}

// --- writing

static void put_float(ox_writer *w, uint32_t field, float v) {
    ox_put_bytes(w, field, &v, 4);
    if (w->no_memory)
        return;
    // A number of fixed size has another key (below 128 here) and no length.
    uint8_t *end = w->data + w->n;
    memmove(end - 5, end - 4, 4);
    end[-6] = (uint8_t)(field << 3 | 5);
    w->n--;
}

static void put_pair(ox_writer *w, uint32_t field, const char *key, const char *value) {
    ox_writer pair = {0};
    ox_put_text(&pair, 1, key);
    ox_put_text(&pair, 2, value);
    ox_put_message(w, field, &pair);
}

static void put_tensor(ox_writer *w, uint32_t field, const m_tensor *t) {
    ox_writer m = {0};
    for (uint32_t i = 0; i < t->rank; i++)
        ox_put_int(&m, 1, t->dims[i]);
    ox_put_int(&m, 2, t->type);
    ox_put_text(&m, 8, t->name);
    if (t->type == 8) {
        for (int64_t i = 0, n = t->rank ? t->dims[0] : 1; i < n && i < 64; i++)
            ox_put_text(&m, 6, "text");
    } else if (t->location) {
        char length[32];
        snprintf(length, sizeof length, "%zu", t->bytes);
        put_pair(&m, 13, "location", t->location);
        put_pair(&m, 13, "length", length);
        put_pair(&m, 13, "offset", "0");
        ox_put_int(&m, 14, 1);
    } else {
        ox_put_bytes(&m, 9, t->data, t->bytes);
    }
    ox_put_message(w, field, &m);
}

static void put_info(ox_writer *w, uint32_t field, const m_info *v) {
    ox_writer m = {0}, type = {0}, tensor = {0}, shape = {0};
    ox_put_text(&m, 1, v->name);
    for (uint32_t i = 0; i < v->rank; i++) {
        ox_writer dim = {0};
        if (v->dims[i] < 0)
            ox_put_text(&dim, 2, "N");
        else
            ox_put_int(&dim, 1, v->dims[i]);
        ox_put_message(&shape, 1, &dim);
    }
    ox_put_int(&tensor, 1, v->type);
    if (v->has_shape)
        ox_put_message(&tensor, 2, &shape);
    ox_put_message(&type, 1, &tensor);
    if (v->type)
        ox_put_message(&m, 2, &type);
    ox_writer_free(&type);
    ox_writer_free(&shape);
    ox_put_message(w, field, &m);
}

static void put_graph(ox_writer *w, uint32_t field, const m_graph *g);

static void put_attr(ox_writer *w, const m_attr *a) {
    ox_writer m = {0};
    ox_put_text(&m, 1, a->name);
    if (a->ref)
        ox_put_text(&m, 21, a->ref);
    else if (a->type == 1)
        put_float(&m, 2, a->f);
    else if (a->type == 2)
        ox_put_int(&m, 3, a->i);
    else if (a->type == 3)
        ox_put_text(&m, 4, a->s);
    else if (a->type == 4)
        put_tensor(&m, 5, a->t);
    else if (a->type == 5)
        put_graph(&m, 6, a->g);
    for (uint32_t i = 0; i < a->n && !a->ref; i++) {
        if (a->type == 6)
            put_float(&m, 7, a->floats[i]);
        else if (a->type == 7)
            ox_put_int(&m, 8, a->ints[i]);
        else
            ox_put_text(&m, 9, a->strings[i]);
    }
    ox_put_int(&m, 20, a->type);
    ox_put_message(w, 5, &m);
}

static void put_node(ox_writer *w, uint32_t field, const m_node *n) {
    ox_writer m = {0};
    for (uint32_t i = 0; i < n->n_in; i++)
        ox_put_text(&m, 1, n->in[i]);
    for (uint32_t i = 0; i < n->n_out; i++)
        ox_put_text(&m, 2, n->out[i]);
    ox_put_text(&m, 3, n->name);
    ox_put_text(&m, 4, n->op);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        put_attr(&m, &n->attrs[i]);
    ox_put_text(&m, 7, n->domain);
    ox_put_message(w, field, &m);
}

static void put_graph(ox_writer *w, uint32_t field, const m_graph *g) {
    ox_writer m = {0};
    for (uint32_t i = 0; i < g->n_nodes; i++)
        put_node(&m, 1, g->nodes[i]);
    ox_put_text(&m, 2, g->name);
    for (uint32_t i = 0; i < g->n_constants; i++)
        put_tensor(&m, 5, g->constants[i]);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        put_info(&m, 11, &g->inputs[i]);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        put_info(&m, 12, &g->outputs[i]);
    for (uint32_t i = 0; i < g->n_infos; i++)
        put_info(&m, 13, &g->infos[i]);
    ox_put_message(w, field, &m);
}

static void put_opset(ox_writer *w, uint32_t field, const char *domain, int64_t version) {
    ox_writer m = {0};
    ox_put_text(&m, 1, domain);
    ox_put_int(&m, 2, version);
    ox_put_message(w, field, &m);
}

static void put_opsets(ox_writer *w, uint32_t field, int64_t version, bool local) {
    put_opset(w, field, "", version);
    put_opset(w, field, "com.microsoft", 1);
    put_opset(w, field, "qti_aisw", 1);
    if (local)
        put_opset(w, field, "local", 1);
}

static void put_function(ox_writer *w, const m_graph *f, int64_t opset) {
    ox_writer m = {0};
    ox_put_text(&m, 1, f->name);
    for (uint32_t i = 0; i < f->n_inputs; i++)
        ox_put_text(&m, 4, f->inputs[i].name);
    for (uint32_t i = 0; i < f->n_outputs; i++)
        ox_put_text(&m, 5, f->outputs[i].name);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        put_node(&m, 7, f->nodes[i]);
    put_opsets(&m, 9, opset, true);
    ox_put_text(&m, 10, f->domain);
    ox_put_message(w, 25, &m);
}

void m_model_write(const m_model *m, ox_writer *out) {
    ox_put_int(out, 1, m->ir_version);
    put_graph(out, 7, m->graph);
    put_opsets(out, 8, m->opset, m->n_functions > 0);
    for (uint32_t i = 0; i < m->n_functions; i++)
        put_function(out, m->functions[i], m->opset);
}
