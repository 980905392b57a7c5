// SPDX-License-Identifier: MIT
//
// IR backend: custom configuration of a graph.

#ifndef QNN_IR_GRAPH_H
#define QNN_IR_GRAPH_H

#include "QnnGraph.h"

#ifdef __cplusplus
extern "C" {
#endif

// Format of the file.
typedef enum {
    QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER = 1,
} QnnIrGraph_SerializationType_t;

// Where to write the graph.
typedef struct {
    QnnIrGraph_SerializationType_t serializationType; // format
    const char *outputPath;                           // file or folder
} QnnIrGraph_SerializationOption_t;

// Custom options of a graph.
typedef enum {
    QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION = 1,
    QNN_IR_GRAPH_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnIrGraph_ConfigOption_t;

// One custom option.
typedef struct {
    QnnIrGraph_ConfigOption_t option; // selects the union member
    union UNNAMED {
        // SERIALIZATION: written when the graph is finalized
        QnnIrGraph_SerializationOption_t serializationOption;
    };
} QnnIrGraph_CustomConfig_t;

// Initial values: everything unset.
// clang-format off
#define QNN_IR_GRAPH_SERIALIZATION_OPTION_INIT {QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER, ""}
#define QNN_IR_GRAPH_CUSTOM_CONFIG_INIT \
    {QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION, {QNN_IR_GRAPH_SERIALIZATION_OPTION_INIT}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_IR_GRAPH_H
