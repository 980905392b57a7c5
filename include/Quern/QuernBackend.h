// SPDX-License-Identifier: MIT
//
// Quern's own options of QnnBackend_create and QnnBackend_setConfig: put a pointer to one of these
// structs behind option QNN_BACKEND_CONFIG_OPTION_CUSTOM. Backends that are not Quern's do not know
// it.

#ifndef QUERN_BACKEND_H
#define QUERN_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// First word of each struct, so that other custom structs are told apart ("QRNB").
#define QUERN_BACKEND_CONFIG_MAGIC 0x424e5251u

typedef enum {
    QUERN_BACKEND_OPTION_THREADS = 1, // number of threads of this backend, 1..256
    QUERN_BACKEND_OPTION_DUMP = 2,    // a QuernBackend_DumpConfig_t: write tensors to files
    QUERN_BACKEND_OPTION_TRIALS = 3,  // 1: contexts made from now on are for trials; 0: no longer
    QUERN_BACKEND_OPTION_RESTART = 4, // libQnnHtp.so: the accelerator crashes and is restarted
    QUERN_BACKEND_OPTION_CRASH = 5,   // libQnnHtp.so: it crashes and does not come back
    QUERN_BACKEND_OPTION_OBSERVE = 6, // a QuernBackend_ObserveConfig_t: show tensors to a function
    QUERN_BACKEND_OPTION_OBSERVE_SOME = 7 // a QuernBackend_ObserveSomeConfig_t: show some of them
} QuernBackend_Option_t;

// RESTART and CRASH let a client test how it recovers. The value counts the calls that reach the
// accelerator (making a context, finalizing, executing, loading, registering memory): 1 is the next
// one; that call fails with QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, or _FATAL after CRASH, and so do
// all later calls on contexts that were there. 0 takes the order back. The accelerator is one for
// the process; an order replaces the one before, and ends a CRASH.

// A context for trials tells by graphAddNode which nodes it takes, as any other does, but keeps no
// large weights: nothing is copied, and its graphs cannot be finalized.
typedef struct {
    uint32_t magic;  // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option; // QuernBackend_Option_t
    uint32_t value;
} QuernBackend_CustomConfig_t;

// Every tensor of the graphs of this backend is written when they are executed, as QUERN_DUMP does
// for all backends of a process. Only before the first context is made.
typedef struct {
    uint32_t magic;     // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option;    // QUERN_BACKEND_OPTION_DUMP
    const char *folder; // made when it is not there; copied; NULL or "": nothing is written
    uint32_t runs;      // executions of each graph that are written; 0: 1
} QuernBackend_DumpConfig_t;

// A tensor during an execution. Elements are dense and as they are stored.
typedef struct {
    const char *name;
    uint32_t data_type; // Qnn_DataType_t
    uint32_t rank;
    const uint32_t *dims;
    const void *data; // until the function returns
} QuernBackend_Tensor_t;

// Shows what each node writes to a function, as soon as it is written: no two tensors need to be
// kept for it. For graphs that are finalized afterwards; they are compiled without passes, so that
// every tensor is computed. The function is called on the thread that executes.
typedef struct {
    uint32_t magic;                                            // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option;                                           // QUERN_BACKEND_OPTION_OBSERVE
    void (*tensor)(void *ctx, const QuernBackend_Tensor_t *t); // NULL: no longer
    void *ctx;
} QuernBackend_ObserveConfig_t;

// The same for tensors that a second function wants to see. It is asked for each tensor while a
// graph is finalized; the others are shown where they are computed, and an activation behind a
// layer may be computed with it.
typedef struct {
    uint32_t magic;                                            // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option;                                           // ..._OPTION_OBSERVE_SOME
    void (*tensor)(void *ctx, const QuernBackend_Tensor_t *t); // NULL: no longer
    void *ctx;
    bool (*wanted)(void *ctx, const char *name); // NULL: all are
} QuernBackend_ObserveSomeConfig_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_BACKEND_H
