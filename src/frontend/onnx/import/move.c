// SPDX-License-Identifier: MIT
//
// Importers: shapes, joining, cutting, gathering, scattering, generating.
#include "frontend/onnx/import/table.h"

const ox_importer ox_import_move[] = {
    {0},
};
