// SPDX-License-Identifier: MIT
//
// Tensors of a context. Tensors of graphs and of the context itself share one table of ids. What
// backends ask too is in services.h.
#ifndef QRN_CORE_TENSOR_H
#define QRN_CORE_TENSOR_H

#include "core/own.h"

// The next free id, whose tensor is not complete yet; 0: no memory.
uint32_t qrn_tensor_reserve_id(qrn_api_context *c);
// The tensor of a context with this id that graph `g` may use: its own, one of an ancestor, or one
// of the context; NULL when there is none.
qrn_tensor *qrn_tensor_find(qrn_api_context *c, const qrn_graph *g, uint32_t id);

#endif
