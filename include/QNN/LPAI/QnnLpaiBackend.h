// SPDX-License-Identifier: MIT
//
// LPAI backend: custom configuration and properties of a backend. libQnnLpai.so rejects it.

#ifndef QNN_LPAI_BACKEND_H
#define QNN_LPAI_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Number of cores before it is asked.
#define QNN_LPAI_BACKEND_ENPU_CORE_NUM_INIT 0

// Custom options of a backend.
typedef enum {
    QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO = 0,
    QNN_LPAI_BACKEND_CUSTOM_CFG_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiBackend_CustomConfigOption_t;

// Custom properties of a backend.
typedef enum {
    QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ = 0,
    QNN_LPAI_BACKEND_GET_PROP_REQUIRE_PERSISTENT_BINARY = 1,
    QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_NUM = 200,
    QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_INFO = 300,
    QNN_LPAI_BACKEND_GET_PROP_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiBackend_GetPropertyOption_t;

// One custom option.
typedef struct {
    uint32_t option; // selects what is pointed to
    void *config;    // value of the option
} QnnLpaiBackend_CustomConfig_t;

// Processor the backend runs on.
typedef enum {
    QNN_LPAI_BACKEND_TARGET_X86 = 0,
    QNN_LPAI_BACKEND_TARGET_ARM = 1,
    QNN_LPAI_BACKEND_TARGET_ADSP = 2,
    QNN_LPAI_BACKEND_TARGET_TENSILICA = 3,
    QNN_LPAI_BACKEND_TARGET_UNKNOWN = 0x7FFFFFFF,
} QnnLpaiBackend_Target_t;

// Version of the hardware.
typedef enum {
    QNN_LPAI_BACKEND_HW_VERSION_NA = 0,
    QNN_LPAI_BACKEND_HW_VERSION_V1 = 1,
    QNN_LPAI_BACKEND_HW_VERSION_V2 = 2,
    QNN_LPAI_BACKEND_HW_VERSION_V3 = 3,
    QNN_LPAI_BACKEND_HW_VERSION_V4 = 4,
    QNN_LPAI_BACKEND_HW_VERSION_V5 = 5,
    QNN_LPAI_BACKEND_HW_VERSION_V5_1 = 0x10005,
    QNN_LPAI_BACKEND_HW_VERSION_V6 = 6,
    QNN_LPAI_BACKEND_HW_VERSION_V7 = 7,
    QNN_LPAI_BACKEND_HW_VERSION_DEFAULT = 6,
    QNN_LPAI_BACKEND_HW_VERSION_UNKNOWN = 0x7FFFFFFF,
} QnnLpaiBackend_HwVersion_t;

// Hardware to prepare for.
typedef struct {
    QnnLpaiBackend_Target_t lpaiTarget;   // processor
    QnnLpaiBackend_HwVersion_t hwVersion; // version
} QnnLpaiBackend_CustomConfigHwInfo_t;

// What buffers must be aligned to, in bytes.
typedef struct {
    uint32_t startAddrAlignment; // of the address
    uint32_t sizeAlignment;      // of the size
} QnnLpaiBackend_BufferAlignmentReq_t;

// Facts about a core.
typedef struct {
    uint32_t coreIndex; // which core
    uint32_t macCnt;    // multipliers it has
    uint32_t version;   // of the core
} QnnLpaiBackend_eNPUCoreInfo_t;

// One custom property.
typedef struct {
    uint32_t option; // selects what is pointed to
    void *property;  // where the value goes
} QnnLpaiBackend_CustomProperty_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_LPAI_BACKEND_H
