// SPDX-License-Identifier: MIT
//
// The quantize family.
#include "kernels/quantize.h"

#include "base/cpu.h"
#include "kernels/quantize_rows.h"

static qrn_status quantize_ref(const qrn_kcall *k) {
    double run[QRN_IO_RUN];
    const qrn_quant_grid grid = qrn_quant_grid_of(k->out[0]);
    size_t begin, end;
    qrn_elements(k, QRN_IO_RUN, &begin, &end);
    for (size_t at = begin, n; at < end; at += n) {
        n = end - at < QRN_IO_RUN ? end - at : QRN_IO_RUN;
        qrn_io_load(k->in[0], at, n, run);
        qrn_quantize_run(run, &grid, k->out[0], at, n);
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 32768 ? 1 : n_threads;
}

// clang-format off
#define ROW(isa, ISA)                                                                              \
    {.name = "quantize_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .fn = qrn_quantize_##isa,   \
     .tasks = tasks}
// clang-format on

static const qrn_kernel quantize_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    {.name = "quantize_ref", .domain = QRN_DOMAIN_RAW, .fn = quantize_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(quantize, 0, 0);
