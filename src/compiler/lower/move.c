// SPDX-License-Identifier: MIT
//
// Lowering rows of the move group.
#include "compiler/lower/groups.h"

const qrn_lower_row qrn_lower_move[] = {
    {0},
};
