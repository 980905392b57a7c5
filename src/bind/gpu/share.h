// SPDX-License-Identifier: MIT
//
// Constants that several plans have: equal bytes are on the device once.
#ifndef QRN_BIND_GPU_SHARE_H
#define QRN_BIND_GPU_SHARE_H

#include "bind/gpu/plan.h"

typedef struct qrn_gpu_shares qrn_gpu_shares;

qrn_gpu_shares *qrn_gpu_shares_create(void); // NULL: out of memory
// Buffers that plans still use stay until those are gone.
void qrn_gpu_shares_destroy(qrn_gpu_shares *s); // NULL is fine
// Forgets all buffers: the OpenCL context has changed.
void qrn_gpu_shares_clear(qrn_gpu_shares *s); // NULL is fine

// A buffer with the bytes of a constant, for the plan to release: a new one, or one that an earlier
// plan of the same OpenCL context got.
qrn_status qrn_gpu_share(qrn_gpu_shares *s, const qrn_gpu_plan *p, const qrn_gpu_const *c,
                         cl_mem *out);

#endif
