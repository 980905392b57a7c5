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

// Errors of a model library.
typedef enum {
    MODEL_NO_ERROR = 0,               // done
    MODEL_TENSOR_ERROR = 1,           // a tensor could not be made
    MODEL_PARAMS_ERROR = 2,           // a parameter could not be made
    MODEL_NODES_ERROR = 3,            // a node could not be added
    MODEL_GRAPH_ERROR = 4,            // a graph could not be made
    MODEL_CONTEXT_ERROR = 5,          // the context could not be used
    MODEL_GENERATION_ERROR = 6,       // the model itself is wrong
    MODEL_SETUP_ERROR = 7,            // something needed is missing
    MODEL_INVALID_ARGUMENT_ERROR = 8, // an argument is wrong
    MODEL_FILE_ERROR = 9,             // a file could not be read
    MODEL_MEMORY_ALLOCATE_ERROR = 10, // out of memory
    MODEL_UNKNOWN_ERROR = 0x7FFFFFFF, // anything else
} ModelError_t;

// A graph that the library built.
typedef struct GraphInfo {
    Qnn_GraphHandle_t graph;     // handle
    char *graphName;             // name of the graph
    Qnn_Tensor_t *inputTensors;  // with their ids
    uint32_t numInputTensors;    // length of inputTensors
    Qnn_Tensor_t *outputTensors; // with their ids
    uint32_t numOutputTensors;   // length of outputTensors
} GraphInfo_t;

// An entry of the list that is returned.
typedef GraphInfo_t *GraphInfoPtr_t;

// Options for a graph by its name.
typedef struct GraphConfigInfo {
    char *graphName;                        // name of the graph
    const QnnGraph_Config_t **graphConfigs; // NULL-terminated options
} GraphConfigInfo_t;

#ifdef __cplusplus
} // namespace qnn_wrapper_api

extern "C" {
#define QUERN_MODEL_NS qnn_wrapper_api::
#else
#define QUERN_MODEL_NS
#endif

// Builds the graphs in a context through the function table, which is passed by value, and returns
// an array of pointers to their descriptions. graphsConfigInfo may be NULL.
QUERN_MODEL_NS ModelError_t QnnModel_composeGraphs(
    Qnn_BackendHandle_t backendHandle, QNN_INTERFACE_VER_TYPE iface,
    Qnn_ContextHandle_t contextHandle, const QUERN_MODEL_NS GraphConfigInfo_t **graphsConfigInfo,
    const uint32_t numGraphsConfigInfo, QUERN_MODEL_NS GraphInfo_t ***graphsInfo,
    uint32_t *numGraphsInfo, bool debug, QnnLog_Callback_t logCallback, QnnLog_Level_t maxLogLevel);

// Frees what QnnModel_composeGraphs returned.
QUERN_MODEL_NS ModelError_t QnnModel_freeGraphsInfo(QUERN_MODEL_NS GraphInfo_t ***graphsInfo,
                                                    uint32_t numGraphsInfo);

// Of libQnnModelDlc.so: the same for the graphs of a DLC file.
QUERN_MODEL_NS ModelError_t QnnModel_composeGraphsFromDlc(
    Qnn_BackendHandle_t backendHandle, QNN_INTERFACE_VER_TYPE iface,
    Qnn_ContextHandle_t contextHandle, const QUERN_MODEL_NS GraphConfigInfo_t **graphsConfigInfo,
    const char *dlcPath, const uint32_t numGraphsConfigInfo,
    QUERN_MODEL_NS GraphInfo_t ***graphsInfo, uint32_t *numGraphsInfo, bool debug,
    QnnLog_Callback_t logCallback, QnnLog_Level_t maxLogLevel);

#undef QUERN_MODEL_NS

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_MODEL_H
