// SPDX-License-Identifier: MIT
//
// Importers: element-wise ops on several operands. Shapes broadcast; before opset 7 the second
// operand was laid along `axis` of the first instead. Integers are computed in 32 bits and keep the
// low bits of their own type.
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

qrn_status ox_broadcast_shape(ox_import *im, const ox_node *n, uint32_t count, int type) {
    uint32_t rank = 0, dims[OX_MAX_RANK];
    QRN_TRY(ox_need(im, n, count));
    for (uint32_t i = 0; i < count; i++)
        rank = ox_input(im, n, i)->rank > rank ? ox_input(im, n, i)->rank : rank;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = 1;
        for (uint32_t i = 0; i < count; i++) {
            const ox_val *v = ox_input(im, n, i);
            uint32_t size = d + v->rank < rank ? 1 : v->dims[d + v->rank - rank];
            if (size != 1 && dims[d] != 1 && size != dims[d])
                return ox_fail(im, n, QRN_E_SHAPE, "dimension %u: %u and %u cannot be broadcast", d,
                               dims[d], size);
            dims[d] = size != 1 ? size : dims[d];
        }
    }
    return ox_set_output(im, n, 0, type, rank, dims);
}

// The two operands of a node.
typedef struct operands {
    ox_layout layout;
    uint32_t rank;
    bool laid; // input 1 is seen with the shape `dims`
    uint32_t dims[OX_MAX_RANK];
    qc_tensor *in[2];
} operands;

// Before opset 7, with broadcast=1 and an axis: the shape of input 1 from there on, 1 elsewhere.
static qrn_status old_broadcast(ox_import *im, const ox_node *n, operands *o) {
    const ox_val *a = ox_input(im, n, 0), *b = ox_input(im, n, 1);
    uint32_t axis;
    o->laid = false;
    if (ox_version(im, n) >= 7 || !ox_attr_int(n, "broadcast", 0) || !ox_attr_find(n, "axis") ||
        b->rank == 0)
        return QRN_OK;
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), a->rank, &axis));
    if (axis + b->rank > a->rank)
        return ox_fail(im, n, QRN_E_SHAPE, "input 1 of rank %u from axis %u of rank %u", b->rank,
                       axis, a->rank);
    for (uint32_t d = 0; d < a->rank; d++) {
        o->dims[d] = d < axis || d >= axis + b->rank ? 1 : b->dims[d - axis];
        if (o->dims[d] != 1 && o->dims[d] != a->dims[d])
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u: %u and %u cannot be broadcast", d,
                           a->dims[d], o->dims[d]);
    }
    o->laid = true;
    return QRN_OK;
}

// Sets output 0.
static qrn_status set_result(ox_import *im, const ox_node *n, int type, operands *o) {
    QRN_TRY(ox_need(im, n, 2));
    const ox_val *a = ox_input(im, n, 0), *b = ox_input(im, n, 1);
    o->rank = a->rank > b->rank ? a->rank : b->rank;
    o->layout = ox_layout_of(im, n);
    QRN_TRY(old_broadcast(im, n, o));
    return o->laid ? ox_same_shape(im, n, type) : ox_broadcast_shape(im, n, 2, type);
}

static qrn_status take_operands(ox_import *im, const ox_node *n, operands *o) {
    QRN_TRY(ox_in_broadcast(im, n, 0, o->rank, o->layout, &o->in[0]));
    if (o->laid)
        return ox_in_view(im, n, 1, o->rank, o->dims, o->layout, &o->in[1]);
    return ox_in_broadcast(im, n, 1, o->rank, o->layout, &o->in[1]);
}

static qrn_status convert(ox_import *im, const ox_node *n, Qnn_DataType_t type, qc_tensor **t) {
    qc_tensor *y;
    if ((*t)->t.v1.dataType == type)
        return QRN_OK;
    QRN_TRY(ox_temp_typed(im, type, (*t)->rank, (*t)->dims, &y));
    QRN_TRY(ox_emit_cast(im, n, *t, y));
    *t = y;
    return QRN_OK;
}

// clang-format off
#define BINARY(name) QNN_OP_ELEMENT_WISE_BINARY, QNN_OP_ELEMENT_WISE_BINARY_OPERATION_##name, \
                     OX_T_ACT16 | OX_T_I32 | OX_T_U32
#define COMPARED (OX_T_ACT16 | OX_T_I32 | OX_T_BOOL)

