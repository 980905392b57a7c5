// SPDX-License-Identifier: MIT
//
// The GRU family.
#include "kernels/recurrent/recurrent.h"
#include "kernels/recurrent/steps.h"

enum {
    W_XZ = 1,
    W_XR,
    W_XN,
    W_HZ,
    W_HR,
    W_HN,
    B_XZ,
    B_XR,
    B_XN,
    B_HZ,
    B_HR,
    B_HN,
    INITIAL_H,
    RESET
};

// Work space of one batch row.
typedef struct gru_row {
    size_t units;
    double *h, *z, *r, *part, *gated, *x;
} gru_row;

static const qrn_view *operand(const qrn_kcall *k, uint32_t i) {
    return i < k->n_in ? k->in[i] : NULL;
}

static size_t row_doubles(const qrn_kcall *k) {
    return (size_t)k->in[W_XZ]->dims[0] * 5 + k->in[W_XZ]->dims[1];
}

static gru_row row_of(const qrn_kcall *k) {
    gru_row r = {.units = k->in[W_XZ]->dims[0]};
    r.h = (double *)k->scratch + k->task * row_doubles(k);
    r.z = r.h + r.units;
    r.r = r.z + r.units;
    r.part = r.r + r.units;
    r.gated = r.part + r.units;
    r.x = r.gated + r.units;
    return r;
}

#define T float
#define NAME(x) x##_f32_ref
#include "kernels/recurrent/gemv.inc"
#include "kernels/recurrent/gru.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/recurrent/gemv.inc"
#include "kernels/recurrent/gru.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_gru_args *a = k->args;
    return row_tasks(sequence_of(k->in[0], a->time_major), row_doubles(k), n_threads);
}

static size_t scratch(const qrn_kcall *k) { return k->n_tasks * row_doubles(k) * sizeof(double); }

static const qrn_kernel gru_rows[] = {
    {.name = "gru_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = gru_f32_ref,
     .tasks = tasks,
     .scratch = scratch},
    {.name = "gru_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = gru_f64_ref,
     .tasks = tasks,
     .scratch = scratch},
};
QRN_FAMILY(gru, sizeof(qrn_gru_args));
