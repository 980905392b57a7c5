// SPDX-License-Identifier: MIT
//
// Tensor component: creation and updates. Everything is checked before the context changes; static
// data is copied into the context and shared by content.
#include "api/tensor.h"

#include "base/mem.h"
#include "core/errors.h"

#include <inttypes.h>
#include <string.h>

// Weights of so many bytes are not kept in contexts for trials.
#define LARGE 4096

// Bytes of a static tensor while a call lasts.
typedef struct static_data {
    const void *data;
    Qnn_FreeTensorRawDataFn_t release; // of the client, or NULL
} static_data;

static qrn_status check_size(const qrn_site *w, const qrn_tensor *t, const void *data,
                             uint64_t size) {
    if (!data)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "a static tensor without data");
    if (size != t->size_bytes)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "%" PRIu64 " bytes of data, expected %zu", size,
                             t->size_bytes);
    return QRN_OK;
}

// Finds the bytes of a static tensor. Client callbacks run here, so no lock may be held.
static qrn_status fetch_data(qrn_api_context *c, qrn_api_graph *g, const Qnn_TensorV2_t *src,
                             const qrn_site *w, const qrn_tensor *t, static_data *out) {
    *out = (static_data){0};
    if (src->memType == QNN_TENSORMEMTYPE_MEMHANDLE) {
        const qrn_api_mem *m = qrn_pin(QRN_KIND_MEM, src->memHandle);
        if (!m || m->context != c)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR, "not a memory handle of this context");
        if (m->size_bytes < t->size_bytes)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR, "memory of %zu bytes, expected %zu",
                                 m->size_bytes, t->size_bytes);
        out->data = m->memory.host;
        return QRN_OK;
    }
    if (src->memType == QNN_TENSORMEMTYPE_RETRIEVE_RAW) {
        Qnn_ClientBuffer_t buf = QNN_CLIENT_BUFFER_INIT;
        const Qnn_TensorRetrieveRaw_t *fns = src->retrieveRaw;
        void *graph = g ? g->handle : NULL;
        if (fns->getTensorData(c->handle, graph, t->id, &buf) != QNN_SUCCESS)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR, "the callback that gives the data failed");
        qrn_status s = check_size(w, t, buf.data, buf.dataSize);
        if (s != QRN_OK) {
            fns->freeTensorData(c->handle, graph, t->id);
            return s;
        }
        *out = (static_data){.data = buf.data, .release = fns->freeTensorData};
        return QRN_OK;
    }
    QRN_TRY(check_size(w, t, src->clientBuf.data, src->clientBuf.dataSize));
    out->data = src->clientBuf.data;
    return QRN_OK;
}

// Is it known that no check of an op looks at the bytes? Integers are shapes and the like, and of
// 16-bit weights not all quantized values are allowed.
static bool is_left_out(const qrn_api_context *c, const qrn_api_graph *g, const qrn_tensor *t) {
    return c->is_trial && g && t->size_bytes > LARGE &&
           (t->dtype == QRN_DTYPE_F32 || t->dtype == QRN_DTYPE_F16 || t->dtype == QRN_DTYPE_SQ8 ||
            t->dtype == QRN_DTYPE_UQ8);
}

// The context's copy of the bytes.
static qrn_status store_data(qrn_api_context *c, qrn_api_graph *g, const Qnn_TensorV2_t *src,
                             const qrn_site *w, qrn_tensor *t) {
    static_data d;
    QRN_TRY(fetch_data(c, g, src, w, t, &d));
    bool wanted = !is_left_out(c, g, t);
    t->data = wanted ? qrn_context_add_data(c, d.data, t->size_bytes) : NULL;
    if (d.release)
        d.release(c->handle, g ? g->handle : NULL, t->id);
    if (wanted && !t->data)
        return QRN_SITE_FAIL(w, QRN_E_MEM, "out of memory for %zu bytes of data", t->size_bytes);
    return QRN_OK;
}

static qrn_status check_name(qrn_api_context *c, qrn_api_graph *g, const qrn_site *w) {
    if (!g)
        pthread_mutex_lock(&c->own->lock);
    const void *old = qrn_strmap_get(g ? &g->own->names : &c->own->names, w->tensor);
    if (!g)
        pthread_mutex_unlock(&c->own->lock);
    if (old)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "the name is taken");
    return QRN_OK;
}

