// SPDX-License-Identifier: MIT
//
// For tests of the HTP's limits: calls with encodings, and verdicts that are kept so that the last
// test can ask whether every limit was tried from both sides. cmocka asserts.
#ifndef QRN_TESTS_HTP_LIMIT_CASES_H
#define QRN_TESTS_HTP_LIMIT_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../ir/call.h"
#include "backend/htp/limits/limits.h"

#include "QnnTypes.h"

enum { MAX_LIMITS = 128 };

// By row of limits.def.
extern bool g_accepted[MAX_LIMITS], g_refused[MAX_LIMITS];

// Row of a published text.
size_t limit_index(const char *text);

// The call passes, or is refused with a message that holds `reason`; both for the limit `text`.
void accepts_on(uint32_t arch, call *k, const char *text);
void refuses_on(uint32_t arch, call *k, const char *text, const char *reason);

static inline void accepts(call *k, const char *text) { accepts_on(81, k, text); }
static inline void refuses(call *k, const char *text, const char *reason) {
    refuses_on(81, k, text, reason);
}

static const uint32_t ones[QRN_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};

// One input, one output, of one rank.
static inline void unary(call *k, const char *op, qrn_dtype x, qrn_dtype y, uint32_t rank) {
    call_begin(k, op);
    call_in(k, x, rank, ones);
    call_out(k, y, rank, ones);
}

// Input, static weight [4,4] or [3,..,4,4], output.
qrn_tensor *weighted(call *k, const char *op, qrn_dtype x, qrn_dtype w, uint32_t rank);

// Tests of limit_weights.c.
void encodings(void **state);
void biases(void **state);
void weights_by_axis(void **state);
void weights_computed_from_static_ones(void **state);
void weights_of_16_bits(void **state);
void weights_by_block(void **state);
void weights_of_float_inputs(void **state);

#endif
