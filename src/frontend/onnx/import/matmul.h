// SPDX-License-Identifier: MIT
//
// Matmuls that several importers need.
#ifndef QRN_FRONTEND_ONNX_IMPORT_MATMUL_H
#define QRN_FRONTEND_ONNX_IMPORT_MATMUL_H

#include "frontend/onnx/import/compose.h"

bool ox_is_integer(int type); // 32 or 64-bit integers, held as 32 bits

// a [..., M, K] times b [..., K, N] of i32: exact, the low 32 bits are kept. Done element by
// element, so large ones are rejected.
qc_tensor *ox_matmul_ints(ox_expr *e, qc_tensor *a, qc_tensor *b);

// FullyConnected: x of any shape read as rows of K, weight [N, K] -> [rows, N].
void ox_fully_connected(ox_expr *e, const qc_tensor *x, const qc_tensor *weight,
                        const qc_tensor *bias, const qc_tensor *y);

#endif
