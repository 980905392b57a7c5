// SPDX-License-Identifier: MIT
//
// Options of contexts and graphs: what follows from them. docs/htp-options.md lists them all.
#ifndef QRN_BACKEND_HTP_OPTIONS_H
#define QRN_BACKEND_HTP_OPTIONS_H

#include "backend/htp/htp.h"

#define QRN_HTP_VTCM_PAGE 65536u                // requests in bytes are multiples of it
#define QRN_HTP_VTCM_DEFAULT (4ull << 20)       // HTP-VTCM-01
#define QRN_HTP_HVX_OFFLINE 4u                  // HTP-HVX-02
#define QRN_HTP_DESERIALIZE_EXTRA_MAX_KB 102400 // HTP-CTX-17
#define QRN_HTP_SHARE_ARCH 73u                  // the first whose graphs share weights (HTP-CTX-20)

// How graphs are prepared here: offline, for a chip elsewhere, as the tools on a PC do; or online,
// as a phone does for itself (QUERN_HTP=online). Some options exist offline only.
bool qrn_htp_offline(void);

// VTCM that a graph may use, in bytes, and vector threads it is said to use: as asked for, else the
// defaults.
uint64_t qrn_htp_vtcm_bytes(const qrn_api_graph *g);
uint32_t qrn_htp_hvx_threads(const qrn_api_graph *g);
// Most host threads for an execution; 0: no limit, nothing was asked for.
uint32_t qrn_htp_worker_limit(const qrn_api_graph *g);
// Writes the defaults into the options of a graph that is being finalized, so that a binary has
// them.
void qrn_htp_graph_settle(qrn_api_graph *g);

// options_check.c: what a set of options may not combine, and what a device lacks for it.
qrn_status qrn_htp_context_check(const qrn_api_context *c, const qrn_htp_context_options *o,
                                 qrn_config_phase phase);
qrn_status qrn_htp_graph_check(const qrn_api_graph *g, const qrn_htp_graph_options *o);

#endif
