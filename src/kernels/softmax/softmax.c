// SPDX-License-Identifier: MIT
//
// The softmax family.
#include "kernels/softmax/softmax.h"

#include <math.h>

#define T float
#define FN softmax_f32_ref
#include "kernels/softmax/softmax.inc"
#undef T
#undef FN
#define T double
#define FN softmax_f64_ref
#include "kernels/softmax/softmax.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 16384 ? 1 : n_threads;
}

static const qrn_kernel softmax_rows[] = {
    {.name = "softmax_f32_ref", .domain = QRN_DOMAIN_F32, .fn = softmax_f32_ref, .tasks = tasks},
    {.name = "softmax_f64_ref", .domain = QRN_DOMAIN_F64, .fn = softmax_f64_ref, .tasks = tasks},
};
QRN_FAMILY(softmax, sizeof(qrn_softmax_args));
