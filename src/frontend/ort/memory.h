// SPDX-License-Identifier: MIT
//
// Memory that application and HTP share (memory info "QnnHtpShared"): buffers of libcdsprpc.so,
// which is found beside the plugin or in the loader's path. Tensors that lie in such a buffer are
// registered with the library once and then bound by their handle.
//
// State of the plugin: the opened library and the living buffers, behind one lock that is taken
// last. Safe for many threads.
#ifndef QRN_FRONTEND_ORT_MEMORY_H
#define QRN_FRONTEND_ORT_MEMORY_H

#include "frontend/client/client.h"
#include "frontend/ort/host.h"

// The description of the memory; released by the caller.
qrn_status qe_memory_describe(OrtMemoryInfo **out);
// Opens the library that has the memory; fails with words where there is none.
qrn_status qe_memory_start(void);

// Allocators of that memory. An allocation is NULL where the library cannot be opened.
OrtStatus *qe_memory_allocator(const OrtMemoryInfo *info, OrtAllocator **out);
void qe_memory_allocator_free(OrtAllocator *a); // NULL is fine

// The handle of a tensor at `data` in a context; *out is NULL where the memory is not shared.
qrn_status qe_memory_handle(const qc_client *c, Qnn_ContextHandle_t context, const qc_tensor *t,
                            const void *data, Qnn_MemHandle_t *out);
// Gives back what was registered through a client; before its contexts go.
void qe_memory_forget(const qc_client *c);

#endif
