// SPDX-License-Identifier: MIT
//
// What an estimate does not rest on: the ways in which a network, a chip or a precision differs
// from all that was measured. An estimate with any of them is to be called uncalibrated.
#ifndef QRN_DEVICE_DOUBT_H
#define QRN_DEVICE_DOUBT_H

#include "device/cost.h"

#define QD_MAX_DOUBTS 16

typedef struct qd_doubt {
    const char *word; // one, for lists
    char text[200];
} qd_doubt;

typedef struct qd_case {
    const qd_graph *graph;
    const qd_steps *steps;
    const qd_chip *chip; // whose constants were used
    const char *lent_to; // a chip that has none of its own; NULL: these are its own
    qd_precision precision;
    const qd_estimate *e;
    const qd_options *options; // NULL: as the measurements were made
    uint32_t n_elsewhere;      // nodes that do not run on the NPU
    bool mixed;                // its GEMMs are in several precisions, of which this is one
} qd_case;

// At most QD_MAX_DOUBTS; returns how many.
uint32_t qd_doubts_of(const qd_case *c, qd_doubt *out);

#endif
