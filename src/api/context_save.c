// SPDX-License-Identifier: MIT
//
// Context component: binaries out of contexts, whole, in pieces and by section. What the bytes are
// is the backend's business; here are the checks, the states and the ownership of buffers.
#include "api/call.h"
#include "api/context.h"
#include "api/given.h"
#include "api/tensor.h"
#include "base/mem.h"
#include "core/errors.h"
#include "core/graph.h"

#include <inttypes.h>

// Ends a call; statuses without a documented code of their own become `failed`.
static Qnn_ErrorHandle_t end(qrn_status s, Qnn_ErrorHandle_t failed, qrn_api_log *log) {
    switch (s) {
    case QRN_E_OK:
    case QRN_E_MEM:
    case QRN_E_ARGUMENT:
    case QRN_E_IN_USE:
    case QRN_E_HANDLE:
    case QRN_E_UNSUPPORTED:
    case QRN_E_PROFILE:
    case QRN_E_NOT_FINALIZED:
    case QRN_E_NOT_PERMITTED:
    case QRN_E_COMM:
    case QRN_E_COMM_FATAL:
        return qrn_api_end(QRN_COMP_CONTEXT, s, log);
    default:
        return qrn_api_end_as(failed, s, log);
    }
}

static qrn_status unsupported(void) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "context binaries are not supported");
}

qrn_status qrn_context_can_save(qrn_api_context *c) {
    QRN_TRY(qrn_context_check(c));
    if (c->from_binary)
        return QRN_FAIL(QRN_E_NOT_PERMITTED, "the context came from a binary itself");
    if (c->own->n_graphs == 0)
        return QRN_FAIL(QRN_E_NOT_FINALIZED, "the context has no graphs");
    for (uint32_t i = 0; i < c->own->n_graphs; i++)
        if (!c->own->graphs[i]->ir->finalized || c->own->graphs[i]->own->stale)
            return QRN_FAIL(QRN_E_NOT_FINALIZED, "graph '%s' is not finalized",
                            c->own->graphs[i]->ir->name);
    return QRN_OK;
}

static qrn_status get_size(qrn_api_context *c, Qnn_ContextBinarySize_t *out) {
    QRN_TRY(qrn_pin_graphs(c, false));
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "getBinarySize: binaryBufferSize is NULL");
    if (!qrn_this_backend.binary_size)
        return unsupported();
    QRN_TRY(qrn_context_can_save(c));
    uint64_t size = 0;
    QRN_TRY(qrn_this_backend.binary_size(c, &size));
    *out = size;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_getBinarySize(Qnn_ContextHandle_t context,
                                           Qnn_ContextBinarySize_t *binaryBufferSize) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("getBinarySize");
    return end(get_size(c, binaryBufferSize), QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED,
               c->backend->log);
}

static qrn_status get_binary(qrn_api_context *c, void *buffer, uint64_t size,
                             Qnn_ContextBinarySize_t *out) {
    QRN_TRY(qrn_pin_graphs(c, false));
    if (!buffer || size == 0 || !out)
        return QRN_FAIL(QRN_E_ARGUMENT, "getBinary: buffer of %" PRIu64 " bytes%s", size,
                        buffer && out ? "" : ", or an argument is NULL");
    if (!qrn_this_backend.binary_write)
        return unsupported();
    QRN_TRY(qrn_context_can_save(c));
    uint64_t written = 0;
    QRN_TRY(qrn_this_backend.binary_write(c, buffer, size, &written));
    *out = written;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_getBinary(Qnn_ContextHandle_t context, void *binaryBuffer,
                                       Qnn_ContextBinarySize_t binaryBufferSize,
                                       Qnn_ContextBinarySize_t *writtenBufferSize) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("getBinary");
    return end(get_binary(c, binaryBuffer, binaryBufferSize, writtenBufferSize),
               QNN_CONTEXT_ERROR_GET_BINARY_FAILED, c->backend->log);
}

