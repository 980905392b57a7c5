// SPDX-License-Identifier: MIT
//
// HTP backend: votes for clocks, voltages and polling, reached through the device infrastructure.

#ifndef QNN_HTP_PERF_INFRASTRUCTURE_H
#define QNN_HTP_PERF_INFRASTRUCTURE_H

#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Longest polling time, in microseconds.
#define QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIG_MAX_RPC_POLLING_TIME 9999

// Errors of the performance infrastructure.
typedef enum {
    QNN_HTP_PERF_INFRASTRUCTURE_MIN_ERROR = 13000,                // first code
    QNN_HTP_PERF_INFRASTRUCTURE_NO_ERROR = 0,                     // done
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR = 13000, // not a power config id
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT = 13001,      // an argument is wrong
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG = 13002, // this option is not supported
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_TRANSPORT = 13003,          // the device could not be reached
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED = 13004,        // the library does not do this
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_MEM_ALLOC = 13005,          // out of memory
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_FAILED = 13006,             // failed for another reason
    QNN_HTP_PERF_INFRASTRUCTURE_MAX_ERROR = 13999,                // last code
    QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnHtpPerfInfrastructure_Error_t;

// Flag: not 0 makes the value that follows it count.
typedef uint32_t QnnHtpPerfInfrastructure_SetDcvsEnable_t;

// Flag: clocks follow the load.
typedef uint32_t QnnHtpPerfInfrastructure_DcvsEnable_t;
typedef uint32_t QnnHtpPerfInfrastructure_SetSleepLatency_t;

// Microseconds a wake-up may take.
typedef uint32_t QnnHtpPerfInfrastructure_SleepLatency_t;
typedef uint32_t QnnHtpPerfInfrastructure_SetSleepDisable_t;
typedef uint32_t QnnHtpPerfInfrastructure_SleepDisable_t;
typedef uint32_t QnnHtpPerfInfrastructure_SetBusParams_t;
typedef uint32_t QnnHtpPerfInfrastructure_SetCoreParams_t;

// Microseconds a call to the device may take.
typedef uint32_t QnnHtpPerfInfrastructure_RpcControlLatency_t;

// Microseconds to poll for an answer.
typedef uint32_t QnnHtpPerfInfrastructure_RpcPollingTime_t;
typedef uint32_t QnnHtpPerfInfrastructure_AdaptivePollingTime_t;
typedef uint32_t QnnHtpPerfInfrastructure_DdrPerfMode_t;
typedef uint32_t QnnHtpPerfInfrastructure_HmxTimeoutIntervalUs_t;
typedef uint32_t QnnHtpPerfInfrastructure_MemGrowSize_t;
typedef uint32_t QnnHtpPerfInfrastructure_HmxDefault_Vote_t;

// How clocks follow the load.
typedef enum {
    QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_ADJUST_UP_DOWN = 0x1, // up and down
    QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_ADJUST_ONLY_UP = 0x2, // never below the vote
    QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_MODE = 0x4,
    QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_AGGRESSIVE_MODE = 0x8,
    QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE = 0x10,
    QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_DUTY_CYCLE_MODE = 0x20,
    QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_UNKNOWN = 0x7FFFFFFF,
} QnnHtpPerfInfrastructure_PowerMode_t;

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
    DCVS_VOLTAGE_VCORNER_TURBO_L2 = 0x92,
    DCVS_VOLTAGE_VCORNER_TURBO_L3 = 0x93,
    DCVS_VOLTAGE_VCORNER_TURBO_L4 = 0x94,
    DCVS_VOLTAGE_VCORNER_TURBO_L5 = 0x95,
    DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER = 0xA0,
    DCVS_VOLTAGE_VCORNER_UNKNOWN = 0x7FFFFFFF,
} QnnHtpPerfInfrastructure_VoltageCorner_t;

