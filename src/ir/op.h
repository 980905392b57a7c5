// SPDX-License-Identifier: MIT
//
// The op table: every op described once. Validation, shape checks, dynamic shapes, error messages
// and documentation read it. Rows live in src/ir/ops/<group>.c beside their shape rules.
#ifndef QRN_IR_OP_H
#define QRN_IR_OP_H

#include "ir/tensor.h"

typedef enum qrn_presence {
    QRN_REQUIRED,
    QRN_OPTIONAL,
    QRN_VARIADIC,    // last operand only: one or more
    QRN_VARIADIC_ANY // last operand only: zero or more
} qrn_presence;

typedef struct qrn_operand_def {
    const char *name;
    uint8_t rank_min, rank_max; // inclusive
    uint8_t presence;           // qrn_presence
    qrn_dtype_mask types;       // union over all backends; a backend's own table narrows it
} qrn_operand_def;

typedef struct qrn_enumerator {
    const char *name;
    uint32_t value;
} qrn_enumerator;

typedef struct qrn_param_def {
    const char *name;
    bool is_tensor;
    uint8_t presence; // QRN_REQUIRED or QRN_OPTIONAL
    qrn_dtype_mask types;
    uint8_t rank_min, rank_max; // tensor parameters
    const char *default_text;   // for the documentation; "" when required
    // NULL, or a list that ends with a NULL name; other values are refused.
    const qrn_enumerator *enums;
} qrn_param_def;

// A parameter as given: scalar value or static tensor.
typedef struct qrn_param {
    bool present;
    bool is_tensor;
    qrn_dtype dtype; // of the scalar
    union {
        int64_t i;     // signed integers
        uint64_t u;    // unsigned integers, bool
        double f;      // floats
        const char *s; // strings
    } value;
    const qrn_tensor *tensor; // data may be NULL while only validating
} qrn_param;

// One op with its operands, as validation and shape rules see it.
typedef struct qrn_op_call {
    const char *graph, *node; // for messages
    const struct qrn_op_def *op;
    uint32_t n_in, n_out;
    const qrn_tensor *const *in;  // NULL entries: absent optional inputs
    const qrn_tensor *const *out; // NULL entries: absent optional outputs
    const qrn_param *params;      // one per op->params row, in that order
    const qrn_shape *in_shape;    // [n_in] current input shapes (rules read these, not in[i])
    qrn_shape *out_shape;         // [n_out] rules write what the inputs imply; starts as the
                                  // declared shape, so a rule may leave it (Resize)
} qrn_op_call;

// Checks what the table cannot say and writes out_shape. Called while validating, when a node is
// added and, for dynamic dimensions, before each execution. Allocates nothing.
typedef qrn_status (*qrn_op_rule)(const qrn_op_call *c);

typedef enum qrn_op_flags {
    QRN_OP_DYNAMIC = 1,  // dynamic dimensions are allowed
    QRN_OP_STATEFUL = 2, // keeps state across executions
    QRN_OP_RANDOM = 4,   // never folded
    QRN_OP_CONTROL = 8,  // runs other graphs
    QRN_OP_OUT_MAX = 16, // output dims are maxima, the kernel writes the actual ones
    QRN_OP_SPARSE = 32,  // reads or makes sparse tensors
    QRN_OP_DEPRECATED = 64
} qrn_op_flags;

typedef struct qrn_op_def {
    const char *name;     // "Conv2d"
    const char *category; // "conv"
    const qrn_operand_def *ins;
    const qrn_operand_def *outs;
    const qrn_param_def *params;
    uint8_t n_ins, n_outs, n_params;
    uint32_t flags;   // qrn_op_flags
    qrn_op_rule rule; // never NULL
} qrn_op_def;

// Looks an op up by its type name; NULL when unknown.
const qrn_op_def *qrn_op_find(const char *name);
// The i-th op in table order, for listing; NULL behind the last one.
const qrn_op_def *qrn_op_at(size_t i);

// The generic part: operand and parameter counts, presence, ranks, types, enumerators; then the
// rule; then declared against implied output shapes. The one entry for validate, addNode and
// finalize.
qrn_status qrn_op_validate(const qrn_op_call *c);

// The part of it that looks at sparse operands of ops that also run on dense ones.
qrn_status qrn_op_check_sparse(const qrn_op_call *c);

// --- for rules

// Position of a parameter in op->params; the name must exist (asserted).
uint32_t qrn_op_param_index(const qrn_op_def *op, const char *name);
// Never NULL: `present` says whether it was given.
const qrn_param *qrn_op_param(const qrn_op_call *c, const char *name);
uint32_t qrn_op_u32(const qrn_op_call *c, const char *name, uint32_t fallback);
int32_t qrn_op_i32(const qrn_op_call *c, const char *name, int32_t fallback);
float qrn_op_f32(const qrn_op_call *c, const char *name, float fallback);
bool qrn_op_bool(const qrn_op_call *c, const char *name, bool fallback);
// Data of a tensor parameter with element type u32 or i32 (same bits); *count elements. NULL when
// the parameter is absent or carries no data (validation before the data is known: skip value
// checks).
const uint32_t *qrn_op_u32s(const qrn_op_call *c, const char *name, size_t *count);
const int32_t *qrn_op_i32s(const qrn_op_call *c, const char *name, size_t *count);
const float *qrn_op_f32s(const qrn_op_call *c, const char *name, size_t *count);

// Failure in a rule: "graph 'g' node 'n' (Conv2d): ..." with QRN_E_SHAPE / QRN_E_DTYPE /
// QRN_E_PARAM.
qrn_status qrn_op_fail(const qrn_op_call *c, qrn_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Common rules. Each writes out_shape[0] (or all outputs) and checks.
qrn_status qrn_rule_same_shape(const qrn_op_call *c); // every output has the shape of in[0]
qrn_status qrn_rule_broadcast(const qrn_op_call *c);  // out[0] = broadcast of all inputs
// Prelu: does alpha have one element for each index of x's dimension 1, and no other meaning? That
// is how PyTorch counts channels, and ExecuTorch hands it on.
bool qrn_prelu_by_channel(const qrn_shape *x, const qrn_shape *alpha);
bool qrn_shape_broadcast(const qrn_shape *a, const qrn_shape *b, qrn_shape *out);
// in[i] and out[o] must have equal dtypes (both present).
qrn_status qrn_op_same_dtype(const qrn_op_call *c, uint32_t i, uint32_t o);

#endif
