// SPDX-License-Identifier: MIT
//
// Importers: reductions, arguments of extrema, the largest k, running sums.
#include "frontend/tflite/import.h"

#include <string.h>

// Axes of input 1 as a set; none given in an empty list.
static qrn_status read_axes(const tl *t, uint32_t rank, bool *set) {
    int64_t axes[OX_MAX_RANK];
    uint32_t n, axis;
    QRN_TRY(tl_ints(t, 1, axes, OX_MAX_RANK, &n));
    for (uint32_t i = 0; i < n; i++) {
        QRN_TRY(tl_axis(t, axes[i], rank, &axis));
        set[axis] = true;
    }
    return QRN_OK;
}

qrn_status tl_reduce(tl *t) {
    const ox_val *v = tl_val(t, 0);
    bool set[OX_MAX_RANK] = {0}, keep = tl_int(t, "keep_dims") != 0;
    uint32_t axes[OX_MAX_RANK], n = 0, dims[OX_MAX_RANK], rank = 0;
    QRN_TRY(read_axes(t, v->rank, set));
    for (uint32_t d = 0; d < v->rank; d++) {
        if (set[d])
            axes[n++] = d;
        if (keep || !set[d])
            dims[rank++] = set[d] ? 1 : v->dims[d];
    }
    if (n == 0) {
        const tl_node same = {.op = "Identity", .in = {t->e.n->in[0]}, .n_in = 1};
        return tl_onnx(t, &same);
    }
    if (!t->fixed) {
        tl_node node = {.op = t->op->onnx, .in = {t->e.n->in[0]}, .n_in = 2};
        int64_t list[OX_MAX_RANK];
        for (uint32_t i = 0; i < n; i++)
            list[i] = axes[i];
        node.in[1] = tl_const_ints(t, list, n);
        tl_attr(&node, "keepdims", keep);
        return tl_onnx(t, &node);
    }
    QRN_TRY(tl_set(t, 0, rank, dims));
    qc_tensor *x = tl_in(t, 0), *y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, t->op->qnn);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_REDUCE_MEAN_PARAM_AXES, axes, n);
    qc_bool(&o, QNN_OP_REDUCE_MEAN_PARAM_KEEP_DIMS, keep);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}

// Any and all of booleans: the largest and least of 0 and 1.
qrn_status tl_reduce_logical(tl *t) {
    const ox_val *v = tl_val(t, 0);
    bool set[OX_MAX_RANK] = {0};
    int64_t list[OX_MAX_RANK];
    uint32_t n = 0;
    QRN_TRY(read_axes(t, v->rank, set));
    for (uint32_t d = 0; d < v->rank; d++)
        if (set[d])
            list[n++] = d;
    const char *numbers = tl_between(t), *found = tl_between(t);
    tl_node from = {.op = "Cast", .in = {t->e.n->in[0]}, .n_in = 1};
    tl_node node = {.op = t->op->onnx, .in = {numbers, tl_const_ints(t, list, n)}, .n_in = 2};
    tl_node to = {.op = "Cast", .in = {found}, .n_in = 1};
    tl_attr(&from, "to", OX_I32);
    tl_attr(&node, "keepdims", tl_int(t, "keep_dims") != 0);
    tl_attr(&node, "noop_with_empty_axes", 1);
    tl_attr(&to, "to", OX_BOOL);
    QRN_TRY(tl_onnx_to(t, &from, &numbers, 1));
    QRN_TRY(tl_onnx_to(t, &node, &found, 1));
    return tl_onnx(t, &to);
}

// The order of quantized values is that of the numbers they stand for.
qrn_status tl_arg(tl *t) {
    int64_t axis;
    QRN_TRY(tl_number(t, 1, &axis));
    tl_node n = {.op = t->op->onnx, .in = {t->e.n->in[0]}, .n_in = 1};
    tl_attr(&n, "axis", axis);
    tl_attr(&n, "keepdims", 0);
    return tl_onnx(t, &n);
}

qrn_status tl_top_k(tl *t) {
    int64_t k;
    QRN_TRY(tl_number(t, 1, &k));
    tl_node n = {.op = "TopK", .in = {t->e.n->in[0], tl_const_ints(t, &k, 1)}, .n_in = 2};
    tl_attr(&n, "axis", -1);
    return tl_onnx(t, &n);
}

qrn_status tl_cumsum(tl *t) {
    int64_t axis;
    QRN_TRY(tl_number(t, 1, &axis));
    tl_node n = {
        .op = "CumSum", .in = {t->e.n->in[0], tl_const_scalar(t, OX_I64, (double)axis)}, .n_in = 2};
    tl_attr(&n, "exclusive", tl_int(t, "exclusive") != 0);
    tl_attr(&n, "reverse", tl_int(t, "reverse") != 0);
    return tl_onnx(t, &n);
}