// A vote for clocks and voltages. A set* flag makes the values after it count.
typedef struct {
    uint32_t contextId;                                              // power config id
    QnnHtpPerfInfrastructure_SetDcvsEnable_t setDcvsEnable;          // dcvsEnable counts
    QnnHtpPerfInfrastructure_DcvsEnable_t dcvsEnable;                // clocks follow the load
    QnnHtpPerfInfrastructure_PowerMode_t powerMode;                  // how they do
    QnnHtpPerfInfrastructure_SetSleepLatency_t setSleepLatency;      // sleepLatency counts
    QnnHtpPerfInfrastructure_SleepLatency_t sleepLatency;            // microseconds
    QnnHtpPerfInfrastructure_SetSleepDisable_t setSleepDisable;      // sleepDisable counts
    QnnHtpPerfInfrastructure_SleepDisable_t sleepDisable;            // not 0 keeps the device awake
    QnnHtpPerfInfrastructure_SetBusParams_t setBusParams;            // the bus corners count
    QnnHtpPerfInfrastructure_VoltageCorner_t busVoltageCornerMin;    // bus: at least
    QnnHtpPerfInfrastructure_VoltageCorner_t busVoltageCornerTarget; // bus: wanted
    QnnHtpPerfInfrastructure_VoltageCorner_t busVoltageCornerMax;    // bus: at most
    QnnHtpPerfInfrastructure_SetCoreParams_t setCoreParams;          // the core corners count
    QnnHtpPerfInfrastructure_VoltageCorner_t coreVoltageCornerMin;   // core: at least
    QnnHtpPerfInfrastructure_VoltageCorner_t coreVoltageCornerTarget; // core: wanted
    QnnHtpPerfInfrastructure_VoltageCorner_t coreVoltageCornerMax;    // core: at most
} QnnHtpPerfInfrastructure_DcvsV3_t;

// Operating point, on the finer scale.
typedef enum {
    DCVS_EXP_VCORNER_DISABLE = 0x0,
    DCVS_EXP_VCORNER_MIN = 0x100,
    DCVS_EXP_VCORNER_RET = 0x110,
    DCVS_EXP_VCORNER_MIN_SVS = 0x130,
    DCVS_EXP_VCORNER_LOW_SVS_D3_0 = 0x131,
    DCVS_EXP_VCORNER_LOW_SVS_D3 = 0x132,
    DCVS_EXP_VCORNER_LOW_SVS_D2_1 = 0x133,
    DCVS_EXP_VCORNER_LOW_SVS_D2 = 0x134,
    DCVS_EXP_VCORNER_LOW_SVS_D1_2 = 0x135,
    DCVS_EXP_VCORNER_LOW_SVS_D1_1 = 0x136,
    DCVS_EXP_VCORNER_LOW_SVS_D1_0 = 0x137,
    DCVS_EXP_VCORNER_LOW_SVS_D1 = 0x138,
    DCVS_EXP_VCORNER_LOW_SVS_D0_1 = 0x13A,
    DCVS_EXP_VCORNER_LOW_SVS_D0_0 = 0x13B,
    DCVS_EXP_VCORNER_LOW_SVS_D0 = 0x13C,
    DCVS_EXP_VCORNER_LOW_SVS = 0x140,
    DCVS_EXP_VCORNER_LOW_SVS_P1 = 0x148,
    DCVS_EXP_VCORNER_LOW_SVS_L0 = 0x14C,
    DCVS_EXP_VCORNER_LOW_SVS_L1 = 0x150,
    DCVS_EXP_VCORNER_LOW_SVS_L2 = 0x160,
    DCVS_EXP_VCORNER_SVS = 0x180,
    DCVS_EXP_VCORNER_SVS_L0 = 0x190,
    DCVS_EXP_VCORNER_SVS_L0_1 = 0x191,
    DCVS_EXP_VCORNER_SVS_L0_2 = 0x192,
    DCVS_EXP_VCORNER_SVS_L1 = 0x1C0,
    DCVS_EXP_VCORNER_SVS_L2 = 0x1E0,
    DCVS_EXP_VCORNER_SVS_L2_0 = 0x1E1,
    DCVS_EXP_VCORNER_NOM = 0x200,
    DCVS_EXP_VCORNER_NOM_L0 = 0x220,
    DCVS_EXP_VCORNER_NOM_L0_0 = 0x221,
    DCVS_EXP_VCORNER_NOM_L1 = 0x240,
    DCVS_EXP_VCORNER_NOM_L2 = 0x250,
    DCVS_EXP_VCORNER_NOM_L3 = 0x260,
    DCVS_EXP_VCORNER_TUR = 0x280,
    DCVS_EXP_VCORNER_TUR_L0 = 0x290,
    DCVS_EXP_VCORNER_TUR_L1 = 0x2A0,
    DCVS_EXP_VCORNER_TUR_L1_0 = 0x2A1,
    DCVS_EXP_VCORNER_TUR_L1_1 = 0x2A2,
    DCVS_EXP_VCORNER_TUR_L1_2 = 0x2A3,
    DCVS_EXP_VCORNER_TUR_L2 = 0x2B0,
    DCVS_EXP_VCORNER_TUR_L3 = 0x2C0,
    DCVS_EXP_VCORNER_TUR_L3_0 = 0x2C1,
    DCVS_EXP_VCORNER_TUR_L3_1 = 0x2C2,
    DCVS_EXP_VCORNER_TUR_L3_2 = 0x2C3,
    DCVS_EXP_VCORNER_TUR_L4 = 0x2C4,
    DCVS_EXP_VCORNER_TUR_L5 = 0x2C8,
    DCVS_EXP_VCORNER_SUPER_TURBO = 0x2D0,
    DCVS_EXP_VCORNER_SUPER_TURBO_NO_CPR = 0x2E0,
    DCVS_EXP_VCORNER_DEFINED_MAX = 0x2E0,
    DCVS_EXP_VCORNER_MAX = 0xFFFF,
    DCVS_EXP_VCORNER_UNKNOWN = 0x7FFFFFFF,
} QnnHtpPerfInfrastructure_ExpVoltageCorner_t;

