// SPDX-License-Identifier: MIT
//
// The op groups of the lowering table. Each list ends with a row whose op is NULL.
#ifndef QRN_COMPILER_LOWER_GROUPS_H
#define QRN_COMPILER_LOWER_GROUPS_H

#include "compiler/lower.h"

#define QRN_LOWER_GROUPS(X) X(conv) X(pool) X(eltwise) X(reduce) X(move) X(image) X(detect) X(seq)

#define X(group) extern const qrn_lower_row qrn_lower_##group[];
QRN_LOWER_GROUPS(X)
#undef X

#endif
