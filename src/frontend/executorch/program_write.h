// SPDX-License-Identifier: MIT
//
// Writes ExecuTorch programs around a context binary: one method per graph, each a call of a
// QnnBackend delegate, as ExecuTorch's own wrapper of context binaries makes them. All methods
// share the payload, so that the runtime loads the binary once.
#ifndef QRN_FRONTEND_EXECUTORCH_PROGRAM_WRITE_H
#define QRN_FRONTEND_EXECUTORCH_PROGRAM_WRITE_H

#include "base/status.h"
#include "frontend/client/client.h"

// Bytes in front of a context binary in the payload.
#define ET_PAYLOAD_HEADER 256

typedef struct et_wrap_source {
    const QnnSystemContext_BinaryInfoV3_t *info;
    const void *bytes; // the binary
    size_t n_bytes;
    const char *graph;           // (optional) this graph alone
    uint32_t soc, arch, vtcm_mb; // of an HTP binary; 0: unknown
} et_wrap_source;

// What comes before the binary in the file; the binary itself ends it. *head is of qrn_alloc.
// Fails where a program cannot describe a graph; the message does not name the file.
qrn_status et_program_wrap(const et_wrap_source *source, void **head, size_t *n_bytes);

#endif
