// SPDX-License-Identifier: MIT
//
// Looking up importers.
#include "frontend/onnx/import/table.h"

#include "frontend/onnx/internal.h"

#include <string.h>

const ox_importer *ox_find_importer(const char *op, const char *domain) {
    static const ox_importer *const groups[] = {
#define X(group) ox_import_##group,
        OX_GROUPS(X)
#undef X
    };
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (const ox_importer *r = groups[g]; r->op; r++)
            if (strcmp(r->op, op) == 0 && strcmp(r->domain, domain) == 0)
                return r;
    return NULL;
}
