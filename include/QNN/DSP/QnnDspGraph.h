// SPDX-License-Identifier: MIT
//
// DSP backend: custom configuration of a graph. For clients that include it; Quern has no such
// library.

#ifndef QNN_DSP_GRAPH_H
#define QNN_DSP_GRAPH_H

#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// What an optimisation option sets.
typedef enum {
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_SCHEDULE_THRESHOLD = 1,
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_RETRIES = 2,
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG = 3,
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC = 4,
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_UNKNOWN = 0x7FFFFFFF,
} QnnDspGraph_OptimizationType_t;

// One optimisation option.
typedef struct {
    QnnDspGraph_OptimizationType_t type; // what is set
    float floatValue;                    // its value
} QnnDspGraph_OptimizationOption_t;

// Custom options of a graph.
typedef enum {
    QNN_DSP_GRAPH_CONFIG_OPTION_OPTIMIZATION = 1,
    QNN_DSP_GRAPH_CONFIG_OPTION_ENCODING = 2,
    QNN_DSP_GRAPH_CONFIG_OPTION_PRIORITY = 3,
    QNN_DSP_GRAPH_CONFIG_OPTION_PRECISION = 4,
    QNN_DSP_GRAPH_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnDspGraph_ConfigOption_t;

// Whether encodings are computed while running. Earlier versions misspelt the names; both stay.
typedef enum {
    QNN_DSP_GRAPH_ENCODING_DYNAMIC = 1,
    QNN_DSP_GRAPH_ENCOING_DYNAMIC = 1,
    QNN_DSP_GRAPH_ENCODING_STATIC = 2,
    QNN_DSP_GRAPH_ENCOING_STATIC = 2,
    QNN_DSP_GRAPH_ENCODING_UNKNOWN = 0x7FFFFFFF,
    QNN_DSP_GRAPH_ENCOING_UNKNOW = 0x7FFFFFFF,
} QnnDspGraph_Encoding_t;

// One custom option.
typedef struct {
    QnnDspGraph_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnDspGraph_OptimizationOption_t optimizationOption; // OPTIMIZATION
        QnnDspGraph_Encoding_t encoding;                     // ENCODING
        Qnn_Priority_t priority;                             // PRIORITY
        Qnn_Precision_t precision;                           // PRECISION
    };
} QnnDspGraph_CustomConfig_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_DSP_GRAPH_H
