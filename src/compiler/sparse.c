// SPDX-License-Identifier: MIT
//
// Ops on sparse operands that have no kernel of their own: the dense op between two steps that
// spread the inputs out and pick the result up again. While the op is lowered its sparse tensors
// stand for dense temporaries.
#include "compiler/lowering.h"

#include "kernels/sparse/sparse.h"

#include <string.h>

static bool is_sparse(const qrn_tensor *t) { return t && t->format == QRN_FORMAT_SPARSE; }

bool qrn_lo_is_sparse(const qrn_node *n) {
    if (!n->op || !(n->op->flags & QRN_OP_SPARSE) || strcmp(n->op->category, "sparse") == 0)
        return false;
    bool any = false;
    for (uint32_t i = 0; i < n->n_in; i++)
        any |= is_sparse(n->in[i]);
    return any || is_sparse(n->out[0]);
}

// Makes sparse tensor t stand for a dense temporary; *sparse is its own value.
static qrn_status spread(qrn_lowering *lo, const qrn_tensor *t, bool is_input, qrn_val *sparse) {
    qrn_val dense;
    QRN_TRY(qrn_lo_tensor(lo, t, sparse));
    QRN_TRY(qrn_lo_temp(lo, t->dtype, &t->shape, &t->quant, &dense));
    if (is_input)
        QRN_TRY(
            qrn_lo_step(lo, &qrn_cop_sparse_dense, QRN_DOMAIN_RAW, NULL, sparse, 1, &dense, 1, 0));
    lo->by_id[t->id] = dense;
    return QRN_OK;
}

qrn_status qrn_lo_sparse(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n) {
    enum { MOST = 2 }; // sparse inputs of an op; validation lets no further ones pass
    qrn_val in[MOST] = {QRN_VAL_NONE, QRN_VAL_NONE}, out = QRN_VAL_NONE;
    const qrn_tensor *y = n->out[0];
    uint32_t n_in = n->n_in < MOST ? n->n_in : MOST;
    for (uint32_t i = 0; i < n_in; i++) {
        if (!is_sparse(n->in[i]))
            continue;
        if (i > 0 && n->in[i] == n->in[0])
            in[i] = in[0];
        else
            QRN_TRY(spread(lo, n->in[i], true, &in[i]));
    }
    if (is_sparse(y))
        QRN_TRY(spread(lo, y, false, &out));
    qrn_status s = qrn_lo_row(lo, row, n);
    qrn_val dense = lo->by_id[y->id];
    for (uint32_t i = 0; i < n_in; i++)
        if (in[i] != QRN_VAL_NONE)
            lo->by_id[n->in[i]->id] = in[i];
    if (out == QRN_VAL_NONE || s != QRN_OK)
        return s;
    lo->by_id[y->id] = out;
    qrn_sparse_make_args args = {y->n_sparse_elements};
    qrn_val ins[] = {dense, in[0], in[1]};
    return qrn_lo_step(lo, &qrn_cop_sparse_pick, QRN_DOMAIN_RAW, &args, ins, 3, &out, 1, 0);
}
