// SPDX-License-Identifier: MIT
//
// Backend component: backend handles, their options and op packages, and the list of operations.
// A backend cannot be freed while it has contexts; profiles and signals that are left go with it.
// validateOpConfig is in opconfig.c.
#include "base/env.h"
#include "base/mem.h"
#include "core/dump.h"
#include "core/errors.h"
#include "core/own.h"
#include "core/profile.h"
#include "core/signal.h"
#include "core/version.h"

#include "QnnOpDef.h"
#include "Quern/QuernBackend.h"

#include <stdatomic.h>
#include <string.h>

#define MAX_PLATFORM_TEXT 1024

static qrn_status check_platform(const char *text, bool creating) {
    if (!text || !memchr(text, '\0', MAX_PLATFORM_TEXT + 1))
        return QRN_FAIL(QRN_E_CONFIG, "backend: platform option %s",
                        text ? "is longer than 1024 characters" : "has no text");
    if (!creating || !qrn_has_capability(QNN_PROPERTY_BACKEND_SUPPORT_PLATFORM_OPTIONS))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: platform option '%.64s' is not supported",
                        qrn_this_backend.provider_name, text);
    return QRN_OK;
}

// Checks all options but leaves custom ones to the backend; reads the others into `reporting`.
static qrn_status check_config(const QnnBackend_Config_t **config, bool creating,
                               Qnn_ErrorReportingConfig_t *reporting) {
    for (size_t i = 0; config && config[i]; i++) {
        const QnnBackend_Config_t *c = config[i];
        switch (c->option) {
        case QNN_BACKEND_CONFIG_OPTION_CUSTOM:
            if (!c->customConfig)
                return QRN_FAIL(QRN_E_CONFIG, "backend: custom option %zu is NULL", i);
            if (!qrn_this_backend.backend_config)
                return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: backends have no custom options",
                                qrn_this_backend.provider_name);
            break;
        case QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING:
            if (c->errorConfig.reportingLevel != QNN_ERROR_REPORTING_LEVEL_BRIEF &&
                c->errorConfig.reportingLevel != QNN_ERROR_REPORTING_LEVEL_DETAILED)
                return QRN_FAIL(QRN_E_CONFIG,
                                "backend: error reporting level %u, allowed BRIEF=0, DETAILED=1",
                                (unsigned)c->errorConfig.reportingLevel);
            *reporting = c->errorConfig;
            break;
        case QNN_BACKEND_CONFIG_OPTION_PLATFORM:
            QRN_TRY(check_platform(c->platformOption, creating));
            break;
        default:
            return QRN_FAIL(QRN_E_CONFIG,
                            "backend: unknown option %u, allowed CUSTOM=0, ERROR_REPORTING=1, "
                            "PLATFORM=2",
                            (unsigned)c->option);
        }
    }
    return QRN_OK;
}

static qrn_status apply_custom(qrn_api_backend *b, const QnnBackend_Config_t **config) {
    for (size_t i = 0; config && config[i]; i++)
        if (config[i]->option == QNN_BACKEND_CONFIG_OPTION_CUSTOM)
            QRN_TRY(qrn_this_backend.backend_config(b, config[i]->customConfig));
    return QRN_OK;
}

static void destroy(qrn_api_backend *b) {
    qrn_profile_free_all(b);
    qrn_signal_free_all(b);
    qrn_pool_release(b->pool);
    qrn_free(b->own->dump.folder);
    qrn_arena_destroy(b->own->arena);
    qrn_handle_free(b->handle);
    pthread_mutex_destroy(&b->own->lock);
    qrn_log_release(b->log);
    qrn_free(b);
}

static qrn_status start(qrn_api_backend *b, const QnnBackend_Config_t **config) {
    b->handle = qrn_handle_new(QRN_KIND_BACKEND, b);
    if (!b->handle)
        return QRN_E_MEM;
    QRN_TRY(qrn_dump_from_environment(b));
    if (qrn_this_backend.backend_create)
        QRN_TRY(qrn_this_backend.backend_create(b));
    qrn_status s = apply_custom(b, config);
    if (s != QRN_OK && qrn_this_backend.backend_free)
        qrn_this_backend.backend_free(b);
    return s;
}

