// SPDX-License-Identifier: MIT
//
// Makes the accelerator's sessions as full as a test wants, as a client can: a small context in
// each of the four sessions, with one registered buffer that takes the rest. Buffers are sparse
// files.
#ifndef QRN_TESTS_HTP_ROOM_H
#define QRN_TESTS_HTP_ROOM_H

#include "htp_switch.h"

#include "QnnMem.h"

#include <sys/mman.h>
#include <unistd.h>

#define N_SESSIONS 4u
#define SESSION_BYTES (15ull << 28) // 3.75 GB

typedef struct filler {
    htp_world w;
    Qnn_LogHandle_t log;
    Qnn_ContextHandle_t contexts[N_SESSIONS];
    uint64_t own_bytes; // of each context
    Qnn_MemHandle_t buffers[N_SESSIONS];
} filler;

// Registers a buffer of so many bytes with a context; NULL: there is no room. Its file stays open:
// a number that is used again would be taken for the same file where all such files have one inode.
static inline Qnn_MemHandle_t take_bytes(const htp_world *w, Qnn_ContextHandle_t c,
                                         uint64_t bytes) {
    uint32_t dims[] = {16};
    int fd = memfd_create("room", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    Qnn_MemDescriptor_t d = {.memShape = {.numDim = 1, .dimSize = dims},
                             .dataType = QNN_DATATYPE_UFIXED_POINT_8,
                             .memType = QNN_MEM_TYPE_ION,
                             .ionInfo = {.fd = fd}};
    Qnn_MemHandle_t h = NULL;
    Qnn_ErrorHandle_t code = w->qnn.memRegister(c, &d, 1, &h);
    if (code != QNN_SUCCESS)
        HTP_FAILS(code, QNN_MEM_ERROR_MAPPING);
    return code == QNN_SUCCESS ? h : NULL;
}

// Leaves so many bytes in each session. Fails when somebody else has them.
static inline void leave_bytes(filler *f, uint64_t bytes) {
    for (uint32_t i = 0; i < N_SESSIONS; i++) {
        if (f->buffers[i])
            HTP_OK(f->w.qnn.memDeRegister(&f->buffers[i], 1));
        f->buffers[i] = take_bytes(&f->w, f->contexts[i], SESSION_BYTES - f->own_bytes - bytes);
        assert_non_null(f->buffers[i]);
    }
}

static inline void fill_begin(filler *f, uint32_t soc, const binary *b) {
    *f = (filler){.w = {.qnn = htp_open()}};
    f->log = log_begin(&f->w.qnn);
    HTP_OK(f->w.qnn.backendCreate(f->log, NULL, &f->w.backend));
    f->w.device = htp_device(&f->w.qnn, soc);
    for (uint32_t i = 0; i < N_SESSIONS; i++) {
        HTP_OK(f->w.qnn.contextCreateFromBinary(f->w.backend, f->w.device, NULL, b->data, b->size,
                                                &f->contexts[i], NULL));
        assert_int_equal(log_place().session, i); // the sessions before are full
        f->own_bytes = log_place().bytes;
        f->buffers[i] = take_bytes(&f->w, f->contexts[i], SESSION_BYTES - f->own_bytes);
        assert_non_null(f->buffers[i]);
    }
}

static inline void fill_end(filler *f) {
    leave_bytes(f, 0); // all that others had came back
    for (uint32_t i = 0; i < N_SESSIONS; i++) {
        HTP_OK(f->w.qnn.memDeRegister(&f->buffers[i], 1));
        HTP_OK(f->w.qnn.contextFree(f->contexts[i], NULL));
    }
    htp_table qnn = f->w.qnn;
    htp_end(&f->w);
    HTP_OK(qnn.logFree(f->log));
}

#endif
