// SPDX-License-Identifier: MIT
//
// Lowering rows of the reduce group: reductions, softmax, normalization, sorting.
#include "compiler/lower/groups.h"
#include "kernels/softmax/softmax.h"

static qrn_status softmax_args(const qrn_node *n, void *args) {
    qrn_softmax_args *a = args;
    a->axis = qrn_node_u32(n, "axis", n->in[0]->shape.rank - 1);
    a->beta = qrn_node_f32(n, "beta", 1.0f);
    return QRN_OK;
}

static qrn_status log_softmax_args(const qrn_node *n, void *args) {
    QRN_TRY(softmax_args(n, args));
    ((qrn_softmax_args *)args)->log = true;
    return QRN_OK;
}

const qrn_lower_row qrn_lower_reduce[] = {
    {.op = "Softmax", .family = &qrn_family_softmax, .in = "r", .out = "r", .args = softmax_args},
    {.op = "LogSoftmax",
     .family = &qrn_family_softmax,
     .in = "r",
     .out = "r",
     .args = log_softmax_args},
    {0},
};
