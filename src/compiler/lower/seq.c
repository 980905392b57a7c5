// SPDX-License-Identifier: MIT
//
// Lowering rows of the seq group.
#include "compiler/lower/groups.h"

const qrn_lower_row qrn_lower_seq[] = {
    {.op = "If", .custom = qrn_lower_if},
    {0},
};
