// SPDX-License-Identifier: MIT
//
// Contexts from binaries: one by one, or as a list that shares resources.
#include "tools/sdk/model_source.h"

#include "HTP/QnnHtpContext.h"
#include "QnnProperty.h"
#include "QnnSignal.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int refused(const char *path) {
    qt_error("%s: %s", path, qrn_message());
    return QT_EXIT_REFUSED;
}

static int open_part(qs_part *p, bool map) {
    int code = qt_binary_open(p->path, &p->binary);
    if (code != QT_EXIT_OK || map)
        return code;
    qt_binary copy = {0};
    code = qt_binary_copy(p->path, p->binary.bytes, p->binary.n_bytes, &copy);
    qt_binary_close(&p->binary);
    if (code == QT_EXIT_OK)
        p->binary = copy;
    return code;
}

static bool is_enabled(const qs_run_config *c, const char *graph) {
    for (uint32_t i = 0; c && i < c->context.enable_graphs.n; i++)
        if (qs_same_name(graph, c->context.enable_graphs.items[i]))
            return true;
    return !c || !c->context.enable_graphs.n;
}

// A name that no binary has would silently run nothing.
static int check_enabled(const qs_model *m, const qs_run_config *c) {
    for (uint32_t i = 0; c && i < c->context.enable_graphs.n; i++) {
        const char *name = c->context.enable_graphs.items[i];
        bool found = false;
        for (size_t p = 0; p < m->n_parts && !found; p++)
            for (uint32_t g = 0; g < m->parts[p].binary.info->numGraphs && !found; g++)
                found =
                    qs_same_name(m->parts[p].binary.info->graphs[g].graphInfoV3.graphName, name);
        if (!found) {
            qt_error("%s: 'enable_graphs' names '%s', which no binary has; the first one has '%s'",
                     c->path, name, m->parts[0].binary.info->graphs[0].graphInfoV3.graphName);
            return QT_EXIT_INPUT;
        }
    }
    return QT_EXIT_OK;
}

// The options of one binary.
typedef struct group_option {
    QnnHtpContext_CustomConfig_t custom;
    QnnContext_Config_t config;
} group_option;

// Contexts with a group_id form one group: the first has its size, the others name the first.
static void join_group(const qs_model *m, size_t part, const QuernExtension_Facts_t *f,
                       group_option *o) {
    uint64_t bytes = f->groupSpillFill;
    for (size_t i = 0; i < m->n_parts && !f->groupSpillFill; i++) {
        uint64_t needs = qc_spill_bytes(m->parts[i].binary.info);
        bytes = needs > bytes ? needs : bytes;
    }
    o->custom = (QnnHtpContext_CustomConfig_t){
        .option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS,
        .groupRegistration = {part ? m->parts[0].context : NULL, bytes ? bytes : 1}};
    o->config = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                      .customConfig = &o->custom};
}

static const QnnContext_Config_t **options_of(const qs_model *m, size_t part, const qs_loading *how,
                                              group_option *group) {
    const qs_extension *e = how->extension;
    const QnnContext_Config_t *more[32] = {NULL};
    size_t n = 0;
    if (e && e->handle) {
        const QnnContext_Config_t **list =
            e->fn->getContextConfigs(e->handle, QUERN_EXTENSION_CONTEXT_LOAD);
        while (list && list[n] && n < 30) {
            more[n] = list[n];
            n++;
        }
        if (e->facts.hasGroup) {
            join_group(m, part, &e->facts, group);
            more[n++] = &group->config;
        }
    }
    return qs_context_options(how->config, true, more);
}

static int load_with_signal(qc_client *c, qs_part *p, const QnnContext_Config_t **configs,
                            const qs_loading *how) {
    const QnnSignal_Config_t limit = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                      .timeoutDurationUs = how->timeout_us};
    const QnnSignal_Config_t *list[] = {&limit, NULL};
    Qnn_SignalHandle_t signal = NULL;
    if (!qc_has(c, QNN_PROPERTY_SIGNAL_SUPPORT_TIMEOUT) ||
        !c->qnn.contextCreateFromBinaryWithSignal) {
        qt_error("--retrieve_context_timeout: %s has no signals with a timeout", c->path);
        return QT_EXIT_REFUSED;
    }
    qrn_status s = qc_check(c, c->qnn.signalCreate(c->backend, list, &signal), "signalCreate");
    if (s == QRN_OK)
        s = qc_check(c,
                     c->qnn.contextCreateFromBinaryWithSignal(c->backend, c->device, configs,
                                                              p->binary.bytes, p->binary.n_bytes,
                                                              &p->context, how->profile, signal),
                     "contextCreateFromBinaryWithSignal");
    if (signal)
        c->qnn.signalFree(signal);
    return s == QRN_OK ? QT_EXIT_OK : refused(p->path);
}

static int validate(const qc_client *c, const qs_part *p, const QnnContext_Config_t **configs) {
    if (!c->qnn.contextValidateBinary) {
        qt_error("--validate_binary: %s cannot validate binaries", c->path);
        return QT_EXIT_REFUSED;
    }
    return qc_check(c,
                    c->qnn.contextValidateBinary(c->backend, c->device, configs, p->binary.bytes,
                                                 p->binary.n_bytes),
                    "contextValidateBinary") == QRN_OK
               ? QT_EXIT_OK
               : refused(p->path);
}

