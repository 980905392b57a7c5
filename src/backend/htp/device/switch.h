// SPDX-License-Identifier: MIT
//
// Graph switching: which graphs of a context are loaded when memory is short (HTP-GSW, HTP-MGS).
// One graph at a time, or, with a retention order, the listed ones as long as there is room. A
// state machine over sizes; what loading means is the caller's. No lock: the caller has one.
#ifndef QRN_BACKEND_HTP_SWITCH_H
#define QRN_BACKEND_HTP_SWITCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define QRN_SWITCH_NOT_KEPT UINT32_MAX

typedef struct qrn_switch_graph {
    const char *name;
    uint64_t size_bytes; // while it is loaded
    bool disabled;       // left out by ENABLE_GRAPHS
    uint32_t rank;       // place in the retention order, 0 first; NOT_KEPT: not in it
    bool loaded;
    uint32_t n_running; // executions
} qrn_switch_graph;

typedef struct qrn_switch {
    qrn_switch_graph *graphs;
    uint32_t n_graphs;
    uint64_t room_bytes; // for all loaded graphs together
    qrn_status (*load)(void *ctx, uint32_t graph);
    void (*unload)(void *ctx, uint32_t graph);
    void *ctx;
} qrn_switch;

// Replaces the retention order: n graphs, the most important first; none: plain switching. Counts
// from the next execution on (HTP-MGS-05).
void qrn_switch_retain(qrn_switch *s, const uint32_t *order, uint32_t n);

// Loads what is there at the start: the graphs of the retention order, all of which must fit
// (QRN_E_BINARY), or else the graph `first`.
qrn_status qrn_switch_start(qrn_switch *s, uint32_t first);

// Before and after an execution. Enter loads the graph if need be, and fails with QRN_E_DISABLED,
// with QRN_E_NOT_PERMITTED while another graph runs, with QRN_E_MEM when it cannot fit, or as
// `load` does.
qrn_status qrn_switch_enter(qrn_switch *s, uint32_t graph);
void qrn_switch_leave(qrn_switch *s, uint32_t graph);

uint64_t qrn_switch_loaded_bytes(const qrn_switch *s);

#endif
