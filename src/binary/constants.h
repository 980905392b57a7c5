// SPDX-License-Identifier: MIT
//
// The constants of a binary that is being written: each content once, whoever uses it, unless
// graphs have their weights apart. Data is only pointed at until the file is filled.
#ifndef QRN_BINARY_CONSTANTS_H
#define QRN_BINARY_CONSTANTS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct qrn_constant {
    const void *data;
    uint64_t size_bytes;
    uint32_t crc;        // of its bytes; finds equal ones
    uint32_t n_graphs;   // that use it
    uint32_t last_graph; // the latest of them
    bool param;          // a parameter of an op: read while loading
    uint32_t section;    // qrn_bin_section_type, after qrn_constants_place
    uint64_t offset;     // in its section
} qrn_constant;

typedef struct qrn_constants {
    qrn_constant *items; // in the order in which they were first used
    uint32_t n, cap;
    uint32_t *slots; // open addressing by crc and size: index + 1; 0: free
    uint32_t n_slots;
    uint64_t const_bytes, weights_bytes, shared_bytes; // of the sections; 0: none
    bool apart; // each graph has weights of its own, even where they are equal
} qrn_constants;

// The index of the constant with these bytes; graphs come one after the other.
qrn_status qrn_constants_add(qrn_constants *c, uint32_t graph, const void *data,
                             uint64_t size_bytes, bool param, uint32_t *index);
// Gives every constant its section and offset.
void qrn_constants_place(qrn_constants *c);
void qrn_constants_free(qrn_constants *c);

#endif
