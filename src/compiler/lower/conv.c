// SPDX-License-Identifier: MIT
//
// Lowering rows of the conv group.
#include "compiler/lower/groups.h"

const qrn_lower_row qrn_lower_conv[] = {
    {0},
};
