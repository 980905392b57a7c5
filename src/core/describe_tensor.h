// SPDX-License-Identifier: MIT
//
// Tensors as the API has them.
#ifndef QRN_CORE_DESCRIBE_TENSOR_H
#define QRN_CORE_DESCRIBE_TENSOR_H

#include "base/arena.h"
#include "ir/tensor.h"

#include "QnnTypes.h"

// Describes a tensor, without its data; everything is copied into the arena.
qrn_status qrn_tensor_describe(const qrn_tensor *t, qrn_arena *a, Qnn_Tensor_t *out);

#endif
