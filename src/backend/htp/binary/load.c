// SPDX-License-Identifier: MIT
//
// Contexts out of binaries. The compiled graphs of the file are verified and bound, with its packed
// constants where they lie: no weight is read or copied. The nodes are there for reports; whoever
// computes with them validates them first (qrn_htp_check_nodes). A graph without a compiled one, or
// one that was compiled for other numerics, is validated and compiled again.
#include "backend/htp/binary/binary.h"
#include "backend/htp/device/session.h"

#include "base/env.h"
#include "base/file.h"
#include "base/mem.h"
#include "binary/nodes.h"
#include "binary/options.h"
#include "core/services.h"

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
        if (qrn_api_graph_tensor(g, t->name))
            return QRN_FAIL(QRN_E_BINARY, "context binary: graph '%s' has two tensors '%s'",
                            from->name, t->name);
        if (t->updateable && t->data) {
            t->data = qrn_context_add_data(c, t->data, t->size_bytes);
            if (!t->data)
                return no_memory(from->name);
        }
        QRN_TRY(qrn_tensor_add(c, g, t));
    }
    return QRN_OK;
}

static qrn_tensor *find_tensor(const void *context, uint32_t id) {
    return qrn_context_tensor(context, id);
}

static void *find_user_op(const void *context, const char *package, const char *op) {
    const qrn_api_context *c = context;
    return qrn_this_backend.package_find(c->backend, package, op);
}

static qrn_status add_nodes(qrn_api_graph *g, const qrn_bin_graph *from) {
    qrn_bin_lookup lookup = {QNN_OP_PACKAGE_NAME_QTI_AISW, find_tensor, find_user_op, g->context};
    QRN_TRY(qrn_bin_make_nodes(from, &lookup, g->ir));
    QRN_TRY(qrn_packages_check_nodes(g->ir));
    atomic_store(&qrn_htp_graph_of(g)->unchecked, true);
    return QRN_OK;
}

qrn_status qrn_htp_check_nodes(const qrn_api_graph *g) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    for (uint32_t i = 0; atomic_load(&impl->unchecked) && i < g->ir->n_nodes; i++)
        QRN_TRY(qrn_node_check(g->context->backend, g->context, g->ir->nodes[i], NULL));
    atomic_store(&impl->unchecked, false);
    return QRN_OK;
}

// Hands the compiled graph over, with the nodes that it was made from.
static qrn_status take_compiled(qrn_api_graph *g, qrn_bin_graph *from) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    qrn_compiled *cg = from->compiled;
    if (!cg)
        return QRN_OK;
    impl->stored = cg;
    impl->stored_how = from->compiled_how;
    from->compiled = NULL;
    cg->origin = qrn_arena_alloc(cg->arena, (cg->n_nodes + 1u) * sizeof *cg->origin);
    for (uint32_t i = 0; cg->origin && i < cg->n_nodes; i++)
        cg->origin[i] = g->ir->nodes[cg->nodes[i].index];
    return cg->origin ? QRN_OK : no_memory(from->name);
}

// What a graph may make of its constants: far more than any sensible one does, and in proportion to
// the file, so that a small one cannot take all memory.
static size_t most_bytes(uint64_t file_bytes) {
    const uint64_t fixed = (uint64_t)256 << 20, factor = 64;
    return file_bytes < (SIZE_MAX - fixed) / factor ? (size_t)(fixed + factor * file_bytes)
                                                    : SIZE_MAX;
}

static qrn_status load_graph(qrn_api_context *c, qrn_bin_graph *from,
                             const qrn_binary_source *source) {
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
    QRN_TRY(take_compiled(g, from));
    qrn_finalize_options opt = {.poll = source->poll,
                                .poll_ctx = source->poll_ctx,
                                .most_bytes = most_bytes(source->size_bytes)};
    return qrn_api_graph_complete(g, &opt);
}

// Whatever is wrong with a graph of a binary is wrong with the binary; the message stays.
static qrn_status as_binary(qrn_status s) {
    bool own = s == QRN_OK || s == QRN_E_MEM || s == QRN_E_ABORTED || s == QRN_E_TIMED_OUT;
    return own ? s : QRN_E_BINARY;
}

// What the client brings itself, once a section.
typedef struct brought {
    const void *weights, *shared;
} brought;

static qrn_status bring(const qrn_binary_source *source, const qrn_bin_weights *w, brought *b) {
    if (source->provide && w->weights_bytes)
        QRN_TRY(
            source->provide(source->provider, w->weights_offset, w->weights_bytes, &b->weights));
    if (source->provide && w->shared_bytes)
        QRN_TRY(source->provide(source->provider, w->shared_offset, w->shared_bytes, &b->shared));
    return QRN_OK;
}

typedef struct new_facts {
    qrn_htp_context *context;
    const qrn_htp_device *device; // NULL: none
} new_facts;

static void assign_made_for(void *arg) {
    const new_facts *m = arg;
    m->context->has_made_for = m->device != NULL;
    if (m->device)
        m->context->made_for = *m->device;
}

// Ops that are validated by themselves ask the backend's newest context for it.
static void set_made_for(qrn_htp_context *c, const qrn_htp_device *d) {
    qrn_backend_exclusively(c->api->backend, assign_made_for, &(new_facts){c, d});
}

static qrn_status check_cancellation(const qrn_bin *b, const qrn_binary_source *source) {
    for (uint32_t i = 0; source->poll && i < b->n_graphs; i++) {
        const qrn_bin_graph *g = &b->graphs[i];
        uint64_t cores = qrn_bin_option_get(g->options, g->n_options, QRN_BIN_GRAPH_CORES);
        if (cores > 1)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "graph '%s' uses %llu cores: loading it cannot be cancelled, leave the "
                            "signal out",
                            g->name, (unsigned long long)cores);
    }
    return QRN_OK;
}

