// SPDX-License-Identifier: MIT
//
// Computing nodes while importing: shape arithmetic and other ops on constants. A pure function of
// the node and its constant inputs; exact for integers (64 bits, wrapping), double for floats,
// rounded once.
#ifndef QRN_FRONTEND_ONNX_FOLD_H
#define QRN_FRONTEND_ONNX_FOLD_H

#include "frontend/onnx/import.h"

typedef struct ox_folded {
    int type;
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK];
    // Dense, packed as in ox_tensor; in the arena, or where the input or attribute has it when
    // only the shape changes (Identity, Reshape, Constant, ...). Never NULL.
    const void *data;
    size_t bytes;
} ox_folded;

// Computes all outputs of n into out[n->n_out]. in[n->n_in]; in[i] is NULL for an absent input.
// Shape, Size and EyeLike need only a known shape, everything else needs data in every present
// input. QRN_E_UNSUPPORTED (with no message worth showing): this op is not computed here, import
// it; other failures are errors in the model. Results larger than `max_bytes` are left to the
// backend (QRN_E_UNSUPPORTED), unless they share the input's data.
qrn_status ox_fold(const ox_node *n, int64_t opset, const ox_val *const *in, size_t max_bytes,
                   qrn_arena *arena, ox_folded *out);

#endif
