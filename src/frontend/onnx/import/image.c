// SPDX-License-Identifier: MIT
//
// Importers: resizing, sampling, detection, signal processing.
#include "frontend/onnx/import/table.h"

const ox_importer ox_import_image[] = {
    {0},
};
