// SPDX-License-Identifier: MIT
//
// Device component: what hardware there is, and logical devices. A device belongs to the library,
// not to a backend handle; it cannot be changed or freed while contexts use it.
#include "api/given.h"
#include "base/mem.h"
#include "core/errors.h"
#include "core/own.h"

static qrn_status unsupported(const char *what) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: %s not supported", qrn_this_backend.provider_name,
                    what);
}

static qrn_status check_support(void) {
    return qrn_this_backend.features & QRN_FEATURE_DEVICE ? QRN_OK : unsupported("devices are");
}

// A logger is optional, but one that is given must live.
static qrn_status check_log(Qnn_LogHandle_t logger, const qrn_api_log *log) {
    return logger && !log ? QRN_FAIL(QRN_E_HANDLE, "device: not a log handle") : QRN_OK;
}

static qrn_status platform_info(Qnn_LogHandle_t logger, qrn_api_log *log,
                                const QnnDevice_PlatformInfo_t **out) {
    QRN_TRY(check_log(logger, log));
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "platform info: no place to write to");
    if (!qrn_this_backend.platform_info)
        return unsupported("platform info is");
    const void *info = NULL;
    QRN_TRY(qrn_this_backend.platform_info(NULL, &info));
    if (!qrn_given_add(QRN_GIVEN_INFO, info)) {
        qrn_this_backend.platform_info_free(info);
        return QRN_E_MEM;
    }
    *out = info;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnDevice_getPlatformInfo(Qnn_LogHandle_t logger,
                                            const QnnDevice_PlatformInfo_t **platformInfo) {
    QRN_API_CALL;
    qrn_api_log *log = qrn_pin_log(logger);
    return qrn_api_end(QRN_COMP_DEVICE, platform_info(logger, log, platformInfo), log);
}

