// SPDX-License-Identifier: MIT
//
// Listens to a kernel that tells of finished parts of its result (qrn_report): every element has to
// be told of once, by then has its final value, and is not touched afterwards.
#ifndef TESTS_PROOF_TOLD_H
#define TESTS_PROOF_TOLD_H

#include "kernels/kernel.h"

// Starts listening to a call that writes `out`. NULL when out of memory.
const qrn_follower *told_begin(const qrn_view *out);
// After all tasks: NULL, or what was wrong.
const char *told_end(void);

#endif
