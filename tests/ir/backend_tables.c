// SPDX-License-Identifier: MIT
//
// The support tables of all backends: see the header.
#include "backend_tables.h"

#include "ir/support_words.h"

// clang-format off
static const qrn_support_row htp_rows[] = {
#include "backend/htp/supported.def"
};
static const qrn_support_row htp_observed[] = {
#include "backend/htp/extended.def"
};
static const qrn_support_row gpu_rows[] = {
#include "backend/gpu/supported.def"
};
// clang-format on

const qrn_support_table test_htp_support = {.backend = "HTP",
                                            .mode = QRN_SUPPORT_EXACT,
                                            .rows = htp_rows,
                                            .n_rows = sizeof htp_rows / sizeof htp_rows[0]};
const qrn_support_table test_htp_observed = {.backend = "HTP",
                                             .mode = QRN_SUPPORT_EXACT,
                                             .rows = htp_observed,
                                             .n_rows =
                                                 sizeof htp_observed / sizeof htp_observed[0]};
const qrn_support_table test_gpu_support = {.backend = "GPU",
                                            .mode = QRN_SUPPORT_UNION,
                                            .rows = gpu_rows,
                                            .n_rows = sizeof gpu_rows / sizeof gpu_rows[0]};
const qrn_support_table *const test_backend_tables[N_BACKEND_TABLES] = {
    &qrn_cpu_support, &test_htp_support, &test_gpu_support};
