// SPDX-License-Identifier: MIT
//
// Importers: element-wise ops on one operand that QNN has too, and ops that only pass on or convert
// what they get. They run in the layout in which their inputs are.
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

qrn_status ox_need(const ox_import *im, const ox_node *n, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!ox_input(im, n, i))
            return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    return QRN_OK;
}

qrn_status ox_need_float(const ox_import *im, const ox_node *n) {
    QRN_TRY(ox_need(im, n, 1));
    const ox_val *v = ox_input(im, n, 0);
    if (ox_is_float(v))
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "type %s; convert the model to float32 or float16",
                   ox_type_name(v->type));
}

bool ox_is_float(const ox_val *v) { return v->type == OX_F32 || v->type == OX_F16; }

bool ox_is_unsigned(const ox_val *v) {
    return v->type == OX_U4 || v->type == OX_U8 || v->type == OX_U16 || v->type == OX_U32 ||
           v->type == OX_U64 || v->type == OX_BOOL;
}

qrn_status ox_arithmetic_type(const ox_import *im, const ox_node *n, const ox_val *v,
                              Qnn_DataType_t *out) {
    switch (v->type) {
    case OX_F32:
        *out = QNN_DATATYPE_FLOAT_32;
        return QRN_OK;
    case OX_F16:
        *out = QNN_DATATYPE_FLOAT_16;
        return QRN_OK;
    case OX_U32:
    case OX_U64:
        *out = QNN_DATATYPE_UINT_32;
        return QRN_OK;
    case OX_BOOL:
    case OX_I4:
    case OX_U4:
    case OX_I8:
    case OX_U8:
    case OX_I16:
    case OX_U16:
    case OX_I32:
    case OX_I64:
        *out = QNN_DATATYPE_INT_32;
        return QRN_OK;
    default:
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "QNN has no arithmetic on %s; convert the model to float32 or float16",
                       ox_type_name(v->type));
    }
}

qrn_status ox_fits_32(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = ox_input(im, n, i);
        if (!v || !v->data || (v->type != OX_I64 && v->type != OX_U64))
            continue;
        const int64_t *p = v->data;
        for (size_t k = 0; k < v->bytes / sizeof *p; k++)
            if (v->type == OX_I64 ? p[k] < INT32_MIN || p[k] > INT32_MAX : p[k] >> 32 != 0)
                return ox_fail(im, n, QRN_E_UNSUPPORTED,
                               "input %u has numbers that need 64 bits; QNN computes in 32", i);
    }
    return QRN_OK;
}

qrn_status ox_same_shape(ox_import *im, const ox_node *n, int type) {
    QRN_TRY(ox_need(im, n, 1));
    const ox_val *x = ox_input(im, n, 0);
    return ox_set_output(im, n, 0, type, x->rank, x->dims);
}

bool ox_takes(unsigned types, Qnn_DataType_t t) {
    switch (t) {
    case QNN_DATATYPE_FLOAT_32:
        return types & OX_T_F32;
    case QNN_DATATYPE_FLOAT_16:
        return types & OX_T_F16;
    case QNN_DATATYPE_UFIXED_POINT_8:
        return types & OX_T_UQ8;
    case QNN_DATATYPE_SFIXED_POINT_8:
        return types & OX_T_SQ8;
    case QNN_DATATYPE_UFIXED_POINT_16:
        return types & OX_T_UQ16;
    case QNN_DATATYPE_SFIXED_POINT_16:
        return types & OX_T_SQ16;
    case QNN_DATATYPE_INT_32:
        return types & OX_T_I32;
    case QNN_DATATYPE_UINT_32:
        return types & OX_T_U32;
    case QNN_DATATYPE_BOOL_8:
        return types & OX_T_BOOL;
    default:
        return false;
    }
}