static const ox_qnn_op binary_ops[] = {
    {"Add", QNN_OP_ELEMENT_WISE_ADD, OX_T_ACT16 | OX_T_I32, BINARY(ADD)},
    {"Div", QNN_OP_ELEMENT_WISE_DIVIDE, OX_T_ACT | OX_T_I32, BINARY(DIVIDE)},
    {"Max", QNN_OP_ELEMENT_WISE_MAXIMUM, OX_T_ACT | OX_T_I32, BINARY(MAXIMUM)},
    {"Min", QNN_OP_ELEMENT_WISE_MINIMUM, OX_T_ACT | OX_T_I32, BINARY(MINIMUM)},
    {"Mul", QNN_OP_ELEMENT_WISE_MULTIPLY, OX_T_ACT16 | OX_T_I32 | OX_T_U32, BINARY(MULTIPLY)},
    {"Sub", QNN_OP_ELEMENT_WISE_SUBTRACT, OX_T_ACT | OX_T_I32, BINARY(SUBTRACT)},
    {"Sum", QNN_OP_ELEMENT_WISE_ADD, OX_T_ACT16 | OX_T_I32, BINARY(ADD)},
    {"Mean", QNN_OP_ELEMENT_WISE_ADD, OX_T_ACT16 | OX_T_I32, BINARY(ADD)},
    {"Equal", QNN_OP_ELEMENT_WISE_EQUAL, COMPARED, BINARY(EQUAL)},
    {"Greater", QNN_OP_ELEMENT_WISE_GREATER, COMPARED, BINARY(GREATER)},
    {"GreaterOrEqual", QNN_OP_ELEMENT_WISE_GREATER_EQUAL, COMPARED, BINARY(GREATER_EQUAL)},
    {"Less", QNN_OP_ELEMENT_WISE_LESS, COMPARED, BINARY(LESS)},
    {"LessOrEqual", QNN_OP_ELEMENT_WISE_LESS_EQUAL, COMPARED, BINARY(LESS_EQUAL)},
    {"And", QNN_OP_ELEMENT_WISE_AND, OX_T_BOOL, BINARY(AND)},
    {"Or", QNN_OP_ELEMENT_WISE_OR, OX_T_BOOL, BINARY(OR)},
    {"Xor", QNN_OP_ELEMENT_WISE_XOR, OX_T_BOOL, BINARY(XOR)},
};
// clang-format on

static const ox_qnn_op *find_op(const char *onnx) {
    const ox_qnn_op *op = binary_ops;
    while (strcmp(op->onnx, onnx) != 0)
        op++;
    return op;
}

// Arithmetic (the result has the operands' type), comparison and logic (it is bool).
static qrn_status import_op(ox_import *im, const ox_node *n, bool test, Qnn_DataType_t type) {
    const ox_qnn_op *op = find_op(n->op);
    operands o;
    qc_tensor *out;
    QRN_TRY(set_result(im, n, test ? OX_BOOL : ox_input(im, n, 0)->type, &o));
    if (!ox_fits_unit(im, n, op->types | op->combined_types, 2))
        ox_leave_unit(im);
    QRN_TRY(take_operands(im, n, &o));
    if (ox_is_quantized(im, n)) {
        QRN_TRY(ox_out(im, n, 0, o.layout, &out));
        return ox_emit_op(im, n, op, o.in, 2, out);
    }
    QRN_TRY(convert(im, n, type, &o.in[0]));
    QRN_TRY(convert(im, n, type, &o.in[1]));
    QRN_TRY(ox_out_as(im, n, 0, o.layout, test ? QNN_DATATYPE_BOOL_8 : type, &out));
    QRN_TRY(ox_emit_op(im, n, op, o.in, 2, out));
    return ox_out_end(im, n, 0, o.layout, out);
}

static qrn_status same_types(const ox_import *im, const ox_node *n, uint32_t count) {
    QRN_TRY(ox_need(im, n, count));
    for (uint32_t i = 1; i < count; i++)
        if (ox_input(im, n, i)->type != ox_input(im, n, 0)->type)
            return ox_fail(im, n, QRN_E_DTYPE, "input 0 is %s, input %u is %s",
                           ox_type_name(ox_input(im, n, 0)->type), i,
                           ox_type_name(ox_input(im, n, i)->type));
    return QRN_OK;
}

static qrn_status import_arithmetic(ox_import *im, const ox_node *n) {
    Qnn_DataType_t type;
    QRN_TRY(same_types(im, n, 2));
    if (strcmp(n->op, "Max") != 0 && strcmp(n->op, "Min") != 0)
        QRN_TRY(ox_fits_32(im, n));
    QRN_TRY(ox_arithmetic_type(im, n, ox_input(im, n, 0), &type));
    return import_op(im, n, false, type);
}