// Reading in pieces: one piece holds everything; the call after it reports the end.
static qrn_status make_piece(qrn_api_context *c) {
    uint64_t size = 0, written = 0;
    QRN_TRY(qrn_this_backend.binary_size(c, &size));
    void *data = size <= SIZE_MAX ? qrn_alloc(size) : NULL;
    if (!data)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a binary of %" PRIu64 " bytes", size);
    qrn_status s = qrn_this_backend.binary_write(c, data, size, &written);
    if (s != QRN_OK) {
        qrn_free(data);
        return s;
    }
    c->own->increment = (qrn_binary_part){.data = data, .size_bytes = written, .owned = data};
    return QRN_OK;
}

static qrn_status get_piece(qrn_api_context *c, const void **buffer, Qnn_ContextBinarySize_t *start,
                            Qnn_ContextBinarySize_t *written) {
    QRN_TRY(qrn_pin_graphs(c, false));
    if (!buffer || !start || !written)
        return QRN_FAIL(QRN_E_ARGUMENT, "getIncrementalBinary: an argument is NULL");
    if (!qrn_this_backend.binary_size || !qrn_this_backend.binary_write)
        return unsupported();
    QRN_TRY(qrn_context_can_save(c));
    if (c->own->increment_done) {
        *buffer = NULL;
        *start = 0;
        *written = 0;
        c->own->increment_done = false;
        return QRN_OK;
    }
    if (c->own->increment.data)
        return QRN_FAIL(QRN_E_ARGUMENT, "getIncrementalBinary: a piece was not released yet");
    QRN_TRY(make_piece(c));
    *buffer = c->own->increment.data;
    *start = 0;
    *written = c->own->increment.size_bytes;
    c->own->increment_done = true;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_getIncrementalBinary(Qnn_ContextHandle_t context,
                                                  const void **binaryBuffer,
                                                  Qnn_ContextBinarySize_t *startOffset,
                                                  Qnn_ContextBinarySize_t *writtenBufferSize) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("getIncrementalBinary");
    return end(get_piece(c, binaryBuffer, startOffset, writtenBufferSize),
               QNN_CONTEXT_ERROR_GET_BINARY_FAILED, c->backend->log);
}

static qrn_status release_piece(qrn_api_context *c, const void *buffer, uint64_t start) {
    QRN_TRY(qrn_pin_graphs(c, false));
    if (!buffer)
        return QRN_FAIL(QRN_E_ARGUMENT, "releaseIncrementalBinary: binaryBuffer is NULL");
    if (!qrn_this_backend.binary_size || !qrn_this_backend.binary_write)
        return unsupported();
    QRN_TRY(qrn_context_can_save(c));
    if (buffer != c->own->increment.data || start != 0)
        return QRN_FAIL(QRN_E_NOT_FOUND, "releaseIncrementalBinary: no piece at offset %" PRIu64,
                        start);
    qrn_free(c->own->increment.owned);
    c->own->increment = (qrn_binary_part){0};
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_releaseIncrementalBinary(Qnn_ContextHandle_t context,
                                                      const void *binaryBuffer,
                                                      Qnn_ContextBinarySize_t startOffset) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("releaseIncrementalBinary");
    return end(release_piece(c, binaryBuffer, startOffset),
               QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER, c->backend->log);
}

// The graph of a section call; NULL stands for the whole context.
static qrn_status find_graph(qrn_api_context *c, const void *handle, uint32_t section,
                             qrn_api_graph **graph) {
    QRN_TRY(qrn_context_check(c));
    *graph = handle ? qrn_pin(QRN_KIND_GRAPH, handle) : NULL;
    if (handle && (!*graph || (*graph)->context != c))
        return QRN_FAIL(QRN_E_HANDLE, "binary section: not a graph of the context");
    if (section < QNN_CONTEXT_SECTION_UPDATABLE ||
        section > QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS)
        return QRN_FAIL(QRN_E_ARGUMENT, "binary section %u, allowed 1 to 3", section);
    return QRN_OK;
}

static qrn_status check_section_state(qrn_api_context *c, const qrn_api_graph *g) {
    if (!g)
        return qrn_context_can_save(c);
    if (c->from_binary)
        return QRN_FAIL(QRN_E_NOT_PERMITTED, "the context came from a binary itself");
    if (!g->ir->finalized || g->own->stale)
        return QRN_FAIL(QRN_E_NOT_FINALIZED, "graph '%s' is not finalized", g->ir->name);
    return QRN_OK;
}