bool ox_fits_unit(ox_import *im, const ox_node *n, unsigned types, uint32_t count) {
    static const unsigned coded[] = {
        [OX_U8] = OX_T_UQ8, [OX_I8] = OX_T_SQ8, [OX_U16] = OX_T_UQ16, [OX_I16] = OX_T_SQ16};
    Qnn_DataType_t to;
    if (!ox_is_quantized(im, n) || ox_out_type(im, n, 0, &to) != QRN_OK)
        return false;
    if (to != QNN_DATATYPE_BOOL_8 && !ox_takes(types, to))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const ox_val *v = ox_input(im, n, i), *q = v ? v->quantized : NULL;
        if (!v || !ox_is_float(v))
            continue;
        if (!q || !q->enc || q->enc->n != 1 || q->type > OX_I16 || !(coded[q->type] & types))
            return false;
    }
    return true;
}

qrn_status ox_emit_op(ox_import *im, const ox_node *n, const ox_qnn_op *op, qc_tensor *const *in,
                      uint32_t count, const qc_tensor *y) {
    qc_op o;
    bool single = op->single != NULL;
    for (uint32_t i = 0; i < count; i++)
        single = single && ox_takes(op->types, in[i]->t.v1.dataType);
    if (y->t.v1.dataType != QNN_DATATYPE_BOOL_8)
        single = single && ox_takes(op->types, y->t.v1.dataType);
    ox_op(im, &o, n, single ? op->single : op->combined);
    for (uint32_t i = 0; i < count; i++)
        qc_in(&o, in[i]);
    qc_out(&o, y);
    if (!single)
        qc_u32(&o, "operation", op->operation);
    return qc_op_end(&o);
}

// clang-format off
#define UNARY(name) \
    QNN_OP_ELEMENT_WISE_UNARY, QNN_OP_ELEMENT_WISE_UNARY_OPERATION_##name, OX_T_ACT16
#define NEURON(name) \
    QNN_OP_ELEMENT_WISE_NEURON, QNN_OP_ELEMENT_WISE_NEURON_OPERATION_##name, OX_T_ACT16
#define NO_OTHER NULL, 0, 0

static const ox_qnn_op unary_ops[] = {
    {"Abs", QNN_OP_ELEMENT_WISE_ABS, OX_T_ACT | OX_T_I32, UNARY(ABS)},
    {"Asin", QNN_OP_ELEMENT_WISE_ASIN, OX_T_F32 | OX_T_UQ8 | OX_T_SQ8, UNARY(ASIN)},
    {"Atan", QNN_OP_ELEMENT_WISE_ATAN, OX_T_ACT, UNARY(ATAN)},
    {"Ceil", QNN_OP_ELEMENT_WISE_CEIL, OX_T_ACT, UNARY(CEIL)},
    {"Cos", QNN_OP_ELEMENT_WISE_COS, OX_T_ACT, UNARY(COS)},
    {"Exp", QNN_OP_ELEMENT_WISE_EXP, OX_T_ACT, UNARY(EXP)},
    {"Floor", QNN_OP_ELEMENT_WISE_FLOOR, OX_T_ACT, UNARY(FLOOR)},
    {"HardSwish", QNN_OP_HARD_SWISH, OX_T_ACT, NEURON(HARD_SWISH)},
    {"Log", QNN_OP_ELEMENT_WISE_LOG, OX_T_ACT, UNARY(LOG)},
    {"Neg", QNN_OP_ELEMENT_WISE_NEG, OX_T_FLOATS | OX_T_UQ8 | OX_T_UQ16 | OX_T_I32, UNARY(NEG)},
    {"Relu", QNN_OP_RELU, OX_T_ACT16, NO_OTHER},
    {"Round", QNN_OP_ELEMENT_WISE_ROUND, OX_T_ACT, UNARY(ROUND)},
    {"Sigmoid", QNN_OP_SIGMOID, OX_T_ACT16, NO_OTHER},
    {"Sign", QNN_OP_ELEMENT_WISE_SIGN, OX_T_ACT | OX_T_I32 | OX_T_U32, UNARY(SIGN)},
    {"Sin", QNN_OP_ELEMENT_WISE_SIN, OX_T_ACT, UNARY(SIN)},
    {"Sqrt", QNN_OP_ELEMENT_WISE_SQUARE_ROOT, OX_T_ACT16, NO_OTHER},
    {"Tanh", QNN_OP_TANH, OX_T_ACT16, NO_OTHER},
};
// clang-format on

