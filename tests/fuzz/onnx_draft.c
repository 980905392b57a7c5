// SPDX-License-Identifier: MIT
//
// Values of a model being drawn, and the model as a whole.
#include "onnx_draw.h"
#include "onnx_tree.h"

#include <stdlib.h>

enum { F32 = 1, U8 = 2, I8 = 3, U16 = 4, I64 = 7 };

const char *draft_name(draft *d, const char *prefix) {
    return m_text(d->mem, "%s%u", prefix, (*d->n_names)++);
}

d_value *draft_value(draft *d, const char *name, int type, int32_t rank, const int64_t *dims) {
    static d_value lost;
    d_value *v = d->n_values < M_VALUES ? &d->values[d->n_values++] : &lost;
    *v = (d_value){.name = name, .type = type, .rank = rank};
    for (int32_t i = 0; i < rank; i++)
        v->dims[i] = dims[i];
    return v;
}

d_value *draft_constant(draft *d, int type, uint32_t rank, const int64_t *dims, const double *v,
                        uint32_t n) {
    m_graph beside = {0}; // for a Constant node
    bool node = d->function || draw_chance(d->s, 8);
    m_tensor *c =
        m_add_constant(d->mem, node ? &beside : d->g, draft_name(d, "c"), type, rank, dims);
    if (!c)
        return NULL;
    uint32_t room = m_type_bytes(type) ? (uint32_t)(c->bytes / m_type_bytes(type)) : 0;
    fill_store(type, v, n < room ? n : room, (void *)(uintptr_t)c->data);
    if (draw_chance(d->s, 2) && c->bytes && !d->whole)
        c->location = draw_chance(d->s, 95) ? "data.bin" : "../data.bin";
    m_node *made = node ? m_add_node(d->mem, d->g, "Constant", "") : NULL;
    if (made) {
        m_node_out(made, c->name);
        m_node_attr(made, "value", 4)->t = c;
    }
    return draft_value(d, c->name, type, (int32_t)rank, dims);
}

d_value *draft_integer(draft *d, int64_t v) {
    return draft_constant(d, I64, 0, NULL, &(double){(double)v}, 1);
}

static const char *scalar(draft *d, int type, double v) {
    d_value *c = draft_constant(d, type, 0, NULL, &v, 1);
    return c ? c->name : "";
}

// A quantizer or dequantizer; `like` is its float value.
static d_value *add_quantizer(draft *d, const char *op, const char *in, int type, double scale,
                              const d_value *like, int out_type) {
    double zero = type == U8 ? 128 : type == U16 ? 32768 : 0;
    const char *s = scalar(d, F32, scale), *z = scalar(d, type, zero);
    m_node *n =
        m_add_node(d->mem, d->g, op, d->m->opset < 21 && type == U16 ? "com.microsoft" : "");
    if (!n)
        return NULL;
    m_node_in(n, in);
    m_node_in(n, s);
    m_node_in(n, z);
    const char *name = draft_name(d, "q");
    m_node_out(n, name);
    return draft_value(d, name, out_type, like->rank, like->dims);
}

static int draw_code(draft *d) {
    static const int types[] = {U8, U8, U8, I8, U16};
    return DRAW_FROM(d->s, types);
}

d_value *draft_quantize(draft *d, d_value *v) {
    static const double scales[] = {0.01, 0.05, 0.1, 1.0 / 64, 0.5};
    if (!d->quantized || v->type != F32 || draw_chance(d->s, 10))
        return v;
    int type = draw_code(d);
    double scale = DRAW_FROM(d->s, scales);
    d_value copy = *v;
    v->read = true;
    d_value *q = add_quantizer(d, "QuantizeLinear", copy.name, type, scale, &copy, type);
    if (!q)
        return v;
    q->read = true;
    d_value *f = add_quantizer(d, "DequantizeLinear", q->name, type, scale, &copy, F32);
    return f ? f : v;
}

d_value *draft_input(draft *d, int type, int32_t rank, const int64_t *dims) {
    draft *root = d;
    while (root->outer)
        root = root->outer;
    m_graph *g = root->g;
    const char *name = draft_name(d, "x");
    bool codes = d == root && d->quantized && type == F32 && draw_chance(d->s, 40);
    int kept = codes ? draw_code(d) : type;
    m_add_info(g->inputs, &g->n_inputs, M_IO, name, kept, rank, dims);
    d_value *v = draft_value(root, name, kept, rank, dims);
    if (!codes)
        return root == d ? draft_quantize(d, v) : v;
    d_value copy = *v;
    v->read = true;
    d_value *f = add_quantizer(d, "DequantizeLinear", name, kept, 0.02, &copy, F32);
    return f ? f : v;
}

