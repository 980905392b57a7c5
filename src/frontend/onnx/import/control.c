// SPDX-License-Identifier: MIT
//
// Importers: control flow.
#include "frontend/onnx/import/table.h"

const ox_importer ox_import_control[] = {
    {0},
};
