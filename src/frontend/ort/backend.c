// SPDX-License-Identifier: MIT
//
// The backend library of a session: where it lies, and what the options make of its objects.
#include "frontend/ort/ep.h"

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpGraph.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const files[QE_BACKENDS] = {"libQnnCpu.so", "libQnnGpu.so", "libQnnHtp.so",
                                               "libQnnSaver.so"};

void qe_library_path(qe_backend kind, char *out, size_t size) {
    Dl_info self;
    const char *slash = NULL;
    if (dladdr((const void *)files, &self) && self.dli_fname)
        slash = strrchr(self.dli_fname, '/');
    if (slash) {
        snprintf(out, size, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, files[kind]);
        if (access(out, R_OK) == 0)
            return;
    }
    snprintf(out, size, "%s", files[kind]);
}

bool qe_library_there(qe_backend kind) {
    char path[PATH_MAX];
    qe_library_path(kind, path, sizeof path);
    return path[0] == '/';
}

// The library's lines go to the host's log; without a pointer of their own, to the default one.
static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)time;
    qe_say_list(NULL,
                level == QNN_LOG_LEVEL_ERROR  ? ORT_LOG_ERROR
                : level == QNN_LOG_LEVEL_WARN ? ORT_LOG_WARNING
                : level == QNN_LOG_LEVEL_INFO ? ORT_LOG_INFO
                                              : ORT_LOG_VERBOSE,
                fmt, args);
}

static QnnLog_Level_t log_level(const OrtLogger *l) {
    OrtLoggingLevel level = ORT_LOG_WARNING;
    if (l)
        (void)qe_heard(ORT(Logger_GetLoggingSeverityLevel)(l, &level), "log");
    return level == ORT_LOG_VERBOSE   ? QNN_LOG_LEVEL_VERBOSE
           : level == ORT_LOG_INFO    ? QNN_LOG_LEVEL_INFO
           : level == ORT_LOG_WARNING ? QNN_LOG_LEVEL_WARN
                                      : QNN_LOG_LEVEL_ERROR;
}

// In the order of qe_priorities.
static const Qnn_Priority_t priorities[] = {QNN_PRIORITY_NORMAL,      QNN_PRIORITY_LOW,
                                            QNN_PRIORITY_NORMAL_HIGH, QNN_PRIORITY_HIGH,
                                            QNN_PRIORITY_NORMAL_LOW,  QNN_PRIORITY_HIGH_PLUS,
                                            QNN_PRIORITY_CRITICAL,    QNN_PRIORITY_CRITICAL_PLUS};

Qnn_Priority_t qe_priority(const qe_ep *ep) { return priorities[ep->opt.priority]; }

static qe_backend kind_of(const qc_client *c, qe_backend meant) {
    const char *slash = strrchr(c->path, '/');
    for (int i = 0; i < QE_BACKENDS; i++)
        if (strcmp(slash ? slash + 1 : c->path, files[i]) == 0)
            return (qe_backend)i;
    return meant;
}

// In the pool graphs share weights.
static size_t context_configs(const qe_ep *ep, bool htp, QnnHtpContext_CustomConfig_t *sharing,
                              QnnContext_Config_t *room, const QnnContext_Config_t **list) {
    size_t n = 0;
    if (ep->opt.priority) {
        room[n] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                        .priority = qe_priority(ep)};
        list[n] = &room[n];
        n++;
    }
    if (htp && ep->opt.share_contexts && ep->opt.context_enable) {
        *sharing = (QnnHtpContext_CustomConfig_t){
            .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
            .weightSharingEnabled = true};
        room[n] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                        .customConfig = sharing};
        list[n] = &room[n];
        n++;
    }
    return n;
}

