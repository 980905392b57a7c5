// SPDX-License-Identifier: MIT
//
// DSP backend: votes for clocks, voltages, memory and threads. Not to be included together with the
// HTP one. For clients that include it; Quern has no such library.

#ifndef QNN_DSP_PERF_INFRASTRUCTURE_H
#define QNN_DSP_PERF_INFRASTRUCTURE_H

#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Longest polling time, in microseconds.
#define QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIG_MAX_RPC_POLLING_TIME 9999

// Errors of the performance infrastructure.
typedef enum {
    QNN_DSP_PERF_INFRASTRUCTURE_MIN_ERROR = 13000,                // first code
    QNN_DSP_PERF_INFRASTRUCTURE_NO_ERROR = 0,                     // done
    QNN_DSP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR = 13000, // not a power config id
    QNN_DSP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT = 13001,      // an argument is wrong
    QNN_DSP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG = 13002, // this option is not supported
    QNN_DSP_PERF_INFRASTRUCTURE_ERROR_TRANSPORT = 13003,          // the device could not be reached
    QNN_DSP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED = 13004,        // the library does not do this
    QNN_DSP_PERF_INFRASTRUCTURE_ERROR_FAILED = 13005,             // failed for another reason
    QNN_DSP_PERF_INFRASTRUCTURE_MAX_ERROR = 13999,                // last code
    QNN_DSP_PERF_INFRASTRUCTURE_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnDspPerfInfrastructure_Error_t;

// Values of the options.
typedef uint32_t QnnDspPerfInfrastructure_DcvsEnable_t;
typedef uint32_t QnnDspPerfInfrastructure_SleepLatency_t;
typedef uint32_t QnnDspPerfInfrastructure_SleepDisable_t;
typedef uint32_t QnnDspPerfInfrastructure_RpcControlLatency_t;
typedef uint32_t QnnDspPerfInfrastructure_RpcPollingTime_t;
typedef uint32_t QnnDspPerfInfrastructure_HmxTimeoutIntervalUs_t;
typedef uint32_t QnnDspPerfInfrastructure_MemGrowSize_t;
typedef uint32_t QnnDspPerfInfrastructure_VtcmSize_t;
typedef uint32_t QnnDspPerfInfrastructure_HvxThreadNumber_t;

// Options of a power vote.
typedef enum {
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_ENABLE = 1,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_SLEEP_LATENCY = 2,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_SLEEP_DISABLE = 3,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_POWER_MODE = 4,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_VOLTAGE_CORNER = 5,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_BUS_VOLTAGE_CORNER = 6,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CORE_VOLTAGE_CORNER = 7,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY = 9,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME = 10,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_TIMEOUT_INTERVAL_US = 11,
    QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_UNKNOWN = 0x7FFFFFFF,
} QnnDspPerfInfrastructure_PowerConfigOption_t;

// How clocks follow the load.
typedef enum {
    QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_ADJUST_UP_DOWN = 0x1,
    QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_ADJUST_ONLY_UP = 0x2,
    QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_MODE = 0x4,
    QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_AGGRESSIVE_MODE = 0x8,
    QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE = 0x10,
    QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_DUTY_CYCLE_MODE = 0x20,
    QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_UNKNOWN = 0x7FFFFFFF,
} QnnDspPerfInfrastructure_PowerMode_t;

// Operating point, from the slowest to the fastest.
typedef enum {
    DCVS_VOLTAGE_CORNER_DISABLE = 0x10,
    DCVS_VOLTAGE_VCORNER_MIN_VOLTAGE_CORNER = 0x20,
    DCVS_VOLTAGE_VCORNER_SVS2 = 0x30,
    DCVS_VOLTAGE_VCORNER_SVS = 0x40,
    DCVS_VOLTAGE_VCORNER_SVS_PLUS = 0x50,
    DCVS_VOLTAGE_VCORNER_NOM = 0x60,
    DCVS_VOLTAGE_VCORNER_NOM_PLUS = 0x70,
    DCVS_VOLTAGE_VCORNER_TURBO = 0x80,
    DCVS_VOLTAGE_VCORNER_TURBO_PLUS = 0x90,
    DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER = 0xA0,
    DCVS_VOLTAGE_VCORNER_UNKNOWN = 0x7FFFFFFF,
} QnnDspPerfInfrastructure_VoltageCorner_t;

// One option of a power vote.
typedef struct {
    QnnDspPerfInfrastructure_PowerConfigOption_t config; // selects the union member
    union UNNAMED {
        QnnDspPerfInfrastructure_DcvsEnable_t dcvsEnableConfig;
        QnnDspPerfInfrastructure_SleepLatency_t sleepLatencyConfig;
        QnnDspPerfInfrastructure_SleepDisable_t sleepDisableConfig;
        QnnDspPerfInfrastructure_PowerMode_t dcvsPowerModeConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t dcvsVoltageCornerMinConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t dcvsVoltageCornerTargetConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t dcvsVoltageCornerMaxConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t busVoltageCornerMinConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t busVoltageCornerTargetConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t busVoltageCornerMaxConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t coreVoltageCornerMinConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t coreVoltageCornerTargetConfig;
        QnnDspPerfInfrastructure_VoltageCorner_t coreVoltageCornerMaxConfig;
        QnnDspPerfInfrastructure_RpcControlLatency_t rpcControlLatencyConfig;
        QnnDspPerfInfrastructure_RpcPollingTime_t rpcPollingTimeConfig;
        QnnDspPerfInfrastructure_HmxTimeoutIntervalUs_t hmxTimeoutIntervalUsConfig;
    };
} QnnDspPerfInfrastructure_PowerConfig_t;

// Options of memory use.
typedef enum {
    QNN_DSP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE = 1,
    QNN_DSP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_VTCM_SIZE = 2,
    QNN_DSP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_VTCM_USAGE_FACTOR = 3,
    QNN_DSP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_UNKNOWN = 0x7FFFFFFF,
} QnnDspPerfInfrastructure_MemoryConfigOption_t;

// How much of the VTCM to use.
typedef enum {
    QNN_DSP_PERF_INFRASTRUCTURE_VTCM_USE_FULL = 1,
    QNN_DSP_PERF_INFRASTRUCTURE_VTCM_USE_MIN = 2,
    QNN_DSP_PERF_INFRASTRUCTURE_VTCM_USE_UNKNOWN = 0x7FFFFFFF,
} QnnDspPerfInfrastructure_VtcmUsageFactor_t;

// One option of memory use.
typedef struct {
    QnnDspPerfInfrastructure_MemoryConfigOption_t config; // selects the union member
    union UNNAMED {
        QnnDspPerfInfrastructure_MemGrowSize_t memGrowSizeConfig;
        QnnDspPerfInfrastructure_VtcmSize_t vtcmSizeInMB;
        QnnDspPerfInfrastructure_VtcmUsageFactor_t vtcmUsageConfig;
    };
} QnnDspPerfInfrastructure_MemoryConfig_t;

// Options of threads.
typedef enum {
    QNN_DSP_PERF_INFRASTRUCTURE_THREAD_CONFIGOPTION_NUMBER_OF_HVX_THREADS = 1,
    QNN_DSP_PERF_INFRASTRUCTURE_THREAD_CONFIGOPTION_UNKNOWN = 0x7FFFFFFF,
} QnnDspPerfInfrastructure_ThreadConfigOption_t;

// One option of threads.
typedef struct {
    QnnDspPerfInfrastructure_ThreadConfigOption_t config; // selects the union member
    union UNNAMED {
        QnnDspPerfInfrastructure_HvxThreadNumber_t numHvxThreads;
    };
} QnnDspPerfInfrastructure_ThreadConfig_t;

// Makes a power config id.
typedef Qnn_ErrorHandle_t (*QnnDspPerfInfrastructure_CreatePowerConfigIdFn_t)(
    uint32_t *powerConfigId);

// Frees a power config id.
typedef Qnn_ErrorHandle_t (*QnnDspPerfInfrastructure_DestroyPowerConfigIdFn_t)(
    uint32_t powerConfigId);

// Votes: a NULL-terminated list of options.
typedef Qnn_ErrorHandle_t (*QnnDspPerfInfrastructure_SetPowerConfigFn_t)(
    uint32_t powerConfigId, const QnnDspPerfInfrastructure_PowerConfig_t **config);

// Sets memory options: a NULL-terminated list.
typedef Qnn_ErrorHandle_t (*QnnDspPerfInfrastructure_SetMemoryConfigFn_t)(
    const QnnDspPerfInfrastructure_MemoryConfig_t **config);

// Sets thread options: a NULL-terminated list.
typedef Qnn_ErrorHandle_t (*QnnDspPerfInfrastructure_SetThreadConfigFn_t)(
    const QnnDspPerfInfrastructure_ThreadConfig_t **config);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_DSP_PERF_INFRASTRUCTURE_H