// Results of 16 bits that a backend may want in one encoding alone.
static const struct {
    const char *onnx;
    Qnn_DataType_t type;
    float scale;
    int32_t offset;
} own_encodings[] = {
    {"Sigmoid", QNN_DATATYPE_UFIXED_POINT_16, 1.0f / 65536, 0},
    {"Sigmoid", QNN_DATATYPE_SFIXED_POINT_16, 1.0f / 32768, 0},
    {"Tanh", QNN_DATATYPE_UFIXED_POINT_16, 1.0f / 32768, -32768},
    {"Tanh", QNN_DATATYPE_SFIXED_POINT_16, 1.0f / 32768, 0},
};

// Is there such an encoding, and so fine that a result that is rounded twice is off by a step of
// y's at most? Sets *like to y in it.
static bool find_own(const ox_node *n, const qc_tensor *y, qc_tensor *like) {
    Qnn_QuantizeParams_t *q = &like->t.v1.quantizeParams;
    *like = *y;
    for (size_t i = 0; i < sizeof own_encodings / sizeof own_encodings[0]; i++) {
        if (strcmp(own_encodings[i].onnx, n->op) != 0 ||
            own_encodings[i].type != y->t.v1.dataType ||
            q->quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET ||
            own_encodings[i].scale >= 2 * q->scaleOffsetEncoding.scale)
            continue;
        q->scaleOffsetEncoding.scale = own_encodings[i].scale;
        q->scaleOffsetEncoding.offset = own_encodings[i].offset;
        return true;
    }
    return false;
}

static qrn_status emit_unit(ox_import *im, const ox_node *n, const ox_qnn_op *op, qc_tensor *x,
                            qc_tensor *y) {
    qc_tensor like, *own = y;
    qc_op o;
    if (find_own(n, y, &like)) {
        ox_op(im, &o, n, op->single);
        qc_in(&o, x);
        qc_out(&o, y);
        ox_expr e = ox_begin(im, n);
        if (!ox_taken(&e, &o))
            QRN_TRY(ox_temp(im, &like, y->rank, y->dims, &own));
        QRN_TRY(ox_done(&e));
    }
    QRN_TRY(ox_emit_op(im, n, op, &x, 1, own));
    return own == y ? QRN_OK : ox_emit_unary(im, n, QNN_OP_CONVERT, own, y);
}

static qrn_status import_unary(ox_import *im, const ox_node *n) {
    const ox_qnn_op *op = unary_ops;
    while (strcmp(op->onnx, n->op) != 0)
        op++;
    QRN_TRY(ox_need(im, n, 1));
    const ox_val *x = ox_input(im, n, 0);
    Qnn_DataType_t type;
    qc_tensor *in, *out;
    QRN_TRY(ox_arithmetic_type(im, n, x, &type));
    QRN_TRY(ox_same_shape(im, n, x->type));
    ox_layout layout = ox_layout_of(im, n);
    unsigned types = op->types | op->combined_types;
    if (ox_fits_unit(im, n, types, 1)) {
        QRN_TRY(ox_in(im, n, 0, layout, &in));
        QRN_TRY(ox_out(im, n, 0, layout, &out));
        return emit_unit(im, n, op, in, out);
    }
    ox_leave_unit(im);
    if (!ox_takes(types, type))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "type %s", ox_type_name(x->type));
    QRN_TRY(ox_in_as(im, n, 0, layout, type, &in));
    QRN_TRY(ox_out_as(im, n, 0, layout, type, &out));
    QRN_TRY(ox_emit_op(im, n, op, &in, 1, out));
    return ox_out_end(im, n, 0, layout, out);
}