static qrn_status free_platform_info(Qnn_LogHandle_t logger, const qrn_api_log *log,
                                     const QnnDevice_PlatformInfo_t *info) {
    QRN_TRY(check_log(logger, log));
    if (!info)
        return QRN_FAIL(QRN_E_ARGUMENT, "platform info: nothing to free");
    if (!qrn_this_backend.platform_info)
        return unsupported("platform info is");
    if (!qrn_given_take(QRN_GIVEN_INFO, info))
        return QRN_FAIL(QRN_E_ARGUMENT, "not a platform info that is still in use");
    qrn_this_backend.platform_info_free(info);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnDevice_freePlatformInfo(Qnn_LogHandle_t logger,
                                             const QnnDevice_PlatformInfo_t *platformInfo) {
    QRN_API_CALL;
    qrn_api_log *log = qrn_pin_log(logger);
    return qrn_api_end(QRN_COMP_DEVICE, free_platform_info(logger, log, platformInfo), log);
}

// The API declares a pointer to const, and means an output.
static qrn_status infrastructure(QnnDevice_Infrastructure_t *out) {
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "infrastructure: no place to write to");
    if (!qrn_this_backend.infrastructure)
        return unsupported("device infrastructure is");
    const void *infra = NULL;
    QRN_TRY(qrn_this_backend.infrastructure(&infra));
    *out = (QnnDevice_Infrastructure_t)infra;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnDevice_getInfrastructure(const QnnDevice_Infrastructure_t *deviceInfra) {
    return qrn_api_end(QRN_COMP_DEVICE, infrastructure((QnnDevice_Infrastructure_t *)deviceInfra),
                       NULL);
}

static qrn_status check_config(const QnnDevice_Config_t **config) {
    for (size_t i = 0; config && config[i]; i++) {
        switch (config[i]->option) {
        case QNN_DEVICE_CONFIG_OPTION_CUSTOM:
            if (!config[i]->customConfig)
                return QRN_FAIL(QRN_E_CONFIG, "device: custom option %zu is NULL", i);
            if (!qrn_this_backend.device_config)
                return unsupported("custom device options are");
            break;
        case QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO:
            if (!config[i]->hardwareInfo ||
                config[i]->hardwareInfo->version != QNN_DEVICE_PLATFORM_INFO_VERSION_1)
                return QRN_FAIL(QRN_E_CONFIG, "device: platform info is %s",
                                config[i]->hardwareInfo ? "not of version 1" : "NULL");
            if (!qrn_this_backend.device_platform)
                return unsupported("choosing hardware is");
            break;
        default:
            return QRN_FAIL(QRN_E_CONFIG,
                            "device: unknown option %u, allowed CUSTOM=0, PLATFORM_INFO=1",
                            (unsigned)config[i]->option);
        }
    }
    return QRN_OK;
}

static qrn_status apply_config(qrn_api_device *d, const QnnDevice_Config_t **config) {
    qrn_status s = QRN_OK;
    for (size_t i = 0; s == QRN_OK && config && config[i]; i++)
        s = config[i]->option == QNN_DEVICE_CONFIG_OPTION_CUSTOM
                ? qrn_this_backend.device_config(d, config[i]->customConfig)
                : qrn_this_backend.device_platform(d, config[i]->hardwareInfo);
    if (!qrn_this_backend.device_settle)
        return s;
    qrn_status settled = qrn_this_backend.device_settle(d, s == QRN_OK);
    return s != QRN_OK ? s : settled;
}

static void destroy(qrn_api_device *d) {
    if (d->own->info)
        qrn_this_backend.platform_info_free(d->own->info);
    qrn_handle_free(d->handle);
    qrn_log_release(d->log);
    qrn_free(d);
}

static qrn_status start(qrn_api_device *d, const QnnDevice_Config_t **config) {
    d->handle = qrn_handle_new(QRN_KIND_DEVICE, d);
    if (!d->handle)
        return QRN_E_MEM;
    if (qrn_this_backend.device_create)
        QRN_TRY(qrn_this_backend.device_create(d));
    qrn_status s = apply_config(d, config);
    if (s != QRN_OK && qrn_this_backend.device_free)
        qrn_this_backend.device_free(d);
    return s;
}

static qrn_status create(Qnn_LogHandle_t logger, qrn_api_log *log,
                         const QnnDevice_Config_t **config, Qnn_DeviceHandle_t *out) {
    QRN_TRY(check_log(logger, log));
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "device: no place for the handle");
    QRN_TRY(check_support());
    QRN_TRY(check_config(config));
    qrn_api_device *d = QRN_OBJECT_NEW(qrn_api_device, qrn_device_own);
    if (!d)
        return QRN_E_MEM;
    d->log = qrn_log_hold(log);
    qrn_status s = start(d, config);
    if (s != QRN_OK) {
        destroy(d);
        return s;
    }
    *out = d->handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnDevice_create(Qnn_LogHandle_t logger, const QnnDevice_Config_t **config,
                                   Qnn_DeviceHandle_t *device) {
    QRN_API_CALL;
    qrn_api_log *log = qrn_pin_log(logger);
    return qrn_api_end(QRN_COMP_DEVICE, create(logger, log, config, device), log);
}

static qrn_status no_handle(void) { return QRN_FAIL(QRN_E_HANDLE, "not a device handle"); }

static qrn_status check_idle(qrn_api_device *d, const char *what) {
    unsigned n = atomic_load(&d->own->n_contexts);
    return n ? QRN_FAIL(QRN_E_IN_USE, "device: %u contexts use it, it cannot be %s", n, what)
             : QRN_OK;
}

static qrn_status set_config(qrn_api_device *d, const QnnDevice_Config_t **config) {
    if (!d)
        return no_handle();
    if (!config)
        return QRN_FAIL(QRN_E_ARGUMENT, "device: no options");
    QRN_TRY(check_support());
    QRN_TRY(check_config(config));
    QRN_TRY(check_idle(d, "changed"));
    QRN_TRY(apply_config(d, config));
    d->own->info_stale = true;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnDevice_setConfig(Qnn_DeviceHandle_t device,
                                      const QnnDevice_Config_t **config) {
    QRN_API_CALL;
    qrn_api_device *d = qrn_pin_alone(QRN_KIND_DEVICE, device);
    return qrn_api_end(QRN_COMP_DEVICE, set_config(d, config), d ? d->log : NULL);
}

static qrn_status get_info(qrn_api_device *d, const QnnDevice_PlatformInfo_t **out) {
    if (!d)
        return no_handle();
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "device: no place for its info");
    if (!qrn_this_backend.platform_info)
        return unsupported("platform info is");
    if (!d->own->info || d->own->info_stale)
        QRN_TRY(qrn_this_backend.platform_info(d, &d->own->info));
    d->own->info_stale = false;
    *out = d->own->info;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnDevice_getInfo(Qnn_DeviceHandle_t device,
                                    const QnnDevice_PlatformInfo_t **platformInfo) {
    QRN_API_CALL;
    qrn_api_device *d = qrn_pin_alone(QRN_KIND_DEVICE, device);
    return qrn_api_end(QRN_COMP_DEVICE, get_info(d, platformInfo), d ? d->log : NULL);
}

static qrn_status free_device(qrn_api_device *d) {
    if (!d)
        return no_handle();
    QRN_TRY(check_support());
    QRN_TRY(check_idle(d, "freed"));
    if (qrn_this_backend.device_free)
        QRN_TRY(qrn_this_backend.device_free(d));
    destroy(d);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnDevice_free(Qnn_DeviceHandle_t device) {
    QRN_API_CALL;
    void *d = NULL;
    qrn_status s = qrn_pin_last(QRN_KIND_DEVICE, device, true, &d);
    qrn_api_log *log = qrn_keep_log(d ? ((qrn_api_device *)d)->log : NULL);
    if (s == QRN_E_IN_USE)
        s = QRN_FAIL(s, "device: a call uses it, and a callback cannot wait");
    else
        s = free_device(d);
    return qrn_api_end(QRN_COMP_DEVICE, s, log);
}