// Once for each library: values of the environment that mean nothing.
static void warn_of_environment(qrn_api_log *log) {
    static atomic_bool done;
    char line[512];
    const char *file = qrn_env_get(QRN_ENV_LOG);
    if ((!log && !file) || atomic_exchange(&done, true))
        return;
    if (file && qrn_log_file_error())
        qrn_log(log, QNN_LOG_LEVEL_WARN,
                "QUERN_LOG is '%.128s', which cannot be written (%s); expected a file, or - for "
                "stderr",
                file, strerror(qrn_log_file_error()));
    for (unsigned i = 0; qrn_env_problem(i, line, sizeof line); i++)
        qrn_log(log, QNN_LOG_LEVEL_WARN, "%s", line);
}

static qrn_status create(Qnn_LogHandle_t logger, qrn_api_log *log,
                         const QnnBackend_Config_t **config, Qnn_BackendHandle_t *out) {
    if (logger && !log)
        return QRN_FAIL(QRN_E_HANDLE, "backend: not a log handle");
    if (!out)
        return QRN_FAIL(QRN_E_HANDLE, "backend: no place for the handle");
    Qnn_ErrorReportingConfig_t reporting = {QNN_ERROR_REPORTING_LEVEL_DETAILED, 0};
    QRN_TRY(check_config(config, true, &reporting));
    qrn_api_backend *b = QRN_OBJECT_NEW(qrn_api_backend, qrn_backend_own);
    if (!b)
        return QRN_E_MEM;
    pthread_mutex_init(&b->own->lock, NULL);
    b->log = qrn_log_hold(log);
    b->own->error_reporting = reporting;
    qrn_status s = start(b, config);
    if (s != QRN_OK) {
        destroy(b);
        return s;
    }
    *out = b->handle;
    warn_of_environment(log);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnBackend_create(Qnn_LogHandle_t logger, const QnnBackend_Config_t **config,
                                    Qnn_BackendHandle_t *backend) {
    QRN_API_CALL;
    qrn_api_log *log = qrn_pin_log(logger);
    return qrn_api_end(QRN_COMP_BACKEND, create(logger, log, config, backend), log);
}

static qrn_status no_handle(void) { return QRN_FAIL(QRN_E_HANDLE, "not a backend handle"); }

static qrn_status set_config(qrn_api_backend *b, const QnnBackend_Config_t **config) {
    if (!b)
        return no_handle();
    if (!config)
        return QRN_FAIL(QRN_E_CONFIG, "backend: no options");
    Qnn_ErrorReportingConfig_t reporting = b->own->error_reporting;
    QRN_TRY(check_config(config, false, &reporting));
    QRN_TRY(apply_custom(b, config));
    b->own->error_reporting = reporting;
    return QRN_OK;
}

// Are all options Quern's own? Those may change at any time.
static bool only_own(const QnnBackend_Config_t **config) {
    for (size_t i = 0; config && config[i]; i++) {
        const QuernBackend_CustomConfig_t *custom = config[i]->customConfig;
        if (config[i]->option != QNN_BACKEND_CONFIG_OPTION_CUSTOM || !custom ||
            custom->magic != QUERN_BACKEND_CONFIG_MAGIC)
            return false;
    }
    return config && config[0];
}

Qnn_ErrorHandle_t QnnBackend_setConfig(Qnn_BackendHandle_t backend,
                                       const QnnBackend_Config_t **config) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin_alone(QRN_KIND_BACKEND, backend);
    if (b && qrn_this_backend.backend_fixed && !only_own(config))
        return qrn_api_end_as(QNN_COMMON_ERROR_NOT_SUPPORTED,
                              QRN_FAIL(QRN_E_UNSUPPORTED,
                                       "%s: options of a backend are set when it is created",
                                       qrn_this_backend.provider_name),
                              b->log);
    return qrn_api_end(QRN_COMP_BACKEND, set_config(b, config), b ? b->log : NULL);
}

Qnn_ErrorHandle_t QnnBackend_getApiVersion(Qnn_ApiVersion_t *pVersion) {
    qrn_status s = pVersion ? qrn_version(pVersion)
                            : QRN_FAIL(QRN_E_ARGUMENT, "version: no place to write to");
    return qrn_api_end(QRN_COMP_BACKEND, s, NULL);
}

