// SPDX-License-Identifier: MIT
//
// Recorder of error pairs: a test calls a function so that it must fail with a given code; the pair
// of function and code is checked on the spot and noted in a file of the program in
// $QUERN_PAIRS_DIR. check_pairs compares what all programs noted with the documented pairs.
#ifndef TESTS_API_PAIRS_H
#define TESTS_API_PAIRS_H

#include "base/mem.h"

#include "QnnInterface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// The call must return `code`, e.g. PAIR("QnnGraph_create", QNN_GRAPH_ERROR_INVALID_NAME, call).
#define PAIR(function, code, call)                                                                 \
    pair_expect(function, #code, (Qnn_ErrorHandle_t)(code), call, __FILE__, __LINE__)

// The call must succeed.
#define OK(call) pair_expect(NULL, "QNN_SUCCESS", QNN_SUCCESS, call, __FILE__, __LINE__)

// Lets the 1st, 2nd, ... allocation of the call fail until it succeeds. Each failure must return
// `code` and keep no memory; at least one must happen.
#define PAIR_MEM(function, code, call)                                                             \
    do {                                                                                           \
        unsigned n_ = 1;                                                                           \
        for (;; n_++) {                                                                            \
            size_t live_ = qrn_alloc_live();                                                       \
            qrn_alloc_fail_at(n_, false);                                                          \
            Qnn_ErrorHandle_t got_ = (call);                                                       \
            qrn_alloc_fail_at(0, false);                                                           \
            if (got_ == QNN_SUCCESS)                                                               \
                break;                                                                             \
            PAIR(function, code, got_);                                                            \
            assert_int_equal(qrn_alloc_live(), live_);                                             \
        }                                                                                          \
        assert_true(n_ > 1);                                                                       \
    } while (0)

void pair_expect(const char *function, const char *name, Qnn_ErrorHandle_t want,
                 Qnn_ErrorHandle_t got, const char *file, int line);

#endif
