// SPDX-License-Identifier: MIT
//
// Graph component: execution environments. The library can hand out buffers of its own for
// application tensors; memory handles are only checked, since executing binds them where they lie.
#include "api/execute.h"
#include "api/tensor.h"
#include "base/mem.h"
#include "core/errors.h"

// Executions and other calls may use the graph at the same time.
static void add_list(qrn_api_graph *g, qrn_exec_buffer *made) {
    qrn_exec_buffer **end = &made;
    while (*end)
        end = &(*end)->next;
    pthread_mutex_lock(&g->context->own->lock);
    *end = g->own->buffers;
    g->own->buffers = made;
    pthread_mutex_unlock(&g->context->own->lock);
}

static const qrn_tensor *io_tensor(const qrn_api_graph *g, const Qnn_Tensor_t *t, bool is_output) {
    if (t->version != QNN_TENSOR_VERSION_1 && t->version != QNN_TENSOR_VERSION_2)
        return NULL;
    for (uint32_t i = 0; i < g->n_io; i++)
        if (g->io[i].tensor->id == qrn_client_tensor(t)->id && g->io[i].is_output == is_output)
            return g->io[i].tensor;
    return NULL;
}

static bool has_room(const qrn_api_graph *g, const void *handle, size_t size_bytes) {
    const qrn_api_mem *m = qrn_pin_memory(handle);
    bool good = m && m->context == g->context && m->size_bytes >= size_bytes;
    if (m)
        qrn_handle_leave(handle, false);
    return good;
}

static qrn_status check_tensors(const qrn_api_graph *g, const QnnGraph_ExecuteEnvironment_t *env,
                                const Qnn_Tensor_t *list, uint32_t n, bool is_output) {
    if (n && !list)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': %u tensors, but the list is NULL", g->ir->name,
                        n);
    for (uint32_t i = 0; i < n; i++) {
        const qrn_tensor *t = io_tensor(g, &list[i], is_output);
        if (!t)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "graph '%s': tensor %u of the set is no %s of the graph", g->ir->name,
                            i, is_output ? "output" : "input");
        if (env->option != QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES)
            continue;
        const Qnn_TensorV2_t *c = qrn_client_tensor(&list[i]);
        if (c->memType != QNN_TENSORMEMTYPE_MEMHANDLE || !has_room(g, c->memHandle, t->size_bytes))
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "graph '%s' tensor '%s': expected a memory handle of the context with "
                            "at least %zu bytes",
                            g->ir->name, t->name, t->size_bytes);
    }
    return QRN_OK;
}

static qrn_status check_one(const qrn_api_graph *g, const QnnGraph_ExecuteEnvironment_t *env) {
    if (!env)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': an environment is NULL", g->ir->name);
    if (env->option != QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES &&
        env->option != QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': environment option %d, allowed 0 and 1",
                        g->ir->name, (int)env->option);
    if (env->tensorSet.version != QNN_TENSOR_SET_VERSION_1)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': version %d of a tensor set, allowed 1",
                        g->ir->name, (int)env->tensorSet.version);
    const Qnn_TensorSetV1_t *set = &env->tensorSet.v1;
    QRN_TRY(check_tensors(g, env, set->inputs, set->numInputs, false));
    return check_tensors(g, env, set->outputs, set->numOutputs, true);
}

static qrn_status check_all(const qrn_api_graph *g,
                            const QnnGraph_ExecuteEnvironment_t *const *envs, uint32_t n) {
    if (!envs || n == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': no environments given", g->ir->name);
    if (!(qrn_this_backend.features & QRN_FEATURE_EXEC_ENVIRONMENT))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': execution environments are not supported",
                        g->ir->name);
    if (!g->ir->finalized)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s' is not finalized", g->ir->name);
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(check_one(g, envs[i]));
    return QRN_OK;
}

