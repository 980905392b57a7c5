// SPDX-License-Identifier: MIT
//
// Changing a model in memory.
#include "quantizer/edit.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for the model"); }

qz_wire *qz_edit_wire(const qz_edit *e, const char *name) {
    return name && name[0] ? qrn_strmap_get(&e->by_name, name) : NULL;
}

static qz_wire *wire(qz_edit *e, const char *name) {
    qz_wire *w = qz_edit_wire(e, name);
    if (w)
        return w;
    w = qrn_arena_alloc(e->model->arena, sizeof *w);
    return w && qrn_strmap_put(&e->by_name, name, w) ? w : NULL;
}

static qrn_status add_constants(qz_edit *e) {
    const ox_graph *g = e->model->graph;
    for (uint32_t i = 0; i < g->n_constants; i++) {
        qz_wire *w = wire(e, g->constants[i].name);
        if (!w)
            return no_memory();
        w->constant = &e->constants[i];
        w->slot = i + 1;
    }
    return QRN_OK;
}

static qrn_status add_nodes(qz_edit *e) {
    const ox_graph *g = e->model->graph;
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        ox_node *n = &e->nodes[i];
        for (uint32_t k = 0; k < n->n_in + n->n_out; k++) {
            bool in = k < n->n_in;
            const char *name = in ? n->in[k] : n->out[k - n->n_in];
            qz_wire *w = name[0] ? wire(e, name) : NULL;
            if (!name[0])
                continue;
            if (!w)
                return no_memory();
            if (in) {
                w->n_uses++;
                w->reader = n;
            } else {
                w->maker = n;
            }
        }
        const ox_attr *value = strcmp(n->op, "Constant") == 0 ? ox_attr_find(n, "value") : NULL;
        qz_wire *w = value && n->n_out ? qz_edit_wire(e, n->out[0]) : NULL;
        if (w && value->type == OX_ATTR_TENSOR)
            w->constant = value->t;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        qz_wire *w = wire(e, g->outputs[i].name);
        if (!w)
            return no_memory();
        w->n_uses++;
        w->is_output = true;
    }
    return QRN_OK;
}

qrn_status qz_edit_begin(qz_edit *e, ox_model *m) {
    const ox_graph *g = m->graph;
    *e = (qz_edit){.model = m,
                   .n_nodes = g->n_nodes,
                   .n_constants = g->n_constants,
                   .cap_constants = g->n_constants};
    e->nodes = qrn_arena_copy(m->arena, g->nodes, g->n_nodes * sizeof *e->nodes);
    e->constants = qrn_arena_copy(m->arena, g->constants, g->n_constants * sizeof *e->constants);
    qrn_status s = e->nodes && e->constants ? add_constants(e) : no_memory();
    if (s == QRN_OK)
        s = add_nodes(e);
    if (s != QRN_OK)
        qrn_strmap_clear(&e->by_name);
    return s;
}

void qz_edit_end(qz_edit *e) {
    ox_graph *g = e->model->graph;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n_nodes; i++)
        if (e->nodes[i].op)
            e->nodes[n++] = e->nodes[i];
    g->nodes = e->nodes;
    g->n_nodes = n;
    g->constants = e->constants;
    g->n_constants = e->n_constants;
    qrn_strmap_clear(&e->by_name);
}

// --- constants

size_t qz_tensor_count(const ox_tensor *t) {
    size_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= (size_t)t->dims[i];
    return n;
}

float qz_tensor_at(const ox_tensor *t, size_t i) {
    float x;
    memcpy(&x, (const char *)t->data + i * sizeof x, sizeof x); // may be unaligned
    return x;
}

const ox_tensor *qz_edit_floats(const qz_edit *e, const char *name) {
    const qz_wire *w = qz_edit_wire(e, name);
    const ox_tensor *t = w ? w->constant : NULL;
    return t && t->type == OX_F32 && t->data && t->bytes == qz_tensor_count(t) * sizeof(float)
               ? t
               : NULL;
}

bool qz_edit_number(const qz_edit *e, const char *name, double *out) {
    const ox_tensor *t = qz_edit_floats(e, name);
    if (!t || qz_tensor_count(t) != 1)
        return false;
    *out = (double)qz_tensor_at(t, 0);
    return true;
}

ox_node *qz_edit_made_by(const qz_edit *e, const char *name, const char *op) {
    const qz_wire *w = qz_edit_wire(e, name);
    ox_node *n = w && w->n_uses == 1 ? w->maker : NULL;
    return n && n->op && n->domain[0] == '\0' && n->n_out == 1 && strcmp(n->op, op) == 0 ? n : NULL;
}

