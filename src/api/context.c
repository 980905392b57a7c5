// SPDX-License-Identifier: MIT
//
// Context component: life, options and properties. A context owns its graphs, tensors, constants
// and memory handles; ending it ends them all.
#include "api/context.h"

#include "api/execute.h"
#include "api/provider.h"
#include "base/mem.h"
#include "core/errors.h"
#include "core/graph.h"

Qnn_ErrorHandle_t qrn_not_a_context(const char *function) {
    return qrn_api_end(
        QRN_COMP_CONTEXT,
        QRN_FAIL(QRN_E_HANDLE, "%s: not a context handle%s", function, qrn_pin_reason()), NULL);
}

qrn_status qrn_context_parents(const void *backend, const void *device, qrn_context_parent *p) {
    p->backend = qrn_pin(QRN_KIND_BACKEND, backend);
    p->device = device ? qrn_pin(QRN_KIND_DEVICE, device) : NULL;
    if (!p->backend)
        return QRN_FAIL(QRN_E_HANDLE, "context: not a backend handle");
    if (device && !p->device)
        return QRN_FAIL(QRN_E_HANDLE, "context: not a device handle");
    return QRN_OK;
}

// Frees everything but the backend's part; the context is in no list any more.
static void destroy(qrn_api_context *c) {
    for (uint32_t i = c->own->n_graphs; i-- > 0;)
        qrn_api_graph_free(c->own->graphs[i]);
    qrn_free(c->own->graphs);
    qrn_strmap_clear(&c->own->graph_names);
    qrn_mem_free_all(c);
    qrn_free(c->own->tensors);
    qrn_strmap_clear(&c->own->names);
    qrn_blobs_clear(&c->own->blobs);
    qrn_free(c->enable_graphs);
    qrn_free(c->retention_order);
    qrn_provider_release_all(c);
    qrn_free(c->own->deferred.owned);
    qrn_file_guard_free(c->own->file);
    qrn_free(c->own->increment.owned);
    qrn_arena_destroy(c->own->arena);
    qrn_handle_free(c->handle);
    pthread_mutex_destroy(&c->own->options_lock);
    pthread_mutex_destroy(&c->own->mem_lock);
    pthread_mutex_destroy(&c->own->lock);
    qrn_free(c);
}

qrn_status qrn_api_context_new(const qrn_context_parent *p, const QnnContext_Config_t **config,
                               qrn_config_phase phase, qrn_api_context **context) {
    qrn_api_context *c = QRN_OBJECT_NEW(qrn_api_context, qrn_context_own);
    if (!c)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    pthread_mutex_init(&c->own->options_lock, NULL);
    pthread_mutex_init(&c->own->mem_lock, NULL);
    pthread_mutex_init(&c->own->lock, NULL);
    c->backend = p->backend;
    c->device = p->device;
    c->priority = QNN_PRIORITY_DEFAULT;
    c->from_binary = phase != QRN_CONFIG_CREATE;
    c->is_trial = !c->from_binary && atomic_load(&c->backend->own->trials);
    c->own->arena = qrn_arena_create();
    c->handle = c->own->arena ? qrn_handle_new(QRN_KIND_CONTEXT, c) : NULL;
    if (!c->handle) {
        destroy(c);
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    }
    qrn_status s = QRN_OK;
    if (qrn_this_backend.context_create)
        s = qrn_this_backend.context_create(c);
    if (s != QRN_OK) {
        destroy(c);
        return s;
    }
    qrn_backend_add_context(c->backend, c->device);
    s = qrn_api_context_configure(c, config, phase);
    if (s != QRN_OK) {
        qrn_api_context_end(c);
        return s;
    }
    *context = c;
    return QRN_OK;
}