d_value *draft_some(draft *d) {
    for (int tries = 0; tries < 8 && d->n_values; tries++) {
        d_value *v = &d->values[draw_below(d->s, d->n_values)];
        if (v->type == F32 && v->rank > 0 && v->dims[0] > 0)
            return v;
    }
    int64_t dims[3];
    int32_t rank = 1 + (int32_t)draw_below(d->s, 3);
    for (int32_t i = 0; i < rank; i++)
        dims[i] = 1 + draw_below(d->s, 4);
    return draft_input(d, F32, rank, dims);
}

draft *draft_inner(draft *d, const char *name) {
    draft *inner = scrap_new(d->mem, sizeof *inner, 0);
    *inner = (draft){.s = d->s,
                     .mem = d->mem,
                     .m = d->m,
                     .g = m_graph_new(d->mem, name),
                     .outer = d,
                     .n_names = d->n_names,
                     .whole = d->whole};
    return inner;
}

void draft_output(draft *d, const d_value *v) {
    bool shaped = v->rank >= 0 && !draw_chance(d->s, 30);
    m_add_info(d->g->outputs, &d->g->n_outputs, M_IO, v->name, v->type, shaped ? v->rank : -1,
               v->dims);
}

// --- whole models

// Shapes of values in between: right ones, and now and then stale ones.
static void declare(draft *d) {
    bool stale = draw_chance(d->s, 30);
    for (uint32_t i = 0; i < d->n_values; i++) {
        d_value v = d->values[i];
        if (v.rank < 0 && !stale)
            continue;
        if (stale && draw_chance(d->s, 50)) {
            v.rank = (int32_t)draw_below(d->s, 5);
            for (int32_t k = 0; k < v.rank; k++)
                v.dims[k] = (int64_t)draw_below(d->s, 6) - 1;
        }
        m_add_info(d->g->infos, &d->g->n_infos, M_VALUES, v.name, v.type, v.rank, v.dims);
    }
}

static void draw_outputs(draft *d) {
    for (uint32_t i = 0; i < d->n_values; i++) {
        const d_value *v = &d->values[i];
        if ((v->name[0] == 'v' || v->name[0] == 'q') && (!v->read || draw_chance(d->s, 10)))
            draft_output(d, v);
    }
    if (!d->g->n_outputs && d->n_values)
        draft_output(d, &d->values[d->n_values - 1]);
}

static void draw_model(draft *d) {
    uint32_t n = 1 + draw_below(d->s, draw_chance(d->s, 30) ? 8 : 3);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = d->n_values;
        if (draw_chance(d->s, 88))
            draw_node(d);
        else
            draw_nested(d);
        for (uint32_t k = before, end = d->n_values; k < end; k++)
            if (d->values[k].name[0] == 'v')
                draft_quantize(d, &d->values[k]);
    }
    draw_outputs(d);
    if (draw_chance(d->s, 15))
        declare(d);
    for (uint32_t i = 0; i < d->g->n_constants; i++) // constants that inputs could override
        if (draw_chance(d->s, 1)) {
            const m_tensor *c = d->g->constants[i];
            m_add_info(d->g->inputs, &d->g->n_inputs, M_IO, c->name, c->type, (int32_t)c->rank,
                       c->dims);
        }
}

static void break_model(source *s, ox_writer *file) {
    size_t cap = file->n + 4096;
    uint8_t *changed = malloc(cap);
    for (uint32_t i = 1 + draw_below(s, 2); changed && i > 0; i--) {
        size_t n = onnx_tree_mutate(s, file->data, file->n, file->data, file->n, changed, cap);
        if (!n || n > file->cap)
            break;
        memcpy(file->data, changed, n);
        file->n = n;
    }
    free(changed);
}

void onnx_draw(source *s, bool whole, ox_writer *out) {
    scrap mem = {0};
    uint32_t names = 0;
    m_model model = {.ir_version = 8};
    draft *d = scrap_new(&mem, sizeof *d, 0);
    *d = (draft){.s = s,
                 .mem = &mem,
                 .m = &model,
                 .g = m_graph_new(&mem, "g"),
                 .n_names = &names,
                 .quantized = draw_chance(s, 25),
                 .whole = whole};
    model.graph = d->g;
    draw_model(d);
    m_model_write(&model, out);
    scrap_free(&mem);
    if (!whole && draw_chance(s, 25))
        break_model(s, out);
}
