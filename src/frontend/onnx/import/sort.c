// SPDX-License-Identifier: MIT
//
// Importers: positions of extremes, sorting, running sums and products.
#include "frontend/onnx/import/matmul.h"
#include "frontend/onnx/import/reduce.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/driver/internal.h"

#include "HTP/QnnHtpCommon.h"

#include <string.h>

// The type in which input 0 is compared: as it is where QNN supports that, else i32 (f32 for bool).
static Qnn_DataType_t ordered_type(const ox_import *im, const ox_node *n) {
    switch (ox_input(im, n, 0)->type) {
    case OX_F32:
    case OX_F16:
    case OX_BF16:
        return QNN_DATATYPE_UNDEFINED;
    case OX_I8:
    case OX_U8:
    case OX_U16:
        return QNN_DATATYPE_UNDEFINED;
    default:
        return QNN_DATATYPE_INT_32;
    }
}

static bool is_unsigned(const ox_import *im, const ox_node *n) {
    int type = ox_input(im, n, 0)->type;
    return type == OX_U32 || type == OX_U64;
}

// Input 0 for comparing: u32 as i32 of the same order.
static qc_tensor *ordered(ox_expr *e, ox_layout layout) {
    Qnn_DataType_t type = ordered_type(e->im, e->n);
    qc_tensor *x = NULL;
    if (type == QNN_DATATYPE_UNDEFINED)
        return ox_fixed_in(e, 0, layout);
    if (e->s == QRN_OK)
        e->s = ox_in_as(e->im, e->n, 0, layout, type, &x);
    return is_unsigned(e->im, e->n) ? ox_flip_sign(e, x) : x;
}

// --- ArgMax, ArgMin

static qrn_status import_arg(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    uint32_t axis;
    ox_reduction r;
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 0 is missing");
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), v->rank, &axis));
    ox_reduction_plan(im, n, &axis, 1, ox_attr_int(n, "keepdims", 1) != 0, &r);
    QRN_TRY(ox_set_output(im, n, 0, OX_I64, v->rank ? r.rank : 0, r.dims));
    ox_expr e = ox_begin(im, n);
    bool last = ox_attr_int(n, "select_last_index", 0) != 0;
    qc_tensor *x = ordered(&e, r.layout), *y;
    QRN_TRY(ox_out(im, n, 0, r.out_layout, &y));
    if (last)
        x = ox_reverse(&e, x, r.axes[0]);
    if (e.s != QRN_OK)
        return e.s;
    qc_tensor *index = last ? ox_result_like(&e, y, y->rank, y->dims) : y;
    qc_op o;
    ox_op(im, &o, n, strcmp(n->op, "ArgMax") == 0 ? QNN_OP_ARGMAX : QNN_OP_ARGMIN);
    qc_in(&o, x);
    qc_out(&o, index);
    qc_u32(&o, QNN_OP_ARGMAX_PARAM_AXIS, r.axes[0]);
    qc_bool(&o, QNN_OP_ARGMAX_PARAM_KEEP_DIMS, r.keep);
    ox_end(&e, &o);
    if (last) { // counted from the end of the reversed axis
        qc_tensor *end;
        QRN_TRY(ox_number(im, QNN_DATATYPE_INT_32, x->dims[r.axes[0]] - 1, &end));
        ox_into(&e, y);
        ox_binary(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, end, index);
    }
    return ox_done(&e);
}

// --- TopK

static qrn_status read_k(ox_import *im, const ox_node *n, uint32_t length, uint32_t *k) {
    int64_t value;
    uint32_t count = 0;
    QRN_TRY(ox_ints_of(im, n, "k", ox_version(im, n) >= 10 ? 1 : -1, &value, 1, &count));
    if (count != 1 || value <= 0 || value > (int64_t)length)
        return ox_fail(im, n, QRN_E_PARAM, "k must be 1 to %u", length);
    *k = (uint32_t)value;
    return QRN_OK;
}

static bool wants(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

static void emit_top_k(ox_expr *e, uint32_t k, const qc_tensor *x, const qc_tensor *values,
                       const qc_tensor *index) {
    if (e->s != QRN_OK)
        return;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_TOP_K);
    qc_in(&o, x);
    qc_out(&o, values);
    qc_out(&o, index);
    qc_u32(&o, QNN_OP_TOP_K_PARAM_K, k);
    if (ox_attr_int(e->n, "largest", 1) == 0)
        qc_bool(&o, QNN_OP_TOP_K_PARAM_LARGEST, false);
    ox_end(e, &o);
}

static void write_values(ox_expr *e, qc_tensor *values, uint32_t axis, qc_tensor *y) {
    if (is_unsigned(e->im, e->n))
        values = ox_flip_sign(e, values);
    values = ox_axis_back(e, values, axis);
    ox_into(e, y);
    if (values && y)
        ox_reshape(e, values, y->rank, y->dims);
}

