// SPDX-License-Identifier: MIT
//
// What the GPU backend supports: floats; integers where the published table has them.
#include "backend/gpu/gpu.h"

#include "ir/support_words.h"

// clang-format off
static const qrn_support_row rows[] = {
#include "backend/gpu/supported.def"
};
// clang-format on

const qrn_support_table qrn_gpu_support = {
    .backend = "GPU",
    .mode = QRN_SUPPORT_UNION,
    .rows = rows,
    .n_rows = sizeof rows / sizeof rows[0],
};
