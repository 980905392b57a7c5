// SPDX-License-Identifier: MIT
//
// The folder's table of ops, and how a node reaches its row: number of inputs and outputs are
// checked here, everything else by the row's function.
#include "frontend/onnx/fold/fold.h"

#include "frontend/onnx/fold/fold_array.h"
#include "reference/elementwise.h"
#include "reference/reduce.h"

#include <string.h>

// clang-format off
#define ROW(name, function, least, most, outs, formula)                                            \
    {.op = #name, .fn = ox_fold_##function, .min_in = (least), .max_in = (most),                   \
     .max_out = (outs), formula},
#define MAP(name, least, most, formula, kinds)                                                     \
    {.op = #name, .fn = ox_fold_map, .min_in = (least), .max_in = (most), .max_out = 1,            \
     .code = QRN_OP_##formula, .types = (kinds)},
#define MATH(name, formula) MAP(name, 1, 1, formula, OX_FLOATS)
static const ox_fold_row rows[] = {
//      op                     function           inputs     outputs formula
    ROW(Constant,              constant,          0, 0,      1,      .code = 0)
    ROW(ConstantOfShape,       constant_of_shape, 1, 1,      1,      .code = 0)
    ROW(Shape,                 shape,             1, 1,      1,      .code = 0)
    ROW(Size,                  size,              1, 1,      1,      .code = 0)
    ROW(Identity,              identity,          1, 1,      1,      .code = 0)
    ROW(Cast,                  cast,              1, 1,      1,      .code = 0)
    ROW(CastLike,              cast,              2, 2,      1,      .code = 0)
    ROW(Reshape,               reshape,           1, 2,      1,      .code = 0)
    ROW(Flatten,               flatten,           1, 1,      1,      .code = 0)
    ROW(Squeeze,               squeeze,           1, 2,      1,      .code = 0)
    ROW(Unsqueeze,             unsqueeze,         1, 2,      1,      .code = 0)
    ROW(Range,                 range,             3, 3,      1,      .code = 0)
    ROW(EyeLike,               eye_like,          1, 1,      1,      .code = 0)
    ROW(Transpose,             transpose,         1, 1,      1,      .code = 0)
    ROW(Concat,                concat,            1, OX_ANY, 1,      .code = 0)
    ROW(Slice,                 slice,             1, 5,      1,      .code = 0)
    ROW(Split,                 split,             1, 2,      OX_ANY, .code = 0)
    ROW(Expand,                expand,            2, 2,      1,      .code = 0)
    ROW(Tile,                  tile,              2, 2,      1,      .code = 0)
    ROW(Pad,                   pad,               1, 4,      1,      .code = 0)
    ROW(Trilu,                 trilu,             1, 2,      1,      .code = 0)
    ROW(Gather,                gather,            2, 2,      1,      .code = 0)
    ROW(GatherElements,        gather_elements,   2, 2,      1,      .code = 0)
    ROW(GatherND,              gather_nd,         2, 2,      1,      .code = 0)
    ROW(Scatter,               scatter_elements,  3, 3,      1,      .code = 0)
    ROW(ScatterElements,       scatter_elements,  3, 3,      1,      .code = 0)
    ROW(ScatterND,             scatter_nd,        3, 3,      1,      .code = 0)
    ROW(NonZero,               non_zero,          1, 1,      1,      .code = 0)
    ROW(OneHot,                one_hot,           3, 3,      1,      .code = 0)
    ROW(CumSum,                cum_sum,           2, 2,      1,      .code = 0)
    ROW(TopK,                  top_k,             1, 2,      2,      .code = 0)
    ROW(ArgMax,                arg,               1, 1,      1,      .code = QRN_ND_MAX)
    ROW(ArgMin,                arg,               1, 1,      1,      .code = QRN_ND_MIN)
    ROW(ReduceSum,             reduce,            1, 2,      1,      .code = QRN_ND_SUM)
    ROW(ReduceMean,            reduce,            1, 2,      1,      .code = QRN_ND_MEAN)
    ROW(ReduceMax,             reduce,            1, 2,      1,      .code = QRN_ND_MAX)
    ROW(ReduceMin,             reduce,            1, 2,      1,      .code = QRN_ND_MIN)
    ROW(ReduceProd,            reduce,            1, 2,      1,      .code = QRN_ND_PROD)
    ROW(ReduceL1,              reduce,            1, 2,      1,      .code = QRN_ND_L1)
    ROW(ReduceL2,              reduce,            1, 2,      1,      .code = QRN_ND_L2)
    ROW(ReduceLogSum,          reduce,            1, 2,      1,      .code = QRN_ND_LOG_SUM)
    ROW(ReduceLogSumExp,       reduce,            1, 2,      1,      .code = QRN_ND_LOG_SUM_EXP)
    ROW(ReduceSumSquare,       reduce,            1, 2,      1,      .code = QRN_ND_SUM_SQUARE)
    ROW(MatMul,                mat_mul,           2, 2,      1,      .code = 0)
    MAP(Min,            1, OX_ANY, MIN,          OX_NUMBERS)
    MAP(Max,            1, OX_ANY, MAX,          OX_NUMBERS)
    MAP(Sum,            1, OX_ANY, ADD,          OX_FLOATS)
    MAP(Mean,           1, OX_ANY, MEAN,         OX_FLOATS)
    MAP(Add,            2, 2,      ADD,          OX_NUMBERS)
    MAP(Sub,            2, 2,      SUB,          OX_NUMBERS)
    MAP(Mul,            2, 2,      MUL,          OX_NUMBERS)
    MAP(Div,            2, 2,      DIV,          OX_NUMBERS)
    MAP(Mod,            2, 2,      MOD,          OX_NUMBERS)
    MAP(Pow,            2, 2,      POW,          OX_ALL)
    MAP(Equal,          2, 2,      EQ,           OX_ALL | OX_TRUTH)
    MAP(Greater,        2, 2,      GT,           OX_ALL | OX_TRUTH)
    MAP(GreaterOrEqual, 2, 2,      GE,           OX_ALL | OX_TRUTH)
    MAP(Less,           2, 2,      LT,           OX_ALL | OX_TRUTH)
    MAP(LessOrEqual,    2, 2,      LE,           OX_ALL | OX_TRUTH)
    MAP(And,            2, 2,      AND,          OX_BOOLS)
    MAP(Or,             2, 2,      OR,           OX_BOOLS)
    MAP(Xor,            2, 2,      XOR,          OX_BOOLS)
    MAP(Not,            1, 1,      NOT,          OX_BOOLS)
    MAP(BitwiseAnd,     2, 2,      BIT_AND,      OX_INTS)
    MAP(BitwiseOr,      2, 2,      BIT_OR,       OX_INTS)
    MAP(BitwiseXor,     2, 2,      BIT_XOR,      OX_INTS)
    MAP(BitwiseNot,     1, 1,      BIT_NOT,      OX_INTS)
    MAP(BitShift,       2, 2,      SHIFT_LEFT,   OX_INTS)
    ROW(Where,                 where,             3, 3,      1,      .code = 0)
    ROW(Clip,                  clip,              1, 3,      1,      .code = 0)
    MAP(IsNaN,          1, 1,      IS_NAN,       OX_FLOATS | OX_TRUTH)
    ROW(IsInf,                 is_inf,            1, 1,      1,      .code = 0)
    MAP(Neg,            1, 1,      NEG,          OX_NUMBERS)
    MAP(Abs,            1, 1,      ABS,          OX_NUMBERS)
    MAP(Sign,           1, 1,      SIGN,         OX_NUMBERS)
    MAP(Relu,           1, 1,      RELU,         OX_NUMBERS)
    MATH(Sqrt, SQRT) MATH(Reciprocal, RECIPROCAL) MATH(Exp, EXP) MATH(Log, LOG)
    MATH(Floor, FLOOR) MATH(Ceil, CEIL) MATH(Round, ROUND) MATH(Erf, ERF)
    MATH(Sin, SIN) MATH(Cos, COS) MATH(Tan, TAN) MATH(Asin, ASIN)
    MATH(Acos, ACOS) MATH(Atan, ATAN) MATH(Sinh, SINH) MATH(Cosh, COSH)
    MATH(Tanh, TANH) MATH(Asinh, ASINH) MATH(Acosh, ACOSH) MATH(Atanh, ATANH)
    MATH(Sigmoid, SIGMOID)
    ROW(DequantizeLinear,      dequantize,        2, 3,      1,      .code = 0)
    ROW(QuantizeLinear,        quantize,          2, 3,      1,      .code = 0)
    ROW(DynamicQuantizeLinear, dynamic_quantize,  1, 1,      3,      .code = 0)
};
#undef ROW
#undef MAP
#undef MATH
// clang-format on

static const ox_fold_row *find_row(const ox_node *n) {
    // Microsoft's quantizers had 4 and 16 bits before the standard's; the formulas are the same.
    bool contrib = strcmp(n->domain, "com.microsoft") == 0 && strstr(n->op, "uantizeLinear");
    if (n->domain[0] && !contrib)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].op, n->op) == 0)
            return &rows[i];
    return NULL;
}

