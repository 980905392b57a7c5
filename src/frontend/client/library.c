// SPDX-License-Identifier: MIT
//
// Opening a QNN library: finding the file, taking its function table, and making the objects that
// every graph needs.
#include "frontend/client/internal.h"

#include "base/env.h"
#include "base/mem.h"
#include "base/soc.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpDevice.h"
#include "Quern/QuernBackend.h"
#include "Saver/QnnSaver.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Structs had other sizes before; up to QNN_API_VERSION_MINOR the table only grew.
#define OLDEST_MINOR 14
#define MAX_CONFIGS 32 // of a backend or device, with the NULL behind them

typedef Qnn_ErrorHandle_t (*get_providers_fn)(const QnnInterface_t ***, uint32_t *);

typedef struct short_name {
    const char *name, *file;
} short_name;

static const short_name short_names[] = {
    {"cpu", "libQnnCpu.so"},     {"htp", "libQnnHtp.so"}, {"gpu", "libQnnGpu.so"},
    {"saver", "libQnnSaver.so"}, {"ir", "libQnnIr.so"},
};

// Where an installed or built tree keeps its libraries, seen from the program's folder.
static const char *const beside[] = {
#ifdef QUERN_LIB_FROM_BIN
    QUERN_LIB_FROM_BIN "/",
#endif
    "../lib/",
    "",
};

qrn_status qc_no_memory(const char *what) { return QRN_FAIL(QRN_E_MEM, "%s: out of memory", what); }

qrn_status qc_check(const qc_client *c, Qnn_ErrorHandle_t code, const char *call) {
    if (code == QNN_SUCCESS)
        return QRN_OK;
    unsigned long long number = QNN_GET_ERROR_CODE(code);
    bool lost = number == QNN_COMMON_ERROR_SYSTEM_COMMUNICATION ||
                number == QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL;
    qrn_status s = lost                                   ? QRN_E_COMM
                   : number == QNN_GRAPH_ERROR_ABORTED    ? QRN_E_ABORTED
                   : number == QNN_COMMON_ERROR_MEM_ALLOC ? QRN_E_MEM
                                                          : QRN_E_GENERAL;
    const char *text = NULL;
    if (c->qnn.errorGetVerboseMessage &&
        c->qnn.errorGetVerboseMessage(code, &text) == QNN_SUCCESS && text) {
        qrn_fail(s, "%s: error %llu: %s", call, number, text);
        if (c->qnn.errorFreeVerboseMessage)
            c->qnn.errorFreeVerboseMessage(text);
        return s;
    }
    if (c->qnn.errorGetMessage && c->qnn.errorGetMessage(code, &text) == QNN_SUCCESS && text)
        return QRN_FAIL(s, "%s: error %llu: %s", call, number, text);
    return QRN_FAIL(s, "%s: error %llu", call, number);
}

static bool is_path(const char *name) {
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 3 && strcmp(name + n - 3, ".so") == 0);
}

// errno is 0 unless a call inside failed, for qc_library_failed.
static void *open_library(const char *path) {
    errno = 0;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

qrn_status qc_library_failed(const char *what, const char *searched) {
    bool no_memory = errno == ENOMEM; // the loader's own words are wrong then at times
    const char *why = dlerror();
    if (no_memory || (why && strstr(why, strerror(ENOMEM))))
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory (%s)", what, why ? why : "");
    if (searched)
        return QRN_FAIL(QRN_E_NOT_FOUND,
                        "%s: %s is neither beside this program nor in the loader's path (%s)", what,
                        searched, why ? why : "");
    return QRN_FAIL(QRN_E_NOT_FOUND, "%s: %s", what, why ? why : "");
}

// Tries the folders beside the program, then the loader's own search.
static void *open_by_name(const char *file) {
    char path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *base = NULL;
    if (n > 0) {
        path[n] = '\0';
        base = strrchr(path, '/');
    }
    for (size_t i = 0; base && i < sizeof beside / sizeof beside[0]; i++) {
        size_t room = sizeof path - (size_t)(base + 1 - path);
        int len = snprintf(base + 1, room, "%s%s", beside[i], file);
        if (len > 0 && (size_t)len < room && access(path, R_OK) == 0)
            return open_library(path);
    }
    return open_library(file);
}

void qc_library_path(void *lib, const char *name, char *path, size_t size) {
    struct link_map *map = NULL;
    const char *found = dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : name;
    char *plain = realpath(found, NULL);
    snprintf(path, size, "%s", plain ? plain : found);
    free(plain);
}

void *qc_library_open(const char *file, char *path, size_t size) {
    void *lib = open_by_name(file);
    if (lib)
        qc_library_path(lib, file, path, size);
    return lib;
}

static qrn_status load(qc_client *c, const char *name) {
    const char *file = NULL;
    for (size_t i = 0; i < sizeof short_names / sizeof short_names[0]; i++)
        if (strcmp(name, short_names[i].name) == 0)
            file = short_names[i].file;
    if (file) {
        c->lib = open_by_name(file);
    } else if (is_path(name)) {
        c->lib = open_library(name);
        if (!c->lib && errno != ENOMEM && !strchr(name, '/'))
            c->lib = open_by_name(name); // the loader does not look beside this program
    } else if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".dll") == 0) {
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "backend '%.200s': a library of Windows; did you mean "
                        "'%s%.*s.so'?",
                        name, strncmp(name, "lib", 3) == 0 ? "" : "lib", (int)strlen(name) - 4,
                        name);
    } else {
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "backend '%.200s': expected cpu, htp, gpu, saver or the path of a library",
                        name);
    }
    if (!c->lib) {
        char what[512];
        int error = errno;
        snprintf(what, sizeof what, "backend '%s'", name);
        errno = error;
        return qc_library_failed(what, file);
    }
    qc_library_path(c->lib, name, c->path, sizeof c->path);
    return QRN_OK;
}