static qrn_site site_of(const qrn_api_graph *g, const Qnn_Tensor_t *src) {
    bool readable = src->version == QNN_TENSOR_VERSION_1 || src->version == QNN_TENSOR_VERSION_2;
    const char *name = readable ? qrn_client_tensor(src)->name : NULL;
    return (qrn_site){
        .kind = g ? "graph" : "context", .owner = g ? g->ir->name : "", .tensor = name ? name : ""};
}

// Copies a parsed tensor into the arena that owns it: the graph's, or the context's.
static qrn_status make_tensor(qrn_api_context *c, qrn_api_graph *g, const Qnn_Tensor_t *src,
                              const qrn_site *w, qrn_tensor *parsed, qrn_tensor **out) {
    qrn_arena *a = g ? g->ir->arena : c->own->arena;
    if (!g)
        pthread_mutex_lock(&c->own->lock);
    qrn_status s = QRN_OK;
    if (parsed->role != QRN_ROLE_NULL)
        s = qrn_quant_parse(&qrn_client_tensor(src)->quantizeParams, w, a, parsed);
    qrn_tensor *t = s == QRN_OK ? qrn_arena_copy(a, parsed, sizeof(*parsed)) : NULL;
    const char *name = t ? qrn_arena_strdup(a, parsed->name) : NULL;
    if (!g)
        pthread_mutex_unlock(&c->own->lock);
    if (s != QRN_OK)
        return s;
    if (!name)
        return QRN_SITE_FAIL(w, QRN_E_MEM, "out of memory");
    t->name = name;
    *out = t;
    return QRN_OK;
}

static qrn_status create_tensor(qrn_api_context *c, qrn_api_graph *g, Qnn_Tensor_t *src) {
    QRN_TRY(qrn_context_check(c));
    qrn_site w = site_of(g, src);
    qrn_tensor parsed, *t = NULL;
    QRN_TRY(qrn_tensor_parse(src, g ? QRN_PLACE_GRAPH : QRN_PLACE_CONTEXT, &w, &parsed));
    bool is_app = parsed.role == QRN_ROLE_INPUT || parsed.role == QRN_ROLE_OUTPUT;
    if (g && g->ir->parent && is_app)
        return QRN_SITE_FAIL(&w, QRN_E_TENSOR,
                             "application tensors belong to the graph, not to a subgraph");
    QRN_TRY(check_name(c, g, &w));
    const Qnn_TensorV2_t *client = qrn_client_tensor(src);
    if (parsed.role != QRN_ROLE_STATIC && parsed.role != QRN_ROLE_NULL &&
        client->memType == QNN_TENSORMEMTYPE_MEMHANDLE && client->memHandle) {
        const qrn_api_mem *m = qrn_pin(QRN_KIND_MEM, client->memHandle);
        if (!m || m->context != c)
            return QRN_SITE_FAIL(&w, QRN_E_TENSOR, "not a memory handle of this context");
    }
    QRN_TRY(make_tensor(c, g, src, &w, &parsed, &t));
    if (t->role == QRN_ROLE_STATIC) {
        t->id = qrn_tensor_reserve_id(c);
        if (!t->id)
            return QRN_SITE_FAIL(&w, QRN_E_MEM, "out of memory");
        QRN_TRY(store_data(c, g, client, &w, t));
    }
    qrn_status s = qrn_tensor_add(c, g, t);
    if (s != QRN_OK) {
        qrn_context_drop_data(c, t->data);
        return s;
    }
    if (qrn_client_is_v2(src))
        src->v2.id = t->id;
    else
        src->v1.id = t->id;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnTensor_createGraphTensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin_graph_alone(graph);
    if (!g)
        return qrn_api_end(QRN_COMP_TENSOR,
                           QRN_FAIL(QRN_E_HANDLE, "createGraphTensor: not a graph handle"), NULL);
    qrn_status s = qrn_context_check(g->context);
    if (s == QRN_OK && !tensor)
        s = QRN_FAIL(QRN_E_TENSOR, "graph '%s': tensor is NULL", g->ir->name);
    else if (s == QRN_OK && g->ir->finalized)
        s = QRN_FAIL(QRN_E_TENSOR, "graph '%s': finalized, accepts no more tensors", g->ir->name);
    else if (s == QRN_OK)
        s = create_tensor(g->context, g, tensor);
    return qrn_api_end_trial(QRN_COMP_TENSOR, s, g->context->is_trial, g->context->backend->log);
}