Qnn_ErrorHandle_t QnnBackend_getBuildId(const char **id) {
    if (!id)
        return qrn_api_end(QRN_COMP_BACKEND,
                           QRN_FAIL(QRN_E_ARGUMENT, "build id: no place to write to"), NULL);
    *id = qrn_build_id();
    return QNN_SUCCESS;
}

static qrn_status register_package(qrn_api_backend *b, const char *path, const void *image,
                                   uint64_t size, const char *provider, const char *target) {
    if (!b)
        return no_handle();
    bool have = path ? *path != '\0' : image && size;
    if (!have || !provider || !*provider)
        return QRN_FAIL(QRN_E_ARGUMENT, "op package: %s missing",
                        have ? "name of the interface provider is" : "library is");
    if (!(qrn_this_backend.features & QRN_FEATURE_OP_PACKAGE) || !qrn_this_backend.package_register)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: op packages are not supported",
                        qrn_this_backend.provider_name);
    // onnxruntime says "" for a target that it was not given.
    return qrn_this_backend.package_register(b, path, provider, target && *target ? target : NULL,
                                             image, size);
}

Qnn_ErrorHandle_t QnnBackend_registerOpPackage(Qnn_BackendHandle_t backend, const char *packagePath,
                                               const char *interfaceProvider, const char *target) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin(QRN_KIND_BACKEND, backend);
    qrn_status s = register_package(b, packagePath, NULL, 0, interfaceProvider, target);
    return qrn_api_end(QRN_COMP_BACKEND, s, b ? b->log : NULL);
}

Qnn_ErrorHandle_t QnnBackend_registerOpPackageFromBinary(Qnn_BackendHandle_t backend,
                                                         const void *opPackageBuffer,
                                                         uint64_t opPackageBufferSize,
                                                         const char *interfaceProvider,
                                                         const char *target) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin(QRN_KIND_BACKEND, backend);
    qrn_status s =
        register_package(b, NULL, opPackageBuffer, opPackageBufferSize, interfaceProvider, target);
    qrn_api_log *log = b ? b->log : NULL;
    if (s == QRN_E_PKG_LOAD)
        return qrn_api_end_as(QNN_BACKEND_ERROR_OP_PACKAGE_LOAD_FROM_BUFFER_FAILED, s, log);
    return qrn_api_end(QRN_COMP_BACKEND, s, log);
}

// State of the library: the list of its own operations, made once from the op table.
#define MAX_BUILT_IN 512
static QnnBackend_OperationName_t built_in[MAX_BUILT_IN];
static uint32_t n_built_in;
static pthread_once_t built_in_once = PTHREAD_ONCE_INIT;

static void list_built_in(void) {
    const qrn_support_table *t = qrn_this_backend.support;
    const qrn_op_def *op;
    for (size_t i = 0; n_built_in < MAX_BUILT_IN && (op = qrn_op_at(i)); i++)
        if (!t || qrn_support_has(t, op->name))
            built_in[n_built_in++] = (QnnBackend_OperationName_t){QNN_OP_PACKAGE_NAME_QTI_AISW,
                                                                  op->name, t ? t->backend : ""};
}

// Built-in operations, then those of registered packages. An earlier answer stays valid until the
// backend is freed, so a grown list is a new one. The backend's lock is held.
static qrn_status list_all(qrn_api_backend *b) {
    uint32_t n = n_built_in;
    QnnBackend_OperationName_t op;
    while (qrn_this_backend.package_list &&
           qrn_this_backend.package_list(b, n - n_built_in, &op.packageName, &op.name, &op.target))
        n++;
    if (b->own->ops && b->own->n_ops == n)
        return QRN_OK;
    QnnBackend_OperationName_t *ops = built_in;
    if (n > n_built_in) {
        qrn_arena *arena = b->own->arena ? b->own->arena : qrn_arena_create();
        ops = arena ? qrn_arena_alloc(arena, n * sizeof *ops) : NULL;
        if (!ops) {
            if (arena != b->own->arena)
                qrn_arena_destroy(arena);
            return QRN_E_MEM;
        }
        b->own->arena = arena;
        memcpy(ops, built_in, n_built_in * sizeof *ops);
        for (uint32_t i = n_built_in; i < n; i++)
            qrn_this_backend.package_list(b, i - n_built_in, &ops[i].packageName, &ops[i].name,
                                          &ops[i].target);
    }
    b->own->ops = ops;
    b->own->n_ops = n;
    return QRN_OK;
}

