// SPDX-License-Identifier: MIT
//
// What to change in a network so that an NPU runs it faster. Each rule comes with the steps that
// break it and with the time that the cost model gives once they no longer do.
#ifndef QRN_DEVICE_ADVICE_H
#define QRN_DEVICE_ADVICE_H

#include "device/cost.h"

// A step that breaks a rule.
typedef struct qd_hit {
    uint32_t step;
    double gain; // us of the graph, if this step alone is changed
    char detail[200];
} qd_hit;

typedef struct qd_advice {
    const char *rule, *source, *change; // a word for it; where it is published; what to do
    bool at_most;                       // the gain is the most that the change can bring
    bool unknown;                       // the model has no term for it; the gain is 0
    double gain;                        // us of the graph, if all of them are changed
    qd_hit *hits;                       // largest gain first
    uint32_t n;
} qd_advice;

typedef struct qd_advices {
    qd_advice *list; // largest gain first; what brings less than 0.1 % is left out
    uint32_t n;
} qd_advices;

// Lists live in the arena.
qrn_status qd_advise(const qd_graph *g, const qd_steps *steps, const qd_estimate *e,
                     const qd_chip *chip, qd_precision p, const qd_options *options,
                     qrn_arena *arena, qd_advices *out);

#endif
