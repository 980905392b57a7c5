// SPDX-License-Identifier: MIT
//
// Constants of 4 or 8 bits as weights of ops on floats (weight-only quantization): they stay
// quantized, in one of two forms:
//   as they are   the type of the constant, with a scale and an offset for the tensor, for each
//                 channel or for each block
//   in bytes      signed bytes, with the number of bits that count in the encoding: so the HTP
//                 supports them beside float16 activations; beside fixed-point ones it wants block
//                 scales as factors of a channel's scale (BLOCKWISE_EXPANSION), where they are
#ifndef QRN_FRONTEND_ONNX_WEIGHTS_H
#define QRN_FRONTEND_ONNX_WEIGHTS_H

#include "frontend/onnx/import.h"

// Is v a constant that may be such weights?
bool ox_weights_are(const ox_val *v);

// How a matrix is to be held.
typedef struct ox_weights_form {
    bool swap;        // with its two dimensions exchanged
    bool in_bytes;    // see above
    bool expansion;   // block scales as factors, where they are such
    uint32_t channel; // which dimension of the constant counts the outputs
} ox_weights_form;

// The static tensor that ox_weights_make would make of matrix v, for qc_op_validate.
qrn_status ox_weights_describe(ox_import *im, const ox_val *v, const ox_weights_form *f,
                               qc_tensor *out);
// Ops that share v share the tensor.
qrn_status ox_weights_make(ox_import *im, ox_val *v, const ox_weights_form *f, qc_tensor **out);

// Replaces data and encoding of the constant v where scales are negative or 0, which QNN does not
// have: -s (q - z) is s ((m - q) - (m - z)), and 0 (q - z) is 1 (z - z). Exact.
qrn_status ox_positive_scales(ox_import *im, ox_val *v);

// The encoding of v when dimension perm[i] of v is at position i; NULL: out of memory.
const ox_enc *ox_permuted_encoding(ox_import *im, const ox_val *v, const uint32_t *perm);

// Group of the encoding of v that element i belongs to.
uint32_t ox_group_of(const ox_val *v, size_t i);

#endif