qrn_status qe_client_open(qe_ep *ep, const char *path) {
    const qe_options *o = &ep->opt;
    bool htp = ep->backend == QE_BACKEND_HTP || strstr(path, "Htp");
    QnnHtpDevice_CustomConfig_t soc = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                       .socModel = o->soc_model};
    QnnHtpDevice_CustomConfig_t arch = {
        .option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH,
        .arch = {(QnnHtpDevice_Arch_t)o->htp_arch, (uint32_t)o->device_id}};
    QnnDevice_Config_t custom[] = {
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &soc},
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &arch}};
    const QnnDevice_Config_t *device[3] = {NULL};
    size_t n = 0;
    if (htp && o->soc_model)
        device[n++] = &custom[0];
    if (htp && o->htp_arch)
        device[n++] = &custom[1];
    QnnHtpContext_CustomConfig_t sharing;
    QnnContext_Config_t room[2];
    const QnnContext_Config_t *context[3] = {NULL};
    bool any = context_configs(ep, htp, &sharing, room, context) > 0;
    const qc_options options = {.n_threads = (uint32_t)o->n_threads,
                                .log = hear,
                                .log_level = log_level(ep->log),
                                .device_configs = n ? device : NULL,
                                .context_configs = any ? context : NULL};
    return qc_open(path, &options, &ep->client);
}

qrn_status qe_backend_open(qe_ep *ep) {
    char path[PATH_MAX];
    if (ep->opt.backend_path)
        snprintf(path, sizeof path, "%s", ep->opt.backend_path);
    else
        qe_library_path(ep->backend, path, sizeof path);
    QRN_TRY(ep->opt.share_contexts ? qe_share_join(ep, path) : qe_client_open(ep, path));
    ep->backend = kind_of(ep->client, ep->backend);
    return QRN_OK;
}

qrn_status qe_in_scratch(qe_ep *ep, qrn_status (*fn)(qe_ep *, void *), void *arg) {
    qc_client *c = ep->client;
    Qnn_ContextHandle_t kept = c->context, scratch = NULL;
    QRN_TRY(
        qc_check(c, c->qnn.contextCreate(c->backend, c->device, NULL, &scratch), "contextCreate"));
    c->context = scratch;
    qrn_status s = fn(ep, arg);
    c->context = kept;
    c->qnn.contextFree(scratch, NULL);
    return s;
}

static qrn_status make_graph(qe_ep *ep, void *configs) {
    qc_graph *g = NULL;
    QRN_TRY(qc_graph_create(ep->client, "options", configs, &g));
    qc_graph_destroy(g);
    return QRN_OK;
}

qrn_status qe_check_graph_options(qe_ep *ep) {
    qe_graph_room room;
    const QnnGraph_Config_t **configs = qe_graph_configs(ep, &room);
    return configs ? qe_in_scratch(ep, make_graph, (void *)configs) : QRN_OK;
}

static void add(qe_graph_room *room, size_t *n, const QnnHtpGraph_CustomConfig_t *value) {
    _Static_assert(sizeof *value <= sizeof room->values[0], "room for a value");
    memcpy(room->values[*n], value, sizeof *value);
    room->configs[*n] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                            .customConfig = room->values[*n]};
    room->list[*n] = &room->configs[*n];
    ++*n;
}

const QnnGraph_Config_t **qe_graph_configs(const qe_ep *ep, qe_graph_room *room) {
    const qe_options *o = &ep->opt;
    size_t n = 0;
    *room = (qe_graph_room){0};
    if (ep->backend != QE_BACKEND_HTP)
        return NULL;
    if (o->vtcm_mb)
        add(room, &n,
            &(QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE,
                                          .vtcmSizeInMB = (uint32_t)o->vtcm_mb});
    if (o->finalize_mode)
        add(room, &n,
            &(QnnHtpGraph_CustomConfig_t){
                .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
                .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG,
                                       (float)o->finalize_mode}});
    if (o->fp16)
        add(room, &n,
            &(QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION,
                                          .precision = QNN_PRECISION_FLOAT16});
    return n ? room->list : NULL;
}
