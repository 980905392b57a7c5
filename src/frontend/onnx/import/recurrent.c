// SPDX-License-Identifier: MIT
//
// Importers: recurrent networks.
#include "frontend/onnx/import/table.h"

const ox_importer ox_import_recurrent[] = {
    {0},
};
