// SPDX-License-Identifier: MIT
//
// Op table: pooling.
// Rows in alphabetical order, their shape rules above them.
#include "ir/ops/row.h"

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
        .rule = qrn_rule_free,
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
        .rule = qrn_rule_free,
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
        .rule = qrn_rule_free,
    },
    {
        .name = "PoolMax2d",
        .category = "pool",
        INS(REQUIRED("x", 4, 4, ACT16)),
        OUTS(REQUIRED("y", 4, 4, ACT16)),
        PARAMS(TENSOR("filter_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               ENUM_OPT("rounding_mode", U32, "0", {"FLOOR", 0}, {"CEIL", 1})),
        .rule = qrn_rule_free,
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
        .rule = qrn_rule_free,
    },
};
// clang-format on

const size_t qrn_ops_pool_count = sizeof(qrn_ops_pool) / sizeof(qrn_ops_pool[0]);
