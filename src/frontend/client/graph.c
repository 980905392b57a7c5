// SPDX-License-Identifier: MIT
//
// Graphs and their tensors: creation with unique names, finalize and execute.
#include "frontend/client/internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define MAX_RANK 8
#define STACK_TENSORS 16 // executions with more bind on the heap

static const char kept; // its address stands for a name that is kept for an output

qrn_status qc_keep_name(qc_graph *g, const char *name) {
    if (qrn_strmap_get(&g->tensor_names, name))
        return QRN_OK;
    const char *key = qrn_arena_strdup(g->arena, name);
    if (!key || !qrn_strmap_put(&g->tensor_names, key, (void *)(uintptr_t)&kept))
        return qc_no_memory(name);
    return QRN_OK;
}

// A name for a tensor: outputs take theirs, the others are made unique.
static const char *tensor_name(qc_graph *g, const char *name, Qnn_TensorType_t type,
                               const qc_tensor *t) {
    if (type != QNN_TENSOR_TYPE_APP_READ || !name ||
        qrn_strmap_get(&g->tensor_names, name) != &kept)
        return qc_unique_name(g, &g->tensor_names, name, t);
    const char *key = qrn_arena_strdup(g->arena, name);
    return key && qrn_strmap_put(&g->tensor_names, key, (void *)(uintptr_t)t) ? key : NULL;
}

const char *qc_unique_name(qc_graph *g, qrn_strmap *taken, const char *name, const void *value) {
    if (!name || !*name)
        name = "t";
    const char *key = name;
    char *made = NULL;
    size_t room = strlen(name) + 16;
    while (qrn_strmap_get(taken, key)) {
        if (!made && !(made = qrn_arena_alloc(g->arena, room)))
            return NULL;
        snprintf(made, room, "%s_%u", name, ++g->n_names);
        key = made;
    }
    if (!made)
        key = qrn_arena_strdup(g->arena, name);
    return key && qrn_strmap_put(taken, key, (void *)(uintptr_t)value) ? key : NULL;
}

unsigned qc_dtype_bits(Qnn_DataType_t dtype) {
    if (dtype == QNN_DATATYPE_BFLOAT_16)
        return 16;
    unsigned low = (unsigned)dtype & 0xff; // decimal digits written as hex
    return (low >> 4) * 10 + (low & 15);
}

size_t qc_tensor_count(const qc_tensor *t) {
    size_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

size_t qc_tensor_bytes(const qc_tensor *t) {
    return (qc_tensor_count(t) * qc_dtype_bits(t->t.v1.dataType) + 7) / 8;
}

static qc_graph *new_graph(qc_client *c) {
    qrn_arena *arena = qrn_arena_create();
    qc_graph *g = arena ? qrn_arena_alloc(arena, sizeof *g) : NULL;
    if (!g) {
        qrn_arena_destroy(arena);
        return NULL;
    }
    g->client = c;
    g->arena = arena;
    return g;
}

qrn_status qc_graph_create(qc_client *c, const char *name, const QnnGraph_Config_t **configs,
                           qc_graph **out) {
    qc_graph *g = new_graph(c);
    // The library says what it thinks of a missing name.
    if (!g || !(g->name = qrn_arena_strdup(g->arena, name ? name : ""))) {
        qc_graph_destroy(g);
        return qc_no_memory(name ? name : "graph");
    }
    qrn_status s =
        qc_check(c, c->qnn.graphCreate(c->context, name, configs, &g->handle), "graphCreate");
    if (s != QRN_OK) {
        qc_graph_destroy(g);
        return s;
    }
    *out = g;
    return QRN_OK;
}

void qc_graph_destroy(qc_graph *g) {
    if (!g)
        return;
    qrn_strmap_clear(&g->tensor_names);
    qrn_strmap_clear(&g->node_names);
    qrn_arena_destroy(g->arena);
}

// Appends to a list that lives in the arena; old copies stay there, which doubling bounds.
static bool append(qc_graph *g, qc_tensor ***list, uint32_t *n, uint32_t *cap, qc_tensor *t) {
    if (*n == *cap) {
        uint32_t want = *cap ? 2 * *cap : 8;
        qc_tensor **grown = qrn_arena_alloc(g->arena, want * sizeof *grown);
        if (!grown)
            return false;
        if (*n)
            memcpy(grown, *list, *n * sizeof *grown);
        *list = grown;
        *cap = want;
    }
    t->port = *n;
    (*list)[(*n)++] = t;
    return true;
}

static bool note_port(qc_graph *g, qc_tensor *t, Qnn_TensorType_t type) {
    if (type == QNN_TENSOR_TYPE_APP_WRITE)
        return append(g, &g->inputs, &g->n_inputs, &g->cap_inputs, t);
    if (type == QNN_TENSOR_TYPE_APP_READ)
        return append(g, &g->outputs, &g->n_outputs, &g->cap_outputs, t);
    return true;
}

// Buffers that pass through the API have sizes of 32 bits. Said before anybody makes room for them.
static qrn_status check_port(const qc_tensor *t, Qnn_TensorType_t type) {
    double bytes = qc_dtype_bits(t->t.v1.dataType) / 8.0;
    for (uint32_t i = 0; i < t->rank; i++)
        bytes *= t->dims[i];
    bool port = type == QNN_TENSOR_TYPE_APP_WRITE || type == QNN_TENSOR_TYPE_APP_READ;
    if (!port || bytes <= UINT32_MAX)
        return QRN_OK;
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "tensor '%s': %.0f bytes, more than the API's 32 bits can say", t->t.v1.name,
                    bytes);
}

