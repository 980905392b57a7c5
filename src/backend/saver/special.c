// SPDX-License-Identifier: MIT
//
// Where the recorder differs from a backend that computes: graphs of binaries, which nobody reads
// here, calls that notify the client of their end, and votes for clocks.
#include "backend/saver/saver.h"

#include "base/mem.h"
#include "core/services.h"

#include "CPU/QnnCpuCommon.h"
#include "GPU/QnnGpuCommon.h"
#include "HTP/QnnHtpDevice.h"

#include <string.h>

// --- Graphs of binaries: known by name alone

static char unread; // its address marks such graphs

static bool is_unread(Qnn_GraphHandle_t graph) {
    const qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, graph);
    return g && g->impl == &unread;
}

static Qnn_ErrorHandle_t (*retrieve_built)(Qnn_ContextHandle_t, const char *, Qnn_GraphHandle_t *);
static Qnn_ErrorHandle_t (*execute_built)(Qnn_GraphHandle_t, const Qnn_Tensor_t *, uint32_t,
                                          Qnn_Tensor_t *, uint32_t, Qnn_ProfileHandle_t,
                                          Qnn_SignalHandle_t);

// Any name is accepted: the replay finds out whether the binary has it.
static Qnn_ErrorHandle_t retrieve(Qnn_ContextHandle_t context, const char *name,
                                  Qnn_GraphHandle_t *out) {
    qrn_api_context *c = qrn_handle_get(QRN_KIND_CONTEXT, context);
    if (!c || !c->from_binary || !name || !*name || !out || qrn_api_graph_find(c, name))
        return retrieve_built(context, name, out);
    qrn_api_graph *g = NULL;
    qrn_status s = qrn_api_graph_new(c, NULL, name, &g);
    if (s == QRN_OK) {
        g->impl = &unread;
        g->ir->finalized = true;
        *out = g->handle;
    }
    return qrn_api_end(QRN_COMP_GRAPH, s, c->backend->log);
}

static qrn_status check_tensors(const char *what, const Qnn_Tensor_t *list, uint32_t n) {
    if (n && !list)
        return QRN_FAIL(QRN_E_ARGUMENT, "%u %s, but the list is NULL", n, what);
    for (uint32_t i = 0; i < n; i++)
        if (list[i].version != QNN_TENSOR_VERSION_1 && list[i].version != QNN_TENSOR_VERSION_2)
            return QRN_FAIL(QRN_E_TENSOR, "%s %u: version %d of a tensor, allowed 1, 2", what, i,
                            (int)list[i].version);
    return QRN_OK;
}

static Qnn_ErrorHandle_t execute(Qnn_GraphHandle_t graph, const Qnn_Tensor_t *inputs,
                                 uint32_t n_inputs, Qnn_Tensor_t *outputs, uint32_t n_outputs,
                                 Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal) {
    if (!is_unread(graph))
        return execute_built(graph, inputs, n_inputs, outputs, n_outputs, profile, signal);
    qrn_status s = check_tensors("inputs", inputs, n_inputs);
    if (s == QRN_OK)
        s = check_tensors("outputs", outputs, n_outputs);
    return qrn_api_end(QRN_COMP_GRAPH, s, qrn_saver_log());
}

// --- Calls that notify of their end: at once, but after they were written

Qnn_ErrorHandle_t qrn_saver_execute_async(Qnn_GraphHandle_t graph, const Qnn_Tensor_t *inputs,
                                          uint32_t n_inputs, Qnn_Tensor_t *outputs,
                                          uint32_t n_outputs, Qnn_ProfileHandle_t profile,
                                          Qnn_SignalHandle_t signal, Qnn_NotifyFn_t notify,
                                          void *param) {
    const qrn_saver_call *call = &qrn_saver_calls[QRN_SLOT(graphExecuteAsync)];
    const void *const args[] = {&graph,   &inputs, &n_inputs, &outputs, &n_outputs,
                                &profile, &signal, &notify,   &param};
    Qnn_ErrorHandle_t code = qrn_saver_begin(call);
    if (code != QNN_SUCCESS)
        return code;
    code = qrn_saver_core()->graphExecute(graph, inputs, n_inputs, outputs, n_outputs, profile,
                                          signal);
    code = qrn_saver_end(call, code, args);
    if (code == QNN_SUCCESS && notify)
        notify(param, (Qnn_NotifyStatus_t){.error = QNN_SUCCESS});
    return code;
}

// One entry of a list: what its client is notified of, later.
typedef struct notice {
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t code;
} notice;

static void note(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                 QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                 Qnn_ErrorHandle_t code) {
    (void)graph;
    (void)name;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        *(notice *)param = (notice){context, code};
}

