// SPDX-License-Identifier: MIT
//
// Memory plan: blocks that live from one step to another get offsets in one arena. Two overlap only
// if their lifetimes do not. Deterministic: the same blocks always get the same offsets.
#ifndef QRN_BIND_MEMPLAN_H
#define QRN_BIND_MEMPLAN_H

#include "base/status.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct qrn_mem_item {
    size_t bytes; // rounded up to the alignment by the caller
    size_t offset;
    uint32_t first, last; // steps, inclusive
    uint32_t index;       // the caller's; no two items of one kind have the same
    bool scratch;         // kind; breaks ties
} qrn_mem_item;

// Sets the offsets; items are put into another order. *arena: bytes of all, *bound: the most bytes
// that are alive at one step, which no plan can do without.
qrn_status qrn_mem_plan(qrn_mem_item *items, uint32_t n, uint32_t n_steps, size_t *arena,
                        size_t *bound);

#endif
