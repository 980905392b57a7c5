// SPDX-License-Identifier: MIT
//
// Which inputs with a default become constants, and partitions for other values than theirs.
#include "frontend/ort/defaults.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

// Values that a session compiles a partition for, besides the default: QNN frees no graph before
// its context.
#define MAX_VALUES 16

struct qe_defaults {
    qe_graph graph; // with the constants' data; the partition's values are not among them
    ox_node fused;
    qe_part *made[MAX_VALUES]; // for other values, behind the session's lock; never removed
    uint32_t n_made;
};

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "defaults of inputs: no memory"); }

// --- choosing

static void need(qrn_strmap *needed, const char *name, bool *ok) {
    static const char mark;
    if (name[0] && !qrn_strmap_put(needed, name, (void *)(uintptr_t)&mark))
        *ok = false;
}

static void need_inputs(qrn_strmap *needed, const ox_node *n, bool *ok) {
    for (uint32_t i = 0; i < n->n_in; i++)
        need(needed, n->in[i], ok);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const ox_graph *body = n->attrs[i].g;
        for (uint32_t k = 0; body && k < body->n_nodes; k++)
            need_inputs(needed, &body->nodes[k], ok);
        for (uint32_t k = 0; body && k < body->n_outputs; k++)
            need(needed, body->outputs[k].name, ok);
    }
}

static bool is_needed(const qrn_strmap *needed, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i][0] && qrn_strmap_get(needed, n->out[i]))
            return true;
    return false;
}

// A copy of a graph's list of constants with room for more.
static ox_tensor *extend(qrn_arena *arena, const ox_graph *g, uint32_t more) {
    ox_tensor *list = qrn_arena_alloc(arena, (g->n_constants + more + 1) * sizeof *list);
    if (list && g->n_constants)
        memcpy(list, g->constants, g->n_constants * sizeof *list);
    return list;
}

// A model with another list of constants.
static qrn_status with_constants(const ox_model *m, qrn_arena *arena, const ox_tensor *list,
                                 uint32_t n, ox_model *out) {
    ox_graph *g = qrn_arena_copy(arena, m->graph, sizeof *g);
    if (!g)
        return no_memory();
    g->constants = list;
    g->n_constants = n;
    *out = *m;
    out->graph = g;
    return QRN_OK;
}

qrn_status qe_defaults_needed(const qe_graph *g, const ox_plan *plan, ox_model *out, uint32_t *n) {
    const ox_graph *graph = g->model->graph;
    qrn_strmap needed = {0};
    bool ok = true;
    for (uint32_t i = graph->n_nodes; i-- > 0;) // nodes stand behind those that they read
        if (plan->why[i] || is_needed(&needed, &graph->nodes[i]))
            need_inputs(&needed, &graph->nodes[i], &ok);
    ox_tensor *list = extend(g->model->arena, graph, g->n_defaults);
    uint32_t count = graph->n_constants;
    for (uint32_t i = 0; list && i < g->n_defaults; i++)
        if (qrn_strmap_get(&needed, g->defaults[i].name))
            list[count++] = g->defaults[i];
    qrn_strmap_clear(&needed);
    if (!ok || !list)
        return no_memory();
    *n = count - graph->n_constants;
    return with_constants(g->model, g->model->arena, list, count, out);
}

static qrn_status copy_tensor(qrn_arena *arena, ox_tensor *t) {
    t->name = qrn_arena_strdup(arena, t->name);
    if (t->name && !t->data)
        return QRN_OK; // strings
    void *data = qrn_arena_alloc(arena, t->bytes + 1);
    if (!t->name || !data)
        return no_memory();
    memcpy(data, t->data, t->bytes);
    t->data = data;
    return QRN_OK;
}

