// SPDX-License-Identifier: MIT
//
// LPAI backend: custom configuration of a context. libQnnLpai.so rejects it.

#ifndef QNN_LPAI_CONTEXT_H
#define QNN_LPAI_CONTEXT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Custom options of a context.
typedef enum {
    QNN_LPAI_CONTEXT_SET_CFG_MODEL_BUFFER_MEM_TYPE = 1,
    QNN_LPAI_CONTEXT_SET_CFG_ENABLE_ISLAND = 11,
    QNN_LPAI_CONTEXT_SET_CFG_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiContext_SetConfigOption_t;

// One custom option.
typedef struct {
    uint32_t option; // selects what is pointed to
    void *config;    // value of the option
} QnnLpaiContext_CustomConfig_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_LPAI_CONTEXT_H
