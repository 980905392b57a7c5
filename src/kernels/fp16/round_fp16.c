// SPDX-License-Identifier: MIT
//
// The round_fp16 family: the reference row, which rounds as base/fp16.c does, and the list of rows.
#include "kernels/fp16/round_fp16.h"

#include "base/cpu.h"
#include "kernels/element_io.h"
#include "kernels/fp16/round_fp16_rows.h"

#define GRAIN 256 // elements: tasks begin at multiples of it

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 32768 ? 1 : n_threads;
}

static qrn_status round_fp16_ref(const qrn_kcall *k) {
    const qrn_round_fp16_args *a = k->args;
    size_t begin, end;
    qrn_view *y = k->out[0];
    qrn_elements(k, GRAIN, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        double h = qrn_fp16_round(qrn_view_real(k->in[0], i), (qrn_fp16_rule)a->rule);
        if (y->dtype == QRN_DTYPE_F32)
            ((float *)y->data)[i] = (float)h;
        else
            ((uint16_t *)y->data)[i] = qrn_f16_from_f64(
                a->rule == QRN_FP16_WIDE_RANGE ? qrn_fp16_round(h, QRN_FP16_CLAMP) : h);
    }
    return QRN_OK;
}

static bool known_formats(const qrn_kcall *k) { return qrn_io_supports(k->in[0]); }

// clang-format off
#define FAST(isa, ISA)                                                                             \
    {.name = "round_fp16_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .works = known_formats,   \
     .fn = qrn_round_fp16_##isa, .tasks = tasks}
// clang-format on

static const qrn_kernel round_fp16_rows[] = {
#ifdef __x86_64__
    FAST(avx512, QRN_ISA_AVX512),
    FAST(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    FAST(neon, QRN_ISA_NEON),
#endif
    {.name = "round_fp16_ref", .domain = QRN_DOMAIN_RAW, .fn = round_fp16_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(round_fp16, sizeof(qrn_round_fp16_args), 1);
