// SPDX-License-Identifier: MIT
//
// Decompositions as expressions: each function emits one QNN op on tensors and returns its result,
// with the shape worked out. The first failure is kept in the expression; the op that failed and
// everything after it return NULL, and NULL operands make NULL, so that callers check once, with
// ox_done. Who looks into a tensor (`x->rank`) checks for NULL before.
#ifndef QRN_FRONTEND_ONNX_IMPORT_COMPOSE_H
#define QRN_FRONTEND_ONNX_IMPORT_COMPOSE_H

#include "frontend/onnx/import.h"

typedef struct ox_expr {
    ox_import *im;
    const ox_node *n;
    qrn_status s;
    qc_tensor *to; // where the next op writes, NULL: to a new tensor
    bool exact;    // constant factors need no remainder (compose.c)
    // Set by ox_begin_formula (formula.h) alone:
    ox_layout layout;     // in which the op runs
    uint32_t rank;        // that operands are brought to
    Qnn_DataType_t dtype; // in which it is computed
} ox_expr;

ox_expr ox_begin(ox_import *im, const ox_node *n);
qrn_status ox_done(const ox_expr *e);
// The next op writes to y, whose shape must be the one that the op has.
void ox_into(ox_expr *e, qc_tensor *y);

// Inputs and outputs of the node as float: f16 stays f16, everything else (quantized units too) is
// f32. ox_end_real ends an output begun with ox_out_real.
qc_tensor *ox_in_real(ox_expr *e, uint32_t i, ox_layout layout);
qc_tensor *ox_out_real(ox_expr *e, uint32_t i, ox_layout layout);
qrn_status ox_end_real(ox_expr *e, uint32_t i, ox_layout layout, const qc_tensor *y);

Qnn_DataType_t ox_real_type(const ox_expr *e); // what "float" means there

// The same without a change of numbers: fixed point stays fixed point. s16, which few ops take, is
// converted to u16 and back.
qc_tensor *ox_fixed_in(ox_expr *e, uint32_t i, ox_layout layout);
qc_tensor *ox_fixed_out(ox_expr *e, uint32_t i, ox_layout layout);
qrn_status ox_fixed_end(ox_expr *e, uint32_t i, ox_layout layout, qc_tensor *y);

qc_tensor *ox_unary(ox_expr *e, const char *op, qc_tensor *x);
qc_tensor *ox_binary(ox_expr *e, const char *op, qc_tensor *a, qc_tensor *b);
// op(x, value) with a constant of x's type (f32, f16, i32, u32).
qc_tensor *ox_with(ox_expr *e, const char *op, qc_tensor *x, double value);
// A comparison: the result is boolean.
qc_tensor *ox_compare(ox_expr *e, const char *op, qc_tensor *a, qc_tensor *b);
qc_tensor *ox_select(ox_expr *e, qc_tensor *cond, qc_tensor *a, qc_tensor *b);
// Casts when the type differs; quantized values count as the stored integers.
qc_tensor *ox_as(ox_expr *e, qc_tensor *x, Qnn_DataType_t dtype);
// Convert: the same real numbers in the type and encoding of `like`.
qc_tensor *ox_convert(ox_expr *e, qc_tensor *x, const qc_tensor *like);
qc_tensor *ox_reshape(ox_expr *e, qc_tensor *x, uint32_t rank, const uint32_t *dims);
qc_tensor *ox_transpose(ox_expr *e, qc_tensor *x, const uint32_t *perm);
// `last` moved to the end (or, ox_axis_back, from the end to `axis`); x itself if it is there.
qc_tensor *ox_axis_to_end(ox_expr *e, qc_tensor *x, uint32_t axis);
qc_tensor *ox_axis_back(ox_expr *e, qc_tensor *x, uint32_t axis);
// Reductions with parameters axes and keep_dims.
qc_tensor *ox_reduce(ox_expr *e, const char *op, qc_tensor *x, const uint32_t *axes, uint32_t n,
                     bool keep);
// Every `step`-th index of one axis from `first`, `count` of them; step may be negative.
qc_tensor *ox_slice(ox_expr *e, qc_tensor *x, uint32_t axis, uint32_t first, uint32_t count,
                    int32_t step);
qc_tensor *ox_reverse(ox_expr *e, qc_tensor *x, uint32_t axis);
// Constant padding with the real number `value`; pad: before, after per dimension.
qc_tensor *ox_pad(ox_expr *e, qc_tensor *x, const uint32_t *pad, float value);
qc_tensor *ox_concat(ox_expr *e, qc_tensor *const *x, uint32_t n, uint32_t axis);
qc_tensor *ox_tile(ox_expr *e, qc_tensor *x, const uint32_t *multiples);
qc_tensor *ox_gather(ox_expr *e, qc_tensor *table, qc_tensor *indices, uint32_t axis);
qc_tensor *ox_matmul(ox_expr *e, qc_tensor *a, qc_tensor *b, bool transpose_a, bool transpose_b);
qc_tensor *ox_softmax(ox_expr *e, const char *op, qc_tensor *x, uint32_t axis);
qc_tensor *ox_softplus(ox_expr *e, qc_tensor *x);

// Constants: of the type of `like` (float or 32-bit integer), and plain i32.
qc_tensor *ox_floats(ox_expr *e, const qc_tensor *like, uint32_t rank, const uint32_t *dims,
                     const float *values);
qc_tensor *ox_ints(ox_expr *e, uint32_t rank, const uint32_t *dims, const int32_t *values);

Qnn_DataType_t ox_type_of(const qc_tensor *t); // UNDEFINED for NULL
// The shape that two tensors broadcast to.
void ox_broadcast_dims(const qc_tensor *a, const qc_tensor *b, uint32_t *rank, uint32_t *dims);
// Would the backend take the open op? For decompositions of what it refuses. After a failure it
// says yes: nothing more is emitted anyway.
bool ox_taken(ox_expr *e, qc_op *o);
// Adds an open op's status to the expression and ends it.
void ox_end(ox_expr *e, qc_op *o);
// The same for an op whose result is y, and then y.
qc_tensor *ox_ended(ox_expr *e, qc_op *o, qc_tensor *y);
// y, or NULL after a failure.
qc_tensor *ox_made(const ox_expr *e, qc_tensor *y);
// The tensor that the next op writes to: `to` or a new one like x with this shape.
qc_tensor *ox_result_like(ox_expr *e, const qc_tensor *x, uint32_t rank, const uint32_t *dims);
qc_tensor *ox_result_typed(ox_expr *e, Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims);

#endif
