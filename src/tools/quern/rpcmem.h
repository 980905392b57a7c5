// SPDX-License-Identifier: MIT
//
// Shared memory as clients of an HTP allocate it: libcdsprpc.so, beside the backend's library or in
// the loader's path.
#ifndef QRN_TOOLS_QUERN_RPCMEM_H
#define QRN_TOOLS_QUERN_RPCMEM_H

#include "frontend/client/client.h"

#define QT_RPCMEM_LIBRARY "libcdsprpc.so"

typedef struct qt_rpcmem {
    void *lib; // NULL: there is none
    void (*free)(void *data);
    int (*to_fd)(void *data);
    void *(*alloc)(int heap, uint32_t flags, int bytes);
} qt_rpcmem;

// QRN_OK with lib NULL where there is no such library.
qrn_status qt_rpcmem_open(const qc_client *c, qt_rpcmem *out);
void qt_rpcmem_close(qt_rpcmem *m); // a cleared one is fine
// Cleared memory at the begin of a page; NULL: none, or none of that size.
void *qt_rpcmem_alloc(const qt_rpcmem *m, size_t bytes);

#endif
