// SPDX-License-Identifier: MIT
//
// Context binaries out of contexts: the finalized graphs as they were built, with the constants as
// the kernels read them. The host's plan is not stored.
#include "backend/htp/binary/binary.h"

#include "backend/htp/device/prediction.h"
#include "backend/htp/options/options.h"
#include "binary/nodes.h"
#include "binary/options.h"
#include "core/services.h"

#include <string.h>

// One save: everything is made in the arena of the qrn_bin and points at what the context holds.
typedef struct saving {
    const qrn_api_context *context;
    const qrn_api_graph *only; // NULL: all graphs
    uint32_t part;             // qrn_bin_part
    qrn_bin *bin;
    uint8_t *keep; // by tensor id: own data goes into the file
} saving;

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
}

static uint64_t float_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

#define OPTION_U(v) ((uint64_t)(v))
#define OPTION_F(v) float_bits(v)

// Lists what was asked for; false when out of memory.
static bool list_graph_options(saving *s, const qrn_htp_graph_options *o, qrn_bin_graph *g) {
    const qrn_bin_option all[] = {
#define QRN_GRAPH_OPTION(number, name, field, kind) {number, OPTION_##kind(o->field)},
#include "binary/options.def"
#undef QRN_GRAPH_OPTION
    };
    qrn_bin_option *list = qrn_arena_alloc(s->bin->arena, sizeof all);
    for (size_t i = 0; list && i < sizeof all / sizeof all[0]; i++)
        if (all[i].value)
            list[g->n_options++] = all[i];
    g->options = list;
    return list != NULL;
}

static bool list_context_options(saving *s, const qrn_htp_context_options *o) {
    const qrn_bin_option all[] = {
#define QRN_CONTEXT_OPTION(number, name, field, kind) {number, OPTION_##kind(o->field)},
#include "binary/options.def"
#undef QRN_CONTEXT_OPTION
    };
    qrn_bin_option *list = qrn_arena_alloc(s->bin->arena, sizeof all);
    for (size_t i = 0; list && i < sizeof all / sizeof all[0]; i++)
        if (all[i].value)
            list[s->bin->n_options++] = all[i];
    s->bin->options = list;
    return list != NULL;
}

// Own data is kept of the constants that some op uses other than packed.
static void find_kept(const saving *s, const qrn_api_graph *g, const qrn_plan *p) {
    for (uint32_t i = 0; i < g->ir->n_nodes; i++) {
        const qrn_node *n = g->ir->nodes[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k])
                s->keep[n->in[k]->id] = 1;
        for (uint32_t k = 0; k < n->n_params; k++)
            if (n->params[k].is_tensor)
                s->keep[n->params[k].tensor->id] = 1;
    }
    for (uint32_t i = 0; i < p->n_packings; i++)
        if (p->packings[i].drops)
            s->keep[p->packings[i].tensor_id] = 0;
}

static bool is_dropped(const void *saving_, const qrn_tensor *t) {
    return !((const saving *)saving_)->keep[t->id];
}

// Packed forms; those of updateable tensors are made again whenever the tensor changes.
static bool save_packed(const saving *s, const qrn_plan *p, qrn_bin_graph *out) {
    qrn_packed *list = qrn_arena_alloc(s->bin->arena, p->n_packings * sizeof *list);
    for (uint32_t i = 0; list && i < p->n_packings; i++) {
        const qrn_plan_packing *k = &p->packings[i];
        const qrn_value *v = &p->values[k->value];
        if (qrn_context_tensor(s->context, k->tensor_id)->updateable)
            continue;
        qrn_packed *to = &list[out->packed.n++];
        *to = (qrn_packed){.node = k->node,
                           .tensor_id = k->tensor_id,
                           .packing = k->id,
                           .dtype = v->view.dtype,
                           .shape = {.rank = v->view.rank},
                           .data = k->dst,
                           .size_bytes = v->size_bytes};
        memcpy(to->shape.dims, v->view.dims, v->view.rank * sizeof(uint32_t));
    }
    out->packed.items = list;
    return list != NULL;
}

// Of a section: the updateable tensors, with what may be updated of them.
static qrn_status save_updateable(saving *s, const qrn_api_graph *g, qrn_bin_graph *out) {
    const qrn_htp_graph_options base = {.base = qrn_htp_graph_base(g)};
    out->name = g->ir->name;
    out->priority = g->priority;
    if (!list_graph_options(s, &base, out))
        return no_memory();
    out->tensors = qrn_arena_alloc(s->bin->arena, g->ir->n_tensors * sizeof(qrn_tensor *));
    for (uint32_t i = 0; out->tensors && i < g->ir->n_tensors; i++) {
        if (!g->ir->tensors[i]->updateable)
            continue;
        qrn_tensor *t = qrn_arena_copy(s->bin->arena, g->ir->tensors[i], sizeof *t);
        if (!t)
            return no_memory();
        if (s->part == QRN_BIN_UPDATE_QUANT)
            t->data = NULL;
        out->tensors[out->n_tensors++] = t;
    }
    return out->tensors ? QRN_OK : no_memory();
}

// What the chip would do, when one was chosen that somebody measured, or a relative of it.
static qrn_status save_schedule(const saving *s, const qrn_api_graph *g, qrn_bin_graph *out) {
    qrn_htp_scheduled *x = qrn_arena_alloc(s->bin->arena, sizeof *x);
    if (!x)
        return no_memory();
    QRN_TRY(qrn_htp_schedule(g, s->bin->arena, x));
    if (x->known || x->lent)
        out->schedule = &x->s;
    return QRN_OK;
}

