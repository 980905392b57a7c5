// SPDX-License-Identifier: MIT
//
// DSP backend: device infrastructure. Not to be included together with the HTP device header. For
// clients that include it; Quern has no such library.

#ifndef QNN_DSP_DEVICE_H
#define QNN_DSP_DEVICE_H

#include "DSP/QnnDspPerfInfrastructure.h"

#ifdef __cplusplus
extern "C" {
#endif

// What QnnDevice_getInfrastructure hands out.
typedef struct _QnnDevice_Infrastructure_t {
    QnnDspPerfInfrastructure_CreatePowerConfigIdFn_t createPowerConfigId;
    QnnDspPerfInfrastructure_DestroyPowerConfigIdFn_t destroyPowerConfigId;
    QnnDspPerfInfrastructure_SetPowerConfigFn_t setPowerConfig;
    QnnDspPerfInfrastructure_SetMemoryConfigFn_t setMemoryConfig;
    QnnDspPerfInfrastructure_SetThreadConfigFn_t setThreadConfig;
} QnnDspDevice_Infrastructure_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_DSP_DEVICE_H
