// SPDX-License-Identifier: MIT
//
// Lowering rows of the image group.
#include "compiler/lower/groups.h"

const qrn_lower_row qrn_lower_image[] = {
    {0},
};