// On integers, some of these are other ops.
static qrn_status import_abs(ox_import *im, const ox_node *n) {
    QRN_TRY(ox_need(im, n, 1));
    return ox_is_unsigned(ox_input(im, n, 0)) ? ox_alias(im, n, 0, 0) : import_unary(im, n);
}

static qrn_status import_relu(ox_import *im, const ox_node *n) {
    QRN_TRY(ox_need(im, n, 1));
    const ox_val *x = ox_input(im, n, 0);
    if (ox_is_float(x))
        return import_unary(im, n);
    if (ox_is_unsigned(x))
        return ox_alias(im, n, 0, 0);
    ox_expr e;
    Qnn_DataType_t type;
    QRN_TRY(ox_arithmetic_type(im, n, x, &type));
    QRN_TRY(ox_same_shape(im, n, x->type));
    QRN_TRY(ox_begin_formula(&e, im, n, type));
    qc_tensor *in = ox_operand(&e, 0), *zero = ox_constant(&e, 0);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary(&e, QNN_OP_ELEMENT_WISE_MAXIMUM, in, zero));
}

static qrn_status import_reciprocal(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *one = ox_constant(&e, 1);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary(&e, QNN_OP_ELEMENT_WISE_DIVIDE, one, x));
}

static qrn_status import_not(ox_import *im, const ox_node *n) {
    ox_layout layout = ox_layout_of(im, n);
    qc_tensor *in, *out;
    QRN_TRY(ox_same_shape(im, n, OX_BOOL));
    if (ox_input(im, n, 0)->type != OX_BOOL)
        return ox_fail(im, n, QRN_E_DTYPE, "type %s, expected bool",
                       ox_type_name(ox_input(im, n, 0)->type));
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    return ox_emit_unary(im, n, QNN_OP_ELEMENT_WISE_NOT, in, out);
}

static qrn_status import_float_test(ox_import *im, const ox_node *n) {
    bool inf = strcmp(n->op, "IsInf") == 0;
    ox_layout layout = ox_layout_of(im, n);
    qc_tensor *in, *out;
    qc_op o;
    QRN_TRY(ox_need_float(im, n));
    QRN_TRY(ox_same_shape(im, n, OX_BOOL));
    ox_leave_unit(im);
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    ox_op(im, &o, n, inf ? QNN_OP_IS_INF : QNN_OP_IS_NAN);
    qc_in(&o, in);
    qc_out(&o, out);
    if (inf) {
        qc_bool(&o, QNN_OP_IS_INF_PARAM_DETECT_NEGATIVE, ox_attr_int(n, "detect_negative", 1) != 0);
        qc_bool(&o, QNN_OP_IS_INF_PARAM_DETECT_POSITIVE, ox_attr_int(n, "detect_positive", 1) != 0);
    }
    return qc_op_end(&o);
}

static qrn_status import_identity(ox_import *im, const ox_node *n) {
    QRN_TRY(ox_need(im, n, 1));
    return ox_alias(im, n, 0, 0);
}

// The mask of Dropout: all true; before opset 10 all 1, in the type of the data.
static qrn_status full_mask(ox_import *im, const ox_node *n, const ox_val *x) {
    bool old = ox_version(im, n) < 10;
    size_t elements = 1;
    for (uint32_t d = 0; d < x->rank; d++)
        elements *= x->dims[d];
    if (old && x->type != OX_F32)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "a mask of type %s", ox_type_name(x->type));
    float *ones = ox_alloc(im, elements * sizeof *ones);
    if (!ones)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    for (size_t i = 0; i < elements; i++)
        ones[i] = 1;
    if (!old)
        memset(ones, 1, elements);
    return ox_set_const(im, n, 1, old ? OX_F32 : OX_BOOL, x->rank, x->dims, ones);
}

