// SPDX-License-Identifier: MIT
//
// Words for writing op table rows; included by the files of src/ir/ops and by op_table.c alone.
// A row names everything it sets; operands and parameters are lists of the words below.
#ifndef QRN_IR_OPS_ROW_H
#define QRN_IR_OPS_ROW_H

#include "ir/op.h"

// Every group of rows: qrn_ops_<group>[qrn_ops_<group>_count].
#define QRN_OP_GROUPS(X) X(conv) X(pool) X(eltwise) X(reduce) X(move) X(image) X(detect) X(seq)

#define X(group)                                                                                   \
    extern const qrn_op_def qrn_ops_##group[];                                                     \
    extern const size_t qrn_ops_##group##_count;
QRN_OP_GROUPS(X)
#undef X

#define MAX QRN_MAX_RANK

// Types, joined with |.
#define F32 QRN_T(F32)
#define F16 QRN_T(F16)
#define BF16 QRN_T(BF16)
#define I8 QRN_T(I8)
#define I16 QRN_T(I16)
#define I32 QRN_T(I32)
#define I64 QRN_T(I64)
#define U8 QRN_T(U8)
#define U16 QRN_T(U16)
#define U32 QRN_T(U32)
#define SQ4 QRN_T(SQ4)
#define SQ8 QRN_T(SQ8)
#define SQ16 QRN_T(SQ16)
#define SQ32 QRN_T(SQ32)
#define UQ4 QRN_T(UQ4)
#define UQ8 QRN_T(UQ8)
#define UQ16 QRN_T(UQ16)
#define UQ32 QRN_T(UQ32)
#define B8 QRN_T(B8)
#define STR QRN_T(STR)
#define FLOATS (F32 | F16)
#define ACT (FLOATS | UQ8 | SQ8 | UQ16)                          // usual activations
#define ACT16 (ACT | SQ16)                                       // with signed 16 bits
#define ANY ((((qrn_dtype_mask)1 << QRN_DTYPE_COUNT) - 1) & ~STR) // every number

// Operands: name, smallest and largest rank, types.
#define REQUIRED(name, lo, hi, types) {name, lo, hi, QRN_REQUIRED, types}
#define OPTIONAL(name, lo, hi, types) {name, lo, hi, QRN_OPTIONAL, types}
#define VARIADIC(name, lo, hi, types) {name, lo, hi, QRN_VARIADIC, types}
#define VARIADIC_ANY(name, lo, hi, types) {name, lo, hi, QRN_VARIADIC_ANY, types}

// Parameters; the _OPT forms carry the default as the documentation prints it.
#define SCALAR(name, types) {name, false, QRN_REQUIRED, types, 0, 0, "", NULL}
#define SCALAR_OPT(name, types, dflt) {name, false, QRN_OPTIONAL, types, 0, 0, dflt, NULL}
#define TENSOR(name, types, rank) {name, true, QRN_REQUIRED, types, rank, rank, "", NULL}
#define TENSOR_OPT(name, types, rank, dflt) {name, true, QRN_OPTIONAL, types, rank, rank, dflt, NULL}
#define ENUMERATORS(...) ((const qrn_enumerator[]){__VA_ARGS__, {NULL, 0}})
#define ENUM(name, types, ...)                                                                     \
    {name, false, QRN_REQUIRED, types, 0, 0, "", ENUMERATORS(__VA_ARGS__)}
#define ENUM_OPT(name, types, dflt, ...)                                                           \
    {name, false, QRN_OPTIONAL, types, 0, 0, dflt, ENUMERATORS(__VA_ARGS__)}

#define LIST(type, ...) ((const type[]){__VA_ARGS__})
#define LENGTH(type, ...) (sizeof(LIST(type, __VA_ARGS__)) / sizeof(type))
#define INS(...)                                                                                   \
    .ins = LIST(qrn_operand_def, __VA_ARGS__), .n_ins = LENGTH(qrn_operand_def, __VA_ARGS__)
#define OUTS(...)                                                                                  \
    .outs = LIST(qrn_operand_def, __VA_ARGS__), .n_outs = LENGTH(qrn_operand_def, __VA_ARGS__)
#define PARAMS(...)                                                                                \
    .params = LIST(qrn_param_def, __VA_ARGS__), .n_params = LENGTH(qrn_param_def, __VA_ARGS__)

#endif
