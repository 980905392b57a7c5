// SPDX-License-Identifier: MIT
//
// What the HTP backend supports: types by two tables (what is published, and what the original
// library accepts beside it), further limits by rule.
#include "backend/htp/limits/a16w16.h"
#include "backend/htp/htp.h"
#include "backend/htp/limits/limits.h"
#include "backend/htp/limits/native_kv.h"
#include "ir/support_words.h"

#include <string.h>

// clang-format off
static const qrn_support_row rows[] = {
#include "backend/htp/supported.def"
#include "backend/htp/extended.def"
};
// clang-format on

const qrn_support_table qrn_htp_support = {
    .backend = "HTP",
    .mode = QRN_SUPPORT_EXACT,
    .rows = rows,
    .n_rows = sizeof rows / sizeof rows[0],
};

// What the published table has no words for, but the original library rejects.
static qrn_status check_observed(const qrn_op_call *c) {
    const qrn_tensor *x = c->n_in ? c->in[0] : NULL, *y = c->n_out ? c->out[0] : NULL;
    if (x && strcmp(c->op->name, "Dequantize") == 0 && x->quant.kind > QRN_QUANT_TENSOR)
        return qrn_op_fail(c, QRN_E_OP_CONFIG,
                           "input 0 '%s': a scale per %s, HTP dequantizes tensors with one scale; "
                           "give the constant as floats, or let the op behind read it",
                           x->name, x->quant.kind == QRN_QUANT_AXIS ? "channel" : "block");
    if (y && strcmp(c->op->name, "StridedSlice") == 0 && y->shape.rank == 0)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "output 0 '%s': rank 0, HTP supports at least 1; leave an axis in "
                           "shrink_axes out",
                           y->name);
    return QRN_OK;
}

// Every refusal beyond types, in order; the first that fails gives the reason (HTP-NUM-11).
qrn_status qrn_htp_op_check(const qrn_api_backend *b, const qrn_api_context *c,
                            const qrn_op_call *call) {
    const qrn_htp_device d = c ? *qrn_htp_device_of(c) : qrn_htp_device_of_backend(b);
    QRN_TRY(qrn_htp_float_check(&d, call));
    QRN_TRY(qrn_htp_limits_check(&d, call));
    QRN_TRY(check_observed(call));
    QRN_TRY(qrn_htp_a16w16_check(call));
    QRN_TRY(qrn_htp_native_kv_check(call));
    if (c) // added to a graph, not only asked about
        qrn_htp_a16w16_warn(b->log, call);
    return QRN_OK;
}
