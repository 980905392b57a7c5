// SPDX-License-Identifier: MIT
//
// Composing graphs from model libraries, DLCs, ONNX and .tflite files.
#include "tools/sdk/model_source.h"

#include "base/report_text.h"
#include "frontend/onnx/import.h"
#include "tools/quern/binary.h"
#include "tools/quern/dlc.h"
#include "tools/quern/report.h"
#include "tools/quern/session.h"
#include "tools/sdk/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool qs_is_dlc_library(const char *path) { return strcmp(base_of(path), "libQnnModelDlc.so") == 0; }

qs_part *qs_model_add_part(qs_model *m, const char *path) {
    qs_part *grown = realloc(m->parts, (m->n_parts + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    m->parts = grown;
    grown[m->n_parts] = (qs_part){.path = path};
    return &grown[m->n_parts++];
}

int qs_model_add_graph(qs_model *m, const char *path, qc_graph *g, Qnn_ContextHandle_t context) {
    qs_graph *grown = realloc(m->graphs, (m->n_graphs + 1) * sizeof *grown);
    if (!grown) {
        qc_graph_destroy(g);
        return no_memory();
    }
    m->graphs = grown;
    grown[m->n_graphs++] = (qs_graph){.g = g, .path = path, .context = context};
    return QT_EXIT_OK;
}

static int refused(const char *path) {
    qt_error("%s: %s", path, qrn_message());
    return QT_EXIT_REFUSED;
}

static const qs_composed *find_composed(const qs_model *m, Qnn_GraphHandle_t handle,
                                        const char *name) {
    for (const qs_composed *c = m->composed; c; c = c->next)
        if (handle ? c->handle == handle : qs_same_name(c->seen->name, name))
            return c;
    return NULL;
}

// A graph as its maker describes it, with the outputs that the rules added.
static int add_described(qs_model *m, const char *path, const GraphInfo_t *info) {
    const qs_composed *c = find_composed(m, info->graph, info->graphName);
    qc_graph *g = NULL;
    if (!c) {
        qt_error("%s: graph '%s' was not created through the function table", path,
                 info->graphName ? info->graphName : "");
        return QT_EXIT_REFUSED;
    }
    if (qc_graph_adopt(m->client, c->seen->name, c->handle, info->inputTensors,
                       info->numInputTensors, info->outputTensors, info->numOutputTensors,
                       &g) != QRN_OK)
        return refused(path);
    for (uint32_t i = 0; i < c->seen->n_outputs; i++) {
        bool listed = false;
        for (uint32_t k = 0; k < info->numOutputTensors && !listed; k++)
            listed = info->outputTensors[k].v1.id == c->seen->outputs[i]->t.v1.id;
        if (!listed && qc_graph_add_port(g, &c->seen->outputs[i]->t, true) != QRN_OK) {
            qc_graph_destroy(g);
            return refused(path);
        }
    }
    int code = qs_model_add_graph(m, path, g, m->client->context);
    if (code == QT_EXIT_OK) {
        m->graphs[m->n_graphs - 1].profile = c->profile;
        m->graphs[m->n_graphs - 1].profiling_delay_s = c->delay_s;
    }
    return code;
}

// --- model libraries

typedef ModelError_t (*compose_fn)(Qnn_BackendHandle_t, QNN_INTERFACE_VER_TYPE, Qnn_ContextHandle_t,
                                   const GraphConfigInfo_t **, const uint32_t, GraphInfo_t ***,
                                   uint32_t *, bool, QnnLog_Callback_t, QnnLog_Level_t);
typedef ModelError_t (*compose_dlc_fn)(Qnn_BackendHandle_t, QNN_INTERFACE_VER_TYPE,
                                       Qnn_ContextHandle_t, const GraphConfigInfo_t **,
                                       const char *, const uint32_t, GraphInfo_t ***, uint32_t *,
                                       bool, QnnLog_Callback_t, QnnLog_Level_t);

static char words[1024]; // last error line of a library; one model is composed at a time

static void keep_words(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    va_list again;
    va_copy(again, args);
    if (level == QNN_LOG_LEVEL_ERROR)
        qrn_log_line(words, sizeof words, fmt, again);
    va_end(again);
    qs_log_callback(fmt, level, timestamp, args);
}

static bool take_symbol(void *lib, const char *prefix, const char *name, void *out) {
    char symbol[256];
    int n = snprintf(symbol, sizeof symbol, "%s_%s", prefix, name);
    void *p = n > 0 && (size_t)n < sizeof symbol ? dlsym(lib, symbol) : NULL;
    memcpy(out, &p, sizeof p);
    return p;
}

// libQnnModelDlc.so without a folder is ours, beside the program; other names without one are files
// of the current folder, which the loader would not look at.
static void *open_model_library(const char *path) {
    char place[4096];
    if (qs_is_dlc_library(path) && !strchr(path, '/'))
        return qc_library_open(path, place, sizeof place);
    snprintf(place, sizeof place, "%s%s", strchr(path, '/') ? "" : "./", path);
    errno = 0; // ENOMEM tells more than the loader's own words
    return dlopen(place, RTLD_NOW | RTLD_LOCAL);
}

static int compose_failed(const char *path, const char *prefix, const char *function,
                          ModelError_t error) {
    static const char *const errors[] = {"no error",
                                         "a tensor could not be made",
                                         "a parameter could not be made",
                                         "a node could not be added",
                                         "a graph could not be made",
                                         "the context could not be used",
                                         "the model is wrong",
                                         "something it needs is missing",
                                         "an argument is wrong",
                                         "a file could not be read",
                                         "out of memory"};
    bool known = (unsigned)error < sizeof errors / sizeof errors[0];
    if (words[0])
        qt_error("%s: %s_%s: error %d: %s", path, prefix, function, (int)error, words);
    else
        qt_error("%s: %s_%s: error %d: %s", path, prefix, function, (int)error,
                 known ? errors[error] : "unknown");
    return QT_EXIT_REFUSED;
}

// The graphs of a model library; with `dlc` those that libQnnModelDlc.so makes of that file.
static int compose_library(qs_model *m, const char *path, const char *prefix, const char *dlc,
                           bool debug) {
    const char *function = dlc ? "composeGraphsFromDlc" : "composeGraphs";
    const char *subject = dlc ? dlc : path;
    const qc_client *c = m->client;
    qs_part *p = qs_model_add_part(m, subject);
    compose_fn compose = NULL;
    compose_dlc_fn compose_dlc = NULL;
    if (!p)
        return no_memory();
    p->lib = open_model_library(path);
    if (!p->lib && errno == ENOMEM)
        return no_memory();
    if (!p->lib) {
        char why[512];
        snprintf(why, sizeof why, "%s", dlerror()); // what follows opens libraries, too
        if (access(path, R_OK) == 0 && qt_is_dlc(path))
            qt_error("%s: a DLC file, not a model library; use --model libQnnModelDlc.so "
                     "--dlc_path %s",
                     path, path);
        else if (access(path, R_OK) == 0 && qt_is_binary(path))
            qt_error("%s: a context binary, not a model library; use --retrieve_context %s", path,
                     path);
        else
            qt_error("%s: not a model library: %s", path, why);
        return QT_EXIT_REFUSED;
    }
    bool has = take_symbol(p->lib, prefix, function, dlc ? (void *)&compose_dlc : (void *)&compose);
    if (!has || !take_symbol(p->lib, prefix, "freeGraphsInfo", &p->free_infos)) {
        qt_error("%s: no %s_%s: not a model library, or one with another --model_prefix", path,
                 prefix, has ? "freeGraphsInfo" : function);
        return QT_EXIT_REFUSED;
    }
    words[0] = '\0';
    ModelError_t error = dlc ? compose_dlc(c->backend, c->qnn, c->context, NULL, dlc, 0, &p->infos,
                                           &p->n_infos, debug, keep_words, QNN_LOG_LEVEL_DEBUG)
                             : compose(c->backend, c->qnn, c->context, NULL, 0, &p->infos,
                                       &p->n_infos, debug, keep_words, QNN_LOG_LEVEL_DEBUG);
    if (error != MODEL_NO_ERROR) {
        p->infos = NULL;
        return compose_failed(subject, prefix, function, error);
    }
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; i < p->n_infos && code == QT_EXIT_OK; i++)
        code = add_described(m, subject, p->infos[i]);
    return code;
}

// --- ONNX and .tflite files

// "some/net.onnx" to "net", as a C identifier.
static void graph_name(const char *path, char *name, size_t size) {
    const char *base = base_of(path), *dot = strrchr(base, '.');
    size_t lead = *base >= '0' && *base <= '9';
    snprintf(name, size, "%s%.*s", lead ? "_" : "", (int)(dot ? dot - base : (long)strlen(base)),
             base);
    for (char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')))
            *p = '_';
}

static int compose_file(qs_model *m, const char *path) {
    qs_part *p = qs_model_add_part(m, path);
    char name[256];
    if (!p)
        return no_memory();
    int code = qt_open_model(path, &p->model);
    if (code != QT_EXIT_OK)
        return code;
    graph_name(path, name, sizeof name);
    const qt_backend_options flags = {.backend = "cpu"};
    ox_options import = {.graph_name = name};
    ox_result r = {0};
    qt_import_flags(&flags, &import);
    if (ox_import_model(p->model, m->client, &import, &r) != QRN_OK)
        return refused(path);
    for (uint32_t i = 0; i < r.n_outputs; i++)
        if (r.outputs[i].data)
            qt_warn("%s: output '%s' is constant and left out", path, r.outputs[i].name);
    if (r.graph->n_nodes == 0) {
        qc_graph_destroy(r.graph);
        qt_error("%s: every output is constant; there is nothing to run", path);
        return QT_EXIT_REFUSED;
    }
    const qs_composed *c = find_composed(m, r.graph->handle, name);
    code = qs_model_add_graph(m, path, r.graph, m->client->context);
    if (code == QT_EXIT_OK && c) {
        m->graphs[m->n_graphs - 1].profile = c->profile;
        m->graphs[m->n_graphs - 1].profiling_delay_s = c->delay_s;
    }
    return code;
}

// --- all of them

static int compose_one(qs_model *m, const char *path, const qs_sources *from, bool debug) {
    if (ends_with(path, ".onnx") || ends_with(path, ".tflite"))
        return compose_file(m, path);
    const char *prefix = from->prefix ? from->prefix : "QnnModel";
    if (!qs_is_dlc_library(path))
        return compose_library(m, path, prefix, NULL, debug);
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < from->dlcs->n && code == QT_EXIT_OK; i++)
        code = compose_library(m, path, prefix, from->dlcs->items[i], debug);
    return code;
}

static int check_names(const qs_model *m) {
    for (uint32_t i = 0; i < m->n_graphs; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(m->graphs[i].g->name, m->graphs[k].g->name) == 0) {
                qt_error("two graphs are called '%s'", m->graphs[i].g->name);
                return QT_EXIT_REFUSED;
            }
    return QT_EXIT_OK;
}

int qs_model_compose(qc_client *c, const qs_sources *from, const qs_rules *rules,
                     const QnnContext_Config_t **configs, qs_model *out) {
    *out = (qs_model){.client = c};
    if (qc_check(c, c->qnn.contextCreate(c->backend, c->device, configs, &c->context),
                 "contextCreate") != QRN_OK)
        return refused(c->path);
    int code = QT_EXIT_OK;
    qs_compose_begin(c, rules, &out->composed);
    for (size_t i = 0; i < from->models->n && code == QT_EXIT_OK; i++)
        code = compose_one(out, from->models->items[i], from, rules->all_outputs);
    qs_compose_end(c);
    if (code == QT_EXIT_OK && !out->n_graphs) {
        qt_error("%s: no graph", from->models->items[0]);
        return QT_EXIT_REFUSED;
    }
    return code == QT_EXIT_OK ? check_names(out) : code;
}

int qs_model_finalize(qs_model *m, uint32_t graph, Qnn_ProfileHandle_t profile) {
    qc_graph *g = m->graphs[graph].g;
    g->profile = m->graphs[graph].profile ? NULL : profile;
    qrn_status s = qc_graph_finalize(g);
    g->profile = NULL;
    if (s == QRN_OK)
        return QT_EXIT_OK;
    qt_error("graph '%s': %s", g->name, qrn_message());
    return QT_EXIT_REFUSED;
}

int qs_model_free_contexts(qs_model *m, Qnn_ProfileHandle_t profile) {
    qc_client *c = m->client;
    int code = QT_EXIT_OK;
    for (size_t i = 0; i <= m->n_parts; i++) {
        Qnn_ContextHandle_t *context = i < m->n_parts ? &m->parts[i].context : &c->context;
        if (*context && qc_check(c, c->qnn.contextFree(*context, profile), "contextFree") != QRN_OK)
            code = refused(c->path);
        *context = NULL;
    }
    return code;
}

void qs_model_close(qs_model *m) {
    if (!m->client)
        return;
    for (uint32_t i = 0; i < m->n_graphs; i++)
        qc_graph_destroy(m->graphs[i].g);
    (void)qs_model_free_contexts(m, NULL);
    qs_composed_free(m->client, m->composed);
    for (size_t i = 0; i < m->n_parts; i++) {
        qs_part *p = &m->parts[i];
        if (p->infos)
            (void)p->free_infos(&p->infos, p->n_infos);
        if (p->lib)
            dlclose(p->lib);
        ox_model_close(p->model);
        qt_binary_close(&p->binary);
    }
    free(m->parts);
    free(m->graphs);
    *m = (qs_model){0};
}
