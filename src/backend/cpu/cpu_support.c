// SPDX-License-Identifier: MIT
//
// The CPU backend supports every op and type of the op table: it is the one people debug with, so
// it rejects nothing that some other backend accepts. The rows say what is published for it.
#include "backend/cpu/cpu_support.h"

#include "ir/support_words.h"

// clang-format off
static const qrn_support_row rows[] = {
#include "backend/cpu/supported.def"
};
// clang-format on

const qrn_support_table qrn_cpu_support = {
    .backend = "CPU",
    .mode = QRN_SUPPORT_SUPERSET,
    .rows = rows,
    .n_rows = sizeof rows / sizeof rows[0],
};