// Of equal values ONNX puts the lower index first and QNN the higher one, but for the HTP: so the
// axis is reversed before, and the indices are counted from its end after.
static qrn_status import_top_k(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    uint32_t axis, k = 0, dims[OX_MAX_RANK];
    if (!v || v->rank == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "its input has no axis");
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", -1), v->rank, &axis));
    QRN_TRY(read_k(im, n, v->dims[axis], &k));
    memcpy(dims, v->dims, sizeof dims);
    dims[axis] = k;
    if (wants(n, 0))
        QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, dims));
    if (wants(n, 1))
        QRN_TRY(ox_set_output(im, n, 1, OX_I64, v->rank, dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_axis_to_end(&e, ordered(&e, OX_ONNX), axis), *y = NULL, *at = NULL;
    if (!x)
        return e.s;
    uint32_t last = x->rank - 1, length = x->dims[last];
    bool reversed = wants(n, 1) && im->graph->client->backend_id != QNN_BACKEND_ID_HTP;
    if (reversed)
        x = ox_reverse(&e, x, last);
    memcpy(dims, x ? x->dims : dims, sizeof dims);
    dims[last] = k;
    qc_tensor *values = x ? ox_result_like(&e, x, last + 1, dims) : NULL;
    qc_tensor *index = ox_result_typed(&e, QNN_DATATYPE_INT_32, last + 1, dims);
    emit_top_k(&e, k, x, values, index);
    Qnn_DataType_t type = ordered_type(im, n);
    if (wants(n, 0) && type == QNN_DATATYPE_UNDEFINED) {
        y = ox_fixed_out(&e, 0, OX_ONNX);
        write_values(&e, values, axis, y);
        QRN_TRY(ox_fixed_end(&e, 0, OX_ONNX, y));
    } else if (wants(n, 0)) {
        QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, type, &y));
        write_values(&e, values, axis, y);
        QRN_TRY(ox_done(&e));
        QRN_TRY(ox_out_end(im, n, 0, OX_ONNX, y));
    }
    if (!wants(n, 1))
        return ox_done(&e);
    if (reversed) {
        QRN_TRY(ox_number(im, QNN_DATATYPE_INT_32, length - 1, &at));
        index = ox_binary(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, at, index);
    }
    QRN_TRY(ox_out(im, n, 1, OX_ONNX, &y));
    index = ox_axis_back(&e, index, axis);
    ox_into(&e, y);
    ox_reshape(&e, index, y->rank, y->dims);
    return ox_done(&e);
}

// --- CumSum, CumProd

static qrn_status read_scan_axis(ox_import *im, const ox_node *n, uint32_t *axis) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t value;
    uint32_t count;
    if (!x || x->rank == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "its input has no axis");
    if (!ox_const_ints(im, n, 1, &value, 1, &count) || count != 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the axis must be constant");
    return ox_axis(im, n, value, x->rank, axis);
}

static qrn_status import_cum_sum(ox_import *im, const ox_node *n) {
    uint32_t axis;
    QRN_TRY(read_scan_axis(im, n, &axis));
    const ox_val *v = ox_input(im, n, 0);
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    bool ints = ox_is_integer(v->type);
    qc_tensor *x, *y;
    Qnn_DataType_t type = ints ? QNN_DATATYPE_INT_32 : ox_real_type(&e);
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, type, &x));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, type, &y));
    qc_op o;
    ox_op(im, &o, n, QNN_OP_CUMULATIVE_SUM);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_CUMULATIVE_SUM_PARAM_AXIS, axis);
    qc_bool(&o, QNN_OP_CUMULATIVE_SUM_PARAM_EXCLUSIVE, ox_attr_int(n, "exclusive", 0) != 0);
    qc_bool(&o, QNN_OP_CUMULATIVE_SUM_PARAM_REVERSE, ox_attr_int(n, "reverse", 0) != 0);
    ox_end(&e, &o);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

// x moved by `by` along the axis, towards its end (or start), with 1s coming in.
static qc_tensor *shifted(ox_expr *e, qc_tensor *x, uint32_t axis, uint32_t by, bool to_start) {
    uint32_t pad[2 * OX_MAX_RANK] = {0};
    if (!x)
        return NULL;
    if (by >= x->dims[axis]) // nothing but 1s
        return ox_with(e, QNN_OP_ELEMENT_WISE_POWER, x, 0);
    pad[2 * axis + (to_start ? 1 : 0)] = by;
    return ox_pad(e, ox_slice(e, x, axis, to_start ? by : 0, x->dims[axis] - by, 1), pad, 1);
}

// Products over 1, 2, 4, ... elements: each step multiplies by the one that ends where it starts.
static qrn_status import_cum_prod(ox_import *im, const ox_node *n) {
    uint32_t axis;
    QRN_TRY(read_scan_axis(im, n, &axis));
    const ox_val *v = ox_input(im, n, 0);
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    bool to_start = ox_attr_int(n, "reverse", 0) != 0;
    qc_tensor *x, *y;
    Qnn_DataType_t type = ox_is_integer(v->type) ? QNN_DATATYPE_INT_32 : ox_real_type(&e);
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, type, &x));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, type, &y));
    uint32_t length = x->dims[axis];
    if (ox_attr_int(n, "exclusive", 0) != 0)
        x = shifted(&e, x, axis, 1, to_start);
    for (uint32_t by = 1; by < length; by *= 2)
        x = ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, shifted(&e, x, axis, by, to_start));
    ox_into(&e, y);
    ox_reshape(&e, x, y->rank, y->dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

const ox_importer ox_import_sort[] = {
    {"ArgMax", "", import_arg},     {"ArgMin", "", import_arg},       {"TopK", "", import_top_k},
    {"CumSum", "", import_cum_sum}, {"CumProd", "", import_cum_prod}, {0},
};