static qrn_status check_counts(const ox_call *c) {
    const ox_node *n = c->node;
    const ox_fold_row *row = c->row;
    if (n->n_in < row->min_in || (row->max_in != OX_ANY && n->n_in > row->max_in))
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "%u inputs, expected are %u to %u", n->n_in,
                            row->min_in, row->max_in);
    if (n->n_out < 1 || (row->max_out != OX_ANY && n->n_out > row->max_out))
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "%u outputs, expected are 1 to %u", n->n_out,
                            row->max_out);
    return QRN_OK;
}

qrn_status ox_fold(const ox_node *n, int64_t opset, const ox_val *const *in, size_t max_bytes,
                   qrn_arena *arena, ox_folded *out) {
    ox_call c = {.node = n,
                 .opset = opset,
                 .in = in,
                 .max_bytes = max_bytes,
                 .arena = arena,
                 .row = find_row(n),
                 .out = out};
    if (!c.row)
        return OX_CALL_PASS(&c, "not an op that is computed while importing");
    QRN_TRY(check_counts(&c));
    c.scratch = qrn_arena_create();
    if (!c.scratch)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    qrn_status s = c.row->fn(&c);
    if (s == QRN_OK)
        s = ox_call_pack(&c);
    qrn_arena_destroy(c.scratch);
    return s;
}
