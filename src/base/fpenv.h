// SPDX-License-Identifier: MIT
//
// Floating-point control: kernels run with round-to-nearest, all exceptions masked and denormals
// kept, whatever the caller has set; the caller's control word and flags come back afterwards.
#ifndef QRN_BASE_FPENV_H
#define QRN_BASE_FPENV_H

#include <stdint.h>

typedef struct qrn_fpenv {
    uint64_t control, status;
} qrn_fpenv;

// Sets the default environment and returns the one before.
static inline qrn_fpenv qrn_fpenv_enter(void) {
    qrn_fpenv e = {0, 0};
#if defined(__x86_64__)
    e.control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80u);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(e.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(e.status));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
#endif
    return e;
}

static inline void qrn_fpenv_leave(qrn_fpenv e) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((unsigned)e.control);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(e.control));
    __asm__ volatile("msr fpsr, %0" : : "r"(e.status));
#else
    (void)e;
#endif
}

#endif
