// SPDX-License-Identifier: MIT
//
// Element-wise formulas.
#include "frontend/onnx/import/formula.h"
#include "frontend/onnx/import/math.h"

qrn_status ox_begin_formula(ox_expr *e, ox_import *im, const ox_node *n, Qnn_DataType_t dtype) {
    ox_leave_unit(im);
    *e = ox_begin(im, n);
    e->layout = ox_layout_of(im, n);
    e->dtype = dtype;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = ox_input(im, n, i);
        if (v && v->rank > e->rank)
            e->rank = v->rank;
    }
    return QRN_OK;
}

qrn_status ox_begin_float(ox_expr *e, ox_import *im, const ox_node *n, qc_tensor **x) {
    QRN_TRY(ox_need_float(im, n));
    QRN_TRY(ox_same_shape(im, n, ox_input(im, n, 0)->type));
    QRN_TRY(ox_begin_formula(e, im, n, QNN_DATATYPE_FLOAT_32));
    *x = ox_operand(e, 0);
    return e->s;
}

qc_tensor *ox_operand(ox_expr *e, uint32_t i) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_in_broadcast_as(e->im, e->n, i, e->rank, e->layout, e->dtype, &x);
    return e->s == QRN_OK ? x : NULL;
}

qc_tensor *ox_constant(ox_expr *e, double value) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, e->dtype, value, &x);
    return e->s == QRN_OK ? x : NULL;
}

qc_tensor *ox_binary_op(ox_expr *e, uint32_t operation, qc_tensor *a, qc_tensor *b) {
    uint32_t rank, dims[OX_MAX_RANK];
    qc_op o;
    if (!a || !b)
        return NULL;
    ox_broadcast_dims(a, b, &rank, dims);
    qc_tensor *y = ox_result_like(e, a, rank, dims);
    if (!y)
        return NULL;
    ox_op(e->im, &o, e->n, QNN_OP_ELEMENT_WISE_BINARY);
    qc_in(&o, a);
    qc_in(&o, b);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_ELEMENT_WISE_BINARY_PARAM_OPERATION, operation);
    return ox_ended(e, &o, y);
}

void ox_to_output(ox_expr *e) {
    qc_tensor *y = NULL;
    if (e->s == QRN_OK)
        e->s = ox_out_as(e->im, e->n, 0, e->layout, e->dtype, &y);
    if (e->s == QRN_OK)
        ox_into(e, y);
}

qrn_status ox_end_formula(ox_expr *e, qc_tensor *x) {
    QRN_TRY(e->s);
    return ox_out_end(e->im, e->n, 0, e->layout, x);
}
