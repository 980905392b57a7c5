// SPDX-License-Identifier: MIT
//
// The calls that onnxruntime's QNN provider makes on an HTP library, in its order: set-up, votes,
// compiling, context binaries through the System library, executing with profiles, tear-down.
// Everything is checked; a call that fails is printed and makes its function false, so that threads
// may use it.
#ifndef QRN_TESTS_CLIENT_PROVIDER_SESSION_H
#define QRN_TESTS_CLIENT_PROVIDER_SESSION_H

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "QnnInterface.h"
#include "System/QnnSystemInterface.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_GRAPHS 8u
#define SESSION_IN_BYTES (12u * 12 * 8)
#define SESSION_OUT_BYTES (12u * 12 * 16)

// A context's bytes.
typedef struct session_binary {
    void *data;
    uint64_t size;
} session_binary;

// What one session of the provider holds.
typedef struct session {
    void *lib, *system_lib; // as dlopen gave them
    QNN_INTERFACE_VER_TYPE qnn;
    QNN_SYSTEM_INTERFACE_VER_TYPE system;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ProfileHandle_t profile; // NULL: without
    const char *profile_folder;  // where events are written
    char profile_name[32];       // the file there
    Qnn_ContextHandle_t context;
    uint32_t power_id;
    struct {
        Qnn_GraphHandle_t handle;
        uint32_t x_id, y_id; // of its tensors
    } graphs[SESSION_GRAPHS];
} session;

// Loads the libraries of $QUERN_LIB_DIR and makes all handles but the context. folder: profiles are
// taken, and their events written there; NULL: they are not. number tells sessions apart.
bool session_open(session *s, const char *folder, unsigned number);

// A context with SESSION_GRAPHS graphs, compiled.
bool session_compile(session *s);

// The context's bytes; to be freed.
bool session_binary_of(session *s, session_binary *b);

// The context, from such bytes.
bool session_load(session *s, const session_binary *b);

// One run of graph i between two votes.
bool session_run(session *s, uint32_t i, uint8_t *in, uint8_t *out);

// Another priority, as ep.dynamic.workload_type makes it.
bool session_set_priority(session *s, Qnn_Priority_t priority);

// Frees everything and unloads the libraries. False: something could not be freed.
bool session_close(session *s);

#endif
