// SPDX-License-Identifier: MIT
//
// Buffers that clients bring. A DMA buffer without an address is mapped by its descriptor, so that
// a memory file stands in for one.
#include "api/provider.h"

#include "base/mem.h"
#include "core/own.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u

// One buffer; those of a context are chained.
struct qrn_provided {
    struct qrn_provided *next;
    Qnn_ContextBinaryCallback_t callback;
    Qnn_ContextBinaryRawDataMem_t raw;
    Qnn_ContextBinaryDmaDataMem_t dma;
    void *mapped; // by us, or NULL
};

static bool is_raw(const Qnn_ContextBinaryCallback_t *cb) {
    return cb->type == QNN_CONTEXT_CALLBACK_RAW_BUFFER;
}

qrn_status qrn_provider_check(const Qnn_ContextBinaryCallback_t *cb) {
    if (!cb)
        return QRN_FAIL(QRN_E_ARGUMENT, "context binary: the callback is NULL");
    bool raw = is_raw(cb) &&
               cb->rawBufferCallback.version == QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1 &&
               cb->rawBufferCallback.v1.dataProvide && cb->rawBufferCallback.v1.dataRelease;
    bool dma = cb->type == QNN_CONTEXT_CALLBACK_DMA_BUFFER &&
               cb->dmaBufferCallback.version == QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1 &&
               cb->dmaBufferCallback.v1.dataProvide && cb->dmaBufferCallback.v1.dataRelease;
    if (!raw && !dma)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "context binary: callback of type %d, expected a raw (1) or dma (2) one of "
                        "version 1 with both functions",
                        (int)cb->type);
    return QRN_OK;
}

// A buffer as the client described it.
typedef struct answer {
    unsigned char *base;
    uint64_t start, room;
    int fd; // -1: ordinary memory
} answer;

static Qnn_ErrorHandle_t call_client(struct qrn_provided *p, uint64_t offset, uint64_t size,
                                     answer *a) {
    const Qnn_ContextBinaryCallback_t *cb = &p->callback;
    Qnn_ContextBinaryDataRequest_t want = {.offset = offset, .size = size};
    if (is_raw(cb)) {
        Qnn_ContextBinaryRawDataResponse_t got = {0};
        Qnn_ErrorHandle_t code =
            cb->rawBufferCallback.v1.dataProvide(want, &got, cb->rawBufferCallback.v1.notifyParam);
        *a = (answer){got.memPtr, got.dataStartOffset, got.alignedSize, -1};
        p->raw = (Qnn_ContextBinaryRawDataMem_t){got.memPtr, got.alignedSize};
        return code;
    }
    Qnn_ContextBinaryDmaDataResponse_t got = {.dmaBuffer = {.fd = -1}};
    Qnn_ErrorHandle_t code =
        cb->dmaBufferCallback.v1.dataProvide(want, &got, cb->dmaBufferCallback.v1.notifyParam);
    *a = (answer){got.dmaBuffer.data, got.dataStartOffset, got.alignedSize, got.dmaBuffer.fd};
    p->dma = (Qnn_ContextBinaryDmaDataMem_t){got.dmaBuffer, got.alignedSize};
    return code;
}

static void give_back(struct qrn_provided *p) {
    const Qnn_ContextBinaryCallback_t *cb = &p->callback;
    if (p->mapped)
        munmap(p->mapped, p->dma.memSize);
    if (is_raw(cb))
        cb->rawBufferCallback.v1.dataRelease(p->raw, cb->rawBufferCallback.v1.notifyParam);
    else
        cb->dmaBufferCallback.v1.dataRelease(p->dma, cb->dmaBufferCallback.v1.notifyParam);
    qrn_free(p);
}

static qrn_status check_dma(const qrn_api_context *c, struct qrn_provided *p, answer *a) {
    if (a->fd < 0)
        return QRN_FAIL(QRN_E_BINARY, "context binary: the DMA buffer has descriptor %d", a->fd);
    for (const struct qrn_provided *o = c->own->provided; o; o = o->next)
        if (!is_raw(&o->callback) && o->dma.dmaBuffer.fd == a->fd)
            return QRN_FAIL(QRN_E_BINARY,
                            "context binary: descriptor %d came twice, every DMA buffer needs its "
                            "own",
                            a->fd);
    if (!a->base && a->room && a->room <= SIZE_MAX) {
        void *at = mmap(NULL, (size_t)a->room, PROT_READ, MAP_SHARED, a->fd, 0);
        if (at == MAP_FAILED)
            return QRN_FAIL(QRN_E_BINARY, "context binary: descriptor %d cannot be mapped: %s",
                            a->fd, strerror(errno));
        a->base = p->mapped = at;
    }
    if ((uintptr_t)a->base % PAGE_BYTES || a->start % QRN_ALIGN)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: DMA buffer at %p with data at %llu, expected the start of "
                        "a page of %u bytes and a multiple of %d",
                        (void *)a->base, (unsigned long long)a->start, PAGE_BYTES, QRN_ALIGN);
    return QRN_OK;
}

static qrn_status check(const qrn_api_context *c, struct qrn_provided *p, uint64_t size,
                        answer *a) {
    if (!is_raw(&p->callback))
        QRN_TRY(check_dma(c, p, a));
    if (!a->base || a->start > a->room || a->room - a->start < size)
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: the callback gave a buffer of %llu bytes with data at "
                        "%llu, %llu bytes were asked for",
                        (unsigned long long)a->room, (unsigned long long)a->start,
                        (unsigned long long)size);
    return QRN_OK;
}

qrn_status qrn_provider_ask(void *provider, uint64_t offset, uint64_t size, const void **data) {
    const qrn_provider *from = provider;
    struct qrn_provided *p = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a data callback");
    p->callback = *from->callback;
    answer a;
    Qnn_ErrorHandle_t code = call_client(p, offset, size, &a);
    if (code != QNN_SUCCESS) {
        qrn_free(p);
        return QRN_FAIL(QRN_E_BINARY,
                        "context binary: the data callback failed with code %llu for %llu bytes "
                        "at %llu",
                        (unsigned long long)code, (unsigned long long)size,
                        (unsigned long long)offset);
    }
    qrn_status s = check(from->context, p, size, &a);
    if (s != QRN_OK) {
        give_back(p);
        return s;
    }
    p->next = from->context->own->provided;
    from->context->own->provided = p;
    *data = a.base + a.start;
    return QRN_OK;
}

void qrn_provider_release_all(qrn_api_context *c) {
    while (c->own->provided) {
        struct qrn_provided *p = c->own->provided;
        c->own->provided = p->next;
        give_back(p);
    }
}
