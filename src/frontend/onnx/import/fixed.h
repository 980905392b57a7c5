// SPDX-License-Identifier: MIT
//
// Decompositions in 16-bit fixed point, where floats would be fp16, whose 11 bits are coarser than
// the quantized values: the functions of compose.h on u16 tensors, each result with an encoding
// that holds every value that its operands' encodings allow. Only ops in whose decomposition such
// ranges stay narrow are imported so (float16.c); results are within 4 quantization steps.
#ifndef QRN_FRONTEND_ONNX_IMPORT_FIXED_H
#define QRN_FRONTEND_ONNX_IMPORT_FIXED_H

#include "frontend/onnx/import/compose.h"

typedef struct ox_range {
    double lo, hi; // lo <= 0 <= hi
} ox_range;

// Is the expression's node imported so, and x one of its tensors, fixed or a float constant?
bool ox_is_ranged(const ox_expr *e, const qc_tensor *x);
ox_range ox_range_of(const qc_tensor *x);
// Where the next op writes: `to`, or a new u16 tensor that holds the range.
qc_tensor *ox_ranged(ox_expr *e, ox_range r, uint32_t rank, const uint32_t *dims);
// x as u16: float constants are quantized.
qc_tensor *ox_as_ranged(ox_expr *e, qc_tensor *x);
// x with an encoding that holds `r`; x itself where it has this one.
qc_tensor *ox_with_range(ox_expr *e, qc_tensor *x, ox_range r);
// x in the encoding of `to`, which the next op (one that moves values) writes to; else x.
qc_tensor *ox_as_target(ox_expr *e, qc_tensor *x);

// Fails where x, a value inside, has steps so much wider than those of `to`, the result, that more
// than four of these would be lost.
void ox_check_fine(ox_expr *e, const qc_tensor *x);

// What op(x), op(a, b) and the others can be; false after a failure: the op has no such rule.
bool ox_unary_range(ox_expr *e, const char *op, const qc_tensor *x, ox_range *out);
bool ox_binary_range(ox_expr *e, const char *op, const qc_tensor *a, const qc_tensor *b,
                     ox_range *out);
ox_range ox_reduce_range(const char *op, const qc_tensor *x, uint32_t n_reduced);
// What a sum of `depth` products can be.
ox_range ox_matmul_range(const qc_tensor *a, const qc_tensor *b, uint32_t depth);
// What products of x with constant matrices of depth x others can be; `rows`: others x depth.
ox_range ox_weighted_range(const qc_tensor *x, const qc_tensor *w, uint32_t depth, uint32_t others,
                           bool rows);
ox_range ox_union_range(const qc_tensor *a, const qc_tensor *b);
// The second factor of a matmul: 16 bits without an offset.
qc_tensor *ox_second_factor(ox_expr *e, qc_tensor *b);

#endif
