// SPDX-License-Identifier: MIT
//
// What ops with reduced axes share.
#ifndef QRN_FRONTEND_ONNX_IMPORT_REDUCE_H
#define QRN_FRONTEND_ONNX_IMPORT_REDUCE_H

#include "frontend/onnx/import/compose.h"

// Which axes go, and where to compute.
typedef struct ox_reduction {
    uint32_t n, axes[OX_MAX_RANK]; // positions in `layout`
    bool keep;
    ox_layout layout;                 // to take the input in ...
    ox_layout out_layout;             // ... and to make the output in
    uint32_t rank, dims[OX_MAX_RANK]; // of the output, as ONNX has them
} ox_reduction;

// For input 0 and these ONNX axes (distinct). The layout is the one in which the input is, unless
// dropping axes would leave the others in another order than ONNX has them.
void ox_reduction_plan(ox_import *im, const ox_node *n, const uint32_t *axes, uint32_t count,
                       bool keep, ox_reduction *r);

// i32 whose order is that of u32, and back: the sign bit is inverted.
qc_tensor *ox_flip_sign(ox_expr *e, qc_tensor *x);

#endif