// Which clock a voltage corner is to give.
typedef enum {
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH = 0,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW = 1,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D1 = 2,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D2 = 3,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D3 = 4,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D4 = 5,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D5 = 6,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D6 = 7,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D7 = 8,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D8 = 9,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D9 = 10,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D10 = 11,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D11 = 12,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D12 = 13,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D13 = 14,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D14 = 15,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D15 = 16,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_MAX = 255,
    QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_UNKNOWN = 0x7FFFFFFF,
} QnnHtpPerfInfrastructure_ClkPerfMode_t;

// A vote for the matrix unit.
typedef struct {
    QnnHtpPerfInfrastructure_HmxDefault_Vote_t hmxPickDefault;          // not 0: ignore the rest
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t hmxVoltageCornerMin;    // at least
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t hmxVoltageCornerTarget; // wanted
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t hmxVoltageCornerMax;    // at most
    QnnHtpPerfInfrastructure_ClkPerfMode_t hmxPerfMode;                 // which clock
} QnnHtpPerfInfrastructure_HmxV2_t;

// A vote for the compute engine.
typedef struct {
    QnnHtpPerfInfrastructure_VoltageCorner_t cengVoltageCornerMin;    // at least
    QnnHtpPerfInfrastructure_VoltageCorner_t cengVoltageCornerTarget; // wanted
    QnnHtpPerfInfrastructure_VoltageCorner_t cengVoltageCornerMax;    // at most
    QnnHtpPerfInfrastructure_ClkPerfMode_t cengPerfMode;              // which clock
} QnnHtpPerfInfrastructure_Ceng_t;

// A vote for clocks and voltages, on the finer scale.
typedef struct {
    uint32_t contextId;                                              // power config id
    QnnHtpPerfInfrastructure_PowerMode_t powerMode;                  // how clocks follow the load
    QnnHtpPerfInfrastructure_SetSleepLatency_t setSleepLatency;      // sleepLatency counts
    QnnHtpPerfInfrastructure_SleepLatency_t sleepLatency;            // microseconds
    QnnHtpPerfInfrastructure_SetSleepDisable_t setSleepDisable;      // sleepDisable counts
    QnnHtpPerfInfrastructure_SleepDisable_t sleepDisable;            // not 0 keeps the device awake
    QnnHtpPerfInfrastructure_SetBusParams_t setBusParams;            // the bus corners count
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t busVoltageCornerMin; // bus: at least
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t busVoltageCornerTarget;  // bus: wanted
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t busVoltageCornerMax;     // bus: at most
    QnnHtpPerfInfrastructure_SetCoreParams_t setCoreParams;              // the core corners count
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t coreVoltageCornerMin;    // core: at least
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t coreVoltageCornerTarget; // core: wanted
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t coreVoltageCornerMax;    // core: at most
    QnnHtpPerfInfrastructure_ClkPerfMode_t corePerfMode;                 // which core clock
    QnnHtpPerfInfrastructure_ClkPerfMode_t busPerfMode;                  // which bus clock
} QnnHtpPerfInfrastructure_DcvsV3Exp_t;

// A vote for the compute engine, on the finer scale.
typedef struct {
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t cengVoltageCornerMin;    // at least
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t cengVoltageCornerTarget; // wanted
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t cengVoltageCornerMax;    // at most
    QnnHtpPerfInfrastructure_ClkPerfMode_t cengPerfMode;                 // which clock
} QnnHtpPerfInfrastructure_CengExp_t;

