// SPDX-License-Identifier: MIT
//
// What the recurrent kernels share: the layout of the sequence, the state, small functions.
#ifndef QRN_KERNELS_RECURRENT_STEPS_H
#define QRN_KERNELS_RECURRENT_STEPS_H

#include "kernels/kernel.h"

#include <math.h>
#include <string.h>

#define SIDE_BY_SIDE 8 // rows of a matrix that are summed at the same time

// How many steps and rows a sequence has, and where they lie.
typedef struct sequence {
    size_t n_steps, batch, step_stride, row_stride; // strides in rows of the last dimension
} sequence;

static inline sequence sequence_of(const qrn_view *x, bool time_major) {
    if (x->rank == 2)
        return (sequence){1, x->dims[0], 0, 1};
    if (time_major)
        return (sequence){x->dims[0], x->dims[1], x->dims[1], 1};
    return (sequence){x->dims[1], x->dims[0], 1, x->dims[1]};
}

// Tasks for a call; `width` is about the length of a row's work space, its square the work of a
// step.
static inline uint32_t row_tasks(sequence s, size_t width, uint32_t n_threads) {
    if (width * width / 8 * s.n_steps < 8192)
        return 1;
    return s.batch < n_threads ? (uint32_t)s.batch : n_threads;
}

static inline double logistic(double v) { return 1.0 / (1.0 + exp(-v)); }

// Limits v to [-t, t]; t = 0 is no limit.
static inline double clip(double v, double t) { return t > 0 && fabs(v) > t ? copysign(t, v) : v; }

// The state of a batch row; NULL when the op keeps none.
static inline double *row_state(const qrn_kcall *k, size_t row, size_t size) {
    return k->state ? (double *)k->state + row * (1 + size) : NULL;
}

// Continues from the state when there is one and the reset operand says no.
static inline bool continues(const double *state, const qrn_view *reset) {
    return state && state[0] != 0.0 && reset && *(const uint8_t *)reset->data == 0;
}

static inline void keep_state(double *state, const double *values, size_t size) {
    if (!state)
        return;
    state[0] = 1.0;
    memcpy(state + 1, values, size * sizeof *values);
}

#endif
