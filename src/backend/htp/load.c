// SPDX-License-Identifier: MIT
//
// Contexts out of binaries. The graphs are built again from the records, node by node and through
// the same checks as addNode, so that kernels only ever see what validation accepted; then they are
// compiled with the packed constants of the file, where they lie. No weight is read or copied.
#include "backend/htp/binary.h"

#include "api/opconfig.h"
#include "api/tensor.h"
#include "base/env.h"
#include "base/mem.h"
#include "binary/binary.h"
#include "binary/options.h"

#include "QnnOpDef.h"

#include <string.h>

static float bits_float(uint64_t v) {
    uint32_t bits = (uint32_t)v;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

#define OPTION_U(v) (v)
#define OPTION_F(v) bits_float(v)

static void set_graph_options(const qrn_bin_graph *from, qrn_htp_graph_options *o) {
    for (uint32_t i = 0; i < from->n_options; i++)
        switch (from->options[i].key) {
#define QRN_GRAPH_OPTION(number, name, field, kind)                                                \
    case number:                                                                                   \
        o->field = OPTION_##kind(from->options[i].value);                                          \
        break;
#include "binary/options.def"
#undef QRN_GRAPH_OPTION
        default:
            break; // of a later version
        }
}

static void set_context_options(const qrn_bin *from, qrn_htp_context_options *o) {
    for (uint32_t i = 0; i < from->n_options; i++)
        switch (from->options[i].key) {
#define QRN_CONTEXT_OPTION(number, name, field, kind)                                              \
    case number:                                                                                   \
        o->field = OPTION_##kind(from->options[i].value);                                          \
        break;
#include "binary/options.def"
#undef QRN_CONTEXT_OPTION
        default:
            break;
        }
}

static qrn_status no_memory(const char *graph) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory while loading it", graph);
}

// Tensors live in the arena of the open binary. Data that may be replaced has to be the context's.
static qrn_status add_tensors(qrn_api_graph *g, const qrn_bin_graph *from) {
    qrn_api_context *c = g->context;
    for (uint32_t i = 0; i < from->n_tensors; i++) {
        qrn_tensor *t = from->tensors[i];
        if (qrn_strmap_get(&g->names, t->name))
            return QRN_FAIL(QRN_E_BINARY, "context binary: graph '%s' has two tensors '%s'",
                            from->name, t->name);
        if (t->updateable && t->data) {
            pthread_mutex_lock(&c->lock);
            t->data = qrn_blobs_add(&c->blobs, t->data, t->size_bytes);
            pthread_mutex_unlock(&c->lock);
            if (!t->data)
                return no_memory(from->name);
        }
        QRN_TRY(qrn_tensor_add(c, g, t));
    }
    return QRN_OK;
}

static qrn_status find_op(const qrn_bin_graph *g, const qrn_bin_node *from, qrn_node *n) {
    if (strcmp(from->package, QNN_OP_PACKAGE_NAME_QTI_AISW) == 0)
        n->op = qrn_op_find(from->type);
    if (!n->op)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: graph '%s' node '%s': this library has no op '%s' of "
                        "package '%s'",
                        g->name, from->name, from->type, from->package);
    return QRN_OK;
}

// Parameters go to the places of the op's row, by name.
static qrn_status fill_params(const qrn_bin_graph *g, const qrn_bin_node *from, qrn_node *n) {
    for (uint32_t i = 0; i < from->n_params; i++) {
        uint32_t at = 0;
        while (at < n->n_params && strcmp(n->op->params[at].name, from->param_names[i]) != 0)
            at++;
        if (at == n->n_params || n->params[at].present)
            return QRN_FAIL(QRN_E_BINARY,
                            "context binary: graph '%s' node '%s' (%s): parameter '%s' is "
                            "unknown, or there twice",
                            g->name, n->name, n->type, from->param_names[i]);
        n->params[at] = from->params[i];
    }
    return QRN_OK;
}

static void fill_operands(const qrn_api_context *c, const uint32_t *ids, uint32_t n,
                          qrn_tensor **out) {
    for (uint32_t i = 0; i < n; i++)
        out[i] = ids[i] ? c->tensors[ids[i] - 1] : NULL;
}

static qrn_status make_node(qrn_api_graph *g, const qrn_bin_graph *graph, const qrn_bin_node *from,
                            qrn_node **out) {
    qrn_arena *a = g->ir->arena;
    qrn_node *n = qrn_arena_alloc(a, sizeof *n);
    if (!n)
        return no_memory(graph->name);
    *n = (qrn_node){.name = from->name,
                    .package = from->package,
                    .type = from->type,
                    .n_in = from->n_in,
                    .n_out = from->n_out,
                    .graph = g->ir};
    QRN_TRY(find_op(graph, from, n));
    n->n_params = n->op->n_params;
    n->in = qrn_arena_alloc(a, n->n_in * sizeof *n->in);
    n->out = qrn_arena_alloc(a, n->n_out * sizeof *n->out);
    n->params = qrn_arena_alloc(a, n->n_params * sizeof *n->params);
    if (!n->in || !n->out || !n->params)
        return no_memory(graph->name);
    fill_operands(g->context, from->in, n->n_in, n->in);
    fill_operands(g->context, from->out, n->n_out, n->out);
    QRN_TRY(fill_params(graph, from, n));
    *out = n;
    return QRN_OK;
}

