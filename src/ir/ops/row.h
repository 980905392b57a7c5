// SPDX-License-Identifier: MIT
//
// Words for writing op table rows; included by the files of src/ir/ops and by op_table.c alone.
// A row names everything it sets; operands and parameters are lists of the words below.
#ifndef QRN_IR_OPS_ROW_H
#define QRN_IR_OPS_ROW_H

#include "ir/op.h"
#include "ir/type_words.h"

// Every group of rows: qrn_ops_<group>[qrn_ops_<group>_count].
#define QRN_OP_GROUPS(X) X(conv) X(pool) X(eltwise) X(reduce) X(move) X(image) X(detect) X(seq)

#define X(group)                                                                                   \
    extern const qrn_op_def qrn_ops_##group[];                                                     \
    extern const size_t qrn_ops_##group##_count;
QRN_OP_GROUPS(X)
#undef X

#define MAX QRN_MAX_RANK

// Operands: name, smallest and largest rank, types.
#define REQUIRED(name, lo, hi, types)                                                              \
    { name, lo, hi, QRN_REQUIRED, types }
#define OPTIONAL(name, lo, hi, types)                                                              \
    { name, lo, hi, QRN_OPTIONAL, types }
#define VARIADIC(name, lo, hi, types)                                                              \
    { name, lo, hi, QRN_VARIADIC, types }
#define VARIADIC_ANY(name, lo, hi, types)                                                          \
    { name, lo, hi, QRN_VARIADIC_ANY, types }

// Parameters; the _OPT forms carry the default as the documentation prints it.
#define SCALAR(name, types)                                                                        \
    { name, false, QRN_REQUIRED, types, 0, 0, "", NULL }
#define SCALAR_OPT(name, types, dflt)                                                              \
    { name, false, QRN_OPTIONAL, types, 0, 0, dflt, NULL }
#define TENSOR(name, types, rank)                                                                  \
    { name, true, QRN_REQUIRED, types, rank, rank, "", NULL }
#define TENSOR_OPT(name, types, rank, dflt)                                                        \
    { name, true, QRN_OPTIONAL, types, rank, rank, dflt, NULL }
#define ENUMERATORS(...) ((const qrn_enumerator[]){__VA_ARGS__, {NULL, 0}})
#define ENUM(name, types, ...)                                                                     \
    { name, false, QRN_REQUIRED, types, 0, 0, "", ENUMERATORS(__VA_ARGS__) }
#define ENUM_OPT(name, types, dflt, ...)                                                           \
    { name, false, QRN_OPTIONAL, types, 0, 0, dflt, ENUMERATORS(__VA_ARGS__) }

#define LIST(type, ...) ((const type[]){__VA_ARGS__})
#define LENGTH(type, ...) (sizeof(LIST(type, __VA_ARGS__)) / sizeof(type))
#define INS(...)                                                                                   \
    .ins = LIST(qrn_operand_def, __VA_ARGS__), .n_ins = LENGTH(qrn_operand_def, __VA_ARGS__)
#define OUTS(...)                                                                                  \
    .outs = LIST(qrn_operand_def, __VA_ARGS__), .n_outs = LENGTH(qrn_operand_def, __VA_ARGS__)
#define PARAMS(...)                                                                                \
    .params = LIST(qrn_param_def, __VA_ARGS__), .n_params = LENGTH(qrn_param_def, __VA_ARGS__)

#endif
