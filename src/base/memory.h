// SPDX-License-Identifier: MIT
//
// Where bytes are. Memory of a device has no address on the host: whoever needs its bytes asks the
// backend (mem_upload, mem_download), and cannot mistake it for a pointer.
#ifndef QRN_BASE_MEMORY_H
#define QRN_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

typedef enum qrn_memory_kind {
    QRN_MEMORY_NONE,   // there is none
    QRN_MEMORY_HOST,   // an address of the client or of ours
    QRN_MEMORY_SHARED, // registered memory that is mapped here, too
    QRN_MEMORY_DEVICE  // registered memory of the device alone
} qrn_memory_kind;

typedef struct qrn_memory {
    uint8_t kind; // qrn_memory_kind
    void *host;   // HOST, SHARED: the address; else NULL
    // SHARED, DEVICE: the backend's own name for it.
    uint64_t device;
} qrn_memory;

#endif