// Address and size behind the client's description of a buffer. Memory handles need a context.
static qrn_status find_buffer(const qrn_api_context *c, const QnnContext_Buffer_t *b, void **data,
                              uint64_t *size) {
    if (!b || b->version != QNN_CONTEXT_BUFFER_VERSION_1)
        return QRN_FAIL(QRN_E_ARGUMENT, "binary section: buffer is NULL or not of version 1");
    *data = NULL;
    *size = 0;
    if (b->v1.memType == QNN_CONTEXTMEMTYPE_RAW) {
        *data = b->v1.binaryBuf.data;
        *size = b->v1.binaryBuf.dataSize;
    } else if (b->v1.memType == QNN_CONTEXTMEMTYPE_MEMHANDLE && c) {
        const qrn_api_mem *m = qrn_pin(QRN_KIND_MEM, b->v1.memHandle);
        if (m && m->context == c) {
            *data = m->memory.host;
            *size = m->size_bytes;
        }
    }
    if (!*data || *size == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "binary section: buffer of memory type %d without bytes",
                        (int)b->v1.memType);
    return QRN_OK;
}

static qrn_status section_size(qrn_api_context *c, const void *graph, uint32_t section,
                               Qnn_ContextBinarySize_t *out) {
    qrn_api_graph *g = NULL;
    QRN_TRY(qrn_pin_graphs(c, false));
    QRN_TRY(find_graph(c, graph, section, &g));
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "getBinarySectionSize: binaryBufferSize is NULL");
    if (!qrn_this_backend.section_size)
        return unsupported();
    QRN_TRY(check_section_state(c, g));
    uint64_t size = 0;
    QRN_TRY(qrn_this_backend.section_size(c, g, section, &size));
    *out = size;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionSize(Qnn_ContextHandle_t context,
                                                  Qnn_GraphHandle_t graph,
                                                  QnnContext_SectionType_t section,
                                                  Qnn_ContextBinarySize_t *binaryBufferSize) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("getBinarySectionSize");
    return end(section_size(c, graph, (uint32_t)section, binaryBufferSize),
               QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED, c->backend->log);
}

static qrn_status get_section(qrn_api_context *c, const void *graph, uint32_t section,
                              const QnnContext_Buffer_t *buffer, Qnn_ContextBinarySize_t *out,
                              const void *profile, const void *signal) {
    qrn_api_graph *g = NULL;
    void *data;
    uint64_t size, written = 0;
    qrn_call call;
    QRN_TRY(qrn_pin_graphs(c, false));
    QRN_TRY(find_graph(c, graph, section, &g));
    QRN_TRY(find_buffer(c, buffer, &data, &size));
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "getBinarySection: writtenBufferSize is NULL");
    if (qrn_call_find(&call, c->backend, NULL, profile, signal) != QRN_OK)
        return QRN_E_ARGUMENT; // neither has a code of its own here
    if (!qrn_this_backend.section_write)
        return unsupported();
    QRN_TRY(check_section_state(c, g));
    if (qrn_call_begin(&call) != QRN_OK)
        return QRN_E_ARGUMENT;
    qrn_status s = qrn_this_backend.section_write(c, g, section, data, size, &written);
    qrn_call_end(&call);
    if (s == QRN_OK)
        *out = written;
    return s;
}

Qnn_ErrorHandle_t QnnContext_getBinarySection(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                              QnnContext_SectionType_t section,
                                              const QnnContext_Buffer_t *binaryBuffer,
                                              Qnn_ContextBinarySize_t *writtenBufferSize,
                                              Qnn_ProfileHandle_t profile,
                                              Qnn_SignalHandle_t signal) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("getBinarySection");
    return end(
        get_section(c, graph, (uint32_t)section, binaryBuffer, writtenBufferSize, profile, signal),
        QNN_CONTEXT_ERROR_GET_BINARY_FAILED, c->backend->log);
}

