// SPDX-License-Identifier: MIT
//
// The rules of 16-bit weights that are about the whole tensor.
#ifndef QRN_BACKEND_HTP_A16W16_H
#define QRN_BACKEND_HTP_A16W16_H

#include "core/services.h"
#include "ir/op.h"

// Fails when there is a scale per block.
qrn_status qrn_htp_a16w16_check(const qrn_op_call *call);

// Warns of the first value above the published limit. A weight whose data is not there (loaded in a
// packed form) was looked at before.
void qrn_htp_a16w16_warn(qrn_api_log *log, const qrn_op_call *call);

#endif
