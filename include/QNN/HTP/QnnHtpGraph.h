// SPDX-License-Identifier: MIT
//
// HTP backend: custom configuration of a graph.

#ifndef QNN_HTP_GRAPH_H
#define QNN_HTP_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "QnnGraph.h"

#ifdef __cplusplus
extern "C" {
#endif

// Value of vtcmSizeInMB that asks for all there is.
#define QNN_HTP_GRAPH_CONFIG_OPTION_MAX 0

// What an optimisation option sets.
typedef enum {
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_SCHEDULE_THRESHOLD = 1,
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_RETRIES = 2,
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG = 3, // optimisation level, 1 to 3
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC = 4, // compress activations on the way to memory
    // compress weights on the way to memory
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC_WEIGHTS = 5,
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SPARSE_WEIGHTS_COMPRESSION = 6,
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR = 7,
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_VTCM_RETENTION = 8,
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_CACHED_WEIGHTS = 9,
    QNN_HTP_GRAPH_OPTIMIZATION_TYPE_UNKNOWN = 0x7FFFFFFF,
} QnnHtpGraph_OptimizationType_t;

// One optimisation option.
typedef struct {
    QnnHtpGraph_OptimizationType_t type; // what is set
    float floatValue;                    // its value
} QnnHtpGraph_OptimizationOption_t;

// Part of the VTCM a graph uses.
typedef struct {
    uint32_t sizeInBytes;      // of the part
    uint32_t offsetInBytes;    // where it begins
    uint32_t sizeTotalInBytes; // of the whole
    uint32_t reserved[3];      // not used
} QnnHtpGraph_VtcmConfig_t;

// How graphs share the device; retired.
typedef enum {
    QNN_HTP_GRAPH_CONCURRENCY_OPTION_NONE = 0,
    QNN_HTP_GRAPH_CONCURRENCY_OPTION_DEFAULT = 0,
    QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED = 1,
    QNN_HTP_GRAPH_CONCURRENCY_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnHtpGraph_ConcurrencyOption_t;

// Graphs that run side by side; retired.
typedef struct {
    QnnHtpGraph_ConcurrencyOption_t concurrency; // how to share
    QnnHtpGraph_VtcmConfig_t vtcmConfig;         // its part of the VTCM
    uint32_t reserved[4];                        // not used
} QnnHtpGraph_ParallelGraphExecutionConfig_t;

// Clocks to assume for the matrix unit.
typedef struct QnnHtp_HmxBoundingInfo {
    float targetHmxFreqHz;   // clock of the matrix unit
    float targetDspCoreFreq; // clock of the core
} QnnHtp_HmxBoundingInfo_t;

// A named setting of the compiler.
typedef struct {
    const char *key;    // name of the setting
    Qnn_Scalar_t value; // its value
} QnnHtpGraph_FinalizeConfig_t;

// Custom options of a graph.
typedef enum {
    QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION = 1,
    QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION = 2,
    QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB = 3,
    QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE = 3, // older name
    QNN_HTP_GRAPH_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF = 4,
    QNN_HTP_GRAPH_CONFIG_OPTION_SHORT_DEPTH_CONV_ON_HMX_OFF = 5,
    QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS = 6,
    QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG = 7,
    QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES = 8,
    QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG = 9, // retired
    QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES = 10,
    QNN_HTP_GRAPH_CONFIG_OPTION_HMX_BOUNDING = 11,
    QNN_HTP_GRAPH_CONFIG_OPTION_WEIGHTS_PACKING = 12,
    QNN_HTP_GRAPH_CONFIG_OPTION_ASSUME_SAME_QUANT = 13,
    QNN_HTP_GRAPH_CONFIG_OPTION_SHARE_IO_BUFFER = 14,
    QNN_HTP_GRAPH_CONFIG_OPTION_ADVANCED_ACTIVATION_FUSION = 15,
    QNN_HTP_GRAPH_CONFIG_OPTION_HIGH_PRECISION_SIGMOID = 16,
    QNN_HTP_GRAPH_CONFIG_OPTION_MONOLITHIC_LSTM = 17,
    QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION_COMPENSATION = 18,
    QNN_HTP_GRAPH_CONFIG_OPTION_ENABLE_PREDICATION = 19,
    QNN_HTP_GRAPH_CONFIG_OPTION_FP16_CLAMP_OVERFLOW = 20,
    QNN_HTP_GRAPH_CONFIG_OPTION_RESERVED = 0x7FFF0000,
    QNN_HTP_GRAPH_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnHtpGraph_ConfigOption_t;

// One custom option.
typedef struct {
    QnnHtpGraph_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnHtpGraph_OptimizationOption_t optimizationOption; // OPTIMIZATION
        Qnn_Precision_t precision;          // PRECISION: FLOAT16 lets float32 graphs run in half
        uint32_t vtcmSizeInMB;              // VTCM_SIZE_IN_MB: 0 for all there is
        bool foldReluActivationIntoConvOff; // FOLD_RELU_ACTIVATION_INTO_CONV_OFF
        bool shortDepthConvOnHmxOff;        // SHORT_DEPTH_CONV_ON_HMX_OFF
        uint64_t numHvxThreads;             // NUM_HVX_THREADS
        void *reserved;                     // RESERVED
        QnnHtpGraph_FinalizeConfig_t finalizeConfig; // FINALIZE_CONFIG
        uint32_t numCores;                           // NUM_CORES
        // PARALLEL_GRAPH_EXECUTION_CONFIG: retired
        QnnHtpGraph_ParallelGraphExecutionConfig_t parallelGraphExecutionConfig;
        uint32_t vtcmSizeInBytes;                 // VTCM_SIZE_IN_BYTES
        QnnHtp_HmxBoundingInfo_t hmxBoundingInfo; // HMX_BOUNDING
        bool weightsPacking;                      // WEIGHTS_PACKING
        bool assumeSameQuant;                     // ASSUME_SAME_QUANT
        bool shareIOBuffer;                       // SHARE_IO_BUFFER
        bool advancedActivationFusion;            // ADVANCED_ACTIVATION_FUSION
        bool highPrecisionSigmoid;                // HIGH_PRECISION_SIGMOID
        bool monolithicLstm;                      // MONOLITHIC_LSTM
        bool precisionCompensation;               // PRECISION_COMPENSATION
        bool enablePredication;                   // ENABLE_PREDICATION
        bool fp16ClampOverflow; // FP16_CLAMP_OVERFLOW: the greatest number in place of infinity
    };
} QnnHtpGraph_CustomConfig_t;

// Initial values: everything unset.
// clang-format off
#define QNN_HTP_GRAPH_OPTIMIZATION_OPTION_INIT {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_UNKNOWN, 0.0f}
#define QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT \
    {QNN_HTP_GRAPH_CONFIG_OPTION_UNKNOWN, {QNN_HTP_GRAPH_OPTIMIZATION_OPTION_INIT}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_HTP_GRAPH_H