static qrn_status apply_section(qrn_api_context *c, const void *graph, uint32_t section,
                                const QnnContext_Buffer_t *buffer, const void *profile,
                                const void *signal) {
    qrn_api_graph *g = NULL;
    void *data;
    uint64_t size;
    qrn_call call;
    QRN_TRY(qrn_pin_graphs(c, true));
    QRN_TRY(find_graph(c, graph, section, &g));
    QRN_TRY(find_buffer(c, buffer, &data, &size));
    QRN_TRY(qrn_call_find(&call, c->backend, NULL, profile, signal));
    if (!qrn_this_backend.section_apply)
        return unsupported();
    QRN_TRY(qrn_api_context_load(c));
    QRN_TRY(qrn_call_begin(&call));
    qrn_call_record r = {.kind = QRN_RECORD_APPLY, .context = c, .graph = g};
    uint64_t start = qrn_call_now_ns();
    qrn_status s = qrn_this_backend.section_apply(c, g, section, data, size);
    r.backend_ns = qrn_call_now_ns() - start;
    if (s == QRN_OK)
        qrn_call_report(&call, &r);
    qrn_call_end(&call);
    return s;
}

Qnn_ErrorHandle_t QnnContext_applyBinarySection(Qnn_ContextHandle_t context,
                                                Qnn_GraphHandle_t graph,
                                                QnnContext_SectionType_t section,
                                                const QnnContext_Buffer_t *binaryBuffer,
                                                Qnn_ProfileHandle_t profile,
                                                Qnn_SignalHandle_t signal) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("applyBinarySection");
    return end(apply_section(c, graph, (uint32_t)section, binaryBuffer, profile, signal),
               QNN_CONTEXT_ERROR_INVALID_ARGUMENT, c->backend->log);
}

// The client's side of getBinarySectionUpdate.
typedef struct edit {
    const QnnContext_Buffer_t *buffer, *auxiliary;
    const Qnn_Tensor_t **tensors;
    uint64_t n_tensors;
    bool keep;
    const void *logger, *profile, *signal;
    QnnContext_Buffer_t *out;
} edit;

static qrn_status check_edit(const edit *e, void **data, uint64_t *size) {
    QRN_TRY(find_buffer(NULL, e->buffer, data, size));
    if (e->auxiliary)
        return QRN_FAIL(QRN_E_ARGUMENT, "getBinarySectionUpdate: auxiliaryBuffer is not NULL");
    if (!e->out || !e->tensors || e->n_tensors == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "getBinarySectionUpdate: no tensors or no result buffer");
    for (uint64_t i = 0; i < e->n_tensors; i++)
        if (!e->tensors[i])
            return QRN_FAIL(QRN_E_ARGUMENT, "getBinarySectionUpdate: tensor %" PRIu64 " is NULL",
                            i);
    if ((e->logger && !qrn_pin_log(e->logger)) ||
        (e->profile && !qrn_pin(QRN_KIND_PROFILE, e->profile)) ||
        (e->signal && !qrn_pin(QRN_KIND_SIGNAL, e->signal)))
        return QRN_FAIL(QRN_E_ARGUMENT, "getBinarySectionUpdate: a bad log, profile or signal");
    if (!qrn_this_backend.section_update)
        return unsupported();
    return QRN_OK;
}

static qrn_status read_tensor(const Qnn_Tensor_t *client, qrn_arena *a, qrn_tensor_edit *out) {
    qrn_site w = {"section", "", ""};
    QRN_TRY(qrn_tensor_parse(client, QRN_PLACE_OP, &w, &out->tensor));
    const Qnn_TensorV2_t *src = qrn_client_tensor(client);
    w.tensor = out->tensor.name;
    QRN_TRY(qrn_quant_parse(&src->quantizeParams, &w, a, &out->tensor));
    out->tensor.id = src->id;
    if (src->memType == QNN_TENSORMEMTYPE_RAW && src->clientBuf.data) {
        out->data = src->clientBuf.data;
        out->data_bytes = src->clientBuf.dataSize;
    }
    return QRN_OK;
}

