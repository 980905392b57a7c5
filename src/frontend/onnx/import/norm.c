// SPDX-License-Identifier: MIT
//
// Importers: reductions, softmax, normalization, attention, sorting.
#include "frontend/onnx/import/table.h"

const ox_importer ox_import_norm[] = {
    {0},
};
