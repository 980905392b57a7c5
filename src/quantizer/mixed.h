// SPDX-License-Identifier: MIT
//
// Which precision each group of layers gets. Input is a table: what the results lose and what an
// inference takes when one group leaves the finest precision, and what a conversion costs between
// neighbours of different precisions. Losses of several groups are taken as independent, so they
// add; groups are taken as a chain. Both are simplifications: callers measure what they choose.
#ifndef QRN_QUANTIZER_MIXED_H
#define QRN_QUANTIZER_MIXED_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define QZ_MIXED_OPTIONS 8 // at most

typedef struct qz_mixed {
    uint32_t n_groups, n_options;
    const double *noise; // [group][option]: added to the power of the error; may be negative
    const double *ms;    // [group][option]: added to the time; may be negative
    const double *turn;  // (optional) [group][option]: time of a conversion at either end
} qz_mixed;

// The options with the least sum of noise + weight * ms, conversions included; without them, of
// equals the faster ones. A weight of 0 gives the least noise. QRN_E_MEM.
qrn_status qz_mixed_choose(const qz_mixed *m, double weight, uint8_t *choice);

// Weights, ascending, between which choices without conversions differ: the one before each change
// of a group's choice and the one behind the last. Of more than `most` (at least 2) some are left
// out evenly, never the ends. Returns how many; 0: out of memory.
uint32_t qz_mixed_weights(const qz_mixed *m, double *out, uint32_t most);

typedef struct qz_point {
    double ms, quality; // less is better, more is better
    bool on_front;
} qz_point;

// Marks the points for which no other is as fast and better, or as good and faster. Of equal points
// the first is marked; those with NaN are not.
void qz_mixed_front(qz_point *points, uint32_t n);

#endif
