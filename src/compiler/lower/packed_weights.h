// SPDX-License-Identifier: MIT
//
// Quantized sums of products with weights that are known at finalize: packs them and emits a step
// of the dense8 or dense_planes family.
#ifndef QRN_COMPILER_LOWER_PACKED_WEIGHTS_H
#define QRN_COMPILER_LOWER_PACKED_WEIGHTS_H

#include "compiler/lower/quantized.h"

// bias: its value in the units that the families want, or QRN_VAL_NONE. QRN_E_UNSUPPORTED without
// any message: the weights are not known, or no packing fits. What is decided here depends on
// types, shapes and encodings; on the values of the weights only when they are first packed.
qrn_status qrn_lower_packed_weights(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                                    qrn_val bias);

#endif