static qrn_status set_data(qc_tensor *t, const void *data, size_t bytes) {
    size_t want = qc_tensor_bytes(t);
    if (bytes != want)
        return QRN_FAIL(QRN_E_ARGUMENT, "tensor '%s': %zu bytes of data, expected %zu",
                        t->t.v1.name, bytes, want);
    if (bytes > UINT32_MAX)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "tensor '%s': %zu bytes, more than the API's 32 bits can say", t->t.v1.name,
                        bytes);
    t->t.v1.clientBuf.data = (void *)data; // the API has no const; it is only read
    t->t.v1.clientBuf.dataSize = (uint32_t)bytes;
    return QRN_OK;
}

qrn_status qc_tensor_create(qc_graph *g, const char *name, Qnn_TensorType_t type,
                            Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims,
                            const Qnn_QuantizeParams_t *quant, const void *data, size_t bytes,
                            qc_tensor **out) {
    if (rank > MAX_RANK)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': rank %u, at most %d", name, rank,
                        MAX_RANK);
    qc_tensor *t = qrn_arena_alloc(g->arena, sizeof *t);
    const char *unique = t ? tensor_name(g, name, type, t) : NULL;
    if (!unique)
        return qc_no_memory(name);
    t->rank = rank;
    if (rank)
        memcpy(t->dims, dims, rank * sizeof *dims);
    t->t = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    t->t.v1.name = unique;
    t->t.v1.type = type;
    t->t.v1.dataType = dtype;
    t->t.v1.rank = rank;
    t->t.v1.dimensions = t->dims;
    t->t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    if (g->client->format_of && type != QNN_TENSOR_TYPE_STATIC && type != QNN_TENSOR_TYPE_NATIVE)
        t->t.v1.dataFormat = g->client->format_of(g->client->format_ctx, g->name, unique);
    QRN_TRY(check_port(t, type));
    if (quant)
        QRN_TRY(qc_quant_copy(g, unique, quant, rank, dims, &t->t.v1.quantizeParams));
    if (data)
        QRN_TRY(set_data(t, data, bytes));
    QRN_TRY(qc_check(g->client, g->client->qnn.tensorCreateGraphTensor(g->handle, &t->t),
                     "tensorCreateGraphTensor"));
    t->t.v1.clientBuf = (Qnn_ClientBuffer_t){NULL, 0}; // the library has its copy
    if (!note_port(g, t, t->t.v1.type))                // a tool may have made an output of it
        return qc_no_memory(unique);
    *out = t;
    return QRN_OK;
}

// Fixes what every execution passes.
static qrn_status bind(qc_graph *g) {
    g->bound = qrn_arena_alloc(g->arena, (g->n_inputs + g->n_outputs) * sizeof *g->bound);
    if (!g->bound)
        return qc_no_memory("graph");
    for (uint32_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
        const qc_tensor *t = i < g->n_inputs ? g->inputs[i] : g->outputs[i - g->n_inputs];
        g->bound[i] = t->t;
        g->bound[i].v1.clientBuf.dataSize = (uint32_t)qc_tensor_bytes(t);
    }
    return QRN_OK;
}

qrn_status qc_graph_finalize(qc_graph *g) {
    const qc_client *c = g->client;
    QRN_TRY(qc_check(c, c->qnn.graphFinalize(g->handle, g->profile, NULL), "graphFinalize"));
    return bind(g);
}

// A tensor of a description as one of the graph.
static qrn_status adopt(qc_graph *g, const Qnn_Tensor_t *src, bool is_output) {
    const Qnn_TensorV1_t *v = &src->v1; // the versions agree in these fields
    qc_tensor *t = qrn_arena_alloc(g->arena, sizeof *t);
    char *name = qrn_arena_strdup(g->arena, v->name ? v->name : "");
    if (!t || !name)
        return qc_no_memory(v->name);
    if (v->rank > MAX_RANK || (v->rank && !v->dimensions))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': rank %u, at most %d", name, v->rank,
                        MAX_RANK);
    t->rank = v->rank;
    if (v->rank)
        memcpy(t->dims, v->dimensions, v->rank * sizeof *t->dims);
    t->t = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    t->t.v1.id = v->id;
    t->t.v1.name = name;
    t->t.v1.type = v->type;
    t->t.v1.dataType = v->dataType;
    t->t.v1.rank = v->rank;
    t->t.v1.dimensions = t->dims;
    t->t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    if (v->quantizeParams.encodingDefinition == QNN_DEFINITION_DEFINED)
        QRN_TRY(
            qc_quant_copy(g, name, &v->quantizeParams, v->rank, t->dims, &t->t.v1.quantizeParams));
    return note_port(g, t, is_output ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE)
               ? check_port(t, QNN_TENSOR_TYPE_APP_WRITE)
               : qc_no_memory(name);
}

