// SPDX-License-Identifier: MIT
//
// Small constants that keep a Log or a division away from 0: x + 1e-10, max(x, 1e-12). Float16 has
// no number below 2^-24, so they vanish where a value stays float, and Log(0) and 0 / 0 are left.
#ifndef QRN_QUANTIZER_EPSILON_H
#define QRN_QUANTIZER_EPSILON_H

#include "quantizer/graph.h"

typedef struct qz_epsilons {
    uint32_t n_raised; // constants that became 2^-24
    uint32_t n_logs;   // Logs whose results end at the logarithm of the constant
    double smallest;   // of all of them
} qz_epsilons;

// Raises such constants; a Log of one gets a Clip behind it instead: its result is part of the
// answer, and with float16's own epsilon it would end at -16.6.
qrn_status qz_raise_epsilons(ox_model *m, qz_epsilons *out);

// Is a value, which has a range with steps of that size, the operand of a Log that tells apart what
// the steps do not? Sums and maxima with a constant may lie between.
bool qz_feeds_log(const qz_graph *g, const qz_value *v, double step);

#endif
