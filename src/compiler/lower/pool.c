// SPDX-License-Identifier: MIT
//
// Lowering rows of the pool group.
#include "compiler/lower/groups.h"

const qrn_lower_row qrn_lower_pool[] = {
    {0},
};
