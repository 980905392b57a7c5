// SPDX-License-Identifier: MIT
//
// What a model costs: parameters and memory, from the shapes of its values. Multiply-accumulates
// are those of the steps that it becomes (quern estimate).
#ifndef QRN_TOOLS_QUERN_COST_H
#define QRN_TOOLS_QUERN_COST_H

#include "tools/quern/session.h"

typedef struct qt_cost {
    double parameters;       // elements of constants that nodes read
    double weight_bytes;     // of the same
    double activation_bytes; // most bytes of values that are alive at the same time
    bool complete;           // the shapes of all values are known
} qt_cost;

// `values` are those that an import reported (qt_values), or empty. False when out of memory.
bool qt_cost_of(const ox_model *m, const qt_values *values, qt_cost *out);

#endif
