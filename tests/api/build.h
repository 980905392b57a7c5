// SPDX-License-Identifier: MIT
//
// Small graphs for tests of the API layer: a backend with one context, tensors and ops in few
// words.
#ifndef TESTS_API_BUILD_H
#define TESTS_API_BUILD_H

#include "core/own.h"
#include "fault_backend.h"
#include "pairs.h"

#include "QnnOpDef.h"

#include <string.h>

// Handles of the running test; made by build_setup, freed by build_teardown, which also checks that
// nothing is left behind.
extern Qnn_BackendHandle_t backend;
extern Qnn_ContextHandle_t context;

int build_setup(void **state);
int build_teardown(void **state);

// A handle that was valid once, and one of another kind.
Qnn_ContextHandle_t stale_context(void);
#define FOREIGN backend

// A float tensor description, shape {n}; dims must outlive it.
Qnn_Tensor_t describe(const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype, uint32_t rank,
                      uint32_t *dims);
// The same with constant data.
Qnn_Tensor_t describe_static(const char *name, Qnn_DataType_t dtype, uint32_t rank, uint32_t *dims,
                             const void *data, uint32_t size_bytes);
Qnn_OpConfig_t op(const char *name, const char *type, Qnn_Tensor_t *in, uint32_t n_in,
                  Qnn_Tensor_t *out, uint32_t n_out);

// y = relu(x) on {n} floats.
typedef struct relu_graph {
    Qnn_GraphHandle_t handle;
    uint32_t dims[1];
    Qnn_Tensor_t x, y;
} relu_graph;

// Tensors and node, not finalized.
void relu_build(relu_graph *g, const char *name, uint32_t n);
void relu_finalized(relu_graph *g, const char *name, uint32_t n);
// Binds buffers of n floats.
void relu_bind(relu_graph *g, float *x, float *y);

// A signal with one option; the test frees it.
Qnn_SignalHandle_t make_signal(QnnSignal_Config_t option);

// What a call must return when the backend fails with a status.
typedef struct status_row {
    qrn_status status;
    Qnn_ErrorHandle_t code;
} status_row;

qrn_api_graph *graph_object(Qnn_GraphHandle_t h);
qrn_tensor *tensor_object(uint32_t id);

#define RUN(g, profile, signal)                                                                    \
    QnnGraph_execute((g)->handle, &(g)->x, 1, &(g)->y, 1, profile, signal)

#define N_OF(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

#endif
