// SPDX-License-Identifier: MIT
//
// Which errors each function of the API is documented to return, read from a table of lines
// "function <tab> name <tab> value".
#ifndef TESTS_FUZZ_DOCUMENTED_H
#define TESTS_FUZZ_DOCUMENTED_H

#include "QnnCommon.h"

#include <stdbool.h>

// Reads the table; false when it cannot be read or is empty.
bool documented_read(const char *path);
// Success, or an error of the function's list. Without a table everything is.
bool documented(const char *function, Qnn_ErrorHandle_t code);

#endif
