// SPDX-License-Identifier: MIT
//
// The folder's table of ops, and how a node reaches its row: number of inputs and outputs are
// checked here, everything else by the row's function.
#include "frontend/onnx/fold/fold.h"

#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
#include <string.h>

static double reciprocal(double x) { return 1 / x; }
static double sigmoid(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }

// clang-format off
#define ROW(name, function, least, most, outs, formula)                                            \
    {.op = #name, .fn = ox_fold_##function, .min_in = (least), .max_in = (most),                   \
     .max_out = (outs), formula},
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
    ROW(ArgMax,                arg,               1, 1,      1,      .code = OX_ARG_MAX)
    ROW(ArgMin,                arg,               1, 1,      1,      .code = OX_ARG_MIN)
    ROW(ReduceSum,             reduce,            1, 2,      1,      .code = OX_R_SUM)
    ROW(ReduceMean,            reduce,            1, 2,      1,      .code = OX_R_MEAN)
    ROW(ReduceMax,             reduce,            1, 2,      1,      .code = OX_R_MAX)
    ROW(ReduceMin,             reduce,            1, 2,      1,      .code = OX_R_MIN)
    ROW(ReduceProd,            reduce,            1, 2,      1,      .code = OX_R_PROD)
    ROW(ReduceL1,              reduce,            1, 2,      1,      .code = OX_R_L1)
    ROW(ReduceL2,              reduce,            1, 2,      1,      .code = OX_R_L2)
    ROW(ReduceLogSum,          reduce,            1, 2,      1,      .code = OX_R_LOG_SUM)
    ROW(ReduceLogSumExp,       reduce,            1, 2,      1,      .code = OX_R_LOG_SUM_EXP)
    ROW(ReduceSumSquare,       reduce,            1, 2,      1,      .code = OX_R_SUM_SQUARE)
    ROW(MatMul,                mat_mul,           2, 2,      1,      .code = 0)
    ROW(Min,                   variadic,          1, OX_ANY, 1,      .code = OX_MIN)
    ROW(Max,                   variadic,          1, OX_ANY, 1,      .code = OX_MAX)
    ROW(Sum,                   variadic,          1, OX_ANY, 1,      .code = OX_SUM)
    ROW(Mean,                  variadic,          1, OX_ANY, 1,      .code = OX_MEAN)
    ROW(Add,                   binary,            2, 2,      1,      .code = OX_ADD)
    ROW(Sub,                   binary,            2, 2,      1,      .code = OX_SUB)
    ROW(Mul,                   binary,            2, 2,      1,      .code = OX_MUL)
    ROW(Div,                   binary,            2, 2,      1,      .code = OX_DIV)
    ROW(Mod,                   binary,            2, 2,      1,      .code = OX_MOD)
    ROW(Pow,                   binary,            2, 2,      1,      .code = OX_POW)
    ROW(Equal,                 compare,           2, 2,      1,      .code = OX_EQUAL)
    ROW(Greater,               compare,           2, 2,      1,      .code = OX_GREATER)
    ROW(GreaterOrEqual,        compare,           2, 2,      1,      .code = OX_GREATER_EQUAL)
    ROW(Less,                  compare,           2, 2,      1,      .code = OX_LESS)
    ROW(LessOrEqual,           compare,           2, 2,      1,      .code = OX_LESS_EQUAL)
    ROW(And,                   logic,             2, 2,      1,      .code = OX_AND)
    ROW(Or,                    logic,             2, 2,      1,      .code = OX_OR)
    ROW(Xor,                   logic,             2, 2,      1,      .code = OX_XOR)
    ROW(Not,                   unary,             1, 1,      1,      .code = OX_NOT)
    ROW(BitwiseAnd,            bitwise,           2, 2,      1,      .code = OX_AND)
    ROW(BitwiseOr,             bitwise,           2, 2,      1,      .code = OX_OR)
    ROW(BitwiseXor,            bitwise,           2, 2,      1,      .code = OX_XOR)
    ROW(BitwiseNot,            unary,             1, 1,      1,      .code = OX_BITWISE_NOT)
    ROW(BitShift,              bitwise,           2, 2,      1,      .code = OX_SHIFT)
    ROW(Where,                 where,             3, 3,      1,      .code = 0)
    ROW(Clip,                  clip,              1, 3,      1,      .code = 0)
    ROW(IsNaN,                 is,                1, 1,      1,      .code = OX_IS_NAN)
    ROW(IsInf,                 is,                1, 1,      1,      .code = OX_IS_INF)
    ROW(Neg,                   unary,             1, 1,      1,      .code = OX_NEG)
    ROW(Abs,                   unary,             1, 1,      1,      .code = OX_ABS)
    ROW(Sign,                  unary,             1, 1,      1,      .code = OX_SIGN)
    ROW(Relu,                  unary,             1, 1,      1,      .code = OX_RELU)
    ROW(Sqrt,                  math,              1, 1,      1,      .math = sqrt)
    ROW(Reciprocal,            math,              1, 1,      1,      .math = reciprocal)
    ROW(Exp,                   math,              1, 1,      1,      .math = exp)
    ROW(Log,                   math,              1, 1,      1,      .math = log)
    ROW(Floor,                 math,              1, 1,      1,      .math = floor)
    ROW(Ceil,                  math,              1, 1,      1,      .math = ceil)
    ROW(Round,                 math,              1, 1,      1,      .math = ox_round_even)
    ROW(Erf,                   math,              1, 1,      1,      .math = erf)
    ROW(Sin,                   math,              1, 1,      1,      .math = sin)
    ROW(Cos,                   math,              1, 1,      1,      .math = cos)
    ROW(Tan,                   math,              1, 1,      1,      .math = tan)
    ROW(Asin,                  math,              1, 1,      1,      .math = asin)
    ROW(Acos,                  math,              1, 1,      1,      .math = acos)
    ROW(Atan,                  math,              1, 1,      1,      .math = atan)
    ROW(Sinh,                  math,              1, 1,      1,      .math = sinh)
    ROW(Cosh,                  math,              1, 1,      1,      .math = cosh)
    ROW(Tanh,                  math,              1, 1,      1,      .math = tanh)
    ROW(Asinh,                 math,              1, 1,      1,      .math = asinh)
    ROW(Acosh,                 math,              1, 1,      1,      .math = acosh)
    ROW(Atanh,                 math,              1, 1,      1,      .math = atanh)
    ROW(Sigmoid,               math,              1, 1,      1,      .math = sigmoid)
    ROW(DequantizeLinear,      dequantize,        2, 3,      1,      .code = 0)
    ROW(QuantizeLinear,        quantize,          2, 3,      1,      .code = 0)
    ROW(DynamicQuantizeLinear, dynamic_quantize,  1, 1,      3,      .code = 0)
};
#undef ROW
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
    qrn_arena_destroy(c.scratch);
    return s;
}