// The client's list with functions of ours. Version 2 entries keep their callbacks.
typedef struct copy {
    QnnContext_Params_t *entries; // [n]
    QnnContext_ParamsV2_t *v2;    // [n]
    const QnnContext_Params_t **list;
    notice *notices; // [n]
    size_t n;
} copy;

static bool is_readable(const QnnContext_Params_t *p) {
    return p->version == QNN_CONTEXT_PARAMS_VERSION_1 ||
           (p->version == QNN_CONTEXT_PARAMS_VERSION_2 && p->v2);
}

// The functions and their parameters, wherever they stand in an entry.
static QnnContext_createFromBinaryNotifyFn_t *function_of(QnnContext_Params_t *p, void ***param) {
    bool v1 = p->version == QNN_CONTEXT_PARAMS_VERSION_1;
    *param = v1 ? &p->v1.notifyParam : &p->v2->notifyParam;
    return v1 ? &p->v1.notifyFunc : &p->v2->notifyFunc;
}

static bool copy_list(const QnnContext_Params_t **params, copy *c) {
    while (params[c->n])
        c->n++;
    c->entries = qrn_calloc(c->n * sizeof *c->entries);
    c->v2 = qrn_calloc(c->n * sizeof *c->v2);
    c->list = qrn_calloc((c->n + 1) * sizeof *c->list);
    c->notices = qrn_calloc(c->n * sizeof *c->notices);
    if (!c->entries || !c->v2 || !c->list || !c->notices)
        return false;
    for (size_t i = 0; i < c->n; i++) {
        memcpy(&c->entries[i], params[i], sizeof c->entries[i]);
        c->list[i] = &c->entries[i];
        if (!is_readable(params[i]))
            continue;
        if (params[i]->version == QNN_CONTEXT_PARAMS_VERSION_2) {
            memcpy(&c->v2[i], params[i]->v2, sizeof c->v2[i]);
            c->entries[i].v2 = &c->v2[i];
        }
        void **param;
        QnnContext_createFromBinaryNotifyFn_t *fn = function_of(&c->entries[i], &param);
        if (*fn) { // the core rejects an entry without
            *fn = note;
            *param = &c->notices[i];
        }
    }
    return true;
}

static void copy_free(copy *c) {
    qrn_free(c->entries);
    qrn_free(c->v2);
    qrn_free(c->list);
    qrn_free(c->notices);
}

static Qnn_ErrorHandle_t write_list(const qrn_saver_call *call, Qnn_ErrorHandle_t code,
                                    const void *const *args, const copy *c) {
    Qnn_ContextHandle_t *made = qrn_calloc((c->n + 1) * sizeof *made);
    qrn_status s = made ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for a recording");
    for (size_t i = 0; made && i < c->n; i++)
        made[i] = c->notices[i].context;
    if (s == QRN_OK)
        s = code == QNN_SUCCESS ? qrn_saver_record_list(call, args, made)
                                : qrn_saver_record_refused(call, code, "a list of binaries");
    for (size_t i = 0; s != QRN_OK && i < c->n; i++)
        if (c->notices[i].context)
            qrn_saver_core()->contextFree(c->notices[i].context, NULL);
    qrn_free(made);
    return s == QRN_OK ? code : qrn_api_end(QRN_COMP_CONTEXT, s, qrn_saver_log());
}

Qnn_ErrorHandle_t qrn_saver_create_list(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                        const QnnContext_Params_t **params,
                                        const QnnContext_Config_t **config,
                                        Qnn_SignalHandle_t signal) {
    const qrn_saver_call *call = &qrn_saver_calls[QRN_SLOT(contextCreateFromBinaryListAsync)];
    const void *const args[] = {&backend, &device, &params, &config, &signal};
    Qnn_ErrorHandle_t code = qrn_saver_begin(call);
    copy c = {0};
    if (code != QNN_SUCCESS)
        return code;
    if (params && !copy_list(params, &c))
        code = qrn_api_end(QRN_COMP_CONTEXT, QRN_FAIL(QRN_E_MEM, "out of memory for a list"), NULL);
    else
        code = qrn_saver_core()->contextCreateFromBinaryListAsync(backend, device, c.list, config,
                                                                  signal);
    code = write_list(call, code, args, &c);
    qrn_saver_unlock();
    for (size_t i = 0; code == QNN_SUCCESS && i < c.n; i++) {
        QnnContext_Params_t own = {.version = QNN_CONTEXT_PARAMS_VERSION_UNDEFINED};
        void **param;
        memcpy(&own, params[i], sizeof own);
        (*function_of(&own, &param))(c.notices[i].context, NULL, NULL,
                                     QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT, *param,
                                     c.notices[i].code);
    }
    copy_free(&c);
    return code;
}

// --- Votes for clocks

