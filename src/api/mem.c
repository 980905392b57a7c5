// SPDX-License-Identifier: MIT
//
// Mem component: memory of the client that tensors use without a copy. The backend maps a
// descriptor to an address; shapes, handles and the list of a context are kept here.
#include "api/execute.h"
#include "base/mem.h"
#include "core/errors.h"
#include "core/own.h"

#include "QnnMem.h"

#include <string.h>

static qrn_status check_support(void) {
    if (!(qrn_this_backend.features & QRN_FEATURE_MEM) || !qrn_this_backend.mem_map)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: memory cannot be registered",
                        qrn_this_backend.provider_name);
    return QRN_OK;
}

// Reads type, shape and size of descriptor number i.
static qrn_status parse(const Qnn_MemDescriptor_t *d, uint32_t i, qrn_api_mem *m) {
    const Qnn_MemShape_t *sh = &d->memShape;
    m->dtype = qrn_dtype_from_code((uint32_t)d->dataType);
    if (m->dtype == QRN_DTYPE_COUNT)
        return QRN_FAIL(QRN_E_DTYPE, "memory descriptor %u: unknown data type %#x", i,
                        (unsigned)d->dataType);
    if (sh->numDim == 0 || sh->numDim > QRN_MAX_RANK || !sh->dimSize)
        return QRN_FAIL(QRN_E_SHAPE, "memory descriptor %u: %u dimensions%s, allowed 1 to %u", i,
                        sh->numDim, sh->dimSize ? "" : " without sizes", QRN_MAX_RANK);
    if (sh->shapeConfig)
        return QRN_FAIL(QRN_E_SHAPE, "memory descriptor %u: shape '%.64s', only plain ones work", i,
                        sh->shapeConfig);
    m->shape.rank = sh->numDim;
    memcpy(m->shape.dims, sh->dimSize, sh->numDim * sizeof *sh->dimSize);
    size_t count;
    if (!qrn_shape_count(&m->shape, &count) || count == 0 ||
        !qrn_dtype_bytes(m->dtype, count, &m->size_bytes)) {
        char text[96];
        return QRN_FAIL(QRN_E_SHAPE, "memory descriptor %u: shape %s is empty or too large", i,
                        qrn_shape_text(&m->shape, text, sizeof text));
    }
    m->type = (uint32_t)d->memType;
    m->fd = -1;
    switch (d->memType) {
    case QNN_MEM_TYPE_ION:
        m->fd = d->ionInfo.fd;
        break;
    case QNN_MEM_TYPE_DMA_BUF:
        m->fd = d->dmaBufInfo.fd;
        break;
    case QNN_MEM_TYPE_CUSTOM:
    case QNN_MEM_TYPE_DX12:
        break;
    default:
        return QRN_FAIL(QRN_E_MEMTYPE, "memory descriptor %u: unknown memory type %u", i, m->type);
    }
    return QRN_OK;
}

// A file descriptor stands for a whole buffer, so registering it twice is a mistake. Other types
// can describe parts of one buffer.
static qrn_status check_new(const qrn_api_context *c, const qrn_api_mem *m, uint32_t i) {
    for (uint32_t k = 0; m->fd >= 0 && k < c->own->n_mems; k++)
        if (c->own->mems[k]->type == m->type && c->own->mems[k]->fd == m->fd)
            return QRN_FAIL(QRN_E_ALREADY, "memory descriptor %u: file descriptor %d is registered",
                            i, m->fd);
    return QRN_OK;
}

static qrn_status reserve(qrn_api_context *c) {
    if (c->own->n_mems < c->own->cap_mems)
        return QRN_OK;
    uint32_t cap = c->own->cap_mems ? c->own->cap_mems * 2 : 8;
    qrn_api_mem **mems =
        qrn_realloc(c->own->mems, c->own->n_mems * sizeof(void *), cap * sizeof(void *));
    if (!mems)
        return QRN_E_MEM;
    c->own->mems = mems;
    c->own->cap_mems = cap;
    return QRN_OK;
}

// The context's mem_lock is held, here and below.
static qrn_status add(qrn_api_context *c, const Qnn_MemDescriptor_t *d, uint32_t i) {
    qrn_api_mem m = {.context = c};
    QRN_TRY(parse(d, i, &m));
    QRN_TRY(check_new(c, &m, i));
    QRN_TRY(reserve(c));
    qrn_api_mem *obj = qrn_alloc(sizeof *obj);
    if (!obj)
        return QRN_E_MEM;
    *obj = m;
    qrn_status s = QRN_E_MEM;
    obj->handle = qrn_handle_new(QRN_KIND_MEM, obj);
    if (obj->handle)
        s = qrn_this_backend.mem_map(c, obj, d);
    if (s != QRN_OK) {
        qrn_handle_free(obj->handle);
        qrn_free(obj);
        return s;
    }
    obj->index = c->own->n_mems;
    c->own->mems[c->own->n_mems++] = obj;
    return QRN_OK;
}

