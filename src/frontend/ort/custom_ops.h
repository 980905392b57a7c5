// SPDX-License-Identifier: MIT
//
// Ops that no standard knows and a QNN library or an op package computes. onnxruntime refuses
// models with ops that it has no schema of, so placeholders are registered: any inputs, any
// outputs, no kernel. Nodes that no partition takes then fail the session.
#ifndef QRN_FRONTEND_ORT_CUSTOM_OPS_H
#define QRN_FRONTEND_ORT_CUSTOM_OPS_H

#include "frontend/ort/host.h"

typedef struct qe_custom_ops qe_custom_ops;

// The domain "qti_aisw", and those of ORT_QNN_CUSTOM_OP_DOMAINS: "domain:Op[,Op…][;domain:Op…]".
// `ep_name` must outlive it.
qrn_status qe_custom_ops_make(const char *ep_name, qe_custom_ops **out);
void qe_custom_ops_free(qe_custom_ops *c); // NULL is fine
// How many domains there are; the first `max` go to `out`.
size_t qe_custom_ops_domains(const qe_custom_ops *c, OrtCustomOpDomain **out, size_t max);

#endif
