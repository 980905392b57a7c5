// SPDX-License-Identifier: MIT
//
// Registered memory. A file descriptor is mapped once per context, whole, however many tensors lie
// in it. The context's lock is held during all of this.
//   ION, DMA_BUF            a descriptor for a tensor (DMA_BUF: the client's own mapping, if given)
//   CUSTOM, SHARED_BUFFER   a place in a descriptor that holds many tensors (HTP-SHB-01)
//   CUSTOM, QURT            a place in the VTCM (HTP-VSH-13), which is modelled: the VTCM is mapped
//                           by a page that is aligned to its size, so an address modulo the size is
//                           a place in it; each context has its own
//   CUSTOM, other kinds     buffers of the backend: kept, but no tensor can use them
#include "backend/htp/mem.h"
#include "backend/htp/options/options.h"
#include "backend/htp/device/session.h"

#include "backend/htp/device/restart.h"
#include "base/mem.h"

#include "HTP/QnnHtpMem.h"
#include "QnnMem.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MB (1024u * 1024u)

// Memory of a client in this process, used by one or more handles of a context.
typedef struct qrn_htp_mapping {
    struct qrn_htp_mapping *next;
    int fd; // -1: the VTCM of the context
    dev_t device;
    ino_t inode;
    char *base;
    uint64_t size_bytes;
    uint32_t n_users;
    struct place *places; // of the handles
} qrn_htp_mapping;

// Behind qrn_api_mem.impl.
typedef struct place {
    qrn_htp_mapping *mapping; // NULL: the client's own
    uint64_t offset;          // in the mapping
    struct place *next;       // of the mapping
} place;

// What a descriptor asks for.
typedef struct wish {
    uint32_t kind; // QnnHtpMem_Type_t; SHARED_BUFFER for descriptors of other types
    int fd;
    uint64_t offset;
    uint64_t size_bytes; // of the whole buffer
    void *data;          // the client's own mapping, or NULL
} wish;

static qrn_status read_custom(const QnnMemHtp_Descriptor_t *d, const qrn_api_mem *m, wish *w) {
    if (!d)
        return QRN_FAIL(QRN_E_ARGUMENT, "memory: the custom descriptor is NULL");
    w->kind = (uint32_t)d->type;
    w->size_bytes = d->size;
    switch (d->type) {
    case QNN_HTP_MEM_QURT:
        w->offset = d->qurtAddress;
        return QRN_OK;
    case QNN_HTP_MEM_SHARED_BUFFER:
    case QNN_HTP_MEM_WEIGHTS_BUFFER:
    case QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER:
    case QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER:
        w->fd = d->sharedBufferConfig.fd; // at the same place in all of them
        w->offset = d->sharedBufferConfig.offset;
        break;
    default:
        return QRN_FAIL(QRN_E_MEMTYPE, "memory: custom descriptor of type %d, allowed 0 to 4",
                        (int)d->type);
    }
    if (w->offset > w->size_bytes || m->size_bytes > w->size_bytes - w->offset)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "memory: %zu bytes at offset %" PRIu64 " do not fit a buffer of %" PRIu64
                        " bytes",
                        m->size_bytes, w->offset, w->size_bytes);
    return QRN_OK;
}

static qrn_status read_descriptor(const Qnn_MemDescriptor_t *d, const qrn_api_mem *m, wish *w) {
    *w = (wish){.kind = QNN_HTP_MEM_SHARED_BUFFER, .fd = m->fd, .size_bytes = m->size_bytes};
    switch (d->memType) {
    case QNN_MEM_TYPE_ION:
        return QRN_OK;
    case QNN_MEM_TYPE_DMA_BUF:
        w->data = d->dmaBufInfo.data;
        return QRN_OK;
    case QNN_MEM_TYPE_CUSTOM:
        return read_custom(d->customInfo, m, w);
    default:
        return QRN_FAIL(QRN_E_MEMTYPE, "memory type %d, allowed ION=1, CUSTOM=2, DMA_BUF=3",
                        (int)d->memType);
    }
}

// --- mappings of a context

static qrn_htp_mapping *find_mapping(const qrn_htp_context *c, int fd, const struct stat *st,
                                     uint64_t size_bytes) {
    for (qrn_htp_mapping *m = c->mappings; m; m = m->next)
        if (m->fd == fd && m->size_bytes >= size_bytes &&
            (!st || (m->device == st->st_dev && m->inode == st->st_ino)))
            return m;
    return NULL;
}

static qrn_status add_mapping(qrn_htp_context *c, int fd, const struct stat *st,
                              uint64_t size_bytes, qrn_htp_mapping **out) {
    qrn_htp_mapping *m = qrn_calloc(sizeof *m);
    if (!m)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a mapping");
    qrn_status s = fd < 0 ? QRN_OK : qrn_htp_session_map(c->api, size_bytes);
    if (s != QRN_OK) {
        qrn_free(m);
        return s;
    }
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void *base = size_bytes > SIZE_MAX
                     ? MAP_FAILED
                     : mmap(NULL, (size_t)size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (base == MAP_FAILED) {
        if (fd >= 0)
            qrn_htp_session_unmap(c->api, size_bytes);
        qrn_free(m);
        return QRN_FAIL(QRN_E_MAPPING,
                        "memory: %" PRIu64 " bytes of file descriptor %d cannot be mapped for "
                        "reading and writing",
                        size_bytes, fd);
    }
    *m = (qrn_htp_mapping){.next = c->mappings, .fd = fd, .base = base, .size_bytes = size_bytes};
    if (st) {
        m->device = st->st_dev;
        m->inode = st->st_ino;
    }
    c->mappings = m;
    *out = m;
    return QRN_OK;
}

static void release_mapping(qrn_htp_context *c, qrn_htp_mapping *m) {
    if (--m->n_users)
        return;
    qrn_htp_mapping **at = &c->mappings;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    if (m->fd >= 0)
        qrn_htp_session_unmap(c->api, m->size_bytes);
    munmap(m->base, (size_t)m->size_bytes);
    qrn_free(m);
}

// Clients may promise how much they will map (HTP-CTX-15).
static qrn_status check_limit(const qrn_htp_context *c, uint64_t more) {
    uint64_t limit = c->options.reused_io_limit_mb, sum = more;
    for (const qrn_htp_mapping *m = c->mappings; m; m = m->next)
        sum += m->fd < 0 ? 0 : m->size_bytes; // the VTCM is no client's
    if (limit && limit < UINT64_MAX / MB && sum > limit * MB)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "memory: %" PRIu64
                        " bytes would be mapped, option REUSED_IO_LIMIT promised "
                        "at most %" PRIu64 " MB",
                        sum, limit);
    return QRN_OK;
}

