// SPDX-License-Identifier: MIT
//
// LPAI backend: memory kinds. For clients that include it; Quern has no such library.

#ifndef QNN_LPAI_MEM_H
#define QNN_LPAI_MEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t fd;
    uint32_t offset;
} QnnLpaiMem_MemInfoCustom_t;

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
