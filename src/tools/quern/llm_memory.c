// SPDX-License-Identifier: MIT
//
// Shared memory for caches.
#include "tools/quern/llm_memory.h"

#include "tools/quern/rpcmem.h"

#include "HTP/QnnHtpMem.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAVE_AFTER 16 // positions

typedef struct buffer {
    void *data;
    size_t bytes;
    int fd;
    bool is_file; // a mapping of a file, which keeps what is written
} buffer;

typedef struct registration {
    const qc_client *client;
    const void *data;
    Qnn_MemHandle_t handle;
} registration;

struct qt_llm_memory {
    qt_rpcmem shared;
    buffer *buffers;
    size_t n_buffers;
    registration *known;
    size_t n_known;
    uint32_t written; // positions since the pages were left
};

qrn_status qt_llm_memory_open(const qc_client *c, qt_llm_memory **out) {
    *out = NULL;
    if (!c->is_htp || !c->qnn.memRegister)
        return QRN_OK;
    qt_rpcmem shared;
    QRN_TRY(qt_rpcmem_open(c, &shared));
    if (!shared.lib)
        return QRN_OK;
    qt_llm_memory *m = calloc(1, sizeof *m);
    if (!m) {
        qt_rpcmem_close(&shared);
        return QRN_FAIL(QRN_E_MEM, "no memory to open " QT_RPCMEM_LIBRARY);
    }
    m->shared = shared;
    *out = m;
    return QRN_OK;
}

void qt_llm_memory_close(qt_llm_memory *m) {
    if (!m)
        return;
    for (size_t i = 0; i < m->n_buffers; i++)
        m->shared.free(m->buffers[i].data);
    qt_rpcmem_close(&m->shared);
    free(m->buffers);
    free(m->known);
    free(m);
}

// Does the file have what is written to its mapping? Memory of other libraries may be none.
static bool is_mapped_file(volatile char *data, int fd) {
    char seen = 0;
    data[0] = 1;
    bool same = fd >= 0 && pread(fd, &seen, 1, 0) == 1 && seen == 1;
    data[0] = 0;
    return same;
}

static void *make(void *ctx, size_t bytes) {
    qt_llm_memory *m = ctx;
    buffer *grown = realloc(m->buffers, (m->n_buffers + 1) * sizeof *grown);
    m->buffers = grown ? grown : m->buffers;
    void *data = grown ? qt_rpcmem_alloc(&m->shared, bytes) : NULL;
    if (data) { // cleared, and at the begin of a page
        int fd = m->shared.to_fd(data);
        m->buffers[m->n_buffers++] = (buffer){data, bytes, fd, is_mapped_file(data, fd)};
    }
    return data;
}

// They go with qt_llm_memory_close: contexts may still know them.
static void leave(void *ctx, void *data) {
    (void)ctx;
    (void)data;
}

// The accelerator maps the same memory, and pages count for each mapping that has touched them.
// This one only writes new rows: now and then it leaves its pages, which keep what they hold.
static void note_written(void *ctx, uint32_t n) {
    qt_llm_memory *m = ctx;
    m->written += n;
    if (m->written < LEAVE_AFTER)
        return;
    m->written = 0;
    for (size_t i = 0; i < m->n_buffers; i++)
        if (m->buffers[i].is_file)
            (void)madvise(m->buffers[i].data, m->buffers[i].bytes, MADV_DONTNEED);
}

ql_memory qt_llm_memory_allocator(qt_llm_memory *m) {
    return m ? (ql_memory){.ctx = m, .alloc = make, .free = leave, .written = note_written}
             : (ql_memory){0};
}

static qrn_status enter(qt_llm_memory *m, qc_client *c, const qc_tensor *t, const buffer *b,
                        Qnn_MemHandle_t *out) {
    registration *grown = realloc(m->known, (m->n_known + 1) * sizeof *grown);
    if (!grown)
        return QRN_FAIL(QRN_E_MEM, "no memory for a registration");
    m->known = grown;
    QnnMemHtp_Descriptor_t place = {
        .type = QNN_HTP_MEM_SHARED_BUFFER, .size = b->bytes, .sharedBufferConfig = {b->fd, 0}};
    Qnn_MemDescriptor_t about = {.memShape = {t->rank, t->t.v1.dimensions, NULL},
                                 .dataType = t->t.v1.dataType,
                                 .memType = QNN_MEM_TYPE_CUSTOM,
                                 .customInfo = &place};
    QRN_TRY(qc_check(c, c->qnn.memRegister(c->context, &about, 1, out), "memRegister"));
    m->known[m->n_known++] = (registration){c, b->data, *out};
    return QRN_OK;
}

qrn_status qt_llm_memory_handle(qt_llm_memory *m, qc_client *c, const qc_tensor *t,
                                const void *data, Qnn_MemHandle_t *out) {
    *out = NULL;
    for (size_t i = 0; i < m->n_known; i++)
        if (m->known[i].client == c && m->known[i].data == data) {
            *out = m->known[i].handle;
            return QRN_OK;
        }
    for (size_t i = 0; i < m->n_buffers; i++)
        if (m->buffers[i].data == data)
            return enter(m, c, t, &m->buffers[i], out);
    return QRN_OK;
}

void qt_llm_memory_forget(qt_llm_memory *m, const qc_client *c) {
    for (size_t i = 0; m && i < m->n_known; i++)
        if (m->known[i].client == c && m->known[i].handle) {
            (void)c->qnn.memDeRegister(&m->known[i].handle, 1);
            m->known[i].handle = NULL;
        }
}
