// SPDX-License-Identifier: MIT
//
// Context component: contexts from binaries. A context that cannot be loaded is never seen by the
// client. Lists of binaries are loaded one after the other before the call returns.
#include "api/call.h"
#include "api/context.h"
#include "api/provider.h"
#include "base/mem.h"
#include "core/errors.h"
#include "core/graph.h"

#include <string.h>

// Where the bytes of a binary come from.
typedef struct binary_source {
    const void *data;
    uint64_t size_bytes;
    const Qnn_ContextBinaryCallback_t *callback; // NULL: data is read directly
} binary_source;

static qrn_status check_source(const binary_source *b) {
    if (!b->data || b->size_bytes == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "context binary: the buffer is NULL or empty");
    if (b->size_bytes > SIZE_MAX)
        return QRN_FAIL(QRN_E_ARGUMENT, "context binary: larger than the address space");
    return QRN_OK;
}

static qrn_status need_binaries(void) {
    if (!qrn_this_backend.binary_load)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "context binaries are not supported");
    return QRN_OK;
}

// Graphs that the option leaves out stay in the context, but are not executed.
static qrn_status apply_enabled(qrn_api_context *c) {
    if (!c->enable_graphs)
        return QRN_OK;
    for (uint32_t i = 0; i < c->own->n_graphs; i++)
        c->own->graphs[i]->disabled = true;
    for (size_t i = 0; c->enable_graphs[i]; i++) {
        qrn_api_graph *g = qrn_api_graph_find(c, c->enable_graphs[i]);
        if (!g)
            return QRN_FAIL(QRN_E_CONFIG, "ENABLE_GRAPHS: the binary has no graph '%s'",
                            c->enable_graphs[i]);
        g->disabled = false;
    }
    return QRN_OK;
}

// Makes the graphs; when that fails the context is as empty as before.
static qrn_status load(qrn_api_context *c, const qrn_binary_source *source) {
    qrn_status s = qrn_this_backend.binary_load(c, source);
    if (s == QRN_OK)
        s = apply_enabled(c);
    if (s == QRN_OK)
        s = qrn_file_guard_check(c->own->file); // what was read is what is there
    if (s != QRN_OK)
        qrn_context_discard_graphs(c);
    return s;
}

qrn_status qrn_api_context_load(qrn_api_context *c) {
    if (!c->own->deferred.data)
        return QRN_OK;
    qrn_binary_source source = {.data = c->own->deferred.data,
                                .size_bytes = c->own->deferred.size_bytes,
                                .stays = c->persistent_binary || c->own->deferred.owned};
    QRN_TRY(load(c, &source));
    qrn_free(c->own->deferred.owned);
    c->own->deferred = (qrn_binary_part){0};
    return QRN_OK;
}

// Keeps the binary until the graphs are asked for.
static qrn_status defer(qrn_api_context *c, const binary_source *b) {
    if (qrn_this_backend.binary_validate)
        QRN_TRY(qrn_this_backend.binary_validate(c, b->data, b->size_bytes));
    c->own->deferred = (qrn_binary_part){.data = b->data, .size_bytes = b->size_bytes};
    if (c->persistent_binary)
        return QRN_OK;
    c->own->deferred.owned = qrn_alloc(b->size_bytes);
    if (!c->own->deferred.owned)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a binary of %llu bytes",
                        (unsigned long long)b->size_bytes);
    memcpy(c->own->deferred.owned, b->data, b->size_bytes);
    c->own->deferred.data = c->own->deferred.owned;
    return QRN_OK;
}

static qrn_status fill(qrn_api_context *c, const binary_source *b, qrn_api_signal *signal) {
    qrn_binary_source source = {.data = b->data,
                                .size_bytes = b->size_bytes,
                                .stays = c->persistent_binary,
                                .poll = signal ? qrn_signal_poll : NULL,
                                .poll_ctx = signal};
    if (c->persistent_binary)
        QRN_TRY(qrn_file_guard_of(b->data, &c->own->file));
    if (!b->callback)
        return c->defer_graphs ? defer(c, b) : load(c, &source);
    if (c->defer_graphs)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "DEFER_GRAPH_INIT together with a data callback");
    qrn_provider provider = {c, b->callback};
    source.provide = qrn_provider_ask;
    source.provider = &provider;
    source.raw = b->callback->type == QNN_CONTEXT_CALLBACK_RAW_BUFFER;
    return load(c, &source);
}