static qrn_status register_all(qrn_api_context *c, const Qnn_MemDescriptor_t *descriptors,
                               uint32_t n, Qnn_MemHandle_t *handles) {
    if (!c)
        return QRN_FAIL(QRN_E_HANDLE, "memory: not a context handle");
    if (!descriptors || !handles || n == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "memory: no descriptors or no place for the handles");
    QRN_TRY(check_support());
    QRN_TRY(qrn_context_check(c));
    pthread_mutex_lock(&c->own->mem_lock);
    uint32_t before = c->own->n_mems;
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < n && s == QRN_OK; i++)
        s = add(c, &descriptors[i], i);
    while (s != QRN_OK && c->own->n_mems > before)
        qrn_mem_destroy(c, c->own->n_mems - 1);
    for (uint32_t i = 0; i < n && s == QRN_OK; i++)
        handles[i] = c->own->mems[before + i]->handle;
    pthread_mutex_unlock(&c->own->mem_lock);
    return s;
}

Qnn_ErrorHandle_t QnnMem_register(Qnn_ContextHandle_t context,
                                  const Qnn_MemDescriptor_t *memDescriptors,
                                  uint32_t numDescriptors, Qnn_MemHandle_t *memHandles) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin(QRN_KIND_CONTEXT, context);
    qrn_status s = register_all(c, memDescriptors, numDescriptors, memHandles);
    return qrn_api_end(QRN_COMP_MEM, s, c ? c->backend->log : NULL);
}

// Pins the context of a memory handle, which comes before the memory itself.
static qrn_api_context *pin_context(const void *handle) {
    const qrn_api_mem *m = qrn_pin_memory(handle);
    const void *context = m ? m->context->handle : NULL;
    if (m)
        qrn_handle_leave(handle, false);
    return context ? qrn_pin(QRN_KIND_CONTEXT, context) : NULL;
}

// Waits for the executions that use the memory, queued ones too.
static qrn_status remove_mem(const void *handle, qrn_api_log **log) {
    void *m = NULL;
    qrn_api_context *c = pin_context(handle);
    if (!c)
        return QRN_E_HANDLE;
    *log = qrn_keep_log(c->backend->log);
    qrn_status s = qrn_pin_last(QRN_KIND_MEM, handle, true, &m);
    if (s == QRN_OK) {
        pthread_mutex_lock(&c->own->mem_lock);
        qrn_mem_destroy(c, ((qrn_api_mem *)m)->index);
        pthread_mutex_unlock(&c->own->mem_lock);
        qrn_unpin(handle);
    }
    qrn_unpin(c->handle);
    return s;
}

static qrn_status deregister_all(const Qnn_MemHandle_t *handles, uint32_t n, qrn_api_log **log) {
    if (!handles || n == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "memory: no handles");
    bool known = true;
    for (uint32_t i = 0; i < n && known; i++) {
        known = qrn_pin_memory(handles[i]) != NULL;
        if (known)
            qrn_handle_leave(handles[i], false);
    }
    if (known)
        QRN_TRY(check_support());
    qrn_status first = QRN_OK; // one that fails does not stop the others
    uint32_t bad = 0;
    for (uint32_t i = 0; i < n; i++) {
        qrn_status s = remove_mem(handles[i], log);
        if (first == QRN_OK && s != QRN_OK) {
            first = s;
            bad = i;
        }
    }
    if (first == QRN_E_IN_USE)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "memory: handle %u of %u is in use by executions, and a callback cannot "
                        "wait for them",
                        bad, n);
    return first == QRN_OK
               ? QRN_OK
               : QRN_FAIL(first, "memory: handle %u of %u is not a memory handle", bad, n);
}

Qnn_ErrorHandle_t QnnMem_deRegister(const Qnn_MemHandle_t *memHandles, uint32_t numHandles) {
    QRN_API_CALL;
    qrn_api_log *log = NULL;
    qrn_status s = deregister_all(memHandles, numHandles, &log);
    return qrn_api_end(QRN_COMP_MEM, s, log);
}
