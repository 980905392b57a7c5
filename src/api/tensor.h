// SPDX-License-Identifier: MIT
//
// From the client's tensor descriptions to tensors of the graph: checks, encodings, constant data.
// The same parsing serves tensor creation and the validation of single ops.
#ifndef QRN_API_TENSOR_H
#define QRN_API_TENSOR_H

#include "core/tensor.h"

// Where a tensor is described, for messages: "graph 'g' tensor 't': ...".
typedef struct qrn_site {
    const char *kind;   // "graph", "context", "node"
    const char *owner;  // name of it; "" for a context
    const char *tensor; // name of the tensor, "" when it has none
} qrn_site;

// Fails with "<kind> '<owner>' tensor '<tensor>': <text>".
qrn_status qrn_site_fail(const qrn_site *w, qrn_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define QRN_SITE_FAIL(site, status, ...)                                                           \
    qrn_failed(qrn_site_fail((site), (status), __VA_ARGS__), (status))

typedef enum qrn_tensor_place {
    QRN_PLACE_GRAPH,   // createGraphTensor
    QRN_PLACE_CONTEXT, // createContextTensor
    QRN_PLACE_OP // operand or parameter of an op that is only validated: names and data may lack
} qrn_tensor_place;

// Version 1 and 2 descriptions agree up to the data union, so both are read through this; what lies
// behind the union may be looked at for version 2 only.
static inline const Qnn_TensorV2_t *qrn_client_tensor(const Qnn_Tensor_t *t) { return &t->v2; }
static inline bool qrn_client_is_v2(const Qnn_Tensor_t *t) {
    return t->version == QNN_TENSOR_VERSION_2;
}

// Checks a description, data left aside, and fills *t: role, type, format, shape, dynamic
// dimensions, size. Allocates nothing; t->name is the client's. Fails with QRN_E_TENSOR for what is
// wrong and QRN_E_TENSOR_UNSUPPORTED for what this backend lacks.
qrn_status qrn_tensor_parse(const Qnn_Tensor_t *src, qrn_tensor_place place, const qrn_site *w,
                            qrn_tensor *t);

// Normalises the encoding of a tensor that was parsed into t->quant; arrays go to `a`. Checks come
// before the first allocation.
qrn_status qrn_quant_parse(const Qnn_QuantizeParams_t *src, const qrn_site *w, qrn_arena *a,
                           qrn_tensor *t);

#endif
