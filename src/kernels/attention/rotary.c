// SPDX-License-Identifier: MIT
//
// The rotary embedding family.
#include "kernels/attention/attention.h"

#include "kernels/walk.h"

#define T float
#define FN rotary_f32_ref
#include "kernels/attention/rotary.inc"
#undef T
#undef FN
#define T double
#define FN rotary_f64_ref
#include "kernels/attention/rotary.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
}

static const qrn_kernel rotary_rows[] = {
    {.name = "rotary_f32_ref", .domain = QRN_DOMAIN_F32, .fn = rotary_f32_ref, .tasks = tasks},
    {.name = "rotary_f64_ref", .domain = QRN_DOMAIN_F64, .fn = rotary_f64_ref, .tasks = tasks},
};
QRN_FAMILY_FAILS(rotary, sizeof(qrn_rotary_args),
                 "a position is outside of the tables of cosines and sines");