static int load_one(qs_model *m, size_t part, const qs_loading *how) {
    qc_client *c = m->client;
    qs_part *p = &m->parts[part];
    group_option group;
    const QnnContext_Config_t **configs = options_of(m, part, how, &group);
    if (!configs)
        return no_memory();
    int code = how->validate ? validate(c, p, configs) : QT_EXIT_OK;
    if (code != QT_EXIT_OK)
        return code;
    if (how->timeout_us)
        return load_with_signal(c, p, configs, how);
    if (qc_load(c, p->binary.bytes, p->binary.n_bytes, configs, how->profile) != QRN_OK)
        return refused(p->path);
    p->context = c->context;
    c->context = NULL;
    return QT_EXIT_OK;
}

// --- lists

// Contexts may be made by threads of the library. `lock` guards the count and the parts' contexts.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t told;
    size_t n; // contexts that were made or failed
} list_state = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void on_loaded(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                      Qnn_ErrorHandle_t status) {
    (void)graph;
    (void)name;
    if (type != QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        return;
    pthread_mutex_lock(&list_state.lock);
    if (status == QNN_SUCCESS)
        ((qs_part *)param)->context = context;
    list_state.n++;
    pthread_cond_signal(&list_state.told);
    pthread_mutex_unlock(&list_state.lock);
}

static void wait_for(size_t n) {
    pthread_mutex_lock(&list_state.lock);
    while (list_state.n < n)
        pthread_cond_wait(&list_state.told, &list_state.lock);
    pthread_mutex_unlock(&list_state.lock);
}

static int load_list(qs_model *m, const qs_loading *how, const QnnContext_Config_t **list_options) {
    qc_client *c = m->client;
    QnnContext_Params_t *params = calloc(m->n_parts, sizeof *params);
    const QnnContext_Params_t **list = calloc(m->n_parts + 1, sizeof *list);
    group_option group;
    list_state.n = 0;
    int code = params && list ? QT_EXIT_OK : no_memory();
    for (size_t i = 0; i < m->n_parts && code == QT_EXIT_OK; i++) {
        qs_part *p = &m->parts[i];
        const QnnContext_Config_t **configs = options_of(m, i, how, &group);
        if (!configs)
            code = no_memory();
        else if (how->validate)
            code = validate(c, p, configs);
        const QnnContext_Params_t one = {.version = QNN_CONTEXT_PARAMS_VERSION_1,
                                         .v1 = {.config = configs,
                                                .binaryBuffer = p->binary.bytes,
                                                .binaryBufferSize = p->binary.n_bytes,
                                                .profile = how->profile,
                                                .notifyFunc = on_loaded,
                                                .notifyParam = p}};
        memcpy(&params[i], &one, sizeof one); // a member is const
        list[i] = &params[i];
    }
    if (code == QT_EXIT_OK && !c->qnn.contextCreateFromBinaryListAsync) {
        qt_error("'groupContext': %s cannot load lists of binaries", c->path);
        code = QT_EXIT_REFUSED;
    }
    if (code == QT_EXIT_OK && qc_check(c,
                                       c->qnn.contextCreateFromBinaryListAsync(
                                           c->backend, c->device, list, list_options, NULL),
                                       "contextCreateFromBinaryListAsync") != QRN_OK)
        code = refused(m->parts[0].path);
    if (code == QT_EXIT_OK)
        wait_for(m->n_parts);
    for (size_t i = 0; i < m->n_parts && code == QT_EXIT_OK; i++)
        if (!m->parts[i].context) {
            qt_error("%s: contextCreateFromBinaryListAsync made no context", m->parts[i].path);
            code = QT_EXIT_REFUSED;
        }
    free(params);
    free(list);
    return code;
}

// --- graphs

static int retrieve(qs_model *m, qs_part *p, const qs_run_config *config) {
    qc_client *c = m->client;
    int code = QT_EXIT_OK;
    c->context = p->context; // where they are looked for
    for (uint32_t i = 0; i < p->binary.info->numGraphs && code == QT_EXIT_OK; i++) {
        const QnnSystemContext_GraphInfoV3_t *info = &p->binary.info->graphs[i].graphInfoV3;
        qc_graph *g = NULL;
        if (!is_enabled(config, info->graphName))
            continue;
        if (qc_graph_retrieve(c, info, &g) != QRN_OK)
            code = refused(p->path);
        else
            code = qs_model_add_graph(m, p->path, g, p->context);
    }
    c->context = NULL;
    return code;
}

int qs_model_load(qc_client *c, const qs_words *binaries, const qs_loading *how, qs_model *out) {
    *out = (qs_model){.client = c};
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < binaries->n && code == QT_EXIT_OK; i++) {
        qs_part *p = qs_model_add_part(out, binaries->items[i]);
        code = p ? open_part(p, how->map) : no_memory();
    }
    if (code == QT_EXIT_OK)
        code = check_enabled(out, how->config);
    const qs_extension *e = how->extension;
    const QnnContext_Config_t **list =
        e && e->handle ? e->fn->getContextConfigs(e->handle, QUERN_EXTENSION_CONTEXT_LIST) : NULL;
    if (code == QT_EXIT_OK && list && list[0])
        code = load_list(out, how, list);
    else
        for (size_t i = 0; i < out->n_parts && code == QT_EXIT_OK; i++)
            code = load_one(out, i, how);
    for (size_t i = 0; i < out->n_parts && code == QT_EXIT_OK; i++)
        code = retrieve(out, &out->parts[i], how->config);
    return code;
}