static const ox_tensor *find(const ox_tensor *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

qrn_status qe_defaults_freeze(qe_ep *ep, const ox_tensor *list, uint32_t n) {
    ox_tensor *frozen = qrn_arena_alloc(ep->arena, (ep->n_frozen + n + 1) * sizeof *frozen);
    uint32_t count = ep->n_frozen;
    if (!frozen)
        return no_memory();
    if (count)
        memcpy(frozen, ep->frozen, count * sizeof *frozen);
    for (uint32_t i = 0; i < n; i++) {
        if (find(frozen, count, list[i].name))
            continue; // the host asks again after it changed the graph
        frozen[count] = list[i];
        QRN_TRY(copy_tensor(ep->arena, &frozen[count++]));
    }
    ep->frozen = frozen;
    ep->n_frozen = count;
    return QRN_OK;
}

qrn_status qe_defaults_apply(const qe_ep *ep, const qe_graph *g, const ox_node *fused,
                             qe_graph *out) {
    const ox_graph *graph = g->model->graph;
    uint32_t n = graph->n_constants;
    *out = *g;
    if (!ep->n_frozen)
        return QRN_OK;
    ox_tensor *list = extend(g->model->arena, graph, fused->n_in);
    out->model = qrn_arena_alloc(g->model->arena, sizeof *out->model);
    if (!list || !out->model)
        return no_memory();
    for (uint32_t i = 0; i < fused->n_in; i++) {
        const ox_tensor *t = find(ep->frozen, ep->n_frozen, fused->in[i]);
        if (t)
            list[n++] = *t;
    }
    return with_constants(g->model, g->model->arena, list, n, out->model);
}

// --- partitions with frozen inputs

static qrn_status note_value(qe_border *b, const ox_tensor *t) {
    b->type = t->type;
    b->rank = t->rank;
    for (uint32_t d = 0; d < t->rank; d++)
        b->dims[d] = (int64_t)t->dims[d];
    b->bytes = t->bytes;
    b->data = qrn_alloc(t->bytes + 1);
    if (!b->data)
        return no_memory();
    memcpy(b->data, t->data, t->bytes);
    return QRN_OK;
}

qrn_status qe_defaults_note(qe_part *p, const ox_graph *g) {
    for (uint32_t i = 0; i < p->n_in; i++) {
        const ox_tensor *t = find(g->constants, g->n_constants, p->in[i].name);
        if (t)
            QRN_TRY(note_value(&p->in[i], t));
    }
    return QRN_OK;
}

// The host's constants go with its graph: those of bodies as well.
static qrn_status copy_constants(qrn_arena *arena, ox_graph *g) {
    ox_tensor *list = extend(arena, g, 0);
    if (!list)
        return no_memory();
    for (uint32_t i = 0; i < g->n_constants; i++)
        QRN_TRY(copy_tensor(arena, &list[i]));
    g->constants = list;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_attrs; k++)
            if (g->nodes[i].attrs[k].g)
                QRN_TRY(copy_constants(arena, g->nodes[i].attrs[k].g));
    return QRN_OK;
}