// Statuses that have a documented code of their own; all others say that the binary is unusable.
static Qnn_ErrorHandle_t end(qrn_status s, const qrn_api_backend *b) {
    qrn_api_log *log = b ? b->log : NULL;
    switch (s) {
    case QRN_E_OK:
    case QRN_E_MEM:
    case QRN_E_ARGUMENT:
    case QRN_E_HANDLE:
    case QRN_E_CONFIG:
    case QRN_E_INCONSISTENT:
    case QRN_E_UNSUPPORTED:
    case QRN_E_NOT_PERMITTED:
    case QRN_E_PROFILE:
    case QRN_E_ABORTED:
    case QRN_E_TIMED_OUT:
    case QRN_E_IN_USE:
    case QRN_E_BINARY:
    case QRN_E_BINARY_VERSION:
    case QRN_E_BINARY_CONFIG:
    case QRN_E_BINARY_SUBOPTIMAL:
    case QRN_E_COMM:
    case QRN_E_COMM_FATAL:
        return qrn_api_end(QRN_COMP_CONTEXT, s, log);
    default:
        return qrn_api_end_as(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, s, log);
    }
}

// Options of a context: its own, and those of the list it is made with, which are stronger.
typedef struct option_lists {
    const QnnContext_Config_t **own, **group;
    uint32_t list; // number of the list of contexts; 0: a context by itself
} option_lists;

// A context; the signal is asked before and after.
static qrn_status make(const qrn_context_parent *p, const option_lists *o, const binary_source *b,
                       qrn_api_signal *signal, qrn_api_context **out) {
    qrn_api_context *c = NULL;
    QRN_TRY(qrn_api_context_new(p, o->own, o->list ? QRN_CONFIG_MEMBER : QRN_CONFIG_BINARY, &c));
    c->list = o->list;
    qrn_status s = QRN_OK;
    if (o->list)
        s = qrn_api_context_configure(c, o->group, QRN_CONFIG_GROUP);
    if (s == QRN_OK && signal)
        s = qrn_signal_poll(signal);
    if (s == QRN_OK)
        s = fill(c, b, signal);
    if (s == QRN_OK && signal)
        s = qrn_signal_poll(signal);
    if (s != QRN_OK) {
        qrn_api_context_end(c);
        return s;
    }
    *out = c;
    return QRN_OK;
}

// A context was made from a binary since `start_ns`.
static void report(const qrn_call *call, qrn_api_context *c, uint64_t start_ns) {
    qrn_call_record r = {
        .kind = QRN_RECORD_INIT, .context = c, .backend_ns = qrn_call_now_ns() - start_ns};
    qrn_call_report(call, &r);
}

// The three entry points for one binary.
typedef struct request {
    const void *backend, *device;
    const QnnContext_Config_t **config;
    binary_source binary;
    Qnn_ContextHandle_t *out;
    const void *profile, *signal;
} request;

static Qnn_ErrorHandle_t create_one(const request *r, bool with_callback) {
    qrn_context_parent p = {0};
    qrn_call call;
    qrn_status s = qrn_context_parents(r->backend, r->device, &p);
    if (s == QRN_OK)
        s = check_source(&r->binary);
    if (s == QRN_OK && with_callback)
        s = qrn_provider_check(r->binary.callback);
    if (s == QRN_OK && !r->out)
        s = QRN_FAIL(QRN_E_ARGUMENT, "context binary: context is NULL");
    if (s == QRN_OK)
        s = qrn_call_find(&call, p.backend, NULL, r->profile, r->signal);
    if (s == QRN_OK)
        s = need_binaries();
    if (s == QRN_OK)
        s = qrn_call_begin(&call);
    if (s != QRN_OK)
        return end(s, p.backend);
    qrn_api_context *c = NULL;
    uint64_t start = qrn_call_now_ns();
    s = make(&p, &(option_lists){.own = r->config}, &r->binary, call.signal, &c);
    if (s == QRN_OK) {
        report(&call, c, start);
        *r->out = c->handle;
    }
    qrn_call_end(&call);
    return end(s, p.backend);
}

