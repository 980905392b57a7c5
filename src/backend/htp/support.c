// SPDX-License-Identifier: MIT
//
// What the HTP backend supports: types by the table, further limits by rule.
#include "backend/htp/limits/a16w16.h"
#include "backend/htp/htp.h"
#include "backend/htp/limits/limits.h"
#include "ir/support_words.h"

static const qrn_support_row rows[] = {
#include "backend/htp/supported.def"
};

const qrn_support_table qrn_htp_support = {
    .backend = "HTP",
    .mode = QRN_SUPPORT_EXACT,
    .rows = rows,
    .n_rows = sizeof rows / sizeof rows[0],
};

// Every refusal beyond types, in order; the first that fails gives the reason (HTP-NUM-11).
qrn_status qrn_htp_op_check(const qrn_api_backend *b, const qrn_api_context *c,
                            const qrn_op_call *call) {
    const qrn_htp_device d = c ? *qrn_htp_device_of(c) : qrn_htp_device_of_backend(b);
    QRN_TRY(qrn_htp_float_check(&d, call));
    QRN_TRY(qrn_htp_limits_check(&d, call));
    return qrn_htp_a16w16_check(call);
}
