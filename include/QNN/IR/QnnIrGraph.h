// SPDX-License-Identifier: MIT
//
// IR backend: custom configuration of a graph.

#ifndef QNN_IR_GRAPH_H
#define QNN_IR_GRAPH_H

#include "QnnGraph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER = 1,
} QnnIrGraph_SerializationType_t;

typedef struct {
    QnnIrGraph_SerializationType_t serializationType;
    const char *outputPath;
} QnnIrGraph_SerializationOption_t;

typedef enum {
    QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION = 1,
    QNN_IR_GRAPH_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnIrGraph_ConfigOption_t;

typedef struct {
    QnnIrGraph_ConfigOption_t option;
    union UNNAMED {
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
