// SPDX-License-Identifier: MIT
//
// Lowering rows of the eltwise group.
#include "compiler/lower/groups.h"

const qrn_lower_row qrn_lower_eltwise[] = {
    {0},
};
