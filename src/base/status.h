// SPDX-License-Identifier: MIT
//
// Status codes used everywhere below the API, and the one line of text that goes with a failure.
// The text lives in a per-thread buffer (the only thread-local of the core): the API layer reads it
// when a call fails, sends it to the log and keeps it for QnnError_getVerboseMessage.
#ifndef QRN_BASE_STATUS_H
#define QRN_BASE_STATUS_H

#include <stdbool.h>

// X(name, text). src/core maps each to the documented code of the component that was called.
#define QRN_STATUS_LIST(X)                                                                         \
    X(OK, "success")                                                                               \
    X(MEM, "out of memory")                                                                        \
    X(ARGUMENT, "invalid argument")                                                                \
    X(HANDLE, "invalid handle")                                                                    \
    X(CONFIG, "invalid configuration")                                                             \
    X(INCONSISTENT, "configuration conflicts with an earlier one")                                 \
    X(UNSUPPORTED, "feature not supported")                                                        \
    X(NOT_PERMITTED, "operation not permitted")                                                    \
    X(NAME, "invalid or duplicate name")                                                           \
    X(NOT_FOUND, "no such object")                                                                 \
    X(TENSOR, "invalid tensor")                                                                    \
    X(TENSOR_UNSUPPORTED, "tensor property not supported")                                         \
    X(TENSOR_UPDATE, "incompatible tensor update")                                                 \
    X(OP_CONFIG, "invalid operation")                                                              \
    X(OP_UNKNOWN, "unknown operation or op package")                                               \
    X(SHAPE, "shape mismatch")                                                                     \
    X(DTYPE, "data type not allowed")                                                              \
    X(PARAM, "invalid op parameter")                                                               \
    X(UNCONNECTED, "input has no producer")                                                        \
    X(CYCLE, "graph has a cycle")                                                                  \
    X(FINALIZED, "graph is finalized")                                                             \
    X(NOT_FINALIZED, "graph is not finalized")                                                     \
    X(FINALIZE, "finalize failed")                                                                 \
    X(OPTIMIZE, "optimization failed")                                                             \
    X(CREATE, "creation failed")                                                                   \
    X(SUBGRAPH, "not allowed on a subgraph")                                                       \
    X(DISABLED, "graph is disabled")                                                               \
    X(DYNAMIC_SHAPE, "dimensions do not fit the graph")                                            \
    X(SPARSITY, "sparse tensor does not fit")                                                      \
    X(EARLY, "graph ended before all outputs were produced")                                       \
    X(BLOCKED, "the step has no output yet")                                                       \
    X(WRONG_CONTEXT, "the object belongs to another context")                                      \
    X(IN_USE, "object is in use")                                                                  \
    X(IDLE, "signal is not in use")                                                                \
    X(PROFILE, "profiling failed")                                                                 \
    X(INCOMPATIBLE, "incompatible object")                                                         \
    X(ABORTED, "aborted by signal")                                                                \
    X(TIMED_OUT, "timed out")                                                                      \
    X(ALREADY, "already registered")                                                               \
    X(FULL, "too many queued executions")                                                          \
    X(MAPPING, "memory cannot be mapped")                                                          \
    X(MEMTYPE, "memory type not supported")                                                        \
    X(BINARY, "context binary cannot be used")                                                     \
    X(BINARY_VERSION, "context binary has an unsupported version")                                 \
    X(BINARY_CONFIG, "context binary was compiled for another configuration")                      \
    X(BINARY_SUBOPTIMAL, "context binary is not optimal for this device")                          \
    X(PKG_LOAD, "op package cannot be loaded")                                                     \
    X(PKG_PROVIDER, "op package has no such interface provider")                                   \
    X(PKG_REGISTER, "op package registration failed")                                              \
    X(PKG_VERSION, "op package interface version not supported")                                   \
    X(PKG_DUPLICATE, "op package is already registered")                                           \
    X(PLATFORM, "platform not supported")                                                          \
    X(INIT, "initialization failed")                                                               \
    X(TERMINATE, "termination failed")                                                             \
    X(HARDWARE, "hardware not available")                                                          \
    X(SYSTEM, "the operating system or a driver reported an error")                                \
    X(COMM, "system communication failed")                                                         \
    X(COMM_FATAL, "system communication failed and cannot be restored")                            \
    X(GENERAL, "internal error")

typedef enum qrn_status {
#define X(name, text) QRN_E_##name,
    QRN_STATUS_LIST(X)
#undef X
        QRN_STATUS_COUNT,
    QRN_OK = 0
} qrn_status;

// Returns the fixed text of a status; never NULL.
const char *qrn_status_text(qrn_status s);

// Formats one line (truncated at QRN_MESSAGE_MAX) as the message of this thread and returns `s`.
#define QRN_MESSAGE_MAX 1024
qrn_status qrn_fail(qrn_status s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// The message of the last qrn_fail on this thread since qrn_message_clear; "" when there is none.
const char *qrn_message(void);
void qrn_message_clear(void);
// Has a failure of this process been QRN_E_MEM? For programs, whose reports must not hide it.
bool qrn_failed_for_memory(void);
// A limit of ours was reached and not the end of the memory: the answer is again what it was.
void qrn_restore_failed_for_memory(bool before);

// The status is passed on in sight of the compiler, so that analysers know what comes back.
static inline qrn_status qrn_failed(qrn_status said, qrn_status s) {
    (void)said;
    return s;
}
#define QRN_FAIL(status, ...) qrn_failed(qrn_fail((status), __VA_ARGS__), (status))
#define QRN_TRY(expr)                                                                              \
    do {                                                                                           \
        qrn_status qrn_try_ = (expr);                                                              \
        if (qrn_try_ != QRN_OK)                                                                    \
            return qrn_try_;                                                                       \
    } while (0)

#endif
