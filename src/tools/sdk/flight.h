// SPDX-License-Identifier: MIT
//
// An execution in flight: a set of tensors, started in one of two ways, and waited for.
#ifndef QRN_TOOLS_SDK_FLIGHT_H
#define QRN_TOOLS_SDK_FLIGHT_H

#include "tools/sdk/tensor_set.h"

#include <pthread.h>

typedef struct qs_flight {
    qs_set set;
    bool started; // and not yet waited for
    uint64_t start_us, stop_us;
    Qnn_ErrorHandle_t status;
    bool running; // with `lock`, the fields above are the library's thread's while it is set
    pthread_mutex_t lock; // guards `running` and what the notification writes
    pthread_cond_t done;
} qs_flight;

void qs_flight_init(qs_flight *f); // an empty one; its address must stay
void qs_flight_free(qs_flight *f); // not while it is running

// Starts an execution; `async`: by graphExecuteAsync, else it is done on return. Failures are found
// by qs_flight_wait.
void qs_flight_start(qs_flight *f, bool async, Qnn_ProfileHandle_t profile,
                     Qnn_SignalHandle_t signal);
// The status of what was started; the message names the call.
qrn_status qs_flight_wait(qs_flight *f, bool async);

#endif