// Takes the provider's table. Where the library is older than our headers, the end of our table is
// not there; the entries that are used came with OLDEST_MINOR.
static qrn_status take_table(qc_client *c, bool any_version) {
    get_providers_fn get = NULL;
    void *symbol = dlsym(c->lib, "QnnInterface_getProviders");
    memcpy(&get, &symbol, sizeof get);
    if (!get)
        return QRN_FAIL(QRN_E_INCOMPATIBLE,
                        "%s has no QnnInterface_getProviders: not a QNN "
                        "backend library",
                        c->path);
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    const char *version = qrn_env_get(QRN_ENV_API_VERSION);
    if (get(&list, &n) != QNN_SUCCESS || !list)
        return QRN_FAIL(QRN_E_INCOMPATIBLE, "%s gives no interface%s%.32s%s", c->path,
                        version ? ": QUERN_API_VERSION is '" : "", version ? version : "",
                        version ? "', expected a version such as 2.37" : "");
    Qnn_Version_t newest = {0, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_Version_t v = list[i]->apiVersion.coreApiVersion;
        newest = v;
        if (!any_version && (v.major != QNN_API_VERSION_MAJOR || v.minor < OLDEST_MINOR))
            continue;
        size_t bytes = v.minor >= QNN_API_VERSION_MINOR
                           ? sizeof c->qnn
                           : offsetof(QNN_INTERFACE_VER_TYPE, graphPrepareExecutionEnvironment);
        memcpy(&c->qnn, &list[i]->QNN_INTERFACE_VER_NAME, bytes);
        c->provider = list[i]->providerName;
        c->version = list[i]->apiVersion;
        c->backend_id = list[i]->backendId;
        return QRN_OK;
    }
    return QRN_FAIL(QRN_E_INCOMPATIBLE, "%s has QNN API %u.%u, expected %d.%d or newer", c->path,
                    newest.major, newest.minor, QNN_API_VERSION_MAJOR, OLDEST_MINOR);
}

// A recorder must know whose custom options it gets; one that is recording already does.
static void name_backend(qc_client *c, uint32_t id) {
    Qnn_ErrorHandle_t (*initialize)(const QnnSaver_Config_t **) = NULL;
    void *symbol = id ? dlsym(c->lib, "QnnSaver_initialize") : NULL;
    memcpy(&initialize, &symbol, sizeof initialize);
    const QnnSaver_Config_t config = {.option = QNN_SAVER_CONFIG_OPTION_BACKEND_ID,
                                      .backendId = id};
    const QnnSaver_Config_t *list[] = {&config, NULL};
    if (initialize)
        (void)initialize(list);
}

static qrn_status make_backend(qc_client *c, const qc_options *opt) {
    const char *id = NULL;
    c->is_quern = c->qnn.backendGetBuildId && c->qnn.backendGetBuildId(&id) == QNN_SUCCESS && id &&
                  strstr(id, "quern");
    if (opt->n_threads && !c->is_quern)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s is not one of Quern's libraries and has no option "
                        "for the number of threads",
                        c->path);
    if (opt->log)
        QRN_TRY(qc_check(c, c->qnn.logCreate(opt->log, opt->log_level, &c->log), "logCreate"));
    QuernBackend_CustomConfig_t threads = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_THREADS,
                                           opt->n_threads};
    QnnBackend_Config_t custom = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                  .customConfig = &threads};
    const QnnBackend_Config_t *configs[MAX_CONFIGS] = {NULL};
    size_t n = 0;
    if (opt->n_threads)
        configs[n++] = &custom;
    for (size_t i = 0; opt->backend_configs && opt->backend_configs[i] && n + 1 < MAX_CONFIGS; i++)
        configs[n++] = opt->backend_configs[i];
    return qc_check(c, c->qnn.backendCreate(c->log, configs, &c->backend), "backendCreate");
}

