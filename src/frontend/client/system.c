// SPDX-License-Identifier: MIT
//
// The System library as a client uses it. The API has no words for what is wrong with a binary, so
// they are taken from the library's log.
//
// State: the last error line of this thread.
#include "frontend/client/internal.h"

#include "base/mem.h"
#include "base/report_text.h"

#include "HTP/QnnHtpSystemContext.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "libQnnSystem.so"

typedef Qnn_ErrorHandle_t (*get_providers_fn)(const QnnSystemInterface_t ***, uint32_t *);

static _Thread_local char last_line[512];

static void keep_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)level;
    (void)timestamp;
    qrn_log_line(last_line, sizeof last_line, fmt, args);
}

static void *open_beside(const char *beside) {
    char path[PATH_MAX];
    const char *slash = strrchr(beside, '/');
    int len =
        slash ? snprintf(path, sizeof path, "%.*s/" FILE_NAME, (int)(slash - beside), beside) : -1;
    bool fits = len > 0 && (size_t)len < sizeof path;
    return fits && access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static qrn_status start(qc_system *s, const char *beside) {
    s->lib = beside ? open_beside(beside) : NULL;
    if (s->lib)
        qc_library_path(s->lib, FILE_NAME, s->path, sizeof s->path);
    else
        s->lib = qc_library_open(FILE_NAME, s->path, sizeof s->path);
    if (!s->lib)
        return qc_library_failed("context binaries", FILE_NAME);
    get_providers_fn get = NULL;
    void *symbol = dlsym(s->lib, "QnnSystemInterface_getProviders");
    memcpy(&get, &symbol, sizeof get);
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    if (!get || get(&list, &n) != QNN_SUCCESS || n == 0 || !list || !list[0])
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s has no provider", s->path);
    s->version = list[0]->systemApiVersion;
    s->provider = list[0]->providerName;
    if (s->version.major != QNN_SYSTEM_API_VERSION_MAJOR || s->version.minor < 4)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s has System API %u.%u, expected 1.4 or newer",
                        s->path, s->version.major, s->version.minor);
    s->fn = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    if (s->fn.systemLogCreate &&
        s->fn.systemLogCreate(keep_line, QNN_LOG_LEVEL_ERROR, &s->log) != QNN_SUCCESS)
        s->log = NULL; // there is an answer without it, too
    Qnn_ErrorHandle_t code = s->fn.systemContextCreate(&s->reader);
    if (QNN_GET_ERROR_CODE(code) == QNN_COMMON_ERROR_MEM_ALLOC)
        return qc_no_memory("systemContextCreate");
    if (code != QNN_SUCCESS)
        return QRN_FAIL(QRN_E_GENERAL, "systemContextCreate: error %llu",
                        (unsigned long long)QNN_GET_ERROR_CODE(code));
    return QRN_OK;
}

qrn_status qc_system_open(const char *beside, qc_system **out) {
    qc_system *s = qrn_calloc(sizeof *s);
    if (!s)
        return qc_no_memory(FILE_NAME);
    qrn_status st = start(s, beside);
    if (st != QRN_OK) {
        qc_system_close(s);
        return st;
    }
    *out = s;
    return QRN_OK;
}

void qc_system_close(qc_system *s) {
    if (!s)
        return;
    if (s->reader)
        s->fn.systemContextFree(s->reader);
    if (s->log)
        s->fn.systemLogFree(s->log);
    if (s->lib)
        dlclose(s->lib);
    qrn_free(s);
}

qrn_status qc_system_check(const qc_system *s, Qnn_ErrorHandle_t code, const char *words) {
    if (code == QNN_SUCCESS)
        return QRN_OK;
    char line[sizeof last_line];
    snprintf(line, sizeof line, "%s", last_line);
    last_line[0] = '\0';
    if (QNN_GET_ERROR_CODE(code) == QNN_COMMON_ERROR_MEM_ALLOC)
        return qc_no_memory(s->path);
    return QRN_FAIL(QRN_E_BINARY, "%s", line[0] ? line : words);
}

qrn_status qc_system_describe(qc_system *s, const void *bytes, uint64_t n_bytes,
                              const QnnSystemContext_BinaryInfoV3_t **out) {
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    last_line[0] = '\0';
    Qnn_ErrorHandle_t code = s->fn.systemContextGetMetaData(s->reader, bytes, n_bytes, &info);
    if (code != QNN_SUCCESS && strstr(last_line, "out of memory")) // there is no code for it
        return QRN_FAIL(QRN_E_MEM, "%s", last_line);
    if (code != QNN_SUCCESS)
        return QRN_FAIL(QRN_E_BINARY, "%s",
                        last_line[0] ? last_line
                                     : "not a context binary of Quern; 'quern compile' makes one");
    if (info->version != QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s describes binaries in version %d, expected 3",
                        s->path, (int)info->version);
    *out = &info->contextBinaryInfoV3;
    for (uint32_t i = 0; i < (*out)->numGraphs; i++)
        if ((*out)->graphs[i].version != QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "%s describes graphs in version %d, expected 3",
                            s->path, (int)(*out)->graphs[i].version);
    return QRN_OK;
}

uint64_t qc_spill_bytes(const QnnSystemContext_BinaryInfoV3_t *info) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < info->numGraphs; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &info->graphs[i].graphInfoV3;
        const QnnHtpSystemContext_GraphBlobInfo_t *blob = g->graphBlobInfo;
        if (info->graphs[i].version != QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3 || !blob ||
            g->graphBlobInfoSize < sizeof *blob ||
            blob->version != QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1)
            continue;
        uint64_t bytes = blob->contextBinaryGraphBlobInfoV1.spillFillBufferSize;
        most = bytes > most ? bytes : most;
    }
    return most;
}
