// SPDX-License-Identifier: MIT
//
// Tensors of a context: ids, names, constant data. Tensors of graphs and of the context itself
// share one table of ids.
#ifndef QRN_CORE_TENSOR_H
#define QRN_CORE_TENSOR_H

#include "core/objects.h"

// The context's copy of constant data, with one more user: equal bytes are stored once. NULL when
// out of memory.
const void *qrn_context_add_data(qrn_api_context *c, const void *data, size_t size_bytes);
// One user less; the last one frees it. NULL is fine.
void qrn_context_drop_data(qrn_api_context *c, const void *data);

// The next free id, whose tensor is not complete yet; 0: no memory.
uint32_t qrn_tensor_reserve_id(qrn_api_context *c);
// Enters a tensor (in an arena that lives as long as the context) into the context's table and,
// unless g is NULL, into the graph; gives it an id when it has none.
qrn_status qrn_tensor_add(qrn_api_context *c, qrn_api_graph *g, qrn_tensor *t);

// The tensor of a context with this id that graph `g` may use: its own, one of an ancestor, or one
// of the context; NULL when there is none.
qrn_tensor *qrn_tensor_find(qrn_api_context *c, const qrn_graph *g, uint32_t id);

// Does the update keep everything that compiled graphs rely on (role, type, shape, kind of
// encoding)?
bool qrn_tensor_same_form(const qrn_tensor *a, const qrn_tensor *b);

#endif