static void settle_target(qc_client *c, const qc_options *opt) {
    c->is_htp = c->backend_id == QNN_BACKEND_ID_HTP || opt->stands_for == QNN_BACKEND_ID_HTP;
    const qrn_soc *soc = !c->is_htp  ? NULL
                         : opt->soc  ? qrn_soc_by_id(opt->soc)
                         : opt->arch ? qrn_soc_of_arch(opt->arch)
                                     : NULL;
    c->floats = soc && soc->fp16 ? QC_FLOAT16 : QC_FLOAT32;
}

static qrn_status make_device(qc_client *c, const qc_options *opt) {
    QnnHtpDevice_CustomConfig_t soc = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                       .socModel = opt->soc};
    QnnHtpDevice_CustomConfig_t arch = {
        .option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH,
        .arch = {.arch = (QnnHtpDevice_Arch_t)opt->arch, .deviceId = opt->device_id}};
    QnnDevice_Config_t custom[] = {
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &soc},
        {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &arch}};
    const QnnDevice_Config_t *list[MAX_CONFIGS] = {NULL}, **configs = NULL;
    size_t n = 0;
    if (c->is_htp && opt->soc)
        list[n++] = &custom[0];
    if (c->is_htp && opt->arch)
        list[n++] = &custom[1];
    for (size_t i = 0; opt->device_configs && opt->device_configs[i] && n + 1 < MAX_CONFIGS; i++)
        list[n++] = opt->device_configs[i];
    if (n)
        configs = list;
    if (!c->qnn.deviceCreate && !configs)
        return QRN_OK;
    if (!c->qnn.deviceCreate)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s has no devices to configure", c->path);
    Qnn_ErrorHandle_t code = c->qnn.deviceCreate(c->log, configs, &c->device);
    if (QNN_GET_ERROR_CODE(code) == QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE && !configs) {
        c->device = NULL;
        return QRN_OK;
    }
    return qc_check(c, code, "deviceCreate");
}

static qrn_status start(qc_client *c, const char *name, const qc_options *opt) {
    c->node = opt->node;
    c->node_ctx = opt->node_ctx;
    QRN_TRY(load(c, name));
    QRN_TRY(take_table(c, opt->any_version));
    settle_target(c, opt);
    if (opt->no_backend)
        return QRN_OK;
    name_backend(c, opt->stands_for);
    QRN_TRY(make_backend(c, opt));
    QRN_TRY(make_device(c, opt));
    if (opt->no_context)
        return QRN_OK;
    return qc_check(c,
                    c->qnn.contextCreate(c->backend, c->device, opt->context_configs, &c->context),
                    "contextCreate");
}

qrn_status qc_open(const char *name_or_path, const qc_options *opt, qc_client **out) {
    static const qc_options defaults;
    qc_client *c = qrn_calloc(sizeof *c);
    if (!c)
        return qc_no_memory("backend");
    qrn_status s = start(c, name_or_path, opt ? opt : &defaults);
    if (s != QRN_OK) {
        qc_close(c);
        return s;
    }
    *out = c;
    return QRN_OK;
}

qrn_status qc_load(qc_client *c, const void *bytes, uint64_t n_bytes,
                   const QnnContext_Config_t **configs, Qnn_ProfileHandle_t profile) {
    if (!c->qnn.contextCreateFromBinary)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s cannot load context binaries", c->path);
    return qc_check(c,
                    c->qnn.contextCreateFromBinary(c->backend, c->device, configs, bytes, n_bytes,
                                                   &c->context, profile),
                    "contextCreateFromBinary");
}

void qc_close(qc_client *c) {
    if (!c)
        return;
    if (c->context)
        c->qnn.contextFree(c->context, NULL);
    if (c->device)
        c->qnn.deviceFree(c->device);
    if (c->backend)
        c->qnn.backendFree(c->backend);
    if (c->log)
        c->qnn.logFree(c->log);
    if (c->lib)
        dlclose(c->lib);
    qrn_free(c);
}