float *qz_edit_alloc(qz_edit *e, uint32_t rank, const uint64_t *dims) {
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    return qrn_arena_alloc(e->model->arena, n * sizeof(float));
}

static bool grow(qz_edit *e) {
    uint32_t cap = 2 * e->cap_constants + 16;
    if (e->n_constants < e->cap_constants)
        return true;
    ox_tensor *more = qrn_arena_alloc(e->model->arena, cap * sizeof *more);
    if (!more)
        return false;
    memcpy(more, e->constants, e->n_constants * sizeof *more);
    for (uint32_t i = 0; i < e->n_constants; i++) {
        qz_wire *w = qz_edit_wire(e, more[i].name);
        if (w && w->slot)
            w->constant = &more[w->slot - 1];
    }
    e->constants = more;
    e->cap_constants = cap;
    return true;
}

const char *qz_edit_name(qz_edit *e, const char *like, qz_wire **made) {
    size_t size = strlen(like) + 16;
    char *name = qrn_arena_alloc(e->model->arena, size);
    for (int i = 0; name && (i == 0 || qz_edit_wire(e, name)); i++)
        snprintf(name, size, "%s_%d", like, i);
    *made = name ? wire(e, name) : NULL;
    return *made ? name : NULL;
}

qrn_status qz_edit_put(qz_edit *e, ox_node *n, uint32_t i, uint32_t rank, const uint64_t *dims,
                       const float *data) {
    qz_wire *w = i < n->n_in ? qz_edit_wire(e, n->in[i]) : NULL;
    bool own = w && w->slot && w->n_uses == 1;
    ox_tensor t = {.type = OX_F32, .rank = rank, .data = data};
    if (rank) // a scalar has no dims
        memcpy(t.dims, dims, rank * sizeof *dims);
    t.bytes = qz_tensor_count(&t) * sizeof *data;
    if (own) {
        t.name = e->constants[w->slot - 1].name;
        e->constants[w->slot - 1] = t;
        return QRN_OK;
    }
    qz_wire *made = NULL;
    t.name = qz_edit_name(e, n->out[0], &made);
    if (!t.name || !grow(e))
        return no_memory();
    e->constants[e->n_constants++] = t;
    made->slot = e->n_constants;
    made->constant = &e->constants[made->slot - 1];
    return qz_edit_connect(e, n, i, t.name);
}

// --- nodes

static void drop(qz_edit *e, ox_node *n);

// Somebody reads a value no longer: its maker goes with the last one.
static void drop_use(qz_edit *e, const char *name) {
    qz_wire *w = qz_edit_wire(e, name);
    if (!w || --w->n_uses > 0 || !w->maker || !w->maker->op)
        return;
    for (uint32_t i = 0; i < w->maker->n_out; i++) {
        const qz_wire *other = qz_edit_wire(e, w->maker->out[i]);
        if (other && other->n_uses)
            return;
    }
    drop(e, w->maker);
}

static void drop(qz_edit *e, ox_node *n) {
    n->op = NULL;
    for (uint32_t i = 0; i < n->n_in; i++)
        drop_use(e, n->in[i]);
}

qrn_status qz_edit_connect(qz_edit *e, ox_node *n, uint32_t i, const char *name) {
    uint32_t count = i < n->n_in ? n->n_in : i + 1;
    const char **in = qrn_arena_alloc(e->model->arena, count * sizeof *in);
    qz_wire *w = wire(e, name);
    if (!in || !w)
        return no_memory();
    for (uint32_t k = 0; k < count; k++)
        in[k] = k < n->n_in ? n->in[k] : "";
    const char *old = in[i];
    in[i] = name;
    n->in = in;
    n->n_in = count;
    w->n_uses++;
    w->reader = n;
    drop_use(e, old);
    return QRN_OK;
}

void qz_edit_replace(qz_edit *e, ox_node *n, ox_node *instead) {
    qz_wire *w = qz_edit_wire(e, n->out[0]);
    const char **out = n->out;
    if (n == instead || !w)
        return;
    n->out = instead->out; // nobody reads that one but what is taken out
    instead->out = out;
    w->maker = instead;
    qz_wire *old = qz_edit_wire(e, n->out[0]);
    if (old)
        old->maker = NULL;
    drop(e, n);
}

qrn_status qz_edit_become(qz_edit *e, ox_node *n, const char *op, const char *x) {
    QRN_TRY(qz_edit_connect(e, n, 0, x));
    uint32_t count = n->n_in;
    n->op = op;
    n->n_attrs = 0;
    n->n_in = 1;
    for (uint32_t i = 1; i < count; i++)
        drop_use(e, n->in[i]);
    return QRN_OK;
}
