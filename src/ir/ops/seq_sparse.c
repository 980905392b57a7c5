// SPDX-License-Identifier: MIT
//
// Rules of the ops that make and read sparse tensors. A sparse tensor of shape [D0..Dn-1] lists M
// elements over its K outermost dimensions: indices [M, K] and values [M, DK..Dn-1].
#include "ir/ops/seq.h"

static bool is_sparse(const qrn_tensor *t) { return t->format == QRN_FORMAT_SPARSE; }

static qrn_status expect_format(const qrn_op_call *c, const qrn_tensor *t, const char *what,
                                bool sparse) {
    if (is_sparse(t) != sparse)
        return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED, "%s: %s format, expected %s", what,
                           sparse ? "dense" : "sparse", sparse ? "sparse" : "dense");
    if (t->quant.kind > QRN_QUANT_TENSOR)
        return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED,
                           "%s: an encoding per axis or block, expected one for the tensor", what);
    return QRN_OK;
}

// Shape of the values of a sparse tensor: [M, DK..Dn-1].
static qrn_shape values_shape(const qrn_tensor *t, const qrn_shape *shape) {
    qrn_shape v = {.rank = 1, .dims = {t->n_sparse_elements}};
    for (uint32_t d = t->n_sparse_dims; d < shape->rank; d++)
        v.dims[v.rank++] = shape->dims[d];
    return v;
}

qrn_status qrn_rule_create_sparse(const qrn_op_call *c) {
    const qrn_tensor *y = c->out[0];
    QRN_TRY(expect_format(c, c->in[0], "input 0", false));
    QRN_TRY(expect_format(c, c->in[1], "input 1", false));
    QRN_TRY(expect_format(c, y, "output 0", true));
    QRN_TRY(qrn_op_same_dtype(c, 1, 0));
    qrn_shape values = values_shape(y, &c->out_shape[0]);
    QRN_TRY(qrn_seq_expect(c, 0, 2, (const uint32_t[]){y->n_sparse_elements, y->n_sparse_dims}));
    return qrn_seq_expect(c, 1, values.rank, values.dims);
}

qrn_status qrn_rule_get_sparse_indices(const qrn_op_call *c) {
    const qrn_tensor *x = c->in[0];
    QRN_TRY(expect_format(c, x, "input 0", true));
    QRN_TRY(expect_format(c, c->out[0], "output 0", false));
    c->out_shape[0] = (qrn_shape){2, {x->n_sparse_elements, x->n_sparse_dims}};
    return QRN_OK;
}

qrn_status qrn_rule_get_sparse_values(const qrn_op_call *c) {
    QRN_TRY(expect_format(c, c->in[0], "input 0", true));
    QRN_TRY(expect_format(c, c->out[0], "output 0", false));
    QRN_TRY(qrn_op_same_dtype(c, 0, 0));
    c->out_shape[0] = values_shape(c->in[0], &c->in_shape[0]);
    return QRN_OK;
}

qrn_status qrn_rule_sparse_to_dense(const qrn_op_call *c) {
    QRN_TRY(expect_format(c, c->in[0], "input 0", true));
    QRN_TRY(expect_format(c, c->out[0], "output 0", false));
    QRN_TRY(qrn_op_same_dtype(c, 0, 0));
    return qrn_rule_same_shape(c);
}
