// SPDX-License-Identifier: MIT
//
// Binaries of a context model while they are read.
#ifndef QRN_FRONTEND_ORT_CONTEXT_H
#define QRN_FRONTEND_ORT_CONTEXT_H

#include "frontend/ort/ep.h"

#include "base/file.h"

#include <sys/stat.h>

// A loaded binary: its context, its description while parts are made, and the file below it.
// Sessions that share have one list in the pool.
typedef struct qe_loaded {
    struct qe_loaded *next;
    Qnn_ContextHandle_t context;
    qc_system *system; // in the pool it stays: later sessions look for their graphs
    const QnnSystemContext_BinaryInfoV3_t *info;
    const void *bytes; // until the context is made, unless they are the file's
    size_t size;
    uint64_t spill_bytes;   // that the model says its graphs need
    Qnn_ErrorHandle_t code; // of a context that is made in a list
    qrn_file file;
    char *path;       // of the file; NULL: embedded
    struct stat was;  // the file when it was loaded
    const char *node; // its name, while the model is read
} qe_loaded;

// Makes the contexts of a list, as the session's options say.
qrn_status qe_contexts_make(qe_ep *ep, qe_loaded *list);

// Notes what a binary that is written needs.
qrn_status qe_compat_note(qe_ep *ep, const QnnSystemContext_BinaryInfoV3_t *info);

#endif