static qrn_status import_compare(ox_import *im, const ox_node *n) {
    Qnn_DataType_t type;
    QRN_TRY(same_types(im, n, 2));
    QRN_TRY(ox_arithmetic_type(im, n, ox_input(im, n, 0), &type));
    if (ox_input(im, n, 0)->type == OX_BOOL)
        type = QNN_DATATYPE_BOOL_8;
    return import_op(im, n, true, type);
}

static qrn_status import_logic(ox_import *im, const ox_node *n) {
    QRN_TRY(same_types(im, n, 2));
    if (ox_input(im, n, 0)->type != OX_BOOL)
        return ox_fail(im, n, QRN_E_DTYPE, "type %s, expected bool",
                       ox_type_name(ox_input(im, n, 0)->type));
    return import_op(im, n, true, QNN_DATATYPE_BOOL_8);
}

// Sum, Max, Min, Mean of any number of operands. Two are one op, which may be a quantized unit.
static qrn_status import_variadic(ox_import *im, const ox_node *n) {
    const ox_qnn_op *op = find_op(n->op);
    bool mean = strcmp(n->op, "Mean") == 0;
    Qnn_DataType_t type;
    ox_expr e;
    QRN_TRY(ox_need(im, n, 1));
    QRN_TRY(same_types(im, n, n->n_in));
    if (mean)
        QRN_TRY(ox_need_float(im, n));
    if (n->n_in == 1)
        return ox_alias(im, n, 0, 0);
    if (n->n_in == 2 && !mean)
        return import_arithmetic(im, n);
    const ox_val *a = ox_input(im, n, 0);
    QRN_TRY(ox_arithmetic_type(im, n, a, &type));
    if (type == QNN_DATATYPE_FLOAT_16)
        type = QNN_DATATYPE_FLOAT_32; // rounded once
    QRN_TRY(ox_broadcast_shape(im, n, n->n_in, a->type));
    QRN_TRY(ox_begin_formula(&e, im, n, type));
    qc_tensor *y = ox_operand(&e, 0);
    for (uint32_t i = 1; i < n->n_in; i++) {
        qc_tensor *x = ox_operand(&e, i);
        if (i + 1 == n->n_in && !mean)
            ox_to_output(&e);
        y = type == QNN_DATATYPE_UINT_32 ? ox_binary_op(&e, op->operation, y, x)
                                         : ox_binary(&e, op->single, y, x);
    }
    if (mean) {
        qc_tensor *count = ox_constant(&e, n->n_in);
        ox_to_output(&e);
        y = ox_binary(&e, QNN_OP_ELEMENT_WISE_DIVIDE, y, count);
    }
    return ox_end_formula(&e, y);
}

// The result has the type of the base; the exponent may have any. In a quantized unit it may be a
// float constant.
static qrn_status import_pow(ox_import *im, const ox_node *n) {
    const ox_qnn_op op = {"Pow", QNN_OP_ELEMENT_WISE_POWER, OX_T_ACT | OX_T_I32, BINARY(POWER)};
    Qnn_DataType_t base, exponent;
    operands o;
    qc_tensor *out;
    QRN_TRY(ox_need(im, n, 2));
    const ox_val *a = ox_input(im, n, 0), *b = ox_input(im, n, 1);
    QRN_TRY(ox_fits_32(im, n));
    QRN_TRY(ox_arithmetic_type(im, n, a, &base));
    QRN_TRY(ox_arithmetic_type(im, n, b, &exponent));
    QRN_TRY(set_result(im, n, a->type, &o));
    if (!ox_fits_unit(im, n, OX_T_ACT16, b->quantized ? 2 : 1))
        ox_leave_unit(im);
    QRN_TRY(take_operands(im, n, &o));
    if (ox_is_quantized(im, n)) {
        QRN_TRY(ox_out(im, n, 0, o.layout, &out));
        return ox_emit_op(im, n, &op, o.in, 2, out);
    }
    if (ox_is_float(a) || ox_is_float(b))
        base = QNN_DATATYPE_FLOAT_32;
    QRN_TRY(convert(im, n, base, &o.in[0]));
    QRN_TRY(convert(im, n, base, &o.in[1]));
    QRN_TRY(ox_out_as(im, n, 0, o.layout, base, &out));
    QRN_TRY(ox_emit_op(im, n, &op, o.in, 2, out));
    return ox_out_end(im, n, 0, o.layout, out);
}