// The descriptor may hold more than the tensor: all of it is mapped, for the tensors that follow.
static qrn_status map_file(qrn_htp_context *c, const wish *w, qrn_htp_mapping **out) {
    struct stat st;
    if (w->fd < 0 || fstat(w->fd, &st) != 0)
        return QRN_FAIL(QRN_E_MAPPING, "memory: file descriptor %d is not open", w->fd);
    uint64_t have = st.st_size > 0 ? (uint64_t)st.st_size : w->size_bytes; // devices report no size
    if (have < w->size_bytes)
        return QRN_FAIL(QRN_E_MAPPING,
                        "memory: file descriptor %d has %" PRIu64 " bytes, %" PRIu64 " are needed",
                        w->fd, have, w->size_bytes);
    *out = find_mapping(c, w->fd, &st, w->size_bytes);
    if (*out)
        return QRN_OK;
    QRN_TRY(check_limit(c, have));
    return add_mapping(c, w->fd, &st, have, out);
}

// --- the VTCM

// Sharing a place in the VTCM needs a signed process domain, and graphs that leave room in it.
static qrn_status map_vtcm(qrn_api_context *c, const qrn_api_mem *m, wish *w,
                           qrn_htp_mapping **out) {
    const qrn_htp_device *d = qrn_htp_device_of(c);
    uint64_t all = (uint64_t)d->soc.vtcm_mb * MB;
    if (!d->signed_pd)
        return QRN_FAIL(QRN_E_ARGUMENT, "memory: an address of the VTCM needs a signed process "
                                        "domain: make the device with option SIGNEDPD");
    for (uint32_t i = 0; i < qrn_context_n_graphs(c); i++) {
        const qrn_api_graph *g = qrn_context_graph(c, i);
        if (qrn_htp_vtcm_bytes(g) >= all)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "memory: an address of the VTCM, but graph '%s' uses all %u MB of it: "
                            "give it less with option VTCM_SIZE_IN_MB",
                            g->ir->name, d->soc.vtcm_mb);
    }
    w->offset %= all;
    if (w->size_bytes < m->size_bytes || w->size_bytes > all - w->offset)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "memory: %zu bytes in %" PRIu64 " at %#" PRIx64 " of a VTCM of %u MB",
                        m->size_bytes, w->size_bytes, w->offset, d->soc.vtcm_mb);
    qrn_htp_context *impl = qrn_htp_context_of(c);
    *out = find_mapping(impl, -1, NULL, all);
    return *out ? QRN_OK : add_mapping(impl, -1, NULL, all, out);
}

// --- registering

static qrn_status check_new(const qrn_htp_mapping *mapping, uint64_t offset) {
    for (const place *p = mapping->places; p; p = p->next)
        if (p->offset == offset)
            return QRN_FAIL(QRN_E_ALREADY,
                            "memory: offset %" PRIu64 " of file descriptor %d is registered",
                            offset, mapping->fd);
    return QRN_OK;
}

static qrn_status map(qrn_api_context *c, const qrn_api_mem *m, wish *w, qrn_htp_mapping **out) {
    if (w->kind == QNN_HTP_MEM_QURT)
        return map_vtcm(c, m, w, out);
    return map_file(qrn_htp_context_of(c), w, out);
}

qrn_status qrn_htp_mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor) {
    if (!c->device)
        return QRN_FAIL(QRN_E_ARGUMENT, "memory: the context was made without a device: pass a "
                                        "device handle to QnnContext_create");
    wish w;
    QRN_TRY(read_descriptor(descriptor, m, &w));
    QRN_TRY(qrn_htp_cross(c));
    place *p = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a memory handle");
    qrn_status s = w.data ? QRN_OK : map(c, m, &w, &p->mapping);
    if (s == QRN_OK && p->mapping)
        s = check_new(p->mapping, w.offset);
    if (s != QRN_OK) {
        qrn_free(p);
        return s;
    }
    p->offset = w.offset;
    if (p->mapping) {
        p->mapping->n_users++;
        p->next = p->mapping->places;
        p->mapping->places = p;
    }
    bool for_tensors = w.kind == QNN_HTP_MEM_SHARED_BUFFER || w.kind == QNN_HTP_MEM_QURT;
    void *data = p->mapping ? p->mapping->base + w.offset : w.data;
    if (for_tensors)
        m->memory = (qrn_memory){.kind = QRN_MEMORY_SHARED, .host = data};
    m->impl = p;
    return QRN_OK;
}

void qrn_htp_mem_unmap(qrn_api_mem *m) {
    place *p = m->impl;
    if (p->mapping) {
        place **at = &p->mapping->places;
        while (*at != p)
            at = &(*at)->next;
        *at = p->next;
        release_mapping(qrn_htp_context_of(m->context), p->mapping);
    }
    qrn_free(p);
}
