// SPDX-License-Identifier: MIT
//
// Sparse operands of ops that also run on dense ones. Their result is that of the dense op, read at
// the elements of the sparse input (ElementWiseAdd: of both), which is also how they are executed;
// what this does not cover is refused here.
#include "ir/op.h"

#include <string.h>

static bool is_sparse(const qrn_tensor *t) { return t && t->format == QRN_FORMAT_SPARSE; }

static bool is_sum(const qrn_op_call *c) { return strcmp(c->op->name, "ElementWiseAdd") == 0; }

static qrn_status check_encoding(const qrn_op_call *c, const qrn_tensor *t, const char *what,
                                 uint32_t i) {
    if (!is_sparse(t) || t->quant.kind <= QRN_QUANT_TENSOR)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED,
                       "%s %u: sparse with an encoding per axis or block, expected one for the "
                       "tensor",
                       what, i);
}

// The output lists elements over the same dimensions as sparse input i.
static qrn_status check_match(const qrn_op_call *c, uint32_t i) {
    const qrn_tensor *x = c->in[i], *y = c->out[0];
    bool same = x->n_sparse_dims == y->n_sparse_dims;
    for (uint32_t d = 0; same && d < y->n_sparse_dims; d++)
        same = c->in_shape[i].dims[d] == c->out_shape[0].dims[d];
    if (!same)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "output 0: its %u sparse dimensions differ from the %u of input %u",
                           y->n_sparse_dims, x->n_sparse_dims, i);
    if (y->n_sparse_elements < x->n_sparse_elements)
        return qrn_op_fail(c, QRN_E_SHAPE, "output 0: room for %u sparse elements, input %u has %u",
                           y->n_sparse_elements, i, x->n_sparse_elements);
    return QRN_OK;
}

// Convolutions: the parameter says which cells of the output exist, some or all. The other ops give
// a sparse output.
static qrn_status check_output(const qrn_op_call *c) {
    for (uint32_t i = 0; i < c->op->n_params; i++) {
        const char *name = c->op->params[i].name;
        if (strncmp(name, "reuse_sparse", strlen("reuse_sparse")) != 0)
            continue;
        if (qrn_op_bool(c, name, false) == is_sparse(c->out[0]))
            return QRN_OK;
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %d with a %s output", name,
                           !is_sparse(c->out[0]), is_sparse(c->out[0]) ? "sparse" : "dense");
    }
    if (is_sparse(c->out[0]))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED, "output 0: dense, expected sparse as an input");
}

qrn_status qrn_op_check_sparse(const qrn_op_call *c) {
    uint32_t last = is_sum(c) ? 1 : 0;
    bool any = is_sparse(c->out[0]);
    for (uint32_t i = 0; i < c->n_in; i++) {
        any |= is_sparse(c->in[i]);
        if (is_sparse(c->in[i]) && i > last)
            return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED, "input %u: sparse, expected dense", i);
        QRN_TRY(check_encoding(c, c->in[i], "input", i));
    }
    if (!any)
        return QRN_OK;
    QRN_TRY(check_encoding(c, c->out[0], "output", 0));
    QRN_TRY(check_output(c));
    for (uint32_t i = 0; is_sparse(c->out[0]) && i <= last; i++) {
        if (!is_sparse(c->in[i]))
            return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED,
                               "output 0: sparse, but input %u is dense", i);
        QRN_TRY(check_match(c, i));
    }
    return QRN_OK;
}