static qrn_status read_tensors(const edit *e, qrn_arena *a, qrn_tensor_edit **out) {
    size_t bytes;
    *out = qrn_mul_size(e->n_tensors, sizeof **out, &bytes) ? qrn_arena_alloc(a, bytes) : NULL;
    if (!*out)
        return QRN_FAIL(QRN_E_MEM, "getBinarySectionUpdate: out of memory");
    for (uint64_t i = 0; i < e->n_tensors; i++)
        QRN_TRY(read_tensor(e->tensors[i], a, &(*out)[i]));
    return QRN_OK;
}

// The backend's part, with the profile.
static qrn_status edit_data(const edit *e, const void *data, uint64_t size, void **made,
                            uint64_t *made_size) {
    qrn_call call = {.profile = e->profile ? qrn_pin(QRN_KIND_PROFILE, e->profile) : NULL};
    qrn_call_record r = {.kind = QRN_RECORD_UPDATE};
    QRN_TRY(qrn_call_open(&call));
    qrn_arena *a = qrn_arena_create();
    qrn_tensor_edit *edits = NULL;
    qrn_status s = a ? read_tensors(e, a, &edits)
                     : QRN_FAIL(QRN_E_MEM, "getBinarySectionUpdate: out of memory");
    if (s == QRN_OK)
        s = qrn_this_backend.section_update(data, size, edits, e->n_tensors, e->keep, made,
                                            made_size, &r.update);
    qrn_arena_destroy(a);
    r.backend_ns = qrn_call_now_ns() - call.start_ns;
    if (s == QRN_OK)
        qrn_call_report(&call, &r);
    qrn_profile_close(call.profile);
    return s;
}

static qrn_status edit_section(const edit *e) {
    void *data = NULL, *made = NULL;
    uint64_t size = 0, made_size = 0;
    QRN_TRY(check_edit(e, &data, &size));
    QRN_TRY(edit_data(e, data, size, &made, &made_size));
    if (!qrn_given_add(QRN_GIVEN_BUFFER, made)) {
        qrn_free(made);
        return QRN_FAIL(QRN_E_MEM, "getBinarySectionUpdate: out of memory");
    }
    *e->out = (QnnContext_Buffer_t){
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {made, made_size}}};
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionUpdate(
    const QnnContext_Buffer_t *binaryBuffer, const QnnContext_Buffer_t *auxiliaryBuffer,
    const Qnn_Tensor_t **tensors, uint64_t numTensors, uint8_t keepUpdatable,
    Qnn_LogHandle_t logger, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
    QnnContext_Buffer_t *binarySectionUpdate) {
    QRN_API_CALL;
    edit e = {binaryBuffer, auxiliaryBuffer, tensors, numTensors,         keepUpdatable != 0,
              logger,       profile,         signal,  binarySectionUpdate};
    qrn_status s = edit_section(&e);
    qrn_api_log *log = qrn_pin_log(logger);
    if (s == QRN_E_NOT_FOUND || s == QRN_E_TENSOR_UPDATE)
        return qrn_api_end(QRN_COMP_CONTEXT, s, log);
    return end(s, QNN_CONTEXT_ERROR_INVALID_ARGUMENT, log);
}

static qrn_status free_section(const QnnContext_Buffer_t *b, const void *logger) {
    if (logger && !qrn_pin_log(logger))
        return QRN_FAIL(QRN_E_HANDLE, "freeBinarySectionUpdate: not a log handle");
    void *data = NULL;
    uint64_t size = 0;
    QRN_TRY(find_buffer(NULL, b, &data, &size));
    if (!qrn_this_backend.section_update)
        return unsupported();
    if (!qrn_given_take(QRN_GIVEN_BUFFER, data))
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "freeBinarySectionUpdate: not a buffer of getBinarySectionUpdate");
    qrn_free(data);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnContext_freeBinarySectionUpdate(QnnContext_Buffer_t binarySectionUpdate,
                                                     Qnn_LogHandle_t logger) {
    QRN_API_CALL;
    return end(free_section(&binarySectionUpdate, logger), QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
               qrn_pin_log(logger));
}
