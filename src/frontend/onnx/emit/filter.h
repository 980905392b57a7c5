// SPDX-License-Identifier: MIT
//
// Constant filters and matrices: permuted once, on the host, through a buffer that lives no longer
// than it takes to make the static tensor.
#ifndef QRN_FRONTEND_ONNX_FILTER_H
#define QRN_FRONTEND_ONNX_FILTER_H

#include "frontend/onnx/import.h"

// The constant of input i with its dimensions permuted and brought to `rank` by leading 1s; *out is
// NULL when the input is not constant. In a quantized unit stored values and encoding follow,
// unless `real` asks for float. Inputs that share a constant share the tensor.
qrn_status ox_static_permuted(ox_import *im, const ox_node *n, uint32_t i, const uint32_t *perm,
                              uint32_t rank, bool real, qc_tensor **out);

// The constant v with its dimensions permuted, stored values and encoding alike.
qrn_status ox_static_moved(ox_import *im, const ox_val *v, const uint32_t *perm, qc_tensor **out);

// Notes, where v has 4 bits, that the node reads its real numbers.
void ox_note_table(const ox_import *im, const ox_node *n, const ox_val *v);

// The real numbers of constant input i, freed by the caller with qrn_free; NULL with QRN_OK when it
// is not constant.
qrn_status ox_real_numbers(ox_import *im, const ox_node *n, uint32_t i, float **out);

#endif
