// SPDX-License-Identifier: MIT
//
// Matmuls by weights that stay quantized: of floats, and of fixed point by weights in blocks.
#ifndef QRN_FRONTEND_ONNX_IMPORT_WEIGHT_ONLY_H
#define QRN_FRONTEND_ONNX_IMPORT_WEIGHT_ONLY_H

#include "frontend/onnx/import/compose.h"

typedef struct ox_weight_only {
    ox_val *w;         // the quantized constant
    bool rows;         // it is [N, K]; else [K, N]
    const float *bias; // N numbers, NULL: none
} ox_weight_only;

// The quantized constant behind input i of the node, fit to be such weights; NULL: it is none.
ox_val *ox_weights_of(const ox_expr *e, uint32_t i);

// y = x w + bias, where x [..., K] and y [..., N] are floats or, both, fixed point; written to y.
// False where the backend does not support it: nothing was emitted. After a failure it says true.
bool ox_multiply_quantized(ox_expr *e, const ox_weight_only *m, qc_tensor *x, qc_tensor *y);

// Would the backend support it with fixed-point x and a result of this type (ox_out_type)?
bool ox_multiplies_fixed(ox_expr *e, const ox_weight_only *m, const qc_tensor *x,
                         Qnn_DataType_t type);

// Notes that these weights become floats.
void ox_note_expanded(const ox_expr *e);

#endif