static qrn_status supported_operations(qrn_api_backend *b, uint32_t *n,
                                       const QnnBackend_OperationName_t **ops) {
    if (!n || !ops)
        return QRN_FAIL(QRN_E_ARGUMENT, "operations: no place to write to");
    pthread_once(&built_in_once, list_built_in);
    if (!b) {
        *n = n_built_in;
        *ops = built_in;
        return QRN_OK;
    }
    pthread_mutex_lock(&b->own->lock);
    qrn_status s = list_all(b);
    if (s == QRN_OK) {
        *n = b->own->n_ops;
        *ops = b->own->ops;
    }
    pthread_mutex_unlock(&b->own->lock);
    return s;
}

Qnn_ErrorHandle_t QnnBackend_getSupportedOperations(Qnn_BackendHandle_t backend,
                                                    uint32_t *numOperations,
                                                    const QnnBackend_OperationName_t **operations) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin(QRN_KIND_BACKEND, backend);
    qrn_status s = backend && !b ? no_handle() : supported_operations(b, numOperations, operations);
    return qrn_api_end(QRN_COMP_BACKEND, s, b ? b->log : NULL);
}

static qrn_status get_property(qrn_api_backend *b, QnnBackend_Property_t **properties) {
    if (!b)
        return no_handle();
    if (!properties)
        return QRN_FAIL(QRN_E_ARGUMENT, "backend: no properties");
    for (size_t i = 0; properties[i]; i++)
        if (properties[i]->option != QNN_BACKEND_PROPERTY_OPTION_CUSTOM ||
            !properties[i]->customProperty)
            return QRN_FAIL(QRN_E_ARGUMENT, "backend: property %zu is not a custom one", i);
    if (!qrn_this_backend.backend_property)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: backends have no properties",
                        qrn_this_backend.provider_name);
    for (size_t i = 0; properties[i]; i++)
        QRN_TRY(qrn_this_backend.backend_property(b, properties[i]));
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnBackend_getProperty(Qnn_BackendHandle_t backendHandle,
                                         QnnBackend_Property_t **properties) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin(QRN_KIND_BACKEND, backendHandle);
    return qrn_api_end(QRN_COMP_BACKEND, get_property(b, properties), b ? b->log : NULL);
}

static qrn_status pin_children(qrn_api_backend *b) {
    bool profiles = qrn_children_pin(b, &b->own->profiles, QRN_KIND_PROFILE);
    if (profiles && qrn_children_pin(b, &b->own->signals, QRN_KIND_SIGNAL))
        return QRN_OK;
    if (profiles)
        qrn_children_unpin(b->own->profiles);
    return QRN_FAIL(QRN_E_TERMINATE,
                    "backend: calls use its profiles or signals, and a callback cannot wait");
}

static qrn_status free_backend(qrn_api_backend *b, qrn_status pinned) {
    if (pinned == QRN_E_IN_USE)
        return QRN_FAIL(QRN_E_TERMINATE, "backend: calls use it, and a callback cannot wait");
    if (!b)
        return no_handle();
    pthread_mutex_lock(&b->own->lock);
    uint32_t n = b->own->n_contexts;
    pthread_mutex_unlock(&b->own->lock);
    if (n)
        return QRN_FAIL(QRN_E_TERMINATE, "backend: %u contexts are still alive, free them first",
                        n);
    QRN_TRY(pin_children(b));
    qrn_status s = qrn_this_backend.backend_free ? qrn_this_backend.backend_free(b) : QRN_OK;
    if (s != QRN_OK) {
        qrn_children_unpin(b->own->profiles);
        qrn_children_unpin(b->own->signals);
        return s;
    }
    destroy(b);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnBackend_free(Qnn_BackendHandle_t backend) {
    QRN_API_CALL;
    void *b = NULL;
    qrn_status s = qrn_pin_last(QRN_KIND_BACKEND, backend, true, &b);
    qrn_api_log *log = qrn_keep_log(b ? ((qrn_api_backend *)b)->log : NULL);
    return qrn_api_end(QRN_COMP_BACKEND, free_backend(b, s), log);
}
