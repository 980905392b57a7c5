// SPDX-License-Identifier: MIT
//
// LPAI backend: memory kinds.

#ifndef QNN_LPAI_MEM_H
#define QNN_LPAI_MEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Custom memory.
typedef struct {
    int32_t fd;      // file descriptor; QNN_MEM_INVALID_FD for none
    uint32_t offset; // bytes from the start
} QnnLpaiMem_MemInfoCustom_t;

// Kind of memory.
typedef enum {
    QNN_LPAI_MEM_TYPE_DDR = 1,
    QNN_LPAI_MEM_TYPE_LLC = 2,
    QNN_LPAI_MEM_TYPE_TCM = 3,
    QNN_LPAI_MEM_TYPE_PSRAM = 4,
    QNN_LPAI_MEM_TYPE_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiMem_MemType_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_LPAI_MEM_H
