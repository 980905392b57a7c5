// SPDX-License-Identifier: MIT
//
// Writes the models that are run, with their inputs and results, to the folder that
// $QUERN_FUZZ_WRITE names, for another program to compare with.
#ifndef TESTS_FUZZ_ONNX_CASE_H
#define TESTS_FUZZ_ONNX_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Is there such a folder?
bool onnx_case_begin(void);
// As onnx_exec_run.
void onnx_case_run(const uint8_t *data, size_t size, uint64_t choice);

#endif
