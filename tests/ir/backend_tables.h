// SPDX-License-Identifier: MIT
//
// The support tables of all backends in one place, for tests and documentation: no backend library
// holds more than its own.
#ifndef TESTS_IR_BACKEND_TABLES_H
#define TESTS_IR_BACKEND_TABLES_H

#include "backend/cpu/cpu_support.h"

enum { N_BACKEND_TABLES = 3 };

extern const qrn_support_table test_htp_support, test_gpu_support;
extern const qrn_support_table test_htp_observed; // beyond what is published
extern const qrn_support_table *const test_backend_tables[N_BACKEND_TABLES]; // CPU, HTP, GPU

#endif