static qrn_status add_nodes(qrn_api_graph *g, const qrn_bin_graph *from) {
    for (uint32_t i = 0; i < from->n_nodes; i++) {
        qrn_node *n = NULL;
        QRN_TRY(make_node(g, from, &from->nodes[i], &n));
        QRN_TRY(qrn_node_check(g->context->backend, g->context, n, NULL));
        QRN_TRY(qrn_graph_add_node(g->ir, n));
    }
    return QRN_OK;
}

static qrn_status load_graph(qrn_api_context *c, const qrn_bin_graph *from) {
    qrn_api_graph *g = NULL;
    QRN_TRY(qrn_api_graph_new(c, NULL, from->name, &g));
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    QRN_TRY(qrn_priority_check(from->priority));
    if (c->priority == QNN_PRIORITY_DEFAULT) // else the client's wish for the whole context holds
        g->priority = from->priority;
    set_graph_options(from, &impl->options);
    impl->packed = from->packed;
    QRN_TRY(add_tensors(g, from));
    QRN_TRY(add_nodes(g, from));
    qrn_compile_options opt = {0};
    return qrn_api_graph_complete(g, &opt);
}

// Which chip a loaded context is modelled as: the client's, with the numbers it was made with.
static qrn_status choose_device(const qrn_bin *b, const qrn_htp_device *d, qrn_htp_device *out) {
    *out = *d;
    out->chosen = b->arch != 0;
    if (b->arch == 0)
        return QRN_OK;
    const qrn_soc *made_for = b->soc_id ? qrn_soc_by_id(b->soc_id) : NULL;
    if (!made_for || made_for->arch != b->arch)
        made_for = qrn_soc_of_arch(b->arch);
    if (!made_for)
        return QRN_FAIL(QRN_E_BINARY_CONFIG,
                        "context binary made for architecture v%u, which is unknown here", b->arch);
    if (!d->chosen)
        out->soc = *made_for;
    else if (d->soc.arch != b->arch)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary made for architecture v%u, the device is %s of v%u: "
                        "prepare the model for this device, or choose another one",
                        b->arch, d->soc.name, d->soc.arch);
    return QRN_OK;
}

static qrn_status check_bin(const qrn_bin *b) {
    if (b->backend_id != qrn_this_backend.id)
        return QRN_FAIL(QRN_E_BINARY_CONFIG,
                        "context binary made by backend %u, this is backend %u", b->backend_id,
                        qrn_this_backend.id);
    if (b->n_graphs == 0 || b->n_tensors)
        return QRN_FAIL(QRN_E_BINARY, "context binary of %u graphs and %u context tensors",
                        b->n_graphs, b->n_tensors);
    return QRN_OK;
}

static qrn_status load_all(qrn_api_context *c) {
    qrn_htp_context *impl = qrn_htp_context_of(c);
    QRN_TRY(qrn_bin_open(impl->file, impl->file_bytes, qrn_env_get(QRN_ENV_VERIFY) != NULL,
                         &impl->bin));
    QRN_TRY(check_bin(impl->bin));
    QRN_TRY(choose_device(impl->bin, qrn_htp_device_of(c), &impl->made_for));
    impl->has_made_for = true;
    set_context_options(impl->bin, &impl->options);
    for (uint32_t i = 0; i < impl->bin->n_graphs; i++)
        QRN_TRY(load_graph(c, &impl->bin->graphs[i]));
    return QRN_OK;
}

// The bytes must be aligned and stay; else they are copied, once. A deferred binary that the API
// layer holds for us is taken over in the end.
static qrn_status hold_file(qrn_api_context *c, const void *buf, uint64_t size) {
    qrn_htp_context *impl = qrn_htp_context_of(c);
    bool stays = c->persistent_binary || (c->deferred.owned && c->deferred.data == buf);
    impl->file = buf;
    impl->file_bytes = size;
    if (stays && (uintptr_t)buf % QRN_ALIGN == 0)
        return QRN_OK;
    impl->owned = qrn_alloc(size);
    if (!impl->owned)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary of %llu bytes",
                        (unsigned long long)size);
    memcpy(impl->owned, buf, size);
    impl->file = impl->owned;
    return QRN_OK;
}

void qrn_htp_binary_drop(qrn_htp_context *c) {
    qrn_bin_close(c->bin);
    qrn_free(c->owned);
    c->bin = NULL;
    c->owned = NULL;
    c->file = NULL;
    c->file_bytes = 0;
    c->has_made_for = false;
}

qrn_status qrn_htp_binary_load(qrn_api_context *c, const void *buf, uint64_t size) {
    qrn_htp_context *impl = qrn_htp_context_of(c);
    qrn_htp_binary_drop(impl); // of an attempt whose graphs were given up
    qrn_status s = hold_file(c, buf, size);
    if (s == QRN_OK)
        s = load_all(c);
    if (s != QRN_OK) {
        while (c->n_graphs)
            qrn_api_graph_discard(c->graphs[c->n_graphs - 1]);
        qrn_htp_binary_drop(impl);
    } else if (impl->file == c->deferred.owned) {
        impl->owned = c->deferred.owned;
        c->deferred.owned = NULL;
    }
    return s;
}

qrn_status qrn_htp_binary_validate(qrn_api_backend *b, qrn_api_device *d, const void *buf,
                                   uint64_t size) {
    qrn_bin *bin = NULL;
    (void)b;
    QRN_TRY(qrn_bin_open(buf, size, qrn_env_get(QRN_ENV_VERIFY) != NULL, &bin));
    const qrn_api_context nobody = {.device = d};
    qrn_htp_device made_for;
    qrn_status s = check_bin(bin);
    if (s == QRN_OK)
        s = choose_device(bin, qrn_htp_device_of(&nobody), &made_for);
    qrn_bin_close(bin);
    return s;
}
