// SPDX-License-Identifier: MIT
//
// Global options: checked here, kept by the backend. The only documented failure is INVALID_CONFIG,
// so an option the backend lacks is refused with it, too.
#include "core/errors.h"
#include "core/own.h"

static qrn_status set(const QnnGlobalConfig_t **config) {
    for (size_t i = 0; config && config[i]; i++)
        if (config[i]->option != QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL)
            return QRN_FAIL(QRN_E_CONFIG, "global config: unknown option %u, allowed SOC_MODEL=0",
                            (unsigned)config[i]->option);
    if (config && config[0] && !qrn_this_backend.global_config)
        return QRN_FAIL(QRN_E_CONFIG, "%s: no global options", qrn_this_backend.provider_name);
    for (size_t i = 0; config && config[i]; i++)
        QRN_TRY(qrn_this_backend.global_config(config[i]));
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnGlobalConfig_Set(const QnnGlobalConfig_t **config) {
    return qrn_api_end(QRN_COMP_GLOBAL_CONFIG, set(config), NULL);
}
