// SPDX-License-Identifier: MIT
//
// Importers: softmax and its relatives. Before opset 13 they see a matrix: the dimensions before
// `axis` as rows, the others as columns.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

typedef struct plan {
    ox_layout layout;
    uint32_t axis; // in that layout, or of the matrix
    bool matrix;   // compute on rows x columns
    uint32_t rows, columns;
} plan;

static qrn_status read_plan(ox_import *im, const ox_node *n, plan *p) {
    const ox_val *x = ox_input(im, n, 0);
    bool old = ox_version(im, n) < 13;
    uint32_t axis;
    if (!x)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 0 is missing");
    int64_t given = ox_attr_int(n, "axis", old ? 1 : -1);
    *p = (plan){.layout = ox_layout_of(im, n), .rows = 1, .columns = 1};
    if (old && given == (int64_t)x->rank) { // rows of one element
        p->matrix = true;
        axis = x->rank;
    } else {
        QRN_TRY(ox_axis(im, n, given, x->rank, &axis));
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i < axis)
            p->rows *= x->dims[i];
        else
            p->columns *= x->dims[i];
    }
    // Equal to the plain form when the axis is the only one with columns.
    if (old && !p->matrix)
        p->matrix = p->columns != (x->rank ? x->dims[axis] : 1);
    if (p->matrix)
        p->layout = OX_ONNX;
    p->axis = p->matrix ? 1 : ox_axis_in(p->layout, axis, x->rank);
    return ox_set_output(im, n, 0, x->type, x->rank, x->dims);
}

static qc_tensor *shaped(ox_expr *e, const plan *p, qc_tensor *x) {
    return p->matrix ? ox_reshape(e, x, 2, (const uint32_t[]){p->rows, p->columns}) : x;
}

static void finish(ox_expr *e, const plan *p, qc_tensor *z, qc_tensor *y) {
    if (!p->matrix || !y)
        return;
    ox_into(e, y);
    ox_reshape(e, z, y->rank, y->dims);
}

static qrn_status import_softmax(ox_import *im, const ox_node *n) {
    plan p;
    QRN_TRY(read_plan(im, n, &p));
    bool log = strcmp(n->op, "LogSoftmax") == 0;
    if (log && ox_shows_float_steps(im, n))
        ox_leave_unit(im);
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_fixed_in(&e, 0, p.layout), *y = ox_fixed_out(&e, 0, p.layout);
    if (e.s != QRN_OK)
        return e.s;
    qc_tensor *z = y;
    if (p.matrix)
        z = ox_result_like(&e, y, 2, (const uint32_t[]){p.rows, p.columns});
    x = shaped(&e, &p, x);
    ox_into(&e, z);
    ox_softmax(&e, log ? QNN_OP_LOG_SOFTMAX : QNN_OP_SOFTMAX, x, p.axis);
    finish(&e, &p, z, y);
    return ox_fixed_end(&e, 0, p.layout, y);
}

// 1 at the first maximum, else 0.
static qrn_status import_hardmax(ox_import *im, const ox_node *n) {
    plan p;
    uint32_t dims[OX_MAX_RANK] = {1}, rank = 0;
    QRN_TRY(read_plan(im, n, &p));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x =
        shaped(&e, &p, ox_fixed_in(&e, 0, p.layout)); // quantized values are compared as they are
    qc_tensor *y = ox_out_real(&e, 0, p.layout);
    if (e.s != QRN_OK)
        return e.s;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != p.axis)
            dims[rank++] = x->dims[i];
    qc_tensor *index = ox_result_typed(&e, QNN_DATATYPE_INT_32, rank ? rank : 1, dims);
    qc_op o;
    ox_op(im, &o, n, QNN_OP_ARGMAX);
    qc_in(&o, x);
    qc_out(&o, index);
    qc_u32(&o, QNN_OP_ARGMAX_PARAM_AXIS, p.axis);
    ox_end(&e, &o);
    // Of rank 1 there is one index, and the result gets a row.
    uint32_t wide[OX_MAX_RANK] = {1, x->dims[0]};
    bool single = x->rank == 1;
    qc_tensor *hot =
        ox_result_typed(&e, QNN_DATATYPE_FLOAT_32, single ? 2 : x->rank, single ? wide : x->dims);
    ox_op(im, &o, n, QNN_OP_ONE_HOT);
    qc_in(&o, index);
    qc_out(&o, hot);
    qc_u32(&o, QNN_OP_ONE_HOT_PARAM_DEPTH, x->dims[p.axis]);
    qc_u32(&o, QNN_OP_ONE_HOT_PARAM_AXIS, single ? 1 : p.axis);
    ox_end(&e, &o);
    hot = ox_as(&e, hot, ox_type_of(y));
    ox_into(&e, y);
    ox_reshape(&e, hot, y->rank, y->dims);
    return ox_end_real(&e, 0, p.layout, y);
}

const ox_importer ox_import_softmax[] = {
    {"Softmax", "", import_softmax},
    {"LogSoftmax", "", import_softmax},
    {"Hardmax", "", import_hardmax},
    {0},
};
