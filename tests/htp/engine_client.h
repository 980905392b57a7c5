// SPDX-License-Identifier: MIT
//
// For tests of the engine: they hold it themselves to make graphs wait.
#ifndef QRN_TESTS_HTP_ENGINE_CLIENT_H
#define QRN_TESTS_HTP_ENGINE_CLIENT_H

#include "backend/htp/device/engine.h"
#include "chain_runner.h"

#include <time.h>

static inline void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL); }

// Until n runs wait for the engine.
static inline void wait_for_line(uint32_t n) {
    for (int i = 0; i < 50000 && qrn_htp_engine_waiting() != n; i++)
        nap();
    assert_int_equal(qrn_htp_engine_waiting(), n);
}

#endif