qrn_status qc_graph_add_port(qc_graph *g, const Qnn_Tensor_t *t, bool is_output) {
    return adopt(g, t, is_output);
}

qrn_status qc_graph_adopt(qc_client *c, const char *name, Qnn_GraphHandle_t handle,
                          const Qnn_Tensor_t *inputs, uint32_t n_inputs,
                          const Qnn_Tensor_t *outputs, uint32_t n_outputs, qc_graph **out) {
    qc_graph *g = new_graph(c);
    qrn_status s = g && (g->name = qrn_arena_strdup(g->arena, name)) ? QRN_OK : qc_no_memory(name);
    for (uint32_t i = 0; i < n_inputs && s == QRN_OK; i++)
        s = adopt(g, &inputs[i], false);
    for (uint32_t i = 0; i < n_outputs && s == QRN_OK; i++)
        s = adopt(g, &outputs[i], true);
    if (s != QRN_OK) {
        qc_graph_destroy(g);
        return s;
    }
    g->handle = handle;
    g->n_nodes = 1; // how many there are is not known
    *out = g;
    return QRN_OK;
}

static qrn_status retrieve(qc_graph *g, const QnnSystemContext_GraphInfoV3_t *info) {
    const qc_client *c = g->client;
    QRN_TRY(qc_check(c, c->qnn.graphRetrieve(c->context, info->graphName, &g->handle),
                     "graphRetrieve"));
    if (!(g->name = qrn_arena_strdup(g->arena, info->graphName)))
        return qc_no_memory(info->graphName);
    g->n_nodes = info->endOpIndex - info->startOpIndex + 1;
    for (uint32_t i = 0; i < info->numGraphInputs; i++)
        QRN_TRY(adopt(g, &info->graphInputs[i], false));
    for (uint32_t i = 0; i < info->numGraphOutputs; i++)
        QRN_TRY(adopt(g, &info->graphOutputs[i], true));
    return bind(g);
}

qrn_status qc_graph_retrieve(qc_client *c, const QnnSystemContext_GraphInfoV3_t *info,
                             qc_graph **out) {
    qc_graph *g = new_graph(c);
    if (!g)
        return qc_no_memory(info->graphName);
    qrn_status s = retrieve(g, info);
    if (s != QRN_OK) {
        qc_graph_destroy(g);
        return s;
    }
    *out = g;
    return QRN_OK;
}

static void set_buffer(Qnn_Tensor_t *t, const void *data, Qnn_MemHandle_t mem) {
    t->v1.clientBuf.data = (void *)(uintptr_t)data; // inputs are only read
    if (!mem)
        return;
    t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    t->v1.memHandle = mem;
}

qrn_status qc_graph_execute_mem(qc_graph *g, const void *const *inputs, void *const *outputs,
                                const Qnn_MemHandle_t *mem, Qnn_SignalHandle_t signal,
                                uint32_t *rows) {
    if (!g->bound)
        return QRN_FAIL(QRN_E_NOT_FINALIZED, "graph is not finalized");
    uint32_t n_in = g->n_inputs, n_out = g->n_outputs, n = n_in + n_out;
    bool small = n <= STACK_TENSORS;
    Qnn_Tensor_t local[STACK_TENSORS], *t = small ? local : qrn_alloc(n * sizeof *t);
    // Dimensions of outputs may be written to: each execution has its own.
    uint32_t local_dims[STACK_TENSORS][MAX_RANK],
        (*dims)[MAX_RANK] = small ? local_dims : qrn_alloc((n_out + 1) * sizeof *dims);
    Qnn_ErrorHandle_t code = QNN_SUCCESS;
    bool ready = t && dims;
    if (ready) {
        memcpy(t, g->bound, n * sizeof *t);
        for (uint32_t i = 0; i < n_in; i++)
            set_buffer(&t[i], inputs[i], mem ? mem[i] : NULL);
        for (uint32_t i = 0; i < n_out; i++) {
            memcpy(dims[i], g->outputs[i]->dims, sizeof dims[i]);
            t[n_in + i].v1.dimensions = dims[i];
            set_buffer(&t[n_in + i], outputs[i], mem ? mem[n_in + i] : NULL);
        }
        code = g->client->qnn.graphExecute(g->handle, t, n_in, t + n_in, n_out, g->profile, signal);
        for (uint32_t i = 0; rows && i < n_out; i++)
            rows[i] = dims[i][0];
    }
    if (!small) {
        qrn_free(t);
        qrn_free(dims);
    }
    return ready ? qc_check(g->client, code, "graphExecute") : qc_no_memory("graph");
}

qrn_status qc_graph_execute_rows(qc_graph *g, const void *const *inputs, void *const *outputs,
                                 uint32_t *rows) {
    return qc_graph_execute_mem(g, inputs, outputs, NULL, NULL, rows);
}

qrn_status qc_graph_execute(qc_graph *g, const void *const *inputs, void *const *outputs) {
    return qc_graph_execute_rows(g, inputs, outputs, NULL);
}
