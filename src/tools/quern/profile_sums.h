// SPDX-License-Identifier: MIT
//
// Profiles added up: calls of one kind of one graph, event by event.
#ifndef QRN_TOOLS_QUERN_PROFILE_SUMS_H
#define QRN_TOOLS_QUERN_PROFILE_SUMS_H

#include "tools/quern/profile_log.h"

#include <jansson.h>

typedef struct qt_sum {
    const qt_event *e; // the first of them
    uint64_t total, min, max;
    uint32_t n; // times that it came
    struct qt_sum *sub;
    uint32_t n_sub, cap;
} qt_sum;

typedef struct qt_group {
    qt_call_kind kind;
    const char *graph;
    uint32_t index; // of the graph, in order of appearance
    uint32_t runs;
    qt_sum all; // its events are `sub`
} qt_group;

typedef struct qt_groups {
    qt_group *list; // by kind, then graph
    uint32_t n;
} qt_groups;

// Lists live in the profile's arena; false: no memory.
bool qt_profile_sum(const qt_profile *p, qt_groups *out);

// A node of a graph, averages over its executions; a number that is missing is below 0.
typedef struct qt_node_row {
    const char *name; // with its number: "conv:OpId_7"
    double us, cycles, modelled;
} qt_node_row;
bool qt_profile_nodes(const qt_profile *p, const qt_group *g, qt_node_row **rows, uint32_t *n);

// The report: averages, `all`: every event, the least and the most; at most `top` nodes in a table
// (0: no table). QT_EXIT_OK or another code after a message.
int qt_profile_print(const qt_profile *p, const qt_groups *g, bool all, uint64_t top);
json_t *qt_profile_json(const qt_profile *p, const qt_groups *g);
// Names of units that a value of event 5004 stands for ("HVX, DMA"), into buf.
const char *qt_profile_units(uint64_t set, char *buf, size_t size);

// What Perfetto and Chrome read, and a file of it. NULL and false after a message.
json_t *qt_profile_trace_json(const qt_profile *p);
bool qt_profile_trace(const qt_profile *p, const char *path);

#endif