static qrn_status load_all(qrn_api_context *c, const qrn_binary_source *source,
                           const brought *parts) {
    qrn_htp_context *impl = qrn_htp_context_of(c);
    qrn_htp_device made_for;
    bool verify = qrn_env_get(QRN_ENV_VERIFY) != NULL;
    QRN_TRY(qrn_bin_open_with(impl->file, impl->file_bytes, verify, parts->weights, parts->shared,
                              &impl->bin));
    QRN_TRY(qrn_htp_binary_check(impl->bin, qrn_htp_device_of(c), c->strict_binary, &made_for));
    set_made_for(impl, &made_for);
    QRN_TRY(check_cancellation(impl->bin, source));
    set_context_options(impl->bin, &impl->options);
    impl->options.prepare_only = false; // was said of the context that made it
    for (uint32_t i = 0; i < impl->bin->n_graphs; i++)
        QRN_TRY(as_binary(load_graph(c, &impl->bin->graphs[i], source)));
    return qrn_htp_session_open(c);
}

// Combinations that the documents exclude (HTP-CBK-01, HTP-CBK-05, HTP-LST-10).
static qrn_status check_provider(const qrn_api_context *c, const qrn_binary_source *source) {
    const qrn_htp_context_options *o = &qrn_htp_context_of(c)->options;
    if (!source->provide)
        return QRN_OK;
    const char *with = source->raw                                  ? "ordinary memory"
                       : o->share_resources                         ? "SHARE_RESOURCES"
                       : c->persistent_binary && c->memory_limit_mb ? "graph switching"
                       : o->extended_udma                           ? "USE_EXTENDED_UDMA"
                       : c->list && !qrn_file_holds(source->data)
                           ? "a list of binaries that are not mapped files"
                           : NULL;
    if (with)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "context binary: a data callback cannot be used with %s",
                        with);
    return QRN_OK;
}

// The bytes must be aligned and stay; else they are copied, once, as far as they are used. A
// deferred binary that the API layer holds for us is taken over in the end.
static qrn_status hold_file(qrn_api_context *c, const qrn_binary_source *source,
                            uint64_t used_bytes) {
    qrn_htp_context *impl = qrn_htp_context_of(c);
    impl->file = source->data;
    impl->file_bytes = source->size_bytes;
    if (source->stays && (uintptr_t)source->data % QRN_ALIGN == 0)
        return QRN_OK;
    impl->owned = qrn_alloc(used_bytes);
    if (!impl->owned)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary of %llu bytes",
                        (unsigned long long)used_bytes);
    unsigned n_reads = 0;
    for (uint64_t at = 0, n; at < used_bytes; at += n, n_reads++) {
        n = qrn_htp_read_bytes(used_bytes - at, impl->options.read_budget_mb);
        memcpy((char *)impl->owned + at, (const char *)source->data + at, n);
    }
    impl->file = impl->owned;
    qrn_log(c->backend->log, QNN_LOG_LEVEL_VERBOSE, "binary: reads %u, %llu bytes", n_reads,
            (unsigned long long)used_bytes);
    return QRN_OK;
}

// Weights are the last sections: behind `used` there is nothing but what the client brings.
static qrn_status hold_and_load(qrn_api_context *c, const qrn_binary_source *source) {
    qrn_bin_weights w = {0};
    brought parts = {0};
    uint64_t used = source->size_bytes;
    QRN_TRY(check_provider(c, source));
    QRN_TRY(qrn_bin_find_weights(source->data, source->size_bytes, &w));
    QRN_TRY(bring(source, &w, &parts));
    if (parts.weights || parts.shared)
        used = parts.weights ? w.weights_offset : w.shared_offset;
    QRN_TRY(hold_file(c, source, used));
    return load_all(c, source, &parts);
}

void qrn_htp_binary_drop(qrn_htp_context *c) {
    qrn_bin_close(c->bin);
    qrn_free(c->owned);
    c->bin = NULL;
    c->owned = NULL;
    c->file = NULL;
    c->file_bytes = 0;
    set_made_for(c, NULL);
}

qrn_status qrn_htp_binary_load(qrn_api_context *c, const qrn_binary_source *source) {
    qrn_htp_context *impl = qrn_htp_context_of(c);
    qrn_htp_session_close(c); // of an attempt whose graphs were given up
    qrn_htp_binary_drop(impl);
    qrn_status s = hold_and_load(c, source);
    if (s != QRN_OK) {
        qrn_context_discard_graphs(c);
        qrn_htp_binary_drop(impl);
    } else if (!impl->owned && qrn_context_take_binary(c, impl->file)) {
        impl->owned = (void *)(uintptr_t)impl->file;
    }
    return s;
}

qrn_status qrn_htp_binary_validate(qrn_api_context *c, const void *buf, uint64_t size) {
    if (!c->defer_graphs) {
        qrn_binary_source source = {.data = buf, .size_bytes = size, .stays = true};
        c->persistent_binary = true; // longer than this context
        return qrn_htp_binary_load(c, &source);
    }
    qrn_bin *bin = NULL;
    qrn_htp_device made_for;
    QRN_TRY(qrn_bin_open(buf, size, qrn_env_get(QRN_ENV_VERIFY) != NULL, &bin));
    qrn_status s = qrn_htp_binary_check(bin, qrn_htp_device_of(c), c->strict_binary, &made_for);
    qrn_bin_close(bin);
    return s;
}
