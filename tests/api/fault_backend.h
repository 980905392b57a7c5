// SPDX-License-Identifier: MIT
//
// A backend for tests of the API layer: it has every feature and every function, and each function
// fails on demand. It is linked in the place of a real backend.
#ifndef TESTS_API_FAULT_BACKEND_H
#define TESTS_API_FAULT_BACKEND_H

#include "core/backend.h"

#include <stdatomic.h>

// One name per function of qrn_backend that returns a status.
#define FAULT_LIST(X)                                                                              \
    X(BACKEND_CONFIG)                                                                              \
    X(DEVICE_CONFIG)                                                                               \
    X(CONTEXT_CONFIG)                                                                              \
    X(GRAPH_CONFIG)                                                                                \
    X(DEVICE_PLATFORM)                                                                             \
    X(LOG_LEVEL)                                                                                   \
    X(BACKEND_CREATE)                                                                              \
    X(BACKEND_FREE)                                                                                \
    X(DEVICE_CREATE)                                                                               \
    X(DEVICE_FREE)                                                                                 \
    X(CONTEXT_CREATE)                                                                              \
    X(CONTEXT_FREE)                                                                                \
    X(GRAPH_CREATE)                                                                                \
    X(PACKAGE_REGISTER)                                                                            \
    X(PACKAGE_VALIDATE)                                                                            \
    X(GRAPH_FINALIZE)                                                                              \
    X(GRAPH_EXECUTE)                                                                               \
    X(MEM_MAP)                                                                                     \
    X(BINARY_SIZE)                                                                                 \
    X(BINARY_WRITE)                                                                                \
    X(BINARY_LOAD)                                                                                 \
    X(BINARY_VALIDATE)                                                                             \
    X(SECTION_SIZE)                                                                                \
    X(SECTION_WRITE)                                                                               \
    X(SECTION_APPLY)                                                                               \
    X(SECTION_UPDATE)                                                                              \
    X(BACKEND_PROPERTY)                                                                            \
    X(CONTEXT_PROPERTY)                                                                            \
    X(GRAPH_PROPERTY)                                                                              \
    X(PLATFORM_INFO)                                                                               \
    X(INFRASTRUCTURE)                                                                              \
    X(GLOBAL_CONFIG)

typedef enum fault_id {
#define X(name) FAULT_##name,
    FAULT_LIST(X)
#undef X
        FAULT_COUNT
} fault_id;

// The backend that the API sees as qrn_this_backend; tests may clear features and functions.
extern qrn_backend fault_backend;

// What each function returns from now on (QRN_OK at first), and how often it was called (from any
// thread).
extern qrn_status fault_status[FAULT_COUNT];
extern atomic_uint fault_calls[FAULT_COUNT];
// Phase of the last list of options of a context.
extern qrn_config_phase fault_phase;

// Ops of a registered package "fault.package": how many package_list shows.
extern unsigned fault_n_package_ops;

// Everything as it was at the start.
void fault_reset(void);

#endif
