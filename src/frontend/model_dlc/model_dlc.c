// SPDX-License-Identifier: MIT
//
// libQnnModelDlc.so: a model library whose graphs are those of a DLC file. The System library
// beside it reads the file and builds the graphs through the function table that the caller passes.
//
// State: the table in use while graphs are built for debugging, behind a lock, for the functions of
// a table have no context.
#include "frontend/client/client.h"

#include "base/mem.h"
#include "base/stack_table.h"
#include "frontend/client/internal.h"

#include "Quern/model.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

// Arguments of composeGraphsFromDlc.
typedef struct request {
    qc_client *client; // the caller's table, backend and context
    const GraphConfigInfo_t **configs;
    uint32_t n_configs;
    const char *path;
    GraphInfo_t ***graphs;
    uint32_t *n_graphs;
    bool debug;
    QnnLog_Callback_t log;
    QnnLog_Level_t level;
} request;

// What a caller gets is `list`.
typedef struct answer {
    uint32_t n;
    GraphInfo_t *graphs; // one behind the other: some callers count in the first pointer
    qc_graph **owners;   // of names and tensors
    GraphInfo_t *list[];
} answer;

// --- Words

static void say(const request *r, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    if (r->log && r->level >= QNN_LOG_LEVEL_ERROR)
        r->log(fmt, QNN_LOG_LEVEL_ERROR, 0, args);
    va_end(args);
}

static ModelError_t failed(const request *r, ModelError_t error) {
    say(r, "%s: %s", r->path ? r->path : "composeGraphsFromDlc", qrn_message());
    return error;
}

static ModelError_t no_memory(const request *r) {
    (void)qc_no_memory("graphs of a DLC file");
    return failed(r, MODEL_MEMORY_ALLOCATE_ERROR);
}

// --- Debugging: intermediate tensors become outputs

static struct {
    qc_client *client;
    QnnTensor_CreateGraphTensorFn_t create;
    qc_graph **seen; // application tensors of each graph in order of creation, by handle
    uint32_t n;
} now;
static pthread_mutex_t composing = PTHREAD_MUTEX_INITIALIZER; // guards `now`

