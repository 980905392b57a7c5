// SPDX-License-Identifier: MIT
//
// A session whose inputs and outputs stay in memory of the GPU (quern bench --resident).
#ifndef QRN_TOOLS_QUERN_GPU_MEMORY_H
#define QRN_TOOLS_QUERN_GPU_MEMORY_H

#include "tools/quern/gpu.h"
#include "tools/quern/session.h"

typedef struct qt_gpu_memory qt_gpu_memory;

// Copies the inputs that are set, once; executions of the session use that memory from then on, and
// do not change s->out.
qrn_status qt_gpu_memory_open(qt_session *s, qt_gpu_memory **out);
void qt_gpu_memory_close(qt_gpu_memory *m); // before the session; NULL is fine

#endif
