// SPDX-License-Identifier: MIT
//
// Importers: QNN's own ops that models carry in the domain qti_aisw.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"

// A buffer of frames along one dimension; the attributes are QNN's parameters.
static qrn_status import_buffer(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *reset = ox_input(im, n, 1);
    uint32_t dims[OX_MAX_RANK], axis;
    int64_t size = ox_attr_int(n, "buffer_size", 0);
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "buffer_dim", 0), x->rank, &axis));
    if (x->rank == 0 || size < 1 || size > INT32_MAX)
        return ox_fail(im, n, QRN_E_SHAPE, "buffer_size %lld of a value of rank %u",
                       (long long)size, x->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = i == axis ? (uint32_t)size : x->dims[i];
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, dims));
    ox_leave_unit(im);
    ox_expr e = ox_begin(im, n);
    qc_tensor *in = ox_in_real(&e, 0, OX_ONNX), *out = ox_out_real(&e, 0, OX_ONNX), *again = NULL;
    if (reset)
        QRN_TRY(ox_in(im, n, 1, OX_ONNX, &again));
    QRN_TRY(ox_done(&e));
    qc_op o;
    ox_op(im, &o, n, QNN_OP_BUFFER);
    qc_in(&o, in);
    if (again)
        qc_in(&o, again);
    qc_out(&o, out);
    qc_u32(&o, QNN_OP_BUFFER_PARAM_BUFFER_SIZE, (uint32_t)size);
    qc_u32(&o, QNN_OP_BUFFER_PARAM_BUFFER_DIM, axis);
    if (ox_attr_find(n, "stride"))
        qc_u32(&o, QNN_OP_BUFFER_PARAM_STRIDE, (uint32_t)ox_attr_int(n, "stride", 1));
    if (ox_attr_find(n, "mode"))
        qc_u32(&o, QNN_OP_BUFFER_PARAM_MODE, (uint32_t)ox_attr_int(n, "mode", 0));
    ox_end(&e, &o);
    return ox_end_real(&e, 0, OX_ONNX, out);
}

const ox_importer ox_import_stateful[] = {
    {"Buffer", "qti_aisw", import_buffer},
    {0},
};
