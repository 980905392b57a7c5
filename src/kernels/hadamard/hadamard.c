// SPDX-License-Identifier: MIT
//
// The hadamard family.
#include "kernels/hadamard/hadamard.h"

#include <math.h>

#define T float
#define FN hadamard_f32_ref
#include "kernels/hadamard/hadamard.inc"
#undef T
#undef FN
#define T double
#define FN hadamard_f64_ref
#include "kernels/hadamard/hadamard.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 16384 ? 1 : n_threads;
}

// One row per task.
static size_t scratch(const qrn_kcall *k) {
    return k->n_tasks * k->in[0]->dims[k->in[0]->rank - 1] * sizeof(double);
}

static const qrn_kernel hadamard_rows[] = {
    {.name = "hadamard_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = hadamard_f32_ref,
     .tasks = tasks,
     .scratch = scratch},
    {.name = "hadamard_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = hadamard_f64_ref,
     .tasks = tasks,
     .scratch = scratch},
};
QRN_FAMILY(hadamard, sizeof(qrn_hadamard_args));