// Options of a power vote.
typedef enum {
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3 = 1,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY = 2,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME = 3,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_TIMEOUT_INTERVAL_US = 4,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_V2 = 5,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_ADAPTIVE_POLLING_TIME = 6,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DDR_PERF_MODE = 7,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG = 8,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3_EXP = 9,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG_EXP = 10,
    QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_UNKNOWN = 0x7FFFFFFF,
} QnnHtpPerfInfrastructure_PowerConfigOption_t;

// One option of a power vote. Its 68 bytes are fixed.
typedef struct {
    QnnHtpPerfInfrastructure_PowerConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnHtpPerfInfrastructure_DcvsV3_t dcvsV3Config; // DCVS_V3
        // RPC_CONTROL_LATENCY: microseconds
        QnnHtpPerfInfrastructure_RpcControlLatency_t rpcControlLatencyConfig;
        // RPC_POLLING_TIME: microseconds
        QnnHtpPerfInfrastructure_RpcPollingTime_t rpcPollingTimeConfig;
        // HMX_TIMEOUT_INTERVAL_US
        QnnHtpPerfInfrastructure_HmxTimeoutIntervalUs_t hmxTimeoutIntervalUsConfig;
        QnnHtpPerfInfrastructure_HmxV2_t hmxV2Config; // HMX_V2
        // ADAPTIVE_POLLING_TIME: microseconds
        QnnHtpPerfInfrastructure_AdaptivePollingTime_t adaptivePollingTimeConfig;
        QnnHtpPerfInfrastructure_DdrPerfMode_t ddrPerfModeConfig; // DDR_PERF_MODE
        QnnHtpPerfInfrastructure_Ceng_t cengConfig;               // CENG
        QnnHtpPerfInfrastructure_DcvsV3Exp_t dcvsV3ExpConfig;     // DCVS_V3_EXP
        QnnHtpPerfInfrastructure_CengExp_t cengExpConfig;         // CENG_EXP
    };
} QnnHtpPerfInfrastructure_PowerConfig_t;

// Options of memory use.
typedef enum {
    QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE = 1,
    QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_UNKNOWN = 0x7FFFFFFF,
} QnnHtpPerfInfrastructure_MemoryConfigOption_t;

// One option of memory use.
typedef struct {
    QnnHtpPerfInfrastructure_MemoryConfigOption_t option; // selects the union member
    union UNNAMED {
        // GROW_SIZE: bytes the heap grows by
        QnnHtpPerfInfrastructure_MemGrowSize_t memGrowSizeConfig;
    };
} QnnHtpPerfInfrastructure_MemoryConfig_t;

// Makes a power config id, never 0.
typedef Qnn_ErrorHandle_t (*QnnHtpPerfInfrastructure_CreatePowerConfigIdFn_t)(
    uint32_t deviceId, uint32_t coreId, uint32_t *powerConfigId);

// Frees a power config id and withdraws its votes.
typedef Qnn_ErrorHandle_t (*QnnHtpPerfInfrastructure_DestroyPowerConfigIdFn_t)(
    uint32_t powerConfigId);

// Sets memory options: a NULL-terminated list.
typedef Qnn_ErrorHandle_t (*QnnHtpPerfInfrastructure_SetMemoryConfigFn_t)(
    uint32_t deviceId, uint32_t coreId, const QnnHtpPerfInfrastructure_MemoryConfig_t **config);

// Votes: a NULL-terminated list of options.
typedef Qnn_ErrorHandle_t (*QnnHtpPerfInfrastructure_SetPowerConfigFn_t)(
    uint32_t powerConfigId, const QnnHtpPerfInfrastructure_PowerConfig_t **config);

// Initial values: everything unset.
// clang-format off
#define QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIG_INIT \
    {QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_UNKNOWN, {{0, 0, 0, \
    (QnnHtpPerfInfrastructure_PowerMode_t)0, 0, 0, 0, 0, 0, \
    (QnnHtpPerfInfrastructure_VoltageCorner_t)0, (QnnHtpPerfInfrastructure_VoltageCorner_t)0, \
    (QnnHtpPerfInfrastructure_VoltageCorner_t)0, 0, (QnnHtpPerfInfrastructure_VoltageCorner_t)0, \
    (QnnHtpPerfInfrastructure_VoltageCorner_t)0, (QnnHtpPerfInfrastructure_VoltageCorner_t)0}}}
#define QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIG_INIT \
    {QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_UNKNOWN, {0}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_HTP_PERF_INFRASTRUCTURE_H
