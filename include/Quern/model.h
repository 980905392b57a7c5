// SPDX-License-Identifier: MIT
//
// Model library: the two entry points of a library that a model converter wrote, and their types.
// In C++ the types live in namespace qnn_wrapper_api; the functions have C linkage.

#ifndef QUERN_MODEL_H
#define QUERN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "QnnInterface.h"

#ifdef __cplusplus
namespace qnn_wrapper_api {
#endif

typedef enum {
    MODEL_NO_ERROR = 0,
    MODEL_TENSOR_ERROR = 1,
    MODEL_PARAMS_ERROR = 2,
    MODEL_NODES_ERROR = 3,
    MODEL_GRAPH_ERROR = 4,
    MODEL_CONTEXT_ERROR = 5,
    MODEL_GENERATION_ERROR = 6,
    MODEL_SETUP_ERROR = 7,
    MODEL_INVALID_ARGUMENT_ERROR = 8,
    MODEL_FILE_ERROR = 9,
    MODEL_MEMORY_ALLOCATE_ERROR = 10,
    MODEL_UNKNOWN_ERROR = 0x7FFFFFFF,
} ModelError_t;

typedef struct GraphInfo {
    Qnn_GraphHandle_t graph;
    char *graphName;
    Qnn_Tensor_t *inputTensors;
    uint32_t numInputTensors;
    Qnn_Tensor_t *outputTensors;
    uint32_t numOutputTensors;
} GraphInfo_t;

typedef GraphInfo_t *GraphInfoPtr_t;

typedef struct GraphConfigInfo {
    char *graphName;
    const QnnGraph_Config_t **graphConfigs;
} GraphConfigInfo_t;

#ifdef __cplusplus
} // namespace qnn_wrapper_api

extern "C" {
#define QUERN_MODEL_NS qnn_wrapper_api::
#else
#define QUERN_MODEL_NS
#endif

QUERN_MODEL_NS ModelError_t QnnModel_composeGraphs(
    Qnn_BackendHandle_t backendHandle, QNN_INTERFACE_VER_TYPE iface,
    Qnn_ContextHandle_t contextHandle, const QUERN_MODEL_NS GraphConfigInfo_t **graphsConfigInfo,
    const uint32_t numGraphsConfigInfo, QUERN_MODEL_NS GraphInfo_t ***graphsInfo,
    uint32_t *numGraphsInfo, bool debug, QnnLog_Callback_t logCallback, QnnLog_Level_t maxLogLevel);

QUERN_MODEL_NS ModelError_t QnnModel_freeGraphsInfo(QUERN_MODEL_NS GraphInfo_t ***graphsInfo,
                                                    uint32_t numGraphsInfo);

#undef QUERN_MODEL_NS

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_MODEL_H
