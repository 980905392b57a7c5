// SPDX-License-Identifier: MIT
//
// Visits everything a model holds.
#include "walk_model.h"

#include <string.h>

// Data is seen at both ends and at every page between: large files stay cheap.
#define STRIDE 4096

static uint64_t see_bytes(const void *data, size_t n) {
    uint64_t sum = n;
    for (size_t i = 0; i<n; i += n> STRIDE * 4 ? STRIDE : 1)
        sum = sum * 31 + ((const unsigned char *)data)[i];
    return n ? sum + ((const unsigned char *)data)[n - 1] : sum;
}

static uint64_t see_text(const char *s) { return see_bytes(s, strlen(s)); }

static uint64_t see_names(const char *const *names, uint32_t n) {
    uint64_t sum = n;
    for (uint32_t i = 0; i < n; i++)
        sum += see_text(names[i]);
    return sum;
}

static uint64_t see_tensor(const ox_tensor *t) {
    uint64_t sum = see_text(t->name) + see_text(ox_type_name(t->type));
    for (uint32_t d = 0; d < t->rank; d++)
        sum += t->dims[d];
    return sum + see_bytes(t->data, t->bytes);
}

static uint64_t see_graph(const ox_graph *g);

static uint64_t see_attrs(const ox_attr *attrs, uint32_t n) {
    uint64_t sum = n;
    for (uint32_t i = 0; i < n; i++) {
        const ox_attr *a = &attrs[i];
        sum += see_text(a->name) + (uint64_t)a->i + see_bytes(&a->f, sizeof a->f);
        sum += a->ref ? see_text(a->ref) : 0;
        sum += a->s ? see_text(a->s) + see_bytes(a->s, a->s_len) : 0;
        sum += a->t ? see_tensor(a->t) : 0;
        sum += a->g ? see_graph(a->g) : 0;
        if (a->type == 6)
            sum += see_bytes(a->floats, a->n * sizeof *a->floats);
        if (a->type == 7)
            sum += see_bytes(a->ints, a->n * sizeof *a->ints);
        if (a->type == 8)
            sum += see_names(a->strings, a->n);
    }
    return sum;
}

static uint64_t see_nodes(const ox_node *nodes, uint32_t n) {
    uint64_t sum = n;
    for (uint32_t i = 0; i < n; i++) {
        const ox_node *x = &nodes[i];
        int64_t list[4];
        sum += see_text(x->name) + see_text(x->op) + see_text(x->domain);
        sum += see_names(x->in, x->n_in) + see_names(x->out, x->n_out);
        sum += see_attrs(x->attrs, x->n_attrs);
        sum += ox_attr_ints(x, "axes", list, 4) + (uint64_t)ox_attr_int(x, "axis", 0);
        sum += see_text(ox_attr_string(x, "mode", "")) + (ox_attr_float(x, "alpha", 0) > 0);
    }
    return sum;
}

static uint64_t see_infos(const ox_info *infos, uint32_t n) {
    uint64_t sum = n;
    for (uint32_t i = 0; i < n; i++) {
        sum += see_text(infos[i].name) + (uint64_t)infos[i].type;
        for (uint32_t d = 0; d < infos[i].rank; d++)
            sum += infos[i].symbols[d] ? see_text(infos[i].symbols[d]) : (uint64_t)infos[i].dims[d];
    }
    return sum;
}

static uint64_t see_graph(const ox_graph *g) {
    uint64_t sum = see_text(g->name) + see_nodes(g->nodes, g->n_nodes);
    for (uint32_t i = 0; i < g->n_constants; i++)
        sum += see_tensor(&g->constants[i]);
    return sum + see_infos(g->inputs, g->n_inputs) + see_infos(g->outputs, g->n_outputs) +
           see_infos(g->infos, g->n_infos);
}

uint64_t walk_model(const ox_model *m) {
    uint64_t sum = see_text(m->path) + see_text(m->producer) + (uint64_t)m->ir_version;
    for (uint32_t i = 0; i < m->n_opsets; i++)
        sum += see_text(m->opsets[i].domain) + (uint64_t)m->opsets[i].version;
    for (uint32_t i = 0; i < m->n_functions; i++) {
        const ox_function *f = &m->functions[i];
        sum += see_text(f->name) + see_text(f->domain) + see_names(f->in, f->n_in);
        sum += see_names(f->out, f->n_out) + see_names(f->attrs, f->n_attrs);
        sum += see_attrs(f->defaults, f->n_defaults) + see_nodes(f->nodes, f->n_nodes);
    }
    return sum + (uint64_t)ox_model_opset(m, "") + see_graph(m->graph);
}
