// SPDX-License-Identifier: MIT
//
// One execution of a graph on the HTP: what each unit does when, in cycles of the modelled core,
// and what follows from it. Without a modelled chip it is what was measured on this host, at one
// cycle a nanosecond.
#ifndef QRN_TOOLS_PROFILE_VIEWER_HTP_RUN_H
#define QRN_TOOLS_PROFILE_VIEWER_HTP_RUN_H

#include "tools/quern/optrace.h"

// In the order in which they count for the dominant path (TOOL-QHS-01).
typedef enum qv_unit { QV_HMX, QV_HVX, QV_READ, QV_WRITE, QV_HOST, QV_UNITS } qv_unit;

// Rows of units: both directions of the DMA are one.
typedef struct qv_thread {
    const char *type;
    uint32_t tid;
} qv_thread;
extern const qv_thread qv_threads[QV_UNITS];

typedef struct qv_piece {
    uint32_t op; // of the schematic, by index; QT_NO_INDEX: of no node
    qv_unit unit;
    const char *type;                                      // of the HTP op
    double begin, end;                                     // cycles
    double dominant;                                       // cycles of it on the dominant path
    uint64_t dram_read, dram_write, vtcm_read, vtcm_write; // bytes
} qv_piece;

typedef struct qv_part {
    uint32_t piece;
    double begin, end;
} qv_part;

typedef struct qv_level {
    double at;
    uint64_t bytes;
} qv_level;

typedef struct qv_run {
    const qt_schematic *s;
    bool modelled, zoomed;
    double per_us;     // cycles
    double begin, end; // of all pieces
    double busy;       // cycles in which anything runs
    qv_piece *list;
    qv_part *path;   // the dominant path
    qv_level *vtcm;  // VTCM that is taken from a moment on
    uint32_t *home;  // per op: the op in whose step it runs; QT_NO_INDEX: in none
    uint32_t *maker; // per value: the op that makes it; QT_NO_INDEX: none
    uint32_t n, n_path, n_vtcm;
    uint64_t peak_vtcm;
} qv_run;

// A part of the graph: the ops on paths from one op to another.
typedef struct qv_zoom {
    const char *start, *end; // NULL: all of it
} qv_zoom;

// Lists live in the arena. False after a message: no such node, no path, no memory.
bool qv_run_make(qrn_arena *a, const qt_schematic *s, const qt_optrace *t, qv_zoom zoom,
                 qv_run *out);
const char *qv_op_name(const qv_run *r, uint32_t op);
const char *qv_op_type(const qv_run *r, uint32_t op);

#endif
