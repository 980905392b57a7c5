// SPDX-License-Identifier: MIT
//
// Element-wise formulas: expressions (compose.h) whose operands are inputs of the node, brought to
// one rank, layout and type, and whose result is output 0.
//
//     ox_expr e;
//     QRN_TRY(ox_begin_formula(&e, im, n, QNN_DATATYPE_FLOAT_32));
//     qc_tensor *x = ox_operand(&e, 0);
//     qc_tensor *d = ox_with(&e, QNN_OP_ELEMENT_WISE_ADD, x, 1);
//     ox_to_output(&e);
//     return ox_end_formula(&e, ox_binary(&e, QNN_OP_ELEMENT_WISE_DIVIDE, x, d));
#ifndef QRN_FRONTEND_ONNX_IMPORT_FORMULA_H
#define QRN_FRONTEND_ONNX_IMPORT_FORMULA_H

#include "frontend/onnx/import/compose.h"

// Output 0, whose type and shape must be set, computed in `dtype` (f32, f16, i32, u32). Formulas do
// not work on encodings: the node is not imported as a quantized unit.
qrn_status ox_begin_formula(ox_expr *e, ox_import *im, const ox_node *n, Qnn_DataType_t dtype);
// The same in f32 with an output of the shape and type of input 0, a float value; *x is that input.
qrn_status ox_begin_float(ox_expr *e, ox_import *im, const ox_node *n, qc_tensor **x);
qc_tensor *ox_operand(ox_expr *e, uint32_t i);    // input i
qc_tensor *ox_constant(ox_expr *e, double value); // [1]
// One of ElementWiseBinary's operations, for types that the single op does not take.
qc_tensor *ox_binary_op(ox_expr *e, uint32_t operation, qc_tensor *a, qc_tensor *b);
// The next op, whose operands must be computed already, gives the result `x` of ox_end_formula.
void ox_to_output(ox_expr *e);
qrn_status ox_end_formula(ox_expr *e, qc_tensor *x);

#endif
