// SPDX-License-Identifier: MIT
//
// Lowering rows of the detect group.
#include "compiler/lower/groups.h"

const qrn_lower_row qrn_lower_detect[] = {
    {0},
};
