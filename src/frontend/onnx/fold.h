// SPDX-License-Identifier: MIT
//
// Computing nodes while importing: shape arithmetic and other ops on constants. A pure function of
// the node and its constant inputs; exact for integers (64 bits), double for floats, rounded once.
#ifndef QRN_FRONTEND_ONNX_FOLD_H
#define QRN_FRONTEND_ONNX_FOLD_H

#include "frontend/onnx/import.h"

typedef struct ox_folded {
    int type;
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK];
    void *data; // dense, in the arena, packed as in ox_tensor
    size_t bytes;
} ox_folded;

// Computes all outputs of n into out[n->n_out]. in[i] is NULL for an absent input. Shape and Size
// need only a known shape, everything else needs data in every present input. QRN_E_UNSUPPORTED
// (with no message worth showing): this op is not computed here, import it; other failures are
// errors in the model. Results larger than `max_bytes` are left to the backend (QRN_E_UNSUPPORTED).
qrn_status ox_fold(const ox_node *n, int64_t opset, const ox_val *const *in, size_t max_bytes,
                   qrn_arena *arena, ox_folded *out);

#endif
