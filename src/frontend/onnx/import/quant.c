// SPDX-License-Identifier: MIT
//
// Importers: quantized operators and block-quantized weights.
#include "frontend/onnx/import/table.h"

const ox_importer ox_import_quant[] = {
    {0},
};
