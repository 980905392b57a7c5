// SPDX-License-Identifier: MIT
//
// LPAI backend: custom configuration of graph preparation. libQnnLpai.so rejects it.

#ifndef QNN_LPAI_GRAPH_PREPARE_H
#define QNN_LPAI_GRAPH_PREPARE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Option of the preparation.
typedef enum {
    QNN_LPAI_GRAPH_SET_CFG_PREPARE = 10001,
} QnnLpaiGraph_ConfigPrepareOption_t;

// How a graph is prepared.
typedef struct {
    uint32_t enablePerLayer;   // not 0: keep layers apart
    char *enableCoreSelection; // cores to prepare for
} QnnLpaiGraph_CustomConfigPrepare_t;

// Initial values: everything unset.
#define QNN_LPAI_GRAPH_CUSTOM_CONFIG_PREPARE_INIT {0, NULL}

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_LPAI_GRAPH_PREPARE_H