// Inference: the output is the input. Training is refused unless nothing is dropped.
static qrn_status import_dropout(ox_import *im, const ox_node *n) {
    float ratio = 0.5f;
    int64_t training = 0;
    uint32_t count;
    QRN_TRY(ox_need(im, n, 1));
    if (ox_input(im, n, 1) && !ox_const_float(im, n, 1, &ratio))
        ratio = 1;
    if (ox_input(im, n, 2) && !ox_const_ints(im, n, 2, &training, 1, &count))
        training = 1;
    if (training && ratio != 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "dropping at random while training; export the model for inference");
    if (n->n_out > 1 && n->out[1][0])
        QRN_TRY(full_mask(im, n, ox_input(im, n, 0)));
    return ox_alias(im, n, 0, 0);
}

// The type that a Cast names; opset 1 spelled it.
static int cast_target(const ox_node *n) {
    static const char *const names[] = {
        [OX_F32] = "FLOAT",  [OX_U8] = "UINT8",    [OX_I8] = "INT8",    [OX_U16] = "UINT16",
        [OX_I16] = "INT16",  [OX_I32] = "INT32",   [OX_I64] = "INT64",  [OX_STRING] = "STRING",
        [OX_BOOL] = "BOOL",  [OX_F16] = "FLOAT16", [OX_F64] = "DOUBLE", [OX_U32] = "UINT32",
        [OX_U64] = "UINT64",
    };
    const char *text = ox_attr_string(n, "to", NULL);
    for (int t = 1; text && t < (int)(sizeof names / sizeof names[0]); t++)
        if (strcmp(names[t], text) == 0)
            return t;
    return (int)ox_attr_int(n, "to", OX_NONE);
}

static qrn_status import_cast(ox_import *im, const ox_node *n) {
    bool like = strcmp(n->op, "CastLike") == 0;
    QRN_TRY(ox_need(im, n, like ? 2 : 1));
    const ox_val *x = ox_input(im, n, 0);
    int named = like ? ox_input(im, n, 1)->type : cast_target(n);
    int to = ox_held_type(im, n, named);
    if (to == x->type) {
        QRN_TRY(ox_alias(im, n, 0, 0));
        ox_set_narrowed(im, n, like ? ox_input(im, n, 1)->narrowed : named == OX_F64);
        return QRN_OK;
    }
    ox_val target = {.type = to};
    Qnn_DataType_t type;
    QRN_TRY(ox_arithmetic_type(im, n, x, &type));
    QRN_TRY(ox_arithmetic_type(im, n, &target, &type));
    ox_leave_unit(im);
    ox_layout layout = ox_layout_of(im, n);
    qc_tensor *in, *out;
    QRN_TRY(ox_same_shape(im, n, to));
    ox_set_narrowed(im, n, like ? ox_input(im, n, 1)->narrowed : named == OX_F64);
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    return ox_emit_cast(im, n, in, out);
}

// clang-format off
const ox_importer ox_import_math[] = {
    {"Abs", "", import_abs},
    {"Asin", "", import_unary},
    {"Atan", "", import_unary},
    {"Cast", "", import_cast},
    {"CastLike", "", import_cast},
    {"Ceil", "", import_unary},
    {"Cos", "", import_unary},
    {"Dropout", "", import_dropout},
    {"Exp", "", import_unary},
    {"Floor", "", import_unary},
    {"HardSwish", "", import_unary},
    {"Identity", "", import_identity},
    {"IsInf", "", import_float_test},
    {"IsNaN", "", import_float_test},
    {"Log", "", import_unary},
    {"Neg", "", import_unary},
    {"Not", "", import_not},
    {"Reciprocal", "", import_reciprocal},
    {"Relu", "", import_relu},
    {"Round", "", import_unary},
    {"Sigmoid", "", import_unary},
    {"Sign", "", import_unary},
    {"Sin", "", import_unary},
    {"Sqrt", "", import_unary},
    {"Tanh", "", import_unary},
    {0},
};
// clang-format on
