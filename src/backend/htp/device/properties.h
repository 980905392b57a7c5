// SPDX-License-Identifier: MIT
//
// Sizes of graphs and contexts as the accelerator would have them, and the properties that report
// them. They are modelled: bytes are those of the compiled graph, the VTCM is the chosen one.
#ifndef QRN_BACKEND_HTP_PROPERTIES_H
#define QRN_BACKEND_HTP_PROPERTIES_H

#include "backend/htp/htp.h"

#define QRN_HTP_BUFFER_ALIGN 4096u // of buffers that a client supplies

// Sizes of a compiled graph, which do not depend on the machine or its threads.
qrn_status qrn_htp_measure(const qrn_plan *p, qrn_htp_sizes *sizes);
// The part of intermediate data that does not fit into the VTCM: what goes out to memory and back.
uint64_t qrn_htp_spill_bytes(const qrn_api_graph *g); // 0 before it is finalized
// Of the buffer that saves the VTCM of a context when it has to yield: as large as the VTCM.
uint64_t qrn_htp_backup_bytes(const qrn_api_context *c);
// Of a context: all constants, shared ones counted once.
uint64_t qrn_htp_context_const_bytes(qrn_api_context *c);

qrn_status qrn_htp_context_property(qrn_api_context *c, void *property);

#endif
