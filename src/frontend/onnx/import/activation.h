// SPDX-License-Identifier: MIT
//
// Activations that fused ops of com.microsoft carry as attributes.
#ifndef QRN_FRONTEND_ONNX_IMPORT_ACTIVATION_H
#define QRN_FRONTEND_ONNX_IMPORT_ACTIVATION_H

#include "frontend/onnx/import/compose.h"

// The node's attribute `activation` (with activation_params, or activation_alpha and so on) applied
// to x; none or an empty name: x itself, copied if a target is set.
qc_tensor *ox_activate(ox_expr *e, qc_tensor *x);

#endif