static qrn_status copy_names(qrn_arena *arena, const char **from, uint32_t n, const char ***out) {
    const char **list = qrn_arena_alloc(arena, (n + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < n; i++)
        if (!(list[i] = qrn_arena_strdup(arena, from[i])))
            return no_memory();
    *out = list;
    return list ? QRN_OK : no_memory();
}

static bool has_frozen(const qe_part *p) {
    for (uint32_t i = 0; i < p->n_in; i++)
        if (p->in[i].data)
            return true;
    return false;
}

qrn_status qe_defaults_keep(qe_part *p, qe_graph *g, const ox_node *fused) {
    if (!has_frozen(p))
        return QRN_OK;
    qrn_arena *arena = g->model->arena;
    struct qe_defaults *d = qrn_arena_alloc(arena, sizeof *d);
    if (!d)
        return no_memory();
    d->fused = (ox_node){
        .name = qrn_arena_strdup(arena, fused->name), .n_in = fused->n_in, .n_out = fused->n_out};
    QRN_TRY(d->fused.name ? QRN_OK : no_memory());
    QRN_TRY(copy_names(arena, fused->in, fused->n_in, &d->fused.in));
    QRN_TRY(copy_names(arena, fused->out, fused->n_out, &d->fused.out));
    QRN_TRY(copy_constants(arena, g->model->graph));
    d->graph = *g;
    *g = (qe_graph){0};
    p->defaults = d;
    return QRN_OK;
}

void qe_defaults_free(struct qe_defaults *d) {
    for (uint32_t i = 0; d && i < d->n_made; i++)
        qe_part_free(&d->made[i]->base);
    if (d) {
        qe_graph g = d->graph;
        qe_read_free(&g); // with d
    }
}

// --- values of a run

// Input i as the host has it.
static qrn_status take_value(const qe_part *p, const OrtKernelContext *context, uint32_t i,
                             ox_tensor *t) {
    const qe_place at = {p->model, p->name, true};
    const OrtValue *v = NULL;
    *t = (ox_tensor){.name = p->in[i].name};
    QE_TRY(KernelContext_GetInput, context, i, &v);
    if (!v)
        return QRN_FAIL(QRN_E_UNCONNECTED, "input '%s' has no value", p->in[i].name);
    QRN_TRY(qe_check_place(&at, &p->in[i], v));
    return qe_read_tensor(v, t);
}

static bool is_value(const qe_border *b, const ox_tensor *t) {
    bool same = b->type == t->type && b->rank == t->rank && b->bytes == t->bytes;
    for (uint32_t d = 0; same && d < t->rank; d++)
        same = b->dims[d] == (int64_t)t->dims[d];
    return same && memcmp(b->data, t->data, t->bytes) == 0;
}

// The first input that is not what the partition was compiled for; NULL: none.
static qrn_status differs(const qe_part *p, const OrtKernelContext *context, const char **out) {
    *out = NULL;
    for (uint32_t i = 0; i < p->n_in && !*out; i++) {
        ox_tensor t;
        if (!p->in[i].data)
            continue;
        QRN_TRY(take_value(p, context, i, &t));
        if (!is_value(&p->in[i], &t))
            *out = p->in[i].name;
    }
    return QRN_OK;
}

// The model with the values of this run as constants, in an arena of its own.
static qrn_status with_values(const qe_part *p, const OrtKernelContext *context, qrn_arena *arena,
                              ox_model *out) {
    const ox_model *m = p->defaults->graph.model;
    ox_tensor *list = extend(arena, m->graph, p->n_in);
    uint32_t n = m->graph->n_constants;
    if (!list)
        return no_memory();
    for (uint32_t i = 0; i < p->n_in; i++)
        if (p->in[i].data)
            QRN_TRY(take_value(p, context, i, &list[n++]));
    QRN_TRY(with_constants(m, arena, list, n, out));
    out->arena = arena;
    return QRN_OK;
}

static qrn_status compile(const qe_part *p, const OrtKernelContext *context, qe_part **out) {
    const struct qe_defaults *d = p->defaults;
    char name[1024];
    ox_model m;
    qrn_arena *arena = qrn_arena_create();
    if (!arena)
        return no_memory();
    snprintf(name, sizeof name, "%.1000s_value%u", p->name, d->n_made + 2);
    qrn_status s = with_values(p, context, arena, &m);
    if (s == QRN_OK) {
        qe_graph g = {.model = &m};
        qe_share_lock(p->ep);
        s = qe_part_compile(p->ep, &g, &d->fused, name, out);
        qe_share_unlock(p->ep);
    }
    qrn_arena_destroy(arena);
    return s;
}

// Adds a partition for the values of this run, of which `input` has another one than its default.
static qrn_status add(const qe_part *p, const OrtKernelContext *context, const char *input,
                      qe_part **out) {
    struct qe_defaults *d = p->defaults;
    char words[QRN_MESSAGE_MAX];
    if (d->n_made == MAX_VALUES)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "model %s, partition '%s', input '%s': the graph has it as a constant and "
                        "was compiled for %d values besides the default; make another session",
                        p->model, p->name, input, MAX_VALUES);
    qrn_status s = compile(p, context, out);
    if (s == QRN_OK) {
        d->made[d->n_made++] = *out;
        return QRN_OK;
    }
    snprintf(words, sizeof words, "%s", qrn_message());
    return QRN_FAIL(s,
                    "model %s, partition '%s', input '%s': the graph has it as a constant and "
                    "cannot be compiled for a value other than the default: %s",
                    p->model, p->name, input, words);
}

static qrn_status find_made(const qe_part *p, const OrtKernelContext *context, const char *input,
                            const qe_part **out) {
    const struct qe_defaults *d = p->defaults;
    for (uint32_t i = 0; i < d->n_made; i++) {
        const char *other;
        QRN_TRY(differs(d->made[i], context, &other));
        *out = d->made[i];
        if (!other)
            return QRN_OK;
    }
    qe_part *made = NULL;
    QRN_TRY(add(p, context, input, &made));
    *out = made;
    return QRN_OK;
}

qrn_status qe_part_for_values(const qe_part *p, const OrtKernelContext *context,
                              const qe_part **out) {
    const char *input;
    QRN_TRY(differs(p, context, &input));
    *out = p;
    if (!input)
        return QRN_OK;
    qe_ep *ep = p->ep;
    const qe_part *found = NULL;
    pthread_mutex_lock(&ep->compiling);
    if (ep->profile.handle)
        pthread_mutex_lock(&ep->profile.lock);
    qrn_status s = find_made(p, context, input, &found);
    if (ep->profile.handle)
        pthread_mutex_unlock(&ep->profile.lock);
    pthread_mutex_unlock(&ep->compiling);
    QRN_TRY(s);
    *out = found;
    return QRN_OK;
}
