// SPDX-License-Identifier: MIT
//
// A queue of frames along one dimension, kept across executions. in: F frames, a reset flag or
// NULL; out: all `size` slots. Both have the same type and encoding; empty slots read as 0.
// A full queue first drops its `stride` oldest frames; then the new frames are appended.
//   BLOCKING  frames lie from slot 0 on; QRN_E_BLOCKED unless the queue is full
//   LEFT      frames lie from slot 0 on
//   RIGHT     frames lie up to the last slot
#ifndef QRN_KERNELS_BUFFER_BUFFER_H
#define QRN_KERNELS_BUFFER_BUFFER_H

#include "kernels/kernel.h"

typedef enum qrn_buffer_mode {
    QRN_BUFFER_BLOCKING = 0, // the numbers of the op's parameter
    QRN_BUFFER_LEFT = 1,
    QRN_BUFFER_RIGHT = 2
} qrn_buffer_mode;

typedef struct qrn_buffer_args {
    uint32_t dim, stride, slots; // slots: of the output, whose single one may have no dimension
    uint32_t mode;               // qrn_buffer_mode
} qrn_buffer_args;

// State: the number of frames (8 bytes), then the frames from slot 0 on, in the output's layout.
#define QRN_BUFFER_STATE_HEADER 8u

extern const qrn_family qrn_family_buffer; // RAW

#endif