Qnn_ErrorHandle_t QnnTensor_createContextTensor(Qnn_ContextHandle_t context, Qnn_Tensor_t *tensor) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_api_end(QRN_COMP_TENSOR,
                           QRN_FAIL(QRN_E_HANDLE, "createContextTensor: not a context handle"),
                           NULL);
    qrn_status s;
    if (!tensor)
        s = QRN_FAIL(QRN_E_TENSOR, "createContextTensor: tensor is NULL");
    else if (!(qrn_this_backend.features & QRN_FEATURE_CONTEXT_TENSORS))
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "context tensors are not supported");
    else if (c->from_binary)
        s = QRN_FAIL(QRN_E_TENSOR, "the context came from a binary and accepts no tensors");
    else
        s = create_tensor(c, NULL, tensor);
    return qrn_api_end(QRN_COMP_TENSOR, s, c->backend->log);
}

// One checked update, not applied yet.
typedef struct update {
    qrn_tensor *target;
    qrn_tensor fresh; // new encoding and data
} update;

static qrn_status check_update(qrn_api_context *c, qrn_api_graph *g, const Qnn_Tensor_t *src,
                               qrn_arena *scratch, update *u) {
    if (!src)
        return QRN_FAIL(QRN_E_TENSOR, "an updated tensor is NULL");
    qrn_site w = site_of(g, src);
    QRN_TRY(qrn_tensor_parse(src, g ? QRN_PLACE_GRAPH : QRN_PLACE_CONTEXT, &w, &u->fresh));
    u->target = qrn_tensor_find(c, g ? g->ir : NULL, qrn_client_tensor(src)->id);
    if (!u->target || (u->target->graph == NULL) != (g == NULL))
        return QRN_SITE_FAIL(&w, QRN_E_TENSOR, "no tensor with id %u", qrn_client_tensor(src)->id);
    if (!u->target->updateable)
        return QRN_SITE_FAIL(&w, QRN_E_TENSOR_UPDATE, "the tensor is not updateable");
    QRN_TRY(qrn_quant_parse(&qrn_client_tensor(src)->quantizeParams, &w, scratch, &u->fresh));
    if (!qrn_tensor_same_form(u->target, &u->fresh))
        return QRN_SITE_FAIL(&w, QRN_E_TENSOR_UPDATE,
                             "type, shape or kind of encoding differ from the tensor's");
    u->fresh.id = u->target->id;
    if (u->fresh.role == QRN_ROLE_STATIC)
        QRN_TRY(store_data(c, g, qrn_client_tensor(src), &w, &u->fresh));
    return QRN_OK;
}

// Copies the arrays of an encoding from scratch memory to where the tensor lives.
static bool keep_quant(qrn_quant *q, qrn_arena *a) {
    size_t n = q->n_groups;
    if (n && !(q->scales = qrn_arena_copy(a, q->scales, n * sizeof(float))))
        return false;
    if (q->offsets && !(q->offsets = qrn_arena_copy(a, q->offsets, n * sizeof(int32_t))))
        return false;
    return !q->real_offsets ||
           (q->real_offsets = qrn_arena_copy(a, q->real_offsets, n * sizeof(float))) != NULL;
}

// Room for the data that updates replace: it stays until the next finalize has replaced the runner
// that may still use it (data of context tensors: until the context goes).
static bool reserve_retired(qrn_api_graph *g, uint64_t n) {
    size_t old = g->own->n_retired * sizeof(*g->own->retired);
    const void **list = qrn_realloc(g->own->retired, old, old + n * sizeof(*list));
    if (list)
        g->own->retired = list;
    return list != NULL;
}

