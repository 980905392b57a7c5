// SPDX-License-Identifier: MIT
//
// The backend library of a session: where it lies, and what the options make of its objects.
#include "frontend/ort/ep.h"

#include "CPU/QnnCpuCommon.h"
#include "GPU/QnnGpuCommon.h"
#include "HTP/QnnHtpCommon.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const files[QE_BACKENDS] = {"libQnnCpu.so", "libQnnGpu.so", "libQnnHtp.so",
                                               "libQnnSaver.so"};

const char *const qe_backend_names[QE_BACKENDS] = {"CPU", "GPU", "HTP", "Saver"};

// A library by the name of its file: the one beside the provider, else what the loader finds.
static void find_library(const char *file, char *out, size_t size) {
    Dl_info self;
    const char *slash = NULL;
    if (dladdr((const void *)files, &self) && self.dli_fname)
        slash = strrchr(self.dli_fname, '/');
    if (slash) {
        snprintf(out, size, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, file);
        if (access(out, R_OK) == 0)
            return;
    }
    snprintf(out, size, "%s", file);
}

// The file of an option that names a library. Published snippets name those of Windows, which no
// loader opens here: QnnHtp.dll, whatever its folder, is libQnnHtp.so beside the provider.
static void named_library(const qe_ep *ep, const char *given, char *out, size_t size) {
    size_t n = strlen(given), begin = n;
    char file[NAME_MAX];
    while (begin && given[begin - 1] != '/' && given[begin - 1] != '\\')
        begin--;
    if (n - begin > 4 && strcasecmp(given + n - 4, ".dll") == 0) {
        snprintf(file, sizeof file, "lib%.*s.so", (int)(n - 4 - begin), given + begin);
        find_library(file, out, size);
        qe_say(ep->log, ORT_LOG_INFO, "library %s: %s is used", given, out);
    } else if (strchr(given, '/')) {
        snprintf(out, size, "%s", given);
    } else {
        find_library(given, out, size);
    }
}

void qe_library_path(qe_backend kind, char *out, size_t size) {
    find_library(files[kind], out, size);
}

bool qe_library_there(qe_backend kind) {
    char path[PATH_MAX];
    qe_library_path(kind, path, sizeof path);
    return path[0] == '/';
}

// While a graph is built, the importer asks what the library would take: its no is no error. What
// the nodes are refused for, and what fails in the end, is reported by the provider.
static _Thread_local qe_hush hushed;

void qe_hush_library(qe_hush what) { hushed = what; }