// Adds to the list *made.
static qrn_status give_buffers(const qrn_api_graph *g, Qnn_Tensor_t *list, uint32_t n,
                               bool is_output, qrn_exec_buffer **made) {
    for (uint32_t i = 0; i < n; i++) {
        const qrn_tensor *t = io_tensor(g, &list[i], is_output);
        qrn_exec_buffer *b = qrn_calloc(sizeof(*b));
        void *data = b && t->size_bytes <= UINT32_MAX ? qrn_calloc(t->size_bytes) : NULL;
        if (!data) {
            qrn_free(b);
            return QRN_FAIL(QRN_E_MEM, "graph '%s' tensor '%s': out of memory for %zu bytes",
                            g->ir->name, t->name, t->size_bytes);
        }
        *b = (qrn_exec_buffer){.next = *made, .data = data};
        *made = b;
        list[i].v1.memType = QNN_TENSORMEMTYPE_RAW; // version 2 has it at the same place
        list[i].v1.clientBuf = (Qnn_ClientBuffer_t){data, (uint32_t)t->size_bytes};
    }
    return QRN_OK;
}

static void take_buffer(qrn_api_graph *g, const void *data) {
    qrn_exec_buffer *gone = NULL;
    pthread_mutex_lock(&g->context->own->lock);
    for (qrn_exec_buffer **b = &g->own->buffers; *b && !gone; b = &(*b)->next)
        if ((*b)->data == data) {
            gone = *b;
            *b = gone->next;
            break;
        }
    pthread_mutex_unlock(&g->context->own->lock);
    if (gone)
        qrn_free(gone->data);
    qrn_free(gone);
}

static void take_buffers(qrn_api_graph *g, const Qnn_Tensor_t *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (qrn_client_tensor(&list[i])->memType == QNN_TENSORMEMTYPE_RAW)
            take_buffer(g, qrn_client_tensor(&list[i])->clientBuf.data);
}

static qrn_status prepare(qrn_api_graph *g, QnnGraph_ExecuteEnvironment_t **envs, uint32_t n) {
    QRN_TRY(check_all(g, (const QnnGraph_ExecuteEnvironment_t *const *)envs, n));
    qrn_exec_buffer *made = NULL;
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < n && s == QRN_OK; i++) {
        if (envs[i]->option != QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS)
            continue;
        Qnn_TensorSetV1_t *set = &envs[i]->tensorSet.v1;
        s = give_buffers(g, set->inputs, set->numInputs, false, &made);
        if (s == QRN_OK)
            s = give_buffers(g, set->outputs, set->numOutputs, true, &made);
    }
    if (s == QRN_OK)
        add_list(g, made);
    else
        qrn_exec_buffers_free(made);
    return s;
}

Qnn_ErrorHandle_t QnnGraph_prepareExecutionEnvironment(Qnn_GraphHandle_t graphHandle,
                                                       QnnGraph_ExecuteEnvironment_t **envs,
                                                       uint32_t envSize) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin(QRN_KIND_GRAPH, graphHandle);
    if (!g)
        return qrn_api_end(
            QRN_COMP_GRAPH,
            QRN_FAIL(QRN_E_HANDLE, "prepareExecutionEnvironment: not a graph handle"), NULL);
    return qrn_api_end(QRN_COMP_GRAPH, prepare(g, envs, envSize), g->context->backend->log);
}

Qnn_ErrorHandle_t QnnGraph_releaseExecutionEnvironment(Qnn_GraphHandle_t graphHandle,
                                                       const QnnGraph_ExecuteEnvironment_t **envs,
                                                       uint32_t envSize) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin(QRN_KIND_GRAPH, graphHandle);
    if (!g)
        return qrn_api_end(
            QRN_COMP_GRAPH,
            QRN_FAIL(QRN_E_HANDLE, "releaseExecutionEnvironment: not a graph handle"), NULL);
    qrn_status s = check_all(g, (const QnnGraph_ExecuteEnvironment_t *const *)envs, envSize);
    for (uint32_t i = 0; s == QRN_OK && i < envSize; i++) {
        const Qnn_TensorSetV1_t *set = &envs[i]->tensorSet.v1;
        take_buffers(g, set->inputs, set->numInputs);
        take_buffers(g, set->outputs, set->numOutputs);
    }
    return qrn_api_end(QRN_COMP_GRAPH, s, g->context->backend->log);
}
