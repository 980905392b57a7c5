// SPDX-License-Identifier: MIT
//
// Random numbers of the kernel tests, repeatable by QUERN_TEST_SEED. Include it behind cmocka.h.
// CHANCE_NEEDS: features without which the whole test is skipped.
#ifndef TESTS_KERNEL_CHANCE_H
#define TESTS_KERNEL_CHANCE_H

#include "base/cpu.h"

#include <stdint.h>
#include <stdlib.h>

#ifndef CHANCE_SEED
#define CHANCE_SEED 0x5eed
#endif

static uint64_t state;

static inline uint32_t random_u32(void) { // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545F4914F6CDD1Du) >> 32);
}
static inline uint32_t between(uint32_t lo, uint32_t hi) {
    return lo + random_u32() % (hi - lo + 1);
}

static inline int set_up(void **unused) {
    (void)unused;
#ifdef CHANCE_NEEDS
    if ((qrn_cpu_isa() & (CHANCE_NEEDS)) != (CHANCE_NEEDS)) {
        print_message("skipped: this CPU lacks the instructions\n");
        exit(77);
    }
#endif
    const char *seed = getenv("QUERN_TEST_SEED");
    state = seed ? strtoull(seed, NULL, 0) : CHANCE_SEED;
    print_message("QUERN_TEST_SEED=%llu\n", (unsigned long long)state);
    return 0;
}

#endif
