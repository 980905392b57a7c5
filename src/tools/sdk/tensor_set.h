// SPDX-License-Identifier: MIT
//
// The tensors of one execution: buffers of inputs and outputs, of the process or registered as
// shared memory, and the structs that graphExecute gets.
#ifndef QRN_TOOLS_SDK_TENSOR_SET_H
#define QRN_TOOLS_SDK_TENSOR_SET_H

#include "tools/quern/rpcmem.h"
#include "tools/sdk/raw_files.h"

typedef enum qs_place {
    QS_PRIVATE,   // memory of the process
    QS_ION,       // shared, a registered buffer for each tensor
    QS_DMA_BUF,   // the same, of the other type
    QS_ONE_BUFFER // one shared buffer for all, each tensor at an offset
} qs_place;

typedef struct qs_set {
    const qc_client *client;
    const qc_graph *graph;
    uint32_t n_in, n_out;
    qs_shape *shapes;      // inputs, then outputs; so are all lists
    void **buffers;        // where their data lies
    Qnn_Tensor_t *tensors; // what is passed
    uint32_t (*dims)[8];
    Qnn_MemHandle_t *handles;
    void **owned; // buffers to free: all, or one
    const qt_rpcmem *shared;
} qs_set;

// Makes the set; `multiplier` times the first dimension of all tensors. `shared` is needed for
// every place but QS_PRIVATE and must stay. Buffers are cleared.
qrn_status qs_set_create(const qc_client *c, const qc_graph *g, Qnn_ContextHandle_t context,
                         uint32_t multiplier, qs_place place, const qt_rpcmem *shared, qs_set *out);
void qs_set_free(qs_set *s); // a cleared one is fine; before the context is freed

// Executes and waits.
Qnn_ErrorHandle_t qs_set_execute(qs_set *s, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);
// Executes later; `notify` is called on a thread of the library.
Qnn_ErrorHandle_t qs_set_enqueue(qs_set *s, Qnn_ProfileHandle_t profile, Qnn_NotifyFn_t notify,
                                 void *param);

#endif
