// SPDX-License-Identifier: MIT
//
// The rules behind advice: what they may look at, and what they find.
#ifndef QRN_DEVICE_ADVICE_RULES_H
#define QRN_DEVICE_ADVICE_RULES_H

#include "device/advice.h"

#include <stddef.h>

typedef struct qd_look {
    const qd_graph *g;
    const qd_steps *steps;
    const qd_estimate *e;
    const qd_chip *chip;
    qd_precision p;
    const qd_options *options;
    double vtcm;             // bytes
    const uint32_t *made_by; // per value: the op that makes it; UINT32_MAX: none
    uint32_t last_picture;   // the last matrix step of more than one row
} qd_look;

// What a rule finds in a step.
typedef struct qd_found {
    qd_time now, then; // the step as it is and with the change; then all zero: it goes away
    double more;       // us of other steps that go away with it
    char *detail;      // what is to be said of it; as long as qd_hit's
} qd_found;

typedef struct qd_rule {
    const char *name, *source; // source: where the rule is published
    bool (*breaks)(const qd_look *l, uint32_t step, qd_found *f);
    // How well the model knows it; narrow: all of the graph comes to 8 bits, its start, too.
    enum { QD_EXACT, QD_AT_MOST, QD_AT_MOST_NARROW, QD_UNKNOWN } gain;
    const char *change;
} qd_rule;

extern const qd_rule qd_rules[];
extern const size_t qd_n_rules;

// Rules about fitting into the VTCM (advice_tiles.c).
bool qd_rule_spill(const qd_look *l, uint32_t step, qd_found *f);
bool qd_rule_tile(const qd_look *l, uint32_t step, qd_found *f);
bool qd_rule_concat(const qd_look *l, uint32_t step, qd_found *f);

#define QD_SAY(f, ...) snprintf((f)->detail, sizeof((qd_hit *)0)->detail, __VA_ARGS__)

#endif
