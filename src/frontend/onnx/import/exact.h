// SPDX-License-Identifier: MIT
//
// Products of 8-bit integers with 32-bit sums (ConvInteger, MatMulInteger). QNN multiplies floats,
// whose sums are exact below 2^24 only: operands are split into parts until every sum is.
#ifndef QRN_FRONTEND_ONNX_IMPORT_EXACT_H
#define QRN_FRONTEND_ONNX_IMPORT_EXACT_H

#include "frontend/onnx/import/compose.h"

// A linear map of f32 tensors, emitted for given operands.
typedef qc_tensor *(*ox_product_fn)(ox_expr *e, const void *ctx, qc_tensor *a, qc_tensor *b);

// fn(a, b) as i32, where the elements of a and b are integers of magnitude at most 255 and each
// result sums `depth` products.
qc_tensor *ox_exact_product(ox_expr *e, qc_tensor *a, qc_tensor *b, uint32_t depth,
                            ox_product_fn fn, const void *ctx);

// Input i as f32 less its zero point (input `zero`, may be absent): one number, or one for each
// index of `axis`.
qc_tensor *ox_in_minus(ox_expr *e, uint32_t i, ox_layout layout, uint32_t zero, uint32_t axis);

// MatMulInteger by one MatMul of quantized bytes with 32-bit results, where the backend has that:
// the sums as they are, i32, of this shape. False: it does not, or operands do not fit; nothing was
// emitted. *y is NULL after a failure.
bool ox_bytes_product(ox_expr *e, uint32_t rank, const uint32_t *dims, qc_tensor **y);

#endif
