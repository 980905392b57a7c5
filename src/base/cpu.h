// SPDX-License-Identifier: MIT
//
// CPU features that kernels may need, found once at load.
#ifndef QRN_BASE_CPU_H
#define QRN_BASE_CPU_H

#include <stdint.h>

enum {
    QRN_ISA_AVX2 = 1u << 0,   // with FMA and F16C
    QRN_ISA_AVX512 = 1u << 1, // F, BW, VL, DQ
    QRN_ISA_AVX512VNNI = 1u << 2,
    QRN_ISA_AVX512VBMI = 1u << 3, // bytes are permuted
    QRN_ISA_AVXVNNI = 1u << 4,    // without AVX-512
    QRN_ISA_AMX = 1u << 5,        // tiles of bytes, and leave to use them
    QRN_ISA_NEON = 1u << 8,
    QRN_ISA_NEONDOT = 1u << 9,
    QRN_ISA_NEONI8MM = 1u << 10
};

// What the CPU and the operating system offer, capped by QUERN_ISA
// (ref|avx2|avxvnni|avx512|vnni|vbmi|amx|neon|dot|i8mm).
uint32_t qrn_cpu_isa(void);
// "avx2 avx512 vnni" for the given bits; written to the caller's buffer.
const char *qrn_cpu_isa_text(uint32_t isa, char *buf, unsigned size);

#endif