#define PERF_ARG(k)                                                                                \
    { .kind = QRN_SAVED_##k }
#define PERF_LIST(t)                                                                               \
    { .kind = QRN_SAVED_LIST, .type = &qrn_type_##t }
#define PERF_POWER(k)                                                                              \
    { .kind = QRN_SAVED_##k, .object = QRN_SAVER_POWER }

static const qrn_saver_call perf_create = {"createPowerConfigId",
                                           QRN_COMP_PERF,
                                           QRN_CALL_PERF,
                                           3,
                                           {PERF_ARG(U32), PERF_ARG(U32), PERF_POWER(NEW)}};
static const qrn_saver_call perf_destroy = {
    "destroyPowerConfigId", QRN_COMP_PERF, QRN_CALL_PERF | QRN_CALL_FREES, 1, {PERF_POWER(HANDLE)}};
static const qrn_saver_call perf_vote = {
    "setPowerConfig", QRN_COMP_PERF, QRN_CALL_PERF, 2, {PERF_POWER(HANDLE), PERF_LIST(power)}};
static const qrn_saver_call perf_memory = {
    "setMemoryConfig",
    QRN_COMP_PERF,
    QRN_CALL_PERF,
    3,
    {PERF_ARG(U32), PERF_ARG(U32), PERF_LIST(memory_config)}};

static qrn_status check_power(uint32_t id) {
    if (qrn_saver_find(QRN_SAVER_POWER, (const void *)(uintptr_t)id) < 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "power config id %u does not exist", id);
    return QRN_OK;
}

static Qnn_ErrorHandle_t perf_end(qrn_status s) {
    return qrn_api_end(QRN_COMP_PERF, s, qrn_saver_log());
}

static Qnn_ErrorHandle_t create_power(uint32_t device, uint32_t core, uint32_t *id) {
    static uint32_t next; // guarded by the lock
    const void *const args[] = {&device, &core, &id};
    Qnn_ErrorHandle_t code = qrn_saver_begin(&perf_create);
    if (code != QNN_SUCCESS)
        return code;
    qrn_status s = id ? QRN_OK : QRN_FAIL(QRN_E_ARGUMENT, "power config: no place for the id");
    if (id)
        *id = ++next;
    return qrn_saver_end(&perf_create, perf_end(s), args);
}

static Qnn_ErrorHandle_t destroy_power(uint32_t id) {
    const void *const args[] = {&id};
    Qnn_ErrorHandle_t code = qrn_saver_begin(&perf_destroy);
    return code == QNN_SUCCESS ? qrn_saver_end(&perf_destroy, perf_end(check_power(id)), args)
                               : code;
}

static Qnn_ErrorHandle_t vote(uint32_t id, const QnnHtpPerfInfrastructure_PowerConfig_t **config) {
    const void *const args[] = {&id, &config};
    Qnn_ErrorHandle_t code = qrn_saver_begin(&perf_vote);
    if (code != QNN_SUCCESS)
        return code;
    qrn_status s = config ? check_power(id) : QRN_FAIL(QRN_E_ARGUMENT, "power config: no options");
    return qrn_saver_end(&perf_vote, perf_end(s), args);
}

static Qnn_ErrorHandle_t set_memory(uint32_t device, uint32_t core,
                                    const QnnHtpPerfInfrastructure_MemoryConfig_t **config) {
    const void *const args[] = {&device, &core, &config};
    Qnn_ErrorHandle_t code = qrn_saver_begin(&perf_memory);
    if (code != QNN_SUCCESS)
        return code;
    qrn_status s = config ? QRN_OK : QRN_FAIL(QRN_E_ARGUMENT, "memory config: no options");
    return qrn_saver_end(&perf_memory, perf_end(s), args);
}

static QnnHtpDevice_Infrastructure_t infrastructure = {
    .infraType = QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF,
    .perfInfra = {create_power, destroy_power, vote, set_memory}};

// Only the HTP has one; a client that names no backend gets it, because it would ask for nothing
// else.
static Qnn_ErrorHandle_t get_infrastructure(const QnnDevice_Infrastructure_t *out) {
    uint32_t id = qrn_saver_options_now()->backend_id;
    if (!out)
        return qrn_api_end(QRN_COMP_DEVICE,
                           QRN_FAIL(QRN_E_ARGUMENT, "device infrastructure: no place for it"),
                           qrn_saver_log());
    if (id == QNN_BACKEND_ID_CPU || id == QNN_BACKEND_ID_GPU)
        return QNN_SAVER_ERROR_DUMMY_RETVALUE;
    *(QnnDevice_Infrastructure_t *)out = &infrastructure;
    return QNN_SUCCESS;
}

void qrn_saver_specials(QNN_INTERFACE_VER_TYPE *core) {
    retrieve_built = core->graphRetrieve;
    execute_built = core->graphExecute;
    core->graphRetrieve = retrieve;
    core->graphExecute = execute;
    core->deviceGetInfrastructure = get_infrastructure;
}
