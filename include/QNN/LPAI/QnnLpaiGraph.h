// SPDX-License-Identifier: MIT
//
// LPAI backend: custom configuration and properties of a graph. libQnnLpai.so rejects it.

#ifndef QNN_LPAI_GRAPH_H
#define QNN_LPAI_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "LPAI/QnnLpaiMem.h"

#ifdef __cplusplus
extern "C" {
#endif

// Default performance: frames a second, and the faster-than-real-time ratio.
#define QNN_LPAI_GRAPH_DEFAULT_FPS 1
#define QNN_LPAI_GRAPH_DEFAULT_FTRT_RATIO 10

// Custom options of a graph.
typedef enum {
    QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM = 1,
    QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM = 101,
    QNN_LPAI_GRAPH_SET_CFG_PERF_CFG = 201,
    QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY = 301,
    QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION = 401,
    QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION = 501,
    QNN_LPAI_GRAPH_SET_CFG_BATCH_MULTIPLE_SUPPORT = 601,
    QNN_LPAI_GRAPH_SET_CFG_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiGraph_SetConfigOption_t;

// Custom properties of a graph.
typedef enum {
    QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE = 1,
    QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE = 101,
    QNN_LPAI_GRAPH_GET_PROP_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiGraph_GetPropertyOption_t;

// Whether there is a deadline.
typedef enum {
    QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME = 1,
    QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_NON_REAL_TIME = 2,
    QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiGraph_ClientPerfType_t;

// Performance that is wanted.
typedef struct {
    uint32_t fps;                             // frames a second
    uint32_t ftrtRatio;                       // faster-than-real-time ratio
    QnnLpaiGraph_ClientPerfType_t clientType; // deadline or not
} QnnLpaiGraph_PerfCfg_t;

// Whether another core will do.
typedef enum {
    QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT = 1,
    QNN_LPAI_GRAPH_CORE_AFFINITY_HARD = 2,
    QNN_LPAI_GRAPH_CORE_AFFINITY_UNDEFINED = 0x7FFFFFFF,
} QnnLpaiGraph_CoreAffinityType_t;

// Core that is wanted.
typedef struct {
    QnnLpaiGraph_CoreAffinityType_t affinity; // whether another will do
    uint32_t coreSelection;                   // which core
} QnnLpaiGraph_CoreAffinity_t;

// Memory for the graph.
typedef struct {
    QnnLpaiMem_MemType_t memType; // kind
    uint32_t size;                // bytes
    void *addr;                   // the memory
} QnnLpaiGraph_Mem_t;

// One custom option.
typedef struct {
    uint32_t option; // selects what is pointed to
    void *config;    // value of the option
} QnnLpaiGraph_CustomConfig_t;

// One custom property.
typedef struct {
    uint32_t option; // selects what is pointed to
    void *property;  // where the value goes
} QnnLpaiGraph_CustomProperty_t;

// Initial values: the defaults of performance and affinity, everything else unset.
// clang-format off
#define QNN_LPAI_GRAPH_PERF_CFG_INIT \
    {QNN_LPAI_GRAPH_DEFAULT_FPS, QNN_LPAI_GRAPH_DEFAULT_FTRT_RATIO, \
    QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME}
#define QNN_LPAI_GRAPH_CORE_AFFINITY_INIT {QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 0}
#define QNN_LPAI_GRAPH_CUSTOM_CONFIG_INIT {QNN_LPAI_GRAPH_SET_CFG_UNDEFINED, NULL}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_LPAI_GRAPH_H
