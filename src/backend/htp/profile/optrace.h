// SPDX-License-Identifier: MIT
//
// Op traces (HTP-OTR-*): what ran when, and the schematic of the graph that says what the op ids
// mean. Both are blocks of bytes in our own format; docs/profiling.md specifies it.
#ifndef QRN_BACKEND_HTP_OPTRACE_H
#define QRN_BACKEND_HTP_OPTRACE_H

#include "backend/htp/htp.h"

// Add an event with the block below `parent`. A block that memory is short for is left out.
void qrn_htp_optrace_execute(qrn_api_profile *p, uint32_t parent, const qrn_call_record *r);
void qrn_htp_optrace_schematic(qrn_api_profile *p, uint32_t parent, const qrn_api_graph *g);

#endif