static qc_graph *graph_of(Qnn_GraphHandle_t handle) {
    for (uint32_t i = 0; i < now.n; i++)
        if (now.seen[i]->handle == handle)
            return now.seen[i];
    qc_graph **grown = realloc(now.seen, (now.n + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    now.seen = grown;
    if (qc_graph_adopt(now.client, "", handle, NULL, 0, NULL, 0, &grown[now.n]) != QRN_OK)
        return NULL;
    return grown[now.n++];
}

static Qnn_ErrorHandle_t create_visible(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    bool native = t && t->v1.type == QNN_TENSOR_TYPE_NATIVE; // the versions agree in these fields
    if (native)
        t->v1.type = QNN_TENSOR_TYPE_APP_READ;
    Qnn_ErrorHandle_t code = now.create(graph, t);
    if (code != QNN_SUCCESS || !native)
        return code;
    qc_graph *g = graph_of(graph);
    return g && qc_graph_add_port(g, t, true) == QRN_OK ? QNN_SUCCESS : QNN_COMMON_ERROR_MEM_ALLOC;
}

static void begin_debug(qc_client *c) {
    pthread_mutex_lock(&composing);
    now.client = c;
    now.create = c->qnn.tensorCreateGraphTensor;
    c->qnn.tensorCreateGraphTensor = create_visible;
}

static void end_debug(qc_client *c) {
    c->qnn.tensorCreateGraphTensor = now.create;
    for (uint32_t i = 0; i < now.n; i++)
        qc_graph_destroy(now.seen[i]);
    free(now.seen);
    memset(&now, 0, sizeof now);
    pthread_mutex_unlock(&composing);
}

// --- Descriptions

static void free_answer(answer *a) {
    for (uint32_t i = 0; a && i < a->n; i++) {
        free(a->graphs[i].inputTensors);
        free(a->graphs[i].outputTensors);
        qc_graph_destroy(a->owners[i]);
    }
    if (a) {
        free(a->graphs);
        free(a->owners);
    }
    free(a);
}

static answer *new_answer(uint32_t n) {
    answer *a = calloc(1, sizeof *a + n * sizeof *a->list);
    if (!a)
        return NULL;
    a->graphs = calloc((size_t)n + 1, sizeof *a->graphs);
    a->owners = calloc((size_t)n + 1, sizeof(qc_graph *));
    if (!a->graphs || !a->owners) {
        free_answer(a);
        return NULL;
    }
    a->n = n;
    return a;
}

static Qnn_Tensor_t *tensors_of(qc_tensor *const *list, uint32_t n) {
    Qnn_Tensor_t *out = calloc((size_t)n + 1, sizeof *out);
    for (uint32_t i = 0; out && i < n; i++)
        out[i] = list[i]->t;
    return out;
}

static qrn_status describe(qc_client *c, const QnnSystemContext_GraphInfoV1_t *g, GraphInfo_t *out,
                           qc_graph **owner) {
    Qnn_GraphHandle_t handle = NULL;
    QRN_TRY(qc_check(c, c->qnn.graphRetrieve(c->context, g->graphName, &handle), "graphRetrieve"));
    QRN_TRY(qc_graph_adopt(c, g->graphName, handle, g->graphInputs, g->numGraphInputs,
                           g->graphOutputs, g->numGraphOutputs, owner));
    qc_graph *own = *owner;
    for (uint32_t i = 0; i < now.n; i++)
        for (uint32_t k = 0; now.seen[i]->handle == handle && k < now.seen[i]->n_outputs; k++)
            QRN_TRY(qc_graph_add_port(own, &now.seen[i]->outputs[k]->t, true));
    *out = (GraphInfo_t){.graph = handle,
                         .graphName = (char *)(uintptr_t)own->name,
                         .inputTensors = tensors_of(own->inputs, own->n_inputs),
                         .numInputTensors = own->n_inputs,
                         .outputTensors = tensors_of(own->outputs, own->n_outputs),
                         .numOutputTensors = own->n_outputs};
    return out->inputTensors && out->outputTensors ? QRN_OK : qc_no_memory(g->graphName);
}

static ModelError_t describe_all(const request *r, const QnnSystemContext_GraphInfo_t *graphs,
                                 uint32_t n) {
    answer *a = new_answer(n);
    if (!a)
        return no_memory(r);
    for (uint32_t i = 0; i < n; i++) {
        a->list[i] = &a->graphs[i];
        if (describe(r->client, &graphs[i].graphInfoV1, &a->graphs[i], &a->owners[i]) != QRN_OK) {
            free_answer(a);
            return failed(r, MODEL_GRAPH_ERROR);
        }
    }
    *r->graphs = a->list;
    *r->n_graphs = n;
    return MODEL_NO_ERROR;
}

// --- Composing

// Options by the names of graphs, as the System library takes them: one block.
static qrn_status convert_configs(const request *r, const QnnSystemDlc_GraphConfigInfo_t ***out) {
    uint32_t n = r->n_configs;
    const QnnSystemDlc_GraphConfigInfo_t **list = calloc(1, n * (sizeof *list + sizeof **list) + 1);
    if (!list)
        return qc_no_memory("options of graphs");
    QnnSystemDlc_GraphConfigInfo_t *infos = (QnnSystemDlc_GraphConfigInfo_t *)(list + n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (r->configs[i] && r->configs[i]->graphConfigs && r->configs[i]->graphConfigs[k])
            k++;
        infos[i].version = QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1;
        infos[i].v1.graphName = r->configs[i] ? r->configs[i]->graphName : NULL;
        infos[i].v1.graphConfigs = r->configs[i] ? r->configs[i]->graphConfigs : NULL;
        infos[i].v1.numConfigs = k;
        list[i] = &infos[i];
    }
    *out = list;
    return QRN_OK;
}

static Qnn_ErrorHandle_t absent(void) { return QNN_COMMON_ERROR_NOT_SUPPORTED; }

// Every slot has a function: an empty one would be the end of the table where it is passed on.
static QnnInterface_t whole_table(const qc_client *c) {
    QnnInterface_t table = {.providerName = "", .QNN_INTERFACE_VER_NAME = c->qnn};
    Qnn_ErrorHandle_t (*none)(void) = absent;
    unsigned char *at = (unsigned char *)&table.QNN_INTERFACE_VER_NAME;
    for (size_t i = 0; i < sizeof c->qnn; i += sizeof none) {
        void *slot = NULL;
        memcpy(&slot, at + i, sizeof slot);
        if (!slot)
            memcpy(at + i, &none, sizeof none);
    }
    table.apiVersion.coreApiVersion =
        (Qnn_Version_t){QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH};
    return table;
}

static void free_graphs(QnnSystemContext_GraphInfo_t *graphs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)graphs[i].graphInfoV1.graphName);
        free(graphs[i].graphInfoV1.graphInputs);
        free(graphs[i].graphInfoV1.graphOutputs);
    }
    free(graphs);
}

