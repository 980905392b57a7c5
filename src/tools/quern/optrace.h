// SPDX-License-Identifier: MIT
//
// Op traces and schematics, read into lists (docs/profiling.md has the format). Both come from
// files: counts are checked against the bytes that are there, indices against their lists.
#ifndef QRN_TOOLS_QUERN_OPTRACE_H
#define QRN_TOOLS_QUERN_OPTRACE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QT_NO_INDEX UINT32_MAX

// --- a trace: one execution

// An op as it ran on this host, in ticks.
typedef struct qt_ran {
    uint32_t id, thread;
    uint64_t begin, end, in_bytes, out_bytes;
} qt_ran;

// Engines of a modelled step, as a set.
enum { QT_HVX = 1, QT_HMX = 2, QT_DMA = 4 };

// A modelled step: nanoseconds from the call on.
typedef struct qt_step {
    uint32_t id, engines;
    double begin, run, end;                         // control and waits until `run`, then its unit
    double fetch[2];                                // begin and end: its weights come
    double swap[2];                                 // its activations go to DDR and come back
    uint64_t weights, fills, spills, reads, writes; // bytes; version 3
} qt_step;

typedef struct qt_optrace {
    uint32_t version;
    const char *graph;
    double ticks_per_us; // of `ran`
    uint64_t clock_hz;   // of the modelled core; 0: not modelled, or version 1 or 2
    qt_ran *ran;
    qt_step *steps;
    uint32_t n_ran, n_steps;
} qt_optrace;

// From hexadecimal digits, into the arena; false: they are damaged, or memory is short.
bool qt_optrace_read(qrn_arena *a, const char *hex, qt_optrace *out);

// --- a schematic: the graph that ops belong to

typedef struct qt_value {
    uint32_t tensor, storage, type, rank; // storage 2: the application's; type: of the API
    uint64_t bytes;
    const char *name; // "": a temporary
    const uint32_t *dims;
} qt_value;

typedef struct qt_op {
    uint32_t id, n_in, n_out;
    const char *name, *type;
    const uint32_t *in, *out; // values by index; QT_NO_INDEX: absent
} qt_op;

// A place in the VTCM from the begin of step `first` to the end of `last`, which are op ids.
typedef struct qt_place {
    uint32_t tensor, weights, offset, bytes, first, last;
} qt_place;

typedef struct qt_schematic {
    const char *graph;
    qt_value *values;
    qt_op *ops;
    qt_place *places;
    uint32_t n_values, n_ops, n_places, vtcm_bytes;
} qt_schematic;

// NULL, or what is wrong with the bytes.
const char *qt_schematic_read(qrn_arena *a, const unsigned char *data, size_t n, qt_schematic *out);

#endif