static qrn_status apply_updates(qrn_api_context *c, qrn_api_graph *g, update *u, uint64_t n) {
    qrn_arena *a = g ? g->ir->arena : c->own->arena;
    for (uint64_t i = 0; i < n; i++)
        if (!keep_quant(&u[i].fresh.quant, a))
            return QRN_FAIL(QRN_E_MEM, "out of memory for the encoding of tensor '%s'",
                            u[i].target->name);
    if (g && !reserve_retired(g, n))
        return QRN_FAIL(QRN_E_MEM, "out of memory for updates of graph '%s'", g->ir->name);
    for (uint64_t i = 0; i < n; i++) {
        if (g && u[i].target->data)
            g->own->retired[g->own->n_retired++] = u[i].target->data;
        u[i].target->quant = u[i].fresh.quant;
        u[i].target->expansion = NULL; // its factors were those of the old encoding
        u[i].target->data = u[i].fresh.data;
    }
    return QRN_OK;
}

static qrn_status update_tensors(qrn_api_context *c, qrn_api_graph *g, const Qnn_Tensor_t **tensors,
                                 uint64_t n) {
    QRN_TRY(qrn_context_check(c));
    size_t bytes;
    update *u = qrn_mul_size(n, sizeof(*u), &bytes) ? qrn_calloc(bytes) : NULL;
    qrn_arena *scratch = qrn_arena_create();
    qrn_status s = u && scratch ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for updates");
    for (uint64_t i = 0; s == QRN_OK && i < n; i++)
        s = check_update(c, g, tensors[i], scratch, &u[i]);
    if (s == QRN_OK)
        s = apply_updates(c, g, u, n);
    for (uint64_t i = 0; u && s != QRN_OK && i < n; i++)
        qrn_context_drop_data(c, u[i].fresh.data);
    qrn_arena_destroy(scratch);
    qrn_free(u);
    return s;
}

Qnn_ErrorHandle_t QnnTensor_updateGraphTensors(Qnn_GraphHandle_t graph, const Qnn_Tensor_t **tensor,
                                               uint64_t numTensors) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin_graph_alone(graph);
    if (!g)
        return qrn_api_end(QRN_COMP_TENSOR,
                           QRN_FAIL(QRN_E_HANDLE, "updateGraphTensors: not a graph handle"), NULL);
    qrn_api_log *log = g->context->backend->log;
    if (!tensor || numTensors == 0)
        return qrn_api_end(QRN_COMP_TENSOR,
                           QRN_FAIL(QRN_E_TENSOR, "graph '%s': no tensors given", g->ir->name),
                           log);
    if (!(qrn_this_backend.features & QRN_FEATURE_UPDATEABLE))
        return qrn_api_end(QRN_COMP_TENSOR,
                           QRN_FAIL(QRN_E_UNSUPPORTED, "updateable tensors are not supported"),
                           log);
    if (!g->ir->finalized)
        return qrn_api_end_as(
            QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
            QRN_FAIL(QRN_E_NOT_FINALIZED, "graph '%s' is not finalized", g->ir->name), log);
    qrn_status s = update_tensors(g->context, g, tensor, numTensors);
    if (s == QRN_OK)
        g->own->stale = true;
    return qrn_api_end(QRN_COMP_TENSOR, s, log);
}

Qnn_ErrorHandle_t QnnTensor_updateContextTensors(Qnn_ContextHandle_t context,
                                                 const Qnn_Tensor_t **tensor, uint64_t numTensors) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_api_end(QRN_COMP_TENSOR,
                           QRN_FAIL(QRN_E_HANDLE, "updateContextTensors: not a context handle"),
                           NULL);
    qrn_status s;
    if (!tensor || numTensors == 0)
        s = QRN_FAIL(QRN_E_TENSOR, "updateContextTensors: no tensors given");
    else if (!(qrn_this_backend.features & QRN_FEATURE_UPDATEABLE) ||
             !(qrn_this_backend.features & QRN_FEATURE_CONTEXT_TENSORS))
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "updateable context tensors are not supported");
    else
        s = qrn_pin_graphs(c, true);
    if (s == QRN_OK)
        s = update_tensors(c, NULL, tensor, numTensors);
    for (uint32_t i = 0; s == QRN_OK && i < c->own->n_graphs; i++)
        c->own->graphs[i]->own->stale = c->own->graphs[i]->ir->finalized;
    return qrn_api_end(QRN_COMP_TENSOR, s, c->backend->log);
}
