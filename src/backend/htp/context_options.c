// SPDX-License-Identifier: MIT
//
// Custom options of contexts.
#include "backend/htp/htp.h"

qrn_status qrn_htp_context_config(qrn_api_context *c, const void *custom) {
    (void)c;
    (void)custom;
    return QRN_FAIL(QRN_E_UNSUPPORTED, "custom options of contexts are not supported");
}
