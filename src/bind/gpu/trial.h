// SPDX-License-Identifier: MIT
//
// Running launches of a plan that is still being made, on buffers of their own, to measure them.
#ifndef QRN_BIND_GPU_TRIAL_H
#define QRN_BIND_GPU_TRIAL_H

#include "bind/gpu/binder.h"

// How far a plan has grown.
typedef struct qrn_gpu_mark {
    uint32_t n_launches, n_places, n_constants, n_params, n_rows_of, n_slots;
    bool has_fault;
} qrn_gpu_mark;

qrn_gpu_mark qrn_gpu_mark_of(const qrn_gpu_plan *p);
// Forgets what was added since.
void qrn_gpu_go_back(qrn_gpu_plan *p, const qrn_gpu_mark *m);

// The result of a trial: all of the memory that the value lies in.
typedef struct qrn_gpu_outcome {
    void *data; // heap
    size_t bytes;
    qrn_dtype type;
} qrn_gpu_outcome;

// Runs the launches that were added since the mark, on made-up numbers: the microseconds of one
// run, and what value `y` became. Negative: they cannot run. Adds what running took to *spent_us.
double qrn_gpu_try(qrn_gpu_binder *b, const qrn_gpu_mark *from, qrn_val y, qrn_gpu_outcome *out,
                   double *spent_us);
// Are the numbers within `tolerance` of the reference's, relative to its largest?
bool qrn_gpu_agree(const qrn_gpu_outcome *a, const qrn_gpu_outcome *reference, double tolerance);

#endif
