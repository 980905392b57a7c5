// SPDX-License-Identifier: MIT
//
// Quern's own options of QnnBackend_create and QnnBackend_setConfig: pass a pointer to one of these
// structs with option QNN_BACKEND_CONFIG_OPTION_CUSTOM. Other vendors' backends do not know them.

#ifndef QUERN_BACKEND_H
#define QUERN_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// First word of each struct; distinguishes it from other custom structs ("QRNB").
#define QUERN_BACKEND_CONFIG_MAGIC 0x424e5251u

typedef enum {
    QUERN_BACKEND_OPTION_THREADS = 1, // number of threads of this backend, 1..256
    QUERN_BACKEND_OPTION_DUMP = 2,    // a QuernBackend_DumpConfig_t: write tensors to files
    QUERN_BACKEND_OPTION_TRIALS = 3,  // 1: contexts created from now on are for trials; 0: off
    QUERN_BACKEND_OPTION_RESTART = 4, // libQnnHtp.so: the accelerator crashes and is restarted
    QUERN_BACKEND_OPTION_CRASH = 5,   // libQnnHtp.so: it crashes and does not recover
    QUERN_BACKEND_OPTION_OBSERVE = 6, // a QuernBackend_ObserveConfig_t: pass tensors to a function
    QUERN_BACKEND_OPTION_OBSERVE_SOME = 7 // a QuernBackend_ObserveSomeConfig_t: pass some of them
} QuernBackend_Option_t;

// RESTART and CRASH let a client test its recovery. The value counts the calls that reach the
// accelerator (creating a context, finalizing, executing, loading, registering memory): 1 is the
// next one. That call fails with QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, or _FATAL after CRASH, and
// so do all later calls on existing contexts. 0 cancels the request. A process has one accelerator;
// a request replaces the previous one, and ends a CRASH.

// In a context for trials, graphAddNode accepts and rejects nodes as in any other, but no weights
// are copied and graphs cannot be finalized.
typedef struct {
    uint32_t magic;  // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option; // QuernBackend_Option_t
    uint32_t value;
} QuernBackend_CustomConfig_t;

// Writes every tensor of this backend's graphs when they are executed, as QUERN_DUMP does for all
// backends of a process. Only before the first context is created.
typedef struct {
    uint32_t magic;     // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option;    // QUERN_BACKEND_OPTION_DUMP
    const char *folder; // created if missing; copied; NULL or "": nothing is written
    uint32_t runs;      // number of executions of each graph to write; 0: 1
} QuernBackend_DumpConfig_t;

// A tensor during an execution. Elements are dense, in the tensor's type.
typedef struct {
    const char *name;
    uint32_t data_type; // Qnn_DataType_t
    uint32_t rank;
    const uint32_t *dims;
    const void *data; // valid until the function returns
} QuernBackend_Tensor_t;

// Passes the output of each node to a function as soon as it is written, so that tensors need not
// be kept. Applies to graphs that are finalized afterwards; they are compiled without passes, so
// that every tensor is computed. The function is called on the executing thread.
typedef struct {
    uint32_t magic;                                            // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option;                                           // QUERN_BACKEND_OPTION_OBSERVE
    void (*tensor)(void *ctx, const QuernBackend_Tensor_t *t); // NULL: off
    void *ctx;
} QuernBackend_ObserveConfig_t;

// The same for tensors that a second function selects. It is called for each tensor while a graph
// is finalized. Other tensors may still be passed if they are computed, and an activation after a
// layer may be computed with it.
typedef struct {
    uint32_t magic;                                            // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option;                                           // ..._OPTION_OBSERVE_SOME
    void (*tensor)(void *ctx, const QuernBackend_Tensor_t *t); // NULL: off
    void *ctx;
    bool (*wanted)(void *ctx, const char *name); // NULL: all
} QuernBackend_ObserveSomeConfig_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_BACKEND_H