// fmod=1: sign of the dividend, as C; else that of the divisor, as Python.
static qrn_status import_mod(ox_import *im, const ox_node *n) {
    bool c_mod = ox_attr_int(n, "fmod", 0) != 0;
    Qnn_DataType_t type;
    ox_expr e;
    QRN_TRY(same_types(im, n, 2));
    const ox_val *v = ox_input(im, n, 0);
    QRN_TRY(ox_fits_32(im, n));
    QRN_TRY(ox_arithmetic_type(im, n, v, &type));
    QRN_TRY(ox_broadcast_shape(im, n, 2, v->type));
    QRN_TRY(ox_begin_formula(&e, im, n, ox_is_float(v) ? QNN_DATATYPE_FLOAT_32 : type));
    qc_tensor *a = ox_operand(&e, 0), *b = ox_operand(&e, 1);
    if (!ox_is_float(v)) {
        ox_to_output(&e);
        return ox_end_formula(&e, ox_binary_op(&e,
                                               c_mod ? QNN_OP_ELEMENT_WISE_BINARY_OPERATION_FMOD
                                                     : QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MOD,
                                               a, b));
    }
    if (c_mod) {
        ox_to_output(&e);
        return ox_end_formula(&e, ox_binary(&e, QNN_OP_ELEMENT_WISE_FMOD, a, b));
    }
    qc_tensor *r = ox_binary(&e, QNN_OP_ELEMENT_WISE_FMOD, a, b);
    qc_tensor *product =
        ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, ox_unary(&e, QNN_OP_ELEMENT_WISE_SIGN, r), b);
    qc_tensor *differ = ox_compare(&e, QNN_OP_ELEMENT_WISE_LESS, product, ox_constant(&e, 0));
    qc_tensor *moved = ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, r, b);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_select(&e, differ, moved, r));
}

static qrn_status import_where(ox_import *im, const ox_node *n) {
    Qnn_DataType_t type;
    qc_tensor *c, *a, *b, *out;
    qc_op o;
    QRN_TRY(ox_need(im, n, 3));
    const ox_val *x = ox_input(im, n, 1);
    if (x->type != ox_input(im, n, 2)->type)
        return ox_fail(im, n, QRN_E_DTYPE, "inputs 1 and 2 differ in type");
    QRN_TRY(ox_fits_32(im, n));
    QRN_TRY(ox_arithmetic_type(im, n, x, &type));
    if (type == QNN_DATATYPE_UINT_32)
        type = QNN_DATATYPE_INT_32; // the bits are only moved
    QRN_TRY(ox_broadcast_shape(im, n, 3, x->type));
    if (!ox_fits_unit(im, n, OX_T_ACT16, 3))
        ox_leave_unit(im);
    bool unit = ox_is_quantized(im, n);
    ox_layout layout = ox_layout_of(im, n);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < 3; i++)
        rank = ox_input(im, n, i)->rank > rank ? ox_input(im, n, i)->rank : rank;
    QRN_TRY(ox_in_broadcast_as(im, n, 0, rank, layout, QNN_DATATYPE_BOOL_8, &c));
    QRN_TRY(ox_in_broadcast(im, n, 1, rank, layout, &a));
    QRN_TRY(ox_in_broadcast(im, n, 2, rank, layout, &b));
    if (unit) {
        QRN_TRY(ox_out(im, n, 0, layout, &out));
    } else {
        QRN_TRY(convert(im, n, type, &a));
        QRN_TRY(convert(im, n, type, &b));
        QRN_TRY(ox_out_as(im, n, 0, layout, type, &out));
    }
    ox_op(im, &o, n, QNN_OP_ELEMENT_WISE_SELECT);
    qc_in(&o, c);
    qc_in(&o, a);
    qc_in(&o, b);
    qc_out(&o, out);
    QRN_TRY(qc_op_end(&o));
    return ox_out_end(im, n, 0, layout, out);
}

// clang-format off
const ox_importer ox_import_math_binary[] = {
    {"Add", "", import_arithmetic},
    {"And", "", import_logic},
    {"Div", "", import_arithmetic},
    {"Equal", "", import_compare},
    {"Greater", "", import_compare},
    {"GreaterOrEqual", "", import_compare},
    {"Less", "", import_compare},
    {"LessOrEqual", "", import_compare},
    {"Max", "", import_variadic},
    {"Mean", "", import_variadic},
    {"Min", "", import_variadic},
    {"Mod", "", import_mod},
    {"Mul", "", import_arithmetic},
    {"Or", "", import_logic},
    {"Pow", "", import_pow},
    {"Sub", "", import_arithmetic},
    {"Sum", "", import_variadic},
    {"Where", "", import_where},
    {"Xor", "", import_logic},
    {0},
};
// clang-format on
