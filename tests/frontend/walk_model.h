// SPDX-License-Identifier: MIT
//
// Visits everything a model holds, as a user of it would: every string up to its end, every list,
// every byte of every tensor. A pointer that leads nowhere ends in a crash or a sanitizer's report.
#ifndef TESTS_FRONTEND_WALK_MODEL_H
#define TESTS_FRONTEND_WALK_MODEL_H

#include "frontend/onnx/reader/model.h"

// A sum over all that was seen, so that nothing is optimised away.
uint64_t walk_model(const ox_model *m);

#endif