// The library's lines go to the host's log; without a pointer of their own, to the default one.
static void on_log(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)time;
    qe_say_list(NULL,
                hushed == QE_HUSH_ALL || (hushed == QE_HUSH_ERRORS && level == QNN_LOG_LEVEL_ERROR)
                    ? ORT_LOG_VERBOSE
                : level == QNN_LOG_LEVEL_ERROR ? ORT_LOG_ERROR
                : level == QNN_LOG_LEVEL_WARN  ? ORT_LOG_WARNING
                : level == QNN_LOG_LEVEL_INFO  ? ORT_LOG_INFO
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

static qe_backend kind_of(const char *path, qe_backend meant) {
    const char *slash = strrchr(path, '/');
    for (int i = 0; i < QE_BACKENDS; i++)
        if (strcmp(slash ? slash + 1 : path, files[i]) == 0)
            return (qe_backend)i;
    return meant;
}

// What the library says that it is. A serializer stands for the backend that it was opened for.
static qe_backend kind_of_client(const qe_ep *ep) {
    switch (ep->client->backend_id) {
    case QNN_BACKEND_ID_CPU:
        return QE_BACKEND_CPU;
    case QNN_BACKEND_ID_GPU:
        return QE_BACKEND_GPU;
    case QNN_BACKEND_ID_HTP:
        return QE_BACKEND_HTP;
    default:
        return ep->backend;
    }
}

qrn_status qe_client_open(qe_ep *ep, const char *path) {
    const qe_options *o = &ep->opt;
    bool htp = ep->backend == QE_BACKEND_HTP || strstr(path, "Htp");
    qe_context_room context;
    qe_context_configs(ep, htp, QE_CREATE, &context);
    static const uint32_t ids[QE_BACKENDS] = {QNN_BACKEND_ID_CPU, QNN_BACKEND_ID_GPU,
                                              QNN_BACKEND_ID_HTP, 0};
    const qc_options options = {.n_threads = (uint32_t)o->n_threads,
                                .stands_for = ids[ep->backend],
                                .any_version = o->any_version,
                                .log = on_log,
                                .log_level = log_level(ep->log),
                                .soc = o->soc_model,
                                .arch = (uint32_t)o->htp_arch,
                                .device_id = (uint32_t)o->device_id,
                                .context_configs = context.n ? context.list : NULL};
    return qc_open(path, &options, &ep->client);
}

// Options that only one kind of library can follow.
static qrn_status check_kind(const qe_ep *ep) {
    const qe_options *o = &ep->opt;
    const struct {
        const char *key;
        bool set;
    } list[] = {{"enable_htp_shared_memory_allocator", o->shared_memory},
                {"enable_htp_spill_fill_buffer", o->spill_fill},
                {"enable_vtcm_backup_buffer_sharing", o->share_resources},
                {"extended_udma", o->extended_udma},
                {"enable_htp_prepare_only", o->prepare_only},
                {"enable_htp_prepare_and_load", o->prepare_and_load},
                {"enable_htp_graph_splitting", o->split_graphs},
                {"htp_reused_io_limit_mb", o->reused_io_mb != 0},
                {"enable_htp_monolithic_lstm", o->monolithic_lstm},
                {"enable_htp_fp16_clamp_overflow", o->clamp_fp16},
                {"htp_num_cores", o->n_cores != 0}};
    for (size_t i = 0; i < sizeof list / sizeof list[0] && ep->backend != QE_BACKEND_HTP; i++)
        if (list[i].set)
            return QRN_FAIL(QRN_E_CONFIG, "option %s needs the HTP backend; this is %s",
                            list[i].key, ep->client->path);
    if (o->gpu_precision && ep->backend != QE_BACKEND_GPU)
        return QRN_FAIL(QRN_E_CONFIG, "option gpu_precision needs the GPU backend; this is %s",
                        ep->client->path);
    return QRN_OK;
}

// A serializer that gets all calls in place of the backend's library; `path` stays where there is
// none.
static qrn_status take_serializer(const qe_ep *ep, char *path, size_t size) {
    const qe_options *o = &ep->opt;
    const char *ir = o->ir_path && o->ir_path[0] ? o->ir_path : "libQnnIr.so";
    bool saver = o->saver_path && o->saver_path[0];
    if (saver && o->dump_dlc)
        return QRN_FAIL(QRN_E_CONFIG, "options qnn_saver_path and dump_qnn_ir_dlc: only one "
                                      "library can get the calls; leave one out");
    if (saver || o->dump_dlc)
        named_library(ep, saver ? o->saver_path : ir, path, size);
    if (!o->dump_dlc && (o->dlc_dir || o->ir_path))
        qe_say(ep->log, ORT_LOG_WARNING, "option %s has no effect without dump_qnn_ir_dlc",
               o->dlc_dir ? "dump_qnn_ir_dlc_dir" : "qnn_ir_backend_path");
    return QRN_OK;
}

qrn_status qe_backend_open(qe_ep *ep) {
    char path[PATH_MAX];
    if (ep->opt.backend_path)
        named_library(ep, ep->opt.backend_path, path, sizeof path);
    else
        qe_library_path(ep->backend, path, sizeof path);
    ep->backend = kind_of(path, ep->backend); // that a serializer stands for
    QRN_TRY(take_serializer(ep, path, sizeof path));
    QRN_TRY(ep->opt.share_contexts ? qe_share_join(ep, path) : qe_client_open(ep, path));
    ep->backend = kind_of_client(ep);
    QRN_TRY(check_kind(ep));
    if (ep->opt.fp16 && ep->client->is_htp && ep->client->floats != QC_FLOAT16)
        qe_say(ep->log, ORT_LOG_WARNING, "option enable_htp_fp16_precision has no effect: %s",
               ep->opt.soc_model || ep->opt.htp_arch
                   ? "the target SoC has no float16, floats are computed in float32"
                   : "without soc_model or htp_arch floats are computed in float32");
    return qe_packages_register(ep);
}

qrn_status qe_in_scratch(qe_ep *ep, qrn_status (*fn)(qe_ep *, void *), void *arg) {
    Qnn_ContextHandle_t kept;
    QRN_TRY(qc_trial_begin(ep->client, &kept));
    qe_hush_library(QE_HUSH_ALL);
    qrn_status s = fn(ep, arg);
    qe_hush_library(QE_HUSH_NOTHING);
    qc_trial_end(ep->client, kept);
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
    const QnnGraph_Config_t **configs = qe_graph_configs(ep, "options", &room);
    return configs ? qe_in_scratch(ep, make_graph, (void *)configs) : QRN_OK;
}