static ModelError_t compose_with(const request *r, qc_system *s, QnnSystemDlc_Handle_t dlc) {
    const QnnSystemDlc_GraphConfigInfo_t **configs = NULL;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    qc_client *c = r->client;
    uint32_t n = 0;
    if (convert_configs(r, &configs) != QRN_OK)
        return failed(r, MODEL_MEMORY_ALLOCATE_ERROR);
    if (r->debug)
        begin_debug(c);
    Qnn_ErrorHandle_t code = s->fn.systemDlcComposeGraphs(
        dlc, configs, r->n_configs, c->backend, c->context, whole_table(c),
        QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, &graphs, &n);
    ModelError_t error = qc_system_check(s, code, "its graphs cannot be composed") == QRN_OK
                             ? describe_all(r, graphs, n)
                             : failed(r, MODEL_GRAPH_ERROR);
    if (r->debug)
        end_debug(c);
    if (code == QNN_SUCCESS)
        free_graphs(graphs, n);
    free(configs);
    return error;
}

static ModelError_t compose(const request *r) {
    Dl_info self;
    qc_system *s = NULL;
    QnnSystemDlc_Handle_t dlc = NULL;
    if (!r->path || !r->graphs || !r->n_graphs || (r->n_configs && !r->configs)) {
        (void)QRN_FAIL(QRN_E_ARGUMENT, "no %s",
                       !r->path     ? "path of a DLC file"
                       : r->configs ? "place for the graphs"
                                    : "place for the graphs or list of options");
        return failed(r, MODEL_INVALID_ARGUMENT_ERROR);
    }
    bool found = dladdr((const void *)(uintptr_t)QnnModel_freeGraphsInfo, &self) && self.dli_fname;
    if (qc_system_open(found ? self.dli_fname : NULL, &s) != QRN_OK)
        return failed(r, MODEL_SETUP_ERROR);
    const qc_dlc_source from = {.path = r->path};
    ModelError_t error = qc_dlc_open(s, &from, &dlc) == QRN_OK ? compose_with(r, s, dlc)
                                                               : failed(r, MODEL_FILE_ERROR);
    if (dlc)
        s->fn.systemDlcFree(dlc);
    qc_system_close(s);
    return error;
}

EXPORTED ModelError_t QnnModel_freeGraphsInfo(GraphInfo_t ***graphsInfo, uint32_t numGraphsInfo) {
    (void)numGraphsInfo; // the list knows its length
    if (!graphsInfo || !*graphsInfo)
        return MODEL_INVALID_ARGUMENT_ERROR;
    free_answer((answer *)(void *)((char *)*graphsInfo - offsetof(answer, list)));
    *graphsInfo = NULL;
    return MODEL_NO_ERROR;
}

#if defined(__x86_64__)

// The arguments that are not on the stack, then those that are: the table, numGraphsInfo, debug,
// logCallback, maxLogLevel.
EXPORTED ModelError_t qrn_compose_from_dlc(Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
                                           const GraphConfigInfo_t **configs, const char *path,
                                           uint32_t n_configs, GraphInfo_t ***graphs,
                                           ...) __asm__("QnnModel_composeGraphsFromDlc");

ModelError_t qrn_compose_from_dlc(Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
                                  const GraphConfigInfo_t **configs, const char *path,
                                  uint32_t n_configs, GraphInfo_t ***graphs, ...) {
    uint64_t words[sizeof(QNN_INTERFACE_VER_TYPE) / 8], behind = 0;
    qc_client client = {.backend = backend, .context = context};
    request r = {.client = &client,
                 .configs = configs,
                 .n_configs = n_configs,
                 .path = path,
                 .graphs = graphs};
    va_list args;
    va_start(args, graphs);
    bool good = qrn_stack_table(&args, 0, words, sizeof words / sizeof words[0], &behind);
    if (good) {
        r.n_graphs = (uint32_t *)(uintptr_t)behind;
        r.debug = (va_arg(args, uint64_t) & 0xff) != 0;
        r.log = va_arg(args, QnnLog_Callback_t);
        r.level = (QnnLog_Level_t)va_arg(args, unsigned);
    }
    va_end(args);
    if (!good)
        return MODEL_INVALID_ARGUMENT_ERROR;
    memcpy(&client.qnn, words, sizeof client.qnn);
    return compose(&r);
}

#else

EXPORTED ModelError_t QnnModel_composeGraphsFromDlc(
    Qnn_BackendHandle_t backendHandle, QNN_INTERFACE_VER_TYPE iface,
    Qnn_ContextHandle_t contextHandle, const GraphConfigInfo_t **graphsConfigInfo,
    const char *dlcPath, const uint32_t numGraphsConfigInfo, GraphInfo_t ***graphsInfo,
    uint32_t *numGraphsInfo, bool debug, QnnLog_Callback_t logCallback,
    QnnLog_Level_t maxLogLevel) {
    qc_client client = {.backend = backendHandle, .context = contextHandle, .qnn = iface};
    const request r = {&client, graphsConfigInfo, numGraphsConfigInfo,
                       dlcPath, graphsInfo,       numGraphsInfo,
                       debug,   logCallback,      maxLogLevel};
    return compose(&r);
}

#endif
