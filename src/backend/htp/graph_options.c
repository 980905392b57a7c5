// SPDX-License-Identifier: MIT
//
// Custom options of graphs.
#include "backend/htp/htp.h"

qrn_status qrn_htp_graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                                size_t n) {
    (void)phase, (void)custom;
    if (n)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': custom options are not supported",
                        g->ir->name);
    return QRN_OK;
}
