// SPDX-License-Identifier: MIT
//
// Registered memory of the HTP backend: hooks of the backend.
#ifndef QRN_BACKEND_HTP_MEM_H
#define QRN_BACKEND_HTP_MEM_H

#include "backend/htp/htp.h"

// The context's lock is held.
qrn_status qrn_htp_mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor);
void qrn_htp_mem_unmap(qrn_api_mem *m);

#endif
