// SPDX-License-Identifier: MIT
//
// The cache of a language model in memory that the accelerator shares: buffers of libcdsprpc.so,
// registered with the context of each graph that reads them.
#ifndef QRN_TOOLS_QUERN_LLM_MEMORY_H
#define QRN_TOOLS_QUERN_LLM_MEMORY_H

#include "frontend/client/client.h"
#include "frontend/llm/cache.h"

typedef struct qt_llm_memory qt_llm_memory;

// NULL in *out: the backend or this machine has no such memory, and ordinary memory serves.
qrn_status qt_llm_memory_open(const qc_client *c, qt_llm_memory **out);
void qt_llm_memory_close(qt_llm_memory *m); // after the model and the clients; NULL is fine
ql_memory qt_llm_memory_allocator(qt_llm_memory *m);

// The handle of a buffer for a tensor, registered the first time; NULL: it is no buffer of ours.
qrn_status qt_llm_memory_handle(qt_llm_memory *m, qc_client *c, const qc_tensor *t,
                                const void *data, Qnn_MemHandle_t *out);
// Before a client is closed: what was registered with it.
void qt_llm_memory_forget(qt_llm_memory *m, const qc_client *c);

#endif
