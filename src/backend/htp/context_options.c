// SPDX-License-Identifier: MIT
//
// Custom options of contexts.
#include "backend/htp/htp.h"

qrn_status qrn_htp_context_config(qrn_api_context *c, qrn_config_phase phase,
                                  const void *const *custom, size_t n) {
    (void)c, (void)phase, (void)custom;
    if (n)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "custom options of contexts are not supported");
    return QRN_OK;
}
