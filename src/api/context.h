// SPDX-License-Identifier: MIT
//
// Contexts inside the API layer: making and ending them, their options, loading binaries.
#ifndef QRN_API_CONTEXT_H
#define QRN_API_CONTEXT_H

#include "core/own.h"

// Backend and device of a call that makes a context.
typedef struct qrn_context_parent {
    qrn_api_backend *backend;
    qrn_api_device *device; // NULL: default
} qrn_context_parent;

// Looks both handles up; QRN_E_HANDLE when one is bad.
qrn_status qrn_context_parents(const void *backend, const void *device, qrn_context_parent *p);

// A new, empty context with its handle and options; any phase but CREATE: its graphs will come from
// a binary.
qrn_status qrn_api_context_new(const qrn_context_parent *p, const QnnContext_Config_t **config,
                               qrn_config_phase phase, qrn_api_context **context);
// Ends graphs, tensors, memory handles and the context. The backend's part goes first: when it
// refuses, nothing has changed.
qrn_status qrn_api_context_end(qrn_api_context *c);

// Applies a list of options, all or none.
qrn_status qrn_api_context_configure(qrn_api_context *c, const QnnContext_Config_t **config,
                                     qrn_config_phase phase);
// Checks a list for contexts from binaries, without a context.
qrn_status qrn_api_context_check_config(const QnnContext_Config_t **config);

// Makes the graphs of a binary that was deferred; nothing to do for other contexts.
qrn_status qrn_api_context_load(qrn_api_context *c);

// A context can be serialised when it was built here and all its graphs are finalized.
qrn_status qrn_context_can_save(qrn_api_context *c);

// Ends a call that was given no context.
Qnn_ErrorHandle_t qrn_not_a_context(const char *function);

#endif
