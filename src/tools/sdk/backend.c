// SPDX-License-Identifier: MIT
#include "tools/sdk/backend.h"

#include "tools/quern/output.h"
#include "tools/sdk/program.h"
#include "tools/sdk/words.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PLATFORM 16

static int check_device(const char *text) {
    qs_words items;
    int code = qs_words_split("device_options", text, ';', &items);
    for (size_t i = 0; i < items.n && code == QT_EXIT_OK; i++)
        if (strcmp(items.items[i], "device_id:0") != 0 &&
            strcmp(items.items[i], "core_id:0") != 0) {
            qt_error("--device_options '%s': expected device_id:0 or core_id:0; a host has one "
                     "device with one core",
                     items.items[i]);
            code = QT_EXIT_USAGE;
        }
    qs_words_free(&items);
    return code;
}

static int list_platform(const qs_words *words, QnnBackend_Config_t *made,
                         const QnnBackend_Config_t **list) {
    if (words->n > MAX_PLATFORM) {
        qt_error("--platform_options: %zu pairs, at most %d", words->n, MAX_PLATFORM);
        return QT_EXIT_USAGE;
    }
    for (size_t i = 0; i < words->n; i++) {
        const char *colon = strchr(words->items[i], ':');
        if (!colon || colon == words->items[i] || !colon[1]) {
            qt_error("--platform_options '%s': expected KEY:VALUE[;KEY:VALUE...]", words->items[i]);
            return QT_EXIT_USAGE;
        }
        made[i] = (QnnBackend_Config_t){.option = QNN_BACKEND_CONFIG_OPTION_PLATFORM,
                                        .platformOption = words->items[i]};
        list[i] = &made[i];
    }
    return QT_EXIT_OK;
}

static int register_one(const qc_client *c, const char *item) {
    qs_words parts;
    int code = qs_words_split("op_packages", item, ':', &parts);
    if (code == QT_EXIT_OK && (parts.n < 2 || parts.n > 3)) {
        qt_error("--op_packages '%s': expected PATH:PROVIDER[:TARGET][,PATH:...]", item);
        code = QT_EXIT_USAGE;
    }
    if (code == QT_EXIT_OK && parts.n == 3 && strcmp(parts.items[2], "CPU") != 0 &&
        strcmp(parts.items[2], "HTP") != 0) {
        qt_error("--op_packages '%s': target '%s', expected CPU or HTP", item, parts.items[2]);
        code = QT_EXIT_USAGE;
    }
    if (code == QT_EXIT_OK &&
        qc_check(c,
                 c->qnn.backendRegisterOpPackage(c->backend, parts.items[0], parts.items[1],
                                                 parts.n == 3 ? parts.items[2] : NULL),
                 "backendRegisterOpPackage") != QRN_OK) {
        qt_error("%s: %s", parts.items[0], qrn_message());
        code = QT_EXIT_REFUSED;
    }
    qs_words_free(&parts);
    return code;
}

static int register_packages(const qc_client *c, const char *text) {
    qs_words items;
    int code = qs_words_split("op_packages", text, ',', &items);
    for (size_t i = 0; i < items.n && code == QT_EXIT_OK; i++)
        code = register_one(c, items.items[i]);
    qs_words_free(&items);
    return code;
}

static int open_client(const qs_backend_request *r, const qs_words *platform, qc_client **out) {
    QnnBackend_Config_t made[MAX_PLATFORM];
    const QnnBackend_Config_t *list[MAX_PLATFORM + 1] = {NULL};
    int code = list_platform(platform, made, list);
    if (code != QT_EXIT_OK)
        return code;
    const qs_extension *e = r->extension;
    const qc_options options = {
        .log = qs_log_callback,
        .log_level = r->log_level ? qs_log_level(r->log_level) : QNN_LOG_LEVEL_WARN,
        .soc = r->soc ? r->soc
               : e    ? e->facts.socModel
                      : 0,
        .arch = e && !r->soc ? e->facts.dspArch : 0,
        .device_id = e ? e->facts.deviceId : 0,
        .backend_configs = list,
        .device_configs = e && e->handle ? e->fn->getDeviceConfigs(e->handle) : NULL,
        .no_context = true,
    };
    if (qc_open(r->library, &options, out) == QRN_OK)
        return QT_EXIT_OK;
    if (strncmp(qrn_message(), "backend '", 9) == 0)
        qt_error("--%s", qrn_message());
    else
        qt_error("--backend %s: %s", r->library, qrn_message());
    return QT_EXIT_FAILURE;
}

int qs_backend_open(const qs_backend_request *r, qc_client **out) {
    qs_words platform = {0};
    qc_client *c = NULL;
    qs_log_set(qs_log_level(r->log_level));
    int code = r->device_options ? check_device(r->device_options) : QT_EXIT_OK;
    if (code == QT_EXIT_OK)
        code = qs_words_split("platform_options", r->platform_options, ';', &platform);
    if (code == QT_EXIT_OK)
        code = open_client(r, &platform, &c);
    qs_words_free(&platform);
    if (code == QT_EXIT_OK && r->extension)
        code = qs_extension_attach(r->extension, c);
    if (code == QT_EXIT_OK && r->op_packages)
        code = register_packages(c, r->op_packages);
    if (code == QT_EXIT_OK)
        *out = c;
    else
        qc_close(c);
    return code;
}
