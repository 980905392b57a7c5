// SPDX-License-Identifier: MIT
//
// Readers of context binaries. Every description that a reader hands out lives until the reader is
// freed, whatever becomes of the binary. Bytes that are no binary of ours are refused without a
// line above debug level: clients try the reader on whatever they have.
#include "system/system.h"

#include "base/mem.h"

typedef struct description {
    qrn_arena *arena;
    struct description *next; // lives in the arena
} description;

typedef struct reader {
    pthread_mutex_t lock;
    description *descriptions;
} reader;

static qrn_status create(QnnSystemContext_Handle_t *out) {
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "system context: no place for the handle");
    reader *r = qrn_calloc(sizeof *r);
    if (!r)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a system context");
    pthread_mutex_init(&r->lock, NULL);
    void *handle = qrn_handle_new(QRN_KIND_SYSTEM_CONTEXT, r);
    if (!handle) {
        pthread_mutex_destroy(&r->lock);
        qrn_free(r);
        return QRN_FAIL(QRN_E_MEM, "out of memory for a system context");
    }
    *out = handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemContext_create(QnnSystemContext_Handle_t *sysCtxHandle) {
    QRN_API_CALL;
    return qrn_api_end(QRN_COMP_SYSTEM_CONTEXT, create(sysCtxHandle), qrn_system_log());
}

static qrn_status read_binary(const void *buf, uint64_t size, qrn_arena *a,
                              QnnSystemContext_BinaryInfo_t **out) {
    qrn_bin *b = NULL;
    QRN_TRY(qrn_bin_open(buf, size, false, &b));
    qrn_status s = qrn_system_describe(b, size, a, out);
    qrn_bin_close(b);
    return s;
}

static qrn_status describe(reader *r, const void *buf, uint64_t size,
                           const QnnSystemContext_BinaryInfo_t **out, uint64_t *info_bytes) {
    qrn_arena *a = qrn_arena_create();
    description *d = a ? qrn_arena_alloc(a, sizeof *d) : NULL;
    QnnSystemContext_BinaryInfo_t *info = NULL;
    qrn_status s = d ? read_binary(buf, size, a, &info)
                     : QRN_FAIL(QRN_E_MEM, "out of memory for the description of a binary");
    if (s != QRN_OK) {
        qrn_arena_destroy(a);
        return s;
    }
    d->arena = a;
    if (info_bytes)
        *info_bytes = qrn_arena_used(a);
    pthread_mutex_lock(&r->lock);
    d->next = r->descriptions;
    r->descriptions = d;
    pthread_mutex_unlock(&r->lock);
    *out = info;
    return QRN_OK;
}

// Ends a call that failed because of its bytes: all damage is one code.
static Qnn_ErrorHandle_t end(qrn_status s, const void *buf, uint64_t size) {
    if (s == QRN_E_MEM)
        return qrn_api_end_as(QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED, s, qrn_system_log());
    if ((s == QRN_E_BINARY || s == QRN_E_BINARY_VERSION) && !qrn_bin_is_ours(buf, size)) {
        qrn_log(qrn_system_log(), QNN_LOG_LEVEL_DEBUG, "%s", qrn_message());
        qrn_message_clear();
        return QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY;
    }
    return qrn_api_end(QRN_COMP_SYSTEM_CONTEXT, s, qrn_system_log());
}

Qnn_ErrorHandle_t QnnSystemContext_getBinaryInfo(QnnSystemContext_Handle_t sysCtxHandle,
                                                 void *binaryBuffer, uint64_t binaryBufferSize,
                                                 const QnnSystemContext_BinaryInfo_t **binaryInfo,
                                                 Qnn_ContextBinarySize_t *binaryInfoSize) {
    QRN_API_CALL;
    reader *r = qrn_pin(QRN_KIND_SYSTEM_CONTEXT, sysCtxHandle);
    qrn_status s;
    if (!r)
        s = QRN_FAIL(QRN_E_HANDLE, "getBinaryInfo: not a system context handle");
    else if (!binaryBuffer || binaryBufferSize == 0 || !binaryInfo || !binaryInfoSize)
        s = QRN_FAIL(QRN_E_ARGUMENT, "getBinaryInfo: no bytes, or no place for the description");
    else
        s = describe(r, binaryBuffer, binaryBufferSize, binaryInfo, binaryInfoSize);
    return end(s, binaryBuffer, binaryBufferSize);
}

Qnn_ErrorHandle_t QnnSystemContext_getMetadata(QnnSystemContext_Handle_t sysCtxHandle,
                                               const void *binaryBuffer,
                                               Qnn_ContextBinarySize_t binaryBufferSize,
                                               const QnnSystemContext_BinaryInfo_t **binaryInfo) {
    QRN_API_CALL;
    reader *r = qrn_pin(QRN_KIND_SYSTEM_CONTEXT, sysCtxHandle);
    qrn_status s;
    if (!r)
        s = QRN_FAIL(QRN_E_HANDLE, "getMetadata: not a system context handle");
    else if (!binaryBuffer || binaryBufferSize == 0 || !binaryInfo)
        s = QRN_FAIL(QRN_E_ARGUMENT, "getMetadata: no bytes, or no place for the description");
    else
        s = describe(r, binaryBuffer, binaryBufferSize, binaryInfo, NULL);
    return end(s, binaryBuffer, binaryBufferSize);
}

Qnn_ErrorHandle_t QnnSystemContext_free(QnnSystemContext_Handle_t sysCtxHandle) {
    QRN_API_CALL;
    reader *r = qrn_pin_alone(QRN_KIND_SYSTEM_CONTEXT, sysCtxHandle);
    if (!r)
        return qrn_api_end(QRN_COMP_SYSTEM_CONTEXT,
                           QRN_FAIL(QRN_E_HANDLE, "free: not a system context handle"),
                           qrn_system_log());
    qrn_handle_free(sysCtxHandle);
    while (r->descriptions) {
        description *d = r->descriptions;
        r->descriptions = d->next;
        qrn_arena_destroy(d->arena);
    }
    pthread_mutex_destroy(&r->lock);
    qrn_free(r);
    return QNN_SUCCESS;
}
