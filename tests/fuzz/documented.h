// SPDX-License-Identifier: MIT
//
// Which errors each function of the API is documented to return, read from a table of lines
// "function <tab> name <tab> value"; and how often they came. For several threads.
#ifndef TESTS_FUZZ_DOCUMENTED_H
#define TESTS_FUZZ_DOCUMENTED_H

#include "QnnCommon.h"

#include <stdbool.h>

// Reads the table; false when it cannot be read or is empty.
bool documented_read(const char *path);
// Success, or an error of the function's list. Without a table everything is. Counts.
bool documented(const char *function, Qnn_ErrorHandle_t code);
// Prints how often each function succeeded and failed; returns the successes of one function.
void documented_print(void);
unsigned documented_successes(const char *function);

#endif
