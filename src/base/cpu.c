// SPDX-License-Identifier: MIT
//
// CPU features. A newer level implies the older ones, so a cap is a prefix of the list. They are
// asked for once and kept: cpuid takes some microseconds where the machine is a virtual one.
#include "base/cpu.h"

#include "base/env.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

// In the order in which one builds on the other.
static const struct {
    const char *name;
    uint32_t bit;
} levels[] = {
    {"avx2", QRN_ISA_AVX2},       {"avxvnni", QRN_ISA_AVXVNNI}, {"avx512", QRN_ISA_AVX512},
    {"vnni", QRN_ISA_AVX512VNNI}, {"vbmi", QRN_ISA_AVX512VBMI}, {"amx", QRN_ISA_AMX},
    {"neon", QRN_ISA_NEON},       {"dot", QRN_ISA_NEONDOT},     {"i8mm", QRN_ISA_NEONI8MM},
};
#define N_LEVELS (sizeof(levels) / sizeof(levels[0]))
#define FOUND (1u << 31) // no level has it

#if defined(__x86_64__)
#define REQUEST_PERMISSION 0x1023 // of arch_prctl
#define TILE_DATA 18              // the state that a process has to ask for
#define TILE_BITS (1u << 24 | 1u << 25)
#define AVXVNNI_BIT (1u << 4)

// What __builtin_cpu_supports of older compilers does not know of. `has`: found so far.
static uint32_t detect_newer(uint32_t has) {
    unsigned a, b, c, d, isa = 0;
    if ((has & QRN_ISA_AVX2) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVXVNNI_BIT))
        isa |= QRN_ISA_AVXVNNI;
    if ((has & QRN_ISA_AVX512VNNI) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
        (d & TILE_BITS) == TILE_BITS && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0)
        isa |= QRN_ISA_AMX;
    return isa;
}
#endif

static uint32_t detect(void) {
    uint32_t isa = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        isa |= QRN_ISA_AVX2;
    if (isa && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        isa |= QRN_ISA_AVX512;
    if ((isa & QRN_ISA_AVX512) && __builtin_cpu_supports("avx512vnni"))
        isa |= QRN_ISA_AVX512VNNI;
    if ((isa & QRN_ISA_AVX512VNNI) && __builtin_cpu_supports("avx512vbmi"))
        isa |= QRN_ISA_AVX512VBMI;
    isa |= detect_newer(isa);
#elif defined(__aarch64__)
    unsigned long cap = getauxval(AT_HWCAP), cap2 = getauxval(AT_HWCAP2);
    isa |= QRN_ISA_NEON;
    if (cap & HWCAP_ASIMDDP)
        isa |= QRN_ISA_NEONDOT;
    if (cap2 & HWCAP2_I8MM)
        isa |= QRN_ISA_NEONI8MM;
#endif
    return isa;
}

static uint32_t cap(const char *name) {
    uint32_t mask = 0;
    for (size_t i = 0; i < N_LEVELS; i++) {
        mask |= levels[i].bit;
        if (strcmp(name, levels[i].name) == 0)
            return mask;
    }
    return strcmp(name, "ref") == 0 ? 0 : UINT32_MAX; // an unknown word caps nothing
}

static uint32_t detect_once(void) {
    static _Atomic uint32_t found; // with a mark; 0: not asked yet
    uint32_t isa = atomic_load_explicit(&found, memory_order_relaxed);
    if (!isa) {
        isa = detect() | FOUND;
        atomic_store_explicit(&found, isa, memory_order_relaxed);
    }
    return isa & ~FOUND;
}

uint32_t qrn_cpu_isa(void) {
    const char *want = qrn_env_get(QRN_ENV_ISA);
    return want ? detect_once() & cap(want) : detect_once();
}

const char *qrn_cpu_isa_text(uint32_t isa, char *buf, unsigned size) {
    unsigned n = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < N_LEVELS; i++)
        if ((isa & levels[i].bit) && n < size)
            n += (unsigned)snprintf(buf + n, size - n, "%s%s", n ? " " : "", levels[i].name);
    return buf;
}