static qrn_status save_graph(saving *s, const qrn_api_graph *g, qrn_bin_graph *out) {
    const qrn_plan *p = qrn_runner_plan(g->runner);
    out->name = g->ir->name;
    out->priority = g->priority;
    out->arena_bytes = qrn_htp_graph_of(g)->sizes.live_bytes; // the same on every machine
    find_kept(s, g, p);
    qrn_htp_graph_options options = qrn_htp_graph_of(g)->options;
    options.base = qrn_htp_graph_base(g);
    if (options.vtcm_max) // which is how much
        options.vtcm_bytes = (uint64_t)qrn_htp_device_of(s->context)->soc.vtcm_mb << 20;
    const qrn_htp_graph *impl = qrn_htp_graph_of(g);
    bool stored = g->compiled && impl->how != QRN_HTP_NOT_STORED;
    if (stored)
        QRN_TRY(qrn_bin_can_store(g->compiled, false, &stored));
    if (stored) {
        out->compiled = g->compiled;
        out->compiled_how = impl->how;
    }
    if (!list_graph_options(s, &options, out) || !save_packed(s, p, out))
        return no_memory();
    QRN_TRY(qrn_bin_list_tensors(s->bin->arena, g->ir, is_dropped, s, out));
    QRN_TRY(save_schedule(s, g, out));
    return qrn_bin_list_nodes(s->bin->arena, g->ir, out);
}

static void save_versions(qrn_bin *b, const qrn_htp_device *d) {
    Qnn_ApiVersion_t v = {0};
    if (qrn_version(&v) != QRN_OK) // then no client got this far
        qrn_message_clear();
    b->core_api[0] = v.coreApiVersion.major;
    b->core_api[1] = v.coreApiVersion.minor;
    b->core_api[2] = v.coreApiVersion.patch;
    b->backend_api[0] = v.backendApiVersion.major;
    b->backend_api[1] = v.backendApiVersion.minor;
    b->backend_api[2] = v.backendApiVersion.patch;
    b->backend_id = qrn_this_backend.id;
    b->soc_id = d->chosen ? d->soc.id : 0;
    b->arch = d->chosen ? d->soc.arch : 0;
    b->apart = d->chosen && d->soc.arch < QRN_HTP_SHARE_ARCH;
    b->build_id = qrn_build_id();
}

static qrn_status describe(saving *s) {
    const qrn_api_context *c = s->context;
    qrn_bin *b = s->bin;
    save_versions(b, qrn_htp_device_of(c));
    s->keep = qrn_arena_alloc(b->arena, (size_t)qrn_context_max_id(c) + 1);
    uint32_t n_graphs = qrn_context_n_graphs(c);
    b->graphs = qrn_arena_alloc(b->arena, n_graphs * sizeof *b->graphs);
    if (!s->keep || !b->graphs || !list_context_options(s, &qrn_htp_context_of(c)->options))
        return no_memory();
    for (uint32_t i = 0; i < n_graphs; i++) {
        const qrn_api_graph *g = qrn_context_graph(c, i);
        qrn_bin_graph *to = &b->graphs[b->n_graphs];
        if (s->only && s->only != g)
            continue;
        QRN_TRY(s->part == QRN_BIN_WHOLE ? save_graph(s, g, to) : save_updateable(s, g, to));
        if (s->part == QRN_BIN_WHOLE || to->n_tensors)
            b->n_graphs++;
    }
    if (b->n_graphs == 0)
        return QRN_FAIL(QRN_E_NOT_FOUND, "there are no updateable tensors in %s%s",
                        s->only ? "graph " : "the context", s->only ? s->only->ir->name : "");
    return QRN_OK;
}

static qrn_status begin(saving *s) {
    qrn_arena *arena = qrn_arena_create();
    s->bin = arena ? qrn_arena_alloc(arena, sizeof(qrn_bin)) : NULL;
    if (!s->bin) {
        qrn_arena_destroy(arena);
        return no_memory();
    }
    s->bin->arena = arena;
    s->bin->part = s->part;
    qrn_status st = describe(s);
    if (st != QRN_OK)
        qrn_arena_destroy(arena);
    return st;
}

static qrn_status size_of(saving *s, uint64_t *size) {
    QRN_TRY(begin(s));
    qrn_status st = qrn_bin_size(s->bin, size);
    qrn_bin_close(s->bin);
    return st;
}

static qrn_status write_to(saving *s, void *buf, uint64_t size, uint64_t *written) {
    QRN_TRY(begin(s));
    qrn_status st = qrn_bin_write(s->bin, buf, size, written);
    qrn_bin_close(s->bin);
    return st;
}

qrn_status qrn_htp_binary_size(qrn_api_context *c, uint64_t *size) {
    return size_of(&(saving){.context = c}, size);
}

qrn_status qrn_htp_binary_write(qrn_api_context *c, void *buf, uint64_t size, uint64_t *written) {
    return write_to(&(saving){.context = c}, buf, size, written);
}

qrn_status qrn_htp_section_size(qrn_api_context *c, qrn_api_graph *g, uint32_t section,
                                uint64_t *size) {
    return size_of(&(saving){.context = c, .only = g, .part = section}, size);
}

qrn_status qrn_htp_section_write(qrn_api_context *c, qrn_api_graph *g, uint32_t section, void *buf,
                                 uint64_t size, uint64_t *written) {
    return write_to(&(saving){.context = c, .only = g, .part = section}, buf, size, written);
}
