// SPDX-License-Identifier: MIT
//
// HTP backend: custom memory descriptors.

#ifndef QNN_HTP_MEM_H
#define QNN_HTP_MEM_H

#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Address on the device.
typedef uint32_t QnnHtpMem_QurtAddress_t;

// A place in shared memory.
typedef struct {
    int32_t fd;      // file descriptor; QNN_MEM_INVALID_FD for none
    uint64_t offset; // bytes from the start of the buffer
} QnnHtpMem_SharedBufferConfig_t;

// Kind of custom memory.
typedef enum {
    QNN_HTP_MEM_QURT = 0,                     // address on the device
    QNN_HTP_MEM_SHARED_BUFFER = 1,            // tensors
    QNN_HTP_MEM_WEIGHTS_BUFFER = 2,           // weights
    QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER = 3,  // what does not fit the VTCM
    QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER = 4, // the VTCM of a graph that yields
    QNN_HTP_MEM_UNDEFINED = 0x7FFFFFFF,
} QnnHtpMem_Type_t;

// Custom memory, for Qnn_MemDescriptor_t. Several tensors may lie in one buffer; each registration
// has a handle of its own.
typedef struct {
    QnnHtpMem_Type_t type; // selects the union member
    uint64_t size;         // bytes of the whole buffer
    union UNNAMED {
        QnnHtpMem_QurtAddress_t qurtAddress;                         // QURT
        QnnHtpMem_SharedBufferConfig_t sharedBufferConfig;           // SHARED_BUFFER
        QnnHtpMem_SharedBufferConfig_t weightsBufferConfig;          // WEIGHTS_BUFFER
        QnnHtpMem_SharedBufferConfig_t sharedSpillfillBufferConfig;  // SHARED_SPILLFILL_BUFFER
        QnnHtpMem_SharedBufferConfig_t sharedVTCMBackupBufferConfig; // SHARED_VTCMBACKUP_BUFFER
        // SHARED_SPILLFILL_BUFFER on the device
        QnnHtpMem_QurtAddress_t sharedSpillfillBufferQurtAddress;
        // SHARED_VTCMBACKUP_BUFFER on the device
        QnnHtpMem_QurtAddress_t sharedVTCMBackupBufferQurtAddress;
    };
} QnnMemHtp_Descriptor_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_HTP_MEM_H
