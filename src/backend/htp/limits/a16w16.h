// SPDX-License-Identifier: MIT
//
// The rules of 16-bit weights that are about the whole tensor.
#ifndef QRN_BACKEND_HTP_A16W16_H
#define QRN_BACKEND_HTP_A16W16_H

#include "ir/op.h"

// Fails with the value that is too large, or when there is more than one scale. A weight whose data
// is not there (loaded in a packed form) was checked before.
qrn_status qrn_htp_a16w16_check(const qrn_op_call *call);

#endif
