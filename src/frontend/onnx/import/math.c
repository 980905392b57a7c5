// SPDX-License-Identifier: MIT
//
// Importers: element-wise ops. They run in the layout in which their inputs are.
#include "frontend/onnx/import/table.h"

#include <string.h>

// ONNX op to QNN op, where nothing but the name differs.
static const struct {
    const char *onnx, *qnn;
} unary_ops[] = {
    {"Abs", QNN_OP_ELEMENT_WISE_ABS},
    {"Relu", QNN_OP_RELU},
    {"Sigmoid", QNN_OP_SIGMOID},
    {"Tanh", QNN_OP_TANH},
    {"Exp", QNN_OP_ELEMENT_WISE_EXP},
    {"Log", QNN_OP_ELEMENT_WISE_LOG},
    {"Sqrt", QNN_OP_ELEMENT_WISE_SQUARE_ROOT},
    {"Neg", QNN_OP_ELEMENT_WISE_NEG},
    {"Floor", QNN_OP_ELEMENT_WISE_FLOOR},
    {"Ceil", QNN_OP_ELEMENT_WISE_CEIL},
    {"Round", QNN_OP_ELEMENT_WISE_ROUND},
    {"Sign", QNN_OP_ELEMENT_WISE_SIGN},
    {"Sin", QNN_OP_ELEMENT_WISE_SIN},
    {"Cos", QNN_OP_ELEMENT_WISE_COS},
    {"HardSwish", QNN_OP_HARD_SWISH},
};

static qrn_status import_unary(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    qc_tensor *in, *out;
    const char *op = NULL;
    for (size_t i = 0; i < sizeof unary_ops / sizeof unary_ops[0]; i++)
        if (strcmp(unary_ops[i].onnx, n->op) == 0)
            op = unary_ops[i].qnn;
    ox_layout layout = ox_layout_of(im, n);
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, x->dims));
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    return ox_emit_unary(im, n, op, in, out);
}

static const struct {
    const char *onnx, *qnn;
} binary_ops[] = {
    {"Add", QNN_OP_ELEMENT_WISE_ADD},
    {"Sub", QNN_OP_ELEMENT_WISE_SUBTRACT},
    {"Mul", QNN_OP_ELEMENT_WISE_MULTIPLY},
    {"Div", QNN_OP_ELEMENT_WISE_DIVIDE},
};

// The broadcast shape of inputs 0 and 1.
static qrn_status broadcast(ox_import *im, const ox_node *n, uint32_t *rank, uint32_t *dims) {
    const ox_val *a = ox_input(im, n, 0), *b = ox_input(im, n, 1);
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < *rank; i++) {
        uint32_t da = i + a->rank < *rank ? 1 : a->dims[i + a->rank - *rank];
        uint32_t db = i + b->rank < *rank ? 1 : b->dims[i + b->rank - *rank];
        if (da != db && da != 1 && db != 1)
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u: %u and %u cannot be broadcast", i, da,
                           db);
        dims[i] = da > db ? da : db;
    }
    return QRN_OK;
}

static qrn_status import_binary(ox_import *im, const ox_node *n) {
    uint32_t rank, dims[OX_MAX_RANK];
    qc_tensor *a, *b, *out;
    const char *op = NULL;
    for (size_t i = 0; i < sizeof binary_ops / sizeof binary_ops[0]; i++)
        if (strcmp(binary_ops[i].onnx, n->op) == 0)
            op = binary_ops[i].qnn;
    ox_layout layout = ox_layout_of(im, n);
    QRN_TRY(broadcast(im, n, &rank, dims));
    QRN_TRY(ox_set_output(im, n, 0, ox_input(im, n, 0)->type, rank, dims));
    QRN_TRY(ox_in_broadcast(im, n, 0, rank, layout, &a));
    QRN_TRY(ox_in_broadcast(im, n, 1, rank, layout, &b));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    return ox_emit_binary(im, n, op, a, b, out);
}

static qrn_status import_identity(ox_import *im, const ox_node *n) { return ox_alias(im, n, 0, 0); }

const ox_importer ox_import_math[] = {
    {"Abs", "", import_unary},  {"Relu", "", import_unary},        {"Sigmoid", "", import_unary},
    {"Tanh", "", import_unary}, {"Exp", "", import_unary},         {"Log", "", import_unary},
    {"Sqrt", "", import_unary}, {"Neg", "", import_unary},         {"Floor", "", import_unary},
    {"Ceil", "", import_unary}, {"Round", "", import_unary},       {"Sign", "", import_unary},
    {"Sin", "", import_unary},  {"Cos", "", import_unary},         {"HardSwish", "", import_unary},
    {"Add", "", import_binary}, {"Sub", "", import_binary},        {"Mul", "", import_binary},
    {"Div", "", import_binary}, {"Identity", "", import_identity}, {0},
};
