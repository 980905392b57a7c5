// SPDX-License-Identifier: MIT
//
// The op table: all groups of rows joined. Constant data only; a look-up walks the rows.
#include "ir/op.h"

#include "ir/ops/row.h"

#include <string.h>

static const struct {
    const qrn_op_def *rows;
    const size_t *count;
} groups[] = {
#define X(group) {qrn_ops_##group, &qrn_ops_##group##_count},
    QRN_OP_GROUPS(X)
#undef X
};

#define N_GROUPS (sizeof groups / sizeof groups[0])

const qrn_op_def *qrn_op_find(const char *name) {
    if (!name)
        return NULL;
    for (size_t g = 0; g < N_GROUPS; g++)
        for (size_t i = 0; i < *groups[g].count; i++)
            if (strcmp(groups[g].rows[i].name, name) == 0)
                return &groups[g].rows[i];
    return NULL;
}

const qrn_op_def *qrn_op_at(size_t i) {
    for (size_t g = 0; g < N_GROUPS; g++) {
        if (i < *groups[g].count)
            return &groups[g].rows[i];
        i -= *groups[g].count;
    }
    return NULL;
}