Qnn_ErrorHandle_t QnnContext_createFromBinary(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile) {
    QRN_API_CALL;
    request r = {backend, device,  config, {binaryBuffer, binaryBufferSize, NULL},
                 context, profile, NULL};
    return create_one(&r, false);
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryWithSignal(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal) {
    QRN_API_CALL;
    request r = {backend, device,  config, {binaryBuffer, binaryBufferSize, NULL},
                 context, profile, signal};
    return create_one(&r, false);
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryWithCallback(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const Qnn_ContextBinaryCallback_t *callback, const void *binaryBuffer,
    Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t *context,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal) {
    QRN_API_CALL;
    request r = {backend, device,  config, {binaryBuffer, binaryBufferSize, callback},
                 context, profile, signal};
    return create_one(&r, true);
}

// One entry of a list in a common form.
typedef struct entry {
    const QnnContext_Config_t **config;
    binary_source binary;
    const void *profile;
    QnnContext_createFromBinaryNotifyFn_t notify;
    void *param;
} entry;

static qrn_status read_entry(const QnnContext_Params_t *p, entry *e) {
    const QnnContext_ParamsV2_t *v2 = p->v2;
    if (p->version == QNN_CONTEXT_PARAMS_VERSION_1)
        *e = (entry){p->v1.config,
                     {p->v1.binaryBuffer, p->v1.binaryBufferSize, NULL},
                     p->v1.profile,
                     p->v1.notifyFunc,
                     p->v1.notifyParam};
    else if (p->version == QNN_CONTEXT_PARAMS_VERSION_2 && v2)
        *e = (entry){v2->config,
                     {v2->binaryBuffer, v2->binaryBufferSize, v2->callback},
                     v2->profile,
                     v2->notifyFunc,
                     v2->notifyParam};
    else
        return QRN_FAIL(QRN_E_ARGUMENT, "list of binaries: version %d of an entry, allowed 1 and 2",
                        (int)p->version);
    if (!e->notify)
        return QRN_FAIL(QRN_E_ARGUMENT, "list of binaries: an entry without notify function");
    QRN_TRY(check_source(&e->binary));
    return e->binary.callback ? qrn_provider_check(e->binary.callback) : QRN_OK;
}

static qrn_status load_entry(const qrn_context_parent *p, const entry *e, option_lists o,
                             qrn_api_signal *signal) {
    qrn_api_context *c = NULL;
    qrn_call call;
    qrn_status s = qrn_call_find(&call, p->backend, NULL, e->profile, NULL);
    if (s == QRN_OK)
        s = qrn_call_begin(&call);
    if (s == QRN_OK) {
        uint64_t start = qrn_call_now_ns();
        o.own = e->config;
        s = make(p, &o, &e->binary, signal, &c);
        if (s == QRN_OK)
            report(&call, c, start);
        qrn_call_end(&call);
    }
    qrn_unpin(e->profile);
    // Clients treat each context in a notification as a new one, and may free it at once: it is
    // named once, after its graphs.
    for (uint32_t i = 0; s == QRN_OK && i < c->own->n_graphs; i++)
        if (!c->own->graphs[i]->ir->parent)
            e->notify(NULL, c->own->graphs[i]->handle, c->own->graphs[i]->ir->name,
                      QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT, e->param, QNN_SUCCESS);
    e->notify(c ? c->handle : NULL, NULL, NULL, QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT, e->param,
              qrn_error_code(QRN_COMP_CONTEXT, s));
    return s;
}

// Numbers the lists of the process, so that a backend knows which belong together; never 0.
static uint32_t next_list(void) {
    static atomic_uint n;
    uint32_t number = atomic_fetch_add(&n, 1) + 1u;
    return number ? number : next_list();
}

static qrn_status load_list(const qrn_context_parent *p, const QnnContext_Params_t **params,
                            const QnnContext_Config_t **config, const void *signal) {
    entry e;
    if (!params || !params[0])
        return QRN_FAIL(QRN_E_ARGUMENT, "list of binaries: it is NULL or empty");
    for (size_t i = 0; params[i]; i++)
        QRN_TRY(read_entry(params[i], &e));
    qrn_call call;
    QRN_TRY(qrn_call_find(&call, p->backend, NULL, NULL, signal));
    QRN_TRY(need_binaries());
    QRN_TRY(qrn_api_context_check_config(config));
    QRN_TRY(qrn_call_begin(&call));
    option_lists o = {.group = config, .list = next_list()};
    qrn_status first = QRN_OK; // an entry that fails does not stop the others
    for (size_t i = 0; params[i]; i++) {
        qrn_status s = read_entry(params[i], &e);
        if (s == QRN_OK)
            s = load_entry(p, &e, o, call.signal);
        first = first == QRN_OK ? s : first;
    }
    qrn_call_end(&call);
    return first;
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryListAsync(Qnn_BackendHandle_t backend,
                                                       Qnn_DeviceHandle_t device,
                                                       const QnnContext_Params_t **contextParams,
                                                       const QnnContext_Config_t **listConfig,
                                                       Qnn_SignalHandle_t signal) {
    QRN_API_CALL;
    qrn_context_parent p = {0};
    qrn_status s = qrn_context_parents(backend, device, &p);
    if (s == QRN_OK)
        s = load_list(&p, contextParams, listConfig, signal);
    return end(s, p.backend);
}

// In a context of its own, which nobody sees.
static qrn_status validate(const qrn_context_parent *p, const QnnContext_Config_t **config,
                           const binary_source *b) {
    qrn_api_context *c = NULL;
    QRN_TRY(qrn_api_context_new(p, config, QRN_CONFIG_BINARY, &c));
    qrn_status s = qrn_this_backend.binary_validate(c, b->data, b->size_bytes);
    if (s == QRN_OK && c->own->n_graphs)
        s = apply_enabled(c);
    qrn_api_context_end(c);
    return s;
}

Qnn_ErrorHandle_t QnnContext_validateBinary(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                            const QnnContext_Config_t **config,
                                            const void *binaryBuffer,
                                            Qnn_ContextBinarySize_t binaryBufferSize) {
    QRN_API_CALL;
    qrn_context_parent p = {0};
    binary_source b = {binaryBuffer, binaryBufferSize, NULL};
    qrn_status s = qrn_context_parents(backend, device, &p);
    if (s == QRN_OK)
        s = check_source(&b);
    if (s == QRN_OK && !qrn_this_backend.binary_validate)
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "the backend does not validate binaries");
    if (s == QRN_OK)
        s = validate(&p, config, &b);
    return end(s, p.backend);
}

static qrn_status finalize(qrn_api_context *c, const void *profile) {
    qrn_call call;
    QRN_TRY(qrn_call_find(&call, c->backend, NULL, profile, NULL));
    QRN_TRY(need_binaries());
    if (!c->own->deferred.data)
        return QRN_FAIL(QRN_E_ARGUMENT, "context_finalize: the context has no deferred graphs");
    QRN_TRY(qrn_call_begin(&call));
    uint64_t start = qrn_call_now_ns();
    qrn_status s = qrn_api_context_load(c);
    if (s == QRN_OK)
        report(&call, c, start);
    qrn_call_end(&call);
    return s;
}

Qnn_ErrorHandle_t QnnContext_finalize(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("context_finalize");
    return end(finalize(c, profile), c->backend);
}
