// SPDX-License-Identifier: MIT
//
// The monotonic clock, by which calls are timed.
#ifndef QRN_CORE_CLOCK_H
#define QRN_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t qrn_call_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
