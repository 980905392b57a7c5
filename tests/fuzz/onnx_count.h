// SPDX-License-Identifier: MIT
//
// Counts how often each op of the importer's table was part of a model, nested graphs and functions
// included.
#ifndef TESTS_FUZZ_ONNX_COUNT_H
#define TESTS_FUZZ_ONNX_COUNT_H

#include "frontend/onnx/reader/model.h"

bool onnx_count_has(const ox_model *m, const char *op);
void onnx_count(const ox_model *m);
// Prints the ops that never came, and how many did. Returns how many `is_drawn` does not know.
unsigned onnx_count_print(bool (*is_drawn)(const char *op, const char *domain));

#endif
