// SPDX-License-Identifier: MIT
//
// What the files of element-wise importers share.
#ifndef QRN_FRONTEND_ONNX_IMPORT_MATH_H
#define QRN_FRONTEND_ONNX_IMPORT_MATH_H

#include "frontend/onnx/import/formula.h"

// Fails unless the first `count` inputs are there.
qrn_status ox_need(const ox_import *im, const ox_node *n, uint32_t count);

// Fails unless input 0 is there and float32 or float16.
qrn_status ox_need_float(const ox_import *im, const ox_node *n);

// The type in which arithmetic on v's numbers is exact: f32 and f16 as they are, i32 for smaller
// integers, bool and int64, u32 for uint32 and uint64. Fails for types that QNN has no arithmetic
// on.
qrn_status ox_arithmetic_type(const ox_import *im, const ox_node *n, const ox_val *v,
                              Qnn_DataType_t *out);
bool ox_is_float(const ox_val *v); // float32 or float16
bool ox_is_unsigned(const ox_val *v);

// Refuses constants of 64-bit integers that do not fit into the 32 bits of QNN tensors. Ops for
// which the nearest number that fits does as well (Max, Less, ...) need not ask.
qrn_status ox_fits_32(const ox_import *im, const ox_node *n);

// Sets output 0 to input 0's shape and the given type.
qrn_status ox_same_shape(ox_import *im, const ox_node *n, int type);
// Sets output 0 to the shape that the first `count` inputs broadcast to.
qrn_status ox_broadcast_shape(ox_import *im, const ox_node *n, uint32_t count, int type);
// A QNN op that exists on its own, for some types, and as one of the operations of a combined op
// (ElementWiseUnary, ElementWiseBinary, ElementWiseNeuron), for all.
typedef struct ox_qnn_op {
    const char *onnx;
    const char *single;
    unsigned types;       // that `single` supports: OX_T_ bits
    const char *combined; // NULL: none
    uint32_t operation;
    unsigned combined_types;
} ox_qnn_op;

#define OX_T_F32 1u
#define OX_T_F16 2u
#define OX_T_UQ8 4u
#define OX_T_SQ8 8u
#define OX_T_UQ16 16u
#define OX_T_SQ16 32u
#define OX_T_I32 64u
#define OX_T_U32 128u
#define OX_T_BOOL 256u
#define OX_T_FLOATS (OX_T_F32 | OX_T_F16)
#define OX_T_ACT (OX_T_FLOATS | OX_T_UQ8 | OX_T_SQ8 | OX_T_UQ16)
#define OX_T_ACT16 (OX_T_ACT | OX_T_SQ16)

bool ox_takes(unsigned types, Qnn_DataType_t t);
// Does the node stay a quantized unit: are output 0 (or it is bool) and the float ones of the first
// `count` inputs of these types, with one encoding each? Output 0 must be set.
bool ox_fits_unit(ox_import *im, const ox_node *n, unsigned types, uint32_t count);

// y = op(in...) by the single op where it supports all the types, else by the combined one.
qrn_status ox_emit_op(ox_import *im, const ox_node *n, const ox_qnn_op *op, qc_tensor *const *in,
                      uint32_t count, const qc_tensor *y);

#endif
