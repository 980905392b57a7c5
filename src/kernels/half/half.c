// SPDX-License-Identifier: MIT
//
// The half family: the reference row, which rounds as base/fp16.c does, and the list of rows.
#include "kernels/half/half.h"

#include "base/cpu.h"
#include "kernels/codes.h"
#include "kernels/half/half_rows.h"

#define GRAIN 256 // elements: tasks begin at multiples of it

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 32768 ? 1 : n_threads;
}

static qrn_status half_ref(const qrn_kcall *k) {
    const qrn_half_args *a = k->args;
    size_t begin, end;
    qrn_view *y = k->out[0];
    qrn_elements(k, GRAIN, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        double h = qrn_half_round(qrn_view_real(k->in[0], i), (qrn_half)a->rule);
        if (y->dtype == QRN_DTYPE_F32)
            ((float *)y->data)[i] = (float)h;
        else
            ((uint16_t *)y->data)[i] =
                qrn_f16_from_f64(a->rule == QRN_HALF_WIDE ? qrn_half_round(h, QRN_HALF_CLAMP) : h);
    }
    return QRN_OK;
}

static bool known_formats(const qrn_kcall *k) { return qrn_codes_know(k->in[0]); }

// clang-format off
#define FAST(isa, ISA)                                                                             \
    {.name = "half_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .works = known_formats,         \
     .fn = qrn_half_##isa, .tasks = tasks}
// clang-format on

static const qrn_kernel half_rows[] = {
#ifdef __x86_64__
    FAST(avx512, QRN_ISA_AVX512),
    FAST(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    FAST(neon, QRN_ISA_NEON),
#endif
    {.name = "half_ref", .domain = QRN_DOMAIN_RAW, .fn = half_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(half, sizeof(qrn_half_args), 1);
