// SPDX-License-Identifier: MIT
//
// A backend with deliberate faults, for the self-test of run_cases. Its ops copy input 0 to
// output 0; an op's type names the mistake it makes on the way. Only what run_cases calls is there.
// One context and one graph exist at a time, in static storage.

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "QnnInterface.h"

enum { MAX_TENSORS = 32, ERROR_CODE = 3110 };

static QnnLog_Callback_t log_callback;
static uint8_t constants[MAX_TENSORS][4096]; // by id - 1
static uint32_t n_tensors, n_executions;
static char op[64];
static uint32_t source_id, target_id;
static int anchor; // address of the handles

static bool is(const char *fault) { return strcmp(op, fault) == 0; }

static Qnn_ErrorHandle_t refuse(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    log_callback(fmt, QNN_LOG_LEVEL_ERROR, 0, args);
    va_end(args);
    return ERROR_CODE;
}

static Qnn_TensorV1_t common(const Qnn_Tensor_t *t) {
    if (t->version == QNN_TENSOR_VERSION_1)
        return t->v1;
    Qnn_TensorV1_t out = {.id = t->v2.id,
                          .type = t->v2.type,
                          .rank = t->v2.rank,
                          .dimensions = t->v2.dimensions,
                          .clientBuf = t->v2.clientBuf};
    return out;
}

static Qnn_ErrorHandle_t log_create(QnnLog_Callback_t callback, QnnLog_Level_t level,
                                    Qnn_LogHandle_t *log) {
    (void)level;
    log_callback = callback;
    *log = &anchor;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t log_free(Qnn_LogHandle_t log) {
    (void)log;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t backend_create(Qnn_LogHandle_t log, const QnnBackend_Config_t **config,
                                        Qnn_BackendHandle_t *backend) {
    (void)log;
    (void)config;
    *backend = &anchor;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t backend_free(Qnn_BackendHandle_t backend) {
    (void)backend;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t context_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                        const QnnContext_Config_t **config,
                                        Qnn_ContextHandle_t *context) {
    (void)backend;
    (void)device;
    (void)config;
    n_tensors = n_executions = 0;
    *context = &anchor;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t context_free(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile) {
    (void)context;
    (void)profile;
    return is("FreeFails") ? refuse("still in use") : QNN_SUCCESS;
}

static Qnn_ErrorHandle_t graph_create(Qnn_ContextHandle_t context, const char *name,
                                      const QnnGraph_Config_t **config, Qnn_GraphHandle_t *graph) {
    (void)context;
    (void)name;
    (void)config;
    *graph = &anchor;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor) {
    (void)graph;
    Qnn_TensorV1_t t = common(tensor);
    if (n_tensors == MAX_TENSORS || t.clientBuf.dataSize > sizeof constants[0])
        return ERROR_CODE;
    if (t.clientBuf.data)
        memcpy(constants[n_tensors], t.clientBuf.data, t.clientBuf.dataSize);
    n_tensors++;
    if (tensor->version == QNN_TENSOR_VERSION_1)
        tensor->v1.id = n_tensors;
    else
        tensor->v2.id = n_tensors;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t validate(Qnn_BackendHandle_t backend, Qnn_OpConfig_t config) {
    (void)backend;
    snprintf(op, sizeof op, "%s", config.v1.typeName);
    if (is("RefusedSilently"))
        return ERROR_CODE;
    if (is("Refused") || is("RefusedTooLate"))
        return refuse("op '%s' is refused\n", op);
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t add_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t config) {
    (void)graph;
    snprintf(op, sizeof op, "%s", config.v1.typeName);
    if (config.v1.numOfInputs == 0 || config.v1.numOfOutputs == 0)
        return ERROR_CODE;
    source_id = common(&config.v1.inputTensors[0]).id;
    target_id = common(&config.v1.outputTensors[0]).id;
    if (source_id == 0)
        return ERROR_CODE;
    if (is("Refused") || is("RefusedSilently") || is("AddFails"))
        return refuse("op '%s' is not added", op);
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t finalize(Qnn_GraphHandle_t graph, Qnn_ProfileHandle_t profile,
                                  Qnn_SignalHandle_t signal) {
    (void)graph;
    (void)profile;
    (void)signal;
    return is("FinalizeFails") ? refuse("no graph") : QNN_SUCCESS;
}

static Qnn_ErrorHandle_t execute(Qnn_GraphHandle_t graph, const Qnn_Tensor_t *in, uint32_t n_in,
                                 Qnn_Tensor_t *out, uint32_t n_out, Qnn_ProfileHandle_t profile,
                                 Qnn_SignalHandle_t signal) {
    (void)graph;
    (void)profile;
    (void)signal;
    Qnn_TensorV1_t source = {.clientBuf = {constants[source_id - 1], sizeof constants[0]}};
    Qnn_TensorV1_t target = common(&out[0]);
    for (uint32_t i = 0; i < n_in; i++)
        if (common(&in[i]).id == source_id || is("IgnoresIds"))
            source = common(&in[i]);
    for (uint32_t i = 0; i < n_out; i++)
        if (common(&out[i]).id == target_id)
            target = common(&out[i]);
    uint8_t *from = source.clientBuf.data, *to = target.clientBuf.data;
    uint32_t size = target.clientBuf.dataSize;
    if (size == 0 || size > source.clientBuf.dataSize)
        return ERROR_CODE;
    n_executions++;
    if (is("ExecuteFails"))
        return refuse("no result");
    bool early = is("EndsEarly") || is("EndsEarlyAndLies");
    for (uint32_t i = 0; i < n_out; i++)
        if (out[i].version == QNN_TENSOR_VERSION_2)
            out[i].v2.isProduced = !early || is("EndsEarlyAndLies");
    if (early)
        return QNN_GRAPH_ERROR_EARLY_TERMINATION;
    memcpy(to, from, is("LeavesTheEnd") ? size - 1 : size);
    if (is("OneMore"))
        to[0]++;
    if (is("TwoMore"))
        to[0] = (uint8_t)(to[0] + 2);
    if (is("OneMoreEverywhere"))
        for (uint32_t i = 0; i < size; i++)
            to[i]++;
    if (is("Forgetful") && n_executions > 1)
        to[size - 1] ^= 1;
    if (is("WritesInput"))
        from[0] ^= 1;
    if (is("Shrinks") && target.rank > 0)
        target.dimensions[0]--;
    return QNN_SUCCESS;
}

static const QnnInterface_t provider = {
    .backendId = QNN_BACKEND_ID_NULL,
    .providerName = "FAULTY",
    .apiVersion = QNN_API_VERSION_INIT,
    .QNN_INTERFACE_VER_NAME =
        {
            .logCreate = log_create,
            .logFree = log_free,
            .backendCreate = backend_create,
            .backendFree = backend_free,
            .backendValidateOpConfig = validate,
            .contextCreate = context_create,
            .contextFree = context_free,
            .graphCreate = graph_create,
            .graphAddNode = add_node,
            .graphFinalize = finalize,
            .graphExecute = execute,
            .tensorCreateGraphTensor = create_tensor,
        },
};

__attribute__((visibility("default"))) Qnn_ErrorHandle_t QnnInterface_getProviders(
    const QnnInterface_t ***list, uint32_t *n) {
    static const QnnInterface_t *providers[] = {&provider};
    *list = providers;
    *n = 1;
    return QNN_SUCCESS;
}
