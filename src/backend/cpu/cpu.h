// SPDX-License-Identifier: MIT
//
// The CPU backend's own objects.
#ifndef QRN_BACKEND_CPU_CPU_H
#define QRN_BACKEND_CPU_CPU_H

#include "backend/package/package.h"
#include "core/services.h"

#include "CPU/QnnCpuGraph.h"

// Behind qrn_api_graph.impl.
typedef struct qrn_cpu_graph {
    void *user_ops;                         // op instances of user packages, newest first
    QnnCpuGraph_OpDebugCallback_t callback; // option: called after each op; or NULL
    void *param;
} qrn_cpu_graph;

static inline qrn_cpu_graph *qrn_cpu_graph_of(const qrn_api_graph *g) { return g->impl; }

// One execution of a graph with a debug callback.
typedef struct qrn_cpu_debug {
    const qrn_api_graph *graph;
    const qrn_run_options *next; // of the call: its trace comes first, if it has one
} qrn_cpu_debug;

// debug.c: calls the graph's debug callback after a node; fits qrn_run_options.trace, with a
// qrn_cpu_debug.
void qrn_cpu_debug_trace(void *debug, uint32_t node, const qrn_values *values);

#endif