qrn_status qrn_api_context_end(qrn_api_context *c) {
    QRN_TRY(qrn_async_finish(c));
    if (qrn_this_backend.context_free)
        QRN_TRY(qrn_this_backend.context_free(c));
    qrn_end_graphs(c);
    qrn_backend_drop_context(c->backend, c->device);
    destroy(c);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                    const QnnContext_Config_t **config,
                                    Qnn_ContextHandle_t *context) {
    QRN_API_CALL;
    qrn_context_parent p = {0};
    qrn_api_context *c = NULL;
    qrn_status s = qrn_context_parents(backend, device, &p);
    if (s == QRN_OK && !context)
        s = QRN_FAIL(QRN_E_ARGUMENT, "context_create: context is NULL");
    if (s == QRN_OK)
        s = qrn_api_context_new(&p, config, QRN_CONFIG_CREATE, &c);
    if (s == QRN_OK)
        *context = c->handle;
    return qrn_api_end(QRN_COMP_CONTEXT, s, p.backend ? p.backend->log : NULL);
}

Qnn_ErrorHandle_t QnnContext_setConfig(Qnn_ContextHandle_t context,
                                       const QnnContext_Config_t **config) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("context_setConfig");
    qrn_status s = qrn_context_check(c);
    if (s != QRN_OK)
        return qrn_api_end(QRN_COMP_CONTEXT, s, c->backend->log);
    if (!config)
        s = QRN_FAIL(QRN_E_ARGUMENT, "context_setConfig: config is NULL");
    else if (!(qrn_this_backend.features & QRN_FEATURE_CONTEXT_CONFIG))
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "context_setConfig: options cannot be changed");
    else
        s = qrn_api_context_configure(c, config, QRN_CONFIG_SET);
    if (s == QRN_E_CONFIG || s == QRN_E_INCONSISTENT) // no code of its own in this function
        s = QRN_E_ARGUMENT;
    return qrn_api_end(QRN_COMP_CONTEXT, s, c->backend->log);
}

static qrn_status free_context(qrn_api_context *c, const void *profile) {
    qrn_call call;
    QRN_TRY(qrn_pin_graphs(c, true));
    QRN_TRY(qrn_call_find(&call, c->backend, NULL, profile, NULL));
    QRN_TRY(qrn_call_begin(&call));
    qrn_call_record r = {.kind = QRN_RECORD_DEINIT};
    if (qrn_this_backend.context_ending)
        qrn_this_backend.context_ending(c, &r);
    uint64_t start = qrn_call_now_ns();
    qrn_status s = qrn_api_context_end(c);
    r.backend_ns = qrn_call_now_ns() - start;
    if (s == QRN_OK)
        qrn_call_report(&call, &r);
    qrn_call_end(&call);
    return s;
}

Qnn_ErrorHandle_t QnnContext_free(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile) {
    QRN_API_CALL;
    void *c = NULL;
    qrn_status s = qrn_pin_last(QRN_KIND_CONTEXT, context, true, &c);
    if (s == QRN_E_HANDLE)
        return qrn_not_a_context("context_free");
    if (s != QRN_OK)
        return qrn_api_end(QRN_COMP_CONTEXT,
                           QRN_FAIL(s, "context_free: a call uses it, and a callback cannot wait"),
                           NULL);
    qrn_api_log *log = qrn_keep_log(((qrn_api_context *)c)->backend->log);
    return qrn_api_end(QRN_COMP_CONTEXT, free_context(c, profile), log);
}

static qrn_status get_properties(qrn_api_context *c, QnnContext_Property_t **properties) {
    QRN_TRY(qrn_pin_graphs(c, false));
    QRN_TRY(qrn_context_check(c));
    if (!properties)
        return QRN_FAIL(QRN_E_ARGUMENT, "context_getProperty: properties is NULL");
    for (size_t i = 0; properties[i]; i++)
        if (properties[i]->option != QNN_CONTEXT_PROPERTY_OPTION_CUSTOM)
            return QRN_FAIL(QRN_E_ARGUMENT, "context_getProperty: unknown property %d",
                            (int)properties[i]->option);
    if (!qrn_this_backend.context_property)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "the backend has no properties of contexts");
    for (size_t i = 0; properties[i]; i++)
        QRN_TRY(qrn_this_backend.context_property(c, properties[i]));
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_getProperty(Qnn_ContextHandle_t contextHandle,
                                         QnnContext_Property_t **properties) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, contextHandle);
    if (!c)
        return qrn_not_a_context("context_getProperty");
    return qrn_api_end(QRN_COMP_CONTEXT, get_properties(c, properties), c->backend->log);
}
