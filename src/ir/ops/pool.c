// SPDX-License-Identifier: MIT
//
// Op table: pooling.
// Rows in alphabetical order, their shape rules above them.
#include "ir/ops/row.h"
#include "ir/ops/window.h"

// x [N, S..., C] -> [N, So..., C].
// With CEIL the last window may lie wholly behind the input and its leading padding. Frameworks
// drop such a window, the plain formula keeps it: the declared output decides.
static qrn_status pool(const qrn_op_call *c, bool ceil) {
    const qrn_shape *x = &c->in_shape[0];
    qrn_shape *y = &c->out_shape[0];
    qrn_window w;
    QRN_TRY(qrn_window_read(c, x->rank - 2, &w));
    qrn_shape declared = *y;
    *y = *x;
    for (uint32_t i = 0; i < w.n; i++) {
        uint32_t *out = &y->dims[1 + i], given = declared.dims[1 + i];
        if (!w.known) {
            *out = given;
            continue;
        }
        QRN_TRY(qrn_window_forward(c, &w, i, x->dims[1 + i], ceil, out));
        bool empty = (uint64_t)(*out - 1) * w.stride[i] >= (uint64_t)x->dims[1 + i] + w.before[i];
        if (ceil && empty && declared.rank == x->rank && given == *out - 1)
            *out = given;
    }
    return QRN_OK;
}

static qrn_status pool_rule(const qrn_op_call *c) {
    return pool(c, qrn_op_u32(c, "rounding_mode", 0) == 1);
}

static qrn_status l2_pool_rule(const qrn_op_call *c) { return pool(c, false); }

// clang-format off
const qrn_op_def qrn_ops_pool[] = {
    {
        .name = "L2Pool2d",
        .category = "pool",
        INS(REQUIRED("x", 4, 4, FLOATS)),
        OUTS(REQUIRED("y", 4, 4, FLOATS)),
        PARAMS(TENSOR("filter_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2)),
        .rule = l2_pool_rule,
    },
    {
        .name = "PoolAvg2d",
        .category = "pool",
        INS(REQUIRED("x", 4, 4, ACT)),
        OUTS(REQUIRED("y", 4, 4, ACT)),
        PARAMS(TENSOR("filter_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               SCALAR_OPT("count_pad_for_edges", B8, "0"),
               ENUM_OPT("rounding_mode", U32, "0", {"FLOOR", 0}, {"CEIL", 1})),
        .rule = pool_rule,
    },
    {
        .name = "PoolAvg3d",
        .category = "pool",
        INS(REQUIRED("x", 5, 5, ACT)),
        OUTS(REQUIRED("y", 5, 5, ACT)),
        PARAMS(TENSOR("filter_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               SCALAR_OPT("count_pad_for_edges", B8, "0"),
               ENUM_OPT("rounding_mode", U32, "0", {"FLOOR", 0}, {"CEIL", 1})),
        .rule = pool_rule,
    },
    {
        .name = "PoolMax2d",
        .category = "pool",
        INS(REQUIRED("x", 4, 4, ACT16 | I8 | U8)),
        OUTS(REQUIRED("y", 4, 4, ACT16 | I8 | U8)),
        PARAMS(TENSOR("filter_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               ENUM_OPT("rounding_mode", U32, "0", {"FLOOR", 0}, {"CEIL", 1})),
        .rule = pool_rule,
    },
    {
        .name = "PoolMax3d",
        .category = "pool",
        INS(REQUIRED("x", 5, 5, F32 | UQ8)),
        OUTS(REQUIRED("y", 5, 5, F32 | UQ8)),
        PARAMS(TENSOR("filter_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               ENUM_OPT("rounding_mode", U32, "0", {"FLOOR", 0}, {"CEIL", 1})),
        .rule = pool_rule,
    },
};
// clang-format on

const size_t qrn_ops_pool_count = sizeof(qrn_ops_pool) / sizeof(qrn_ops_pool[0]);
