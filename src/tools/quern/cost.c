// SPDX-License-Identifier: MIT
//
// Counting parameters and live bytes. Shapes come from constants, from the
// values of an import, and from what the model declares.
#include "tools/quern/cost.h"

#include "base/strmap.h"

#include <stdlib.h>
#include <string.h>

typedef struct value {
    uint32_t rank;
    uint64_t dims[OX_MAX_RANK];
    double count;
    unsigned bits;
    bool known, constant, counted;
    uint32_t last_use; // index of the last node that reads it, plus 1
} value;

typedef struct table {
    qrn_strmap map;
    value *values;
    uint32_t n, cap;
} table;

static value *find(const table *t, const char *name) { return qrn_strmap_get(&t->map, name); }

static value *enter(table *t, const char *name) {
    value *v = find(t, name);
    if (v || t->n == t->cap)
        return v;
    v = &t->values[t->n++];
    return qrn_strmap_put(&t->map, name, v) ? v : NULL;
}

static void set_shape(value *v, uint32_t rank, const uint64_t *dims, unsigned bits) {
    v->rank = rank;
    v->count = 1;
    for (uint32_t d = 0; d < rank; d++) {
        v->dims[d] = dims[d];
        v->count *= (double)dims[d];
    }
    v->bits = bits;
    v->known = true;
}

static void set_info(value *v, const ox_info *info) {
    uint64_t dims[OX_MAX_RANK];
    if (v->known || !info->has_shape || !ox_type_bits(info->type))
        return;
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->dims[d] < 0)
            return;
        dims[d] = (uint64_t)info->dims[d];
    }
    set_shape(v, info->rank, dims, ox_type_bits(info->type));
}

static bool set_values(table *t, const qt_values *values) {
    for (size_t i = 0; i < values->n; i++) {
        const ox_val *from = values->items[i];
        value *v = enter(t, from->name);
        uint64_t dims[OX_MAX_RANK];
        if (!v)
            return false;
        for (uint32_t d = 0; d < from->rank; d++)
            dims[d] = from->dims[d];
        set_shape(v, from->rank, dims, ox_type_bits(from->type));
        v->constant = from->data != NULL;
    }
    return true;
}

static bool fill(table *t, const ox_graph *g, const qt_values *values) {
    for (uint32_t i = 0; i < g->n_constants; i++) {
        const ox_tensor *c = &g->constants[i];
        value *v = enter(t, c->name);
        if (!v)
            return false;
        set_shape(v, c->rank, c->dims, ox_type_bits(c->type));
        v->constant = true;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        for (uint32_t k = 0; k < n->n_in + n->n_out; k++) {
            const char *name = k < n->n_in ? n->in[k] : n->out[k - n->n_in];
            value *v = name[0] ? enter(t, name) : NULL;
            if (name[0] && !v)
                return false;
            if (v && k < n->n_in)
                v->last_use = i + 1;
        }
        const ox_attr *a = strcmp(n->op, "Constant") == 0 ? ox_attr_find(n, "value") : NULL;
        if (a && a->t && n->n_out == 1 && n->out[0][0]) {
            value *v = find(t, n->out[0]);
            set_shape(v, a->t->rank, a->t->dims, ox_type_bits(a->t->type));
            v->constant = true;
        }
    }
    if (!set_values(t, values))
        return false;
    const ox_info *lists[] = {g->inputs, g->outputs, g->infos};
    const uint32_t counts[] = {g->n_inputs, g->n_outputs, g->n_infos};
    for (size_t l = 0; l < 3; l++)
        for (uint32_t i = 0; i < counts[l]; i++) {
            value *v = enter(t, lists[l][i].name);
            if (v)
                set_info(v, &lists[l][i]);
            if (v && l == 1)
                v->last_use = UINT32_MAX;
        }
    return true;
}

static void count_parameters(const table *t, const ox_graph *g, qt_cost *c) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++) {
            value *v = g->nodes[i].in[k][0] ? find(t, g->nodes[i].in[k]) : NULL;
            if (!v || !v->constant || v->counted)
                continue;
            v->counted = true;
            c->parameters += v->count;
            c->weight_bytes += v->count * v->bits / 8;
        }
}

static double bytes_of(const value *v) {
    return v && v->known && !v->constant ? v->count * v->bits / 8 : 0;
}

// Values live from the node that makes them to the last one that reads them.
static void count_live(const table *t, const ox_graph *g, qt_cost *c) {
    double live = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        live += bytes_of(find(t, g->inputs[i].name));
    c->activation_bytes = live;
    c->complete = true;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++) {
            const value *v = n->out[k][0] ? find(t, n->out[k]) : NULL;
            live += bytes_of(v);
            c->complete = c->complete && (!v || v->known);
        }
        if (live > c->activation_bytes)
            c->activation_bytes = live;
        for (uint32_t k = 0; k < n->n_in; k++) {
            value *v = n->in[k][0] ? find(t, n->in[k]) : NULL;
            if (v && v->last_use == i + 1) {
                live -= bytes_of(v);
                v->last_use = 0; // a node may read it twice
            }
        }
    }
}

bool qt_cost_of(const ox_model *m, const qt_values *values, qt_cost *out) {
    const ox_graph *g = m->graph;
    uint64_t cap = (uint64_t)g->n_constants + g->n_inputs + g->n_outputs + g->n_infos + 1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        cap += (uint64_t)g->nodes[i].n_in + g->nodes[i].n_out;
    table t = {.cap = cap > UINT32_MAX ? UINT32_MAX : (uint32_t)cap};
    t.values = calloc(t.cap, sizeof *t.values);
    *out = (qt_cost){0};
    bool ok = t.values && fill(&t, g, values);
    if (ok) {
        count_parameters(&t, g, out);
        count_live(&t, g, out);
    }
    qrn_strmap_clear(&t.map);
    free(t.values);
    return ok;
}
