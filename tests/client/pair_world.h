// SPDX-License-Identifier: MIT
//
// Objects of every kind for two threads to call functions on at once: a context with a finalized
// graph, one with a graph that is being built, and what hangs on them. Made anew for each pair.
#ifndef QRN_TESTS_PAIR_WORLD_H
#define QRN_TESTS_PAIR_WORLD_H

#include "qnn_client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SIZE 64 // values of a tensor
#define ROUNDS 8

typedef struct world {
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device; // NULL: the library has none
    Qnn_ContextHandle_t built, open;
    Qnn_GraphHandle_t done, raw; // finalized, of `built`; not finalized, of `open`
    Qnn_Tensor_t x, w, y;        // of `done`; w can be updated
    Qnn_ProfileHandle_t profile;
    QnnProfile_EventId_t event; // of an execution, or 0
    Qnn_SignalHandle_t signal;
    Qnn_MemHandle_t memory; // of `built`, as large as x; or NULL
    int fd;
    atomic_int n_names; // numbers names that nobody else has
    atomic_int n_queued, n_notified;
} world;

// One of the two callers, with buffers of its own.
typedef struct caller {
    world *w;
    float in[SIZE], out[ROUNDS][SIZE];
    Qnn_Tensor_t x[ROUNDS], y[ROUNDS];
    int round;
} caller;

typedef struct call {
    const char *name; // as in the table of documented codes
    Qnn_ErrorHandle_t (*make)(caller *c);
    bool frees; // ends one of the world's objects: once is enough
} call;

extern qnn_table qnn;
extern uint32_t pair_dims[2];
extern void *binary; // of a context like `built`; NULL: the library has no binaries
extern uint64_t binary_bytes;

extern const call pair_calls[];
extern const size_t n_pair_calls;

Qnn_Tensor_t pair_tensor(Qnn_TensorType_t type, const char *name);
// x + w -> y; finalized when asked for.
void pair_build(world *w, Qnn_ContextHandle_t context, bool finalize, Qnn_GraphHandle_t *graph);

#endif
