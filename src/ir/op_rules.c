// SPDX-License-Identifier: MIT
//
// Shape rules that many ops share, and how a rule reports a failure.
#include "ir/op.h"

#include <stdarg.h>
#include <stdio.h>

qrn_status qrn_op_fail(const qrn_op_call *c, qrn_status s, const char *fmt, ...) {
    char text[QRN_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    return QRN_FAIL(s, "graph '%s' node '%s' (%s): %s", c->graph ? c->graph : "",
                    c->node ? c->node : "", c->op->name, text);
}

bool qrn_shape_broadcast(const qrn_shape *a, const qrn_shape *b, qrn_shape *out) {
    qrn_shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (uint32_t i = 0; i < r.rank; i++) { // i counts from the last dimension
        uint32_t da = i < a->rank ? a->dims[a->rank - 1 - i] : 1;
        uint32_t db = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
        if (da != db && da != 1 && db != 1)
            return false;
        r.dims[r.rank - 1 - i] = da == 1 ? db : da;
    }
    *out = r;
    return true;
}

qrn_status qrn_rule_same_shape(const qrn_op_call *c) {
    for (uint32_t o = 0; o < c->n_out; o++)
        c->out_shape[o] = c->in_shape[0];
    return QRN_OK;
}

qrn_status qrn_rule_broadcast(const qrn_op_call *c) {
    qrn_shape all = {0};
    for (uint32_t i = 0; i < c->n_in; i++) {
        if (!c->in[i])
            continue;
        qrn_shape before = all;
        if (!qrn_shape_broadcast(&before, &c->in_shape[i], &all)) {
            char a[128], b[128];
            return qrn_op_fail(c, QRN_E_SHAPE,
                               "input %u: shape %s does not broadcast with %s of the inputs before",
                               i, qrn_shape_text(&c->in_shape[i], a, sizeof a),
                               qrn_shape_text(&before, b, sizeof b));
        }
    }
    c->out_shape[0] = all;
    return QRN_OK;
}

qrn_status qrn_op_same_dtype(const qrn_op_call *c, uint32_t i, uint32_t o) {
    if (c->in[i]->dtype == c->out[o]->dtype)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_DTYPE, "output %u: data type %s, expected %s as input %u", o,
                       qrn_dtypes[c->out[o]->dtype].token, qrn_dtypes[c->in[i]->dtype].token, i);
}
