// SPDX-License-Identifier: MIT
//
// Reductions and ops along an axis on the GPU.
#include "bind/gpu/rows.h"
#include "kernels/reduce/along.h"
#include "kernels/reduce/reduce_rows.h"

// What a reduction begins with, what becomes of an element, how two parts are joined.
static const struct {
    const char *init, *int_init, *of, *join, *int_join, *end;
} kinds[] = {
    [QRN_REDUCE_SUM] = {"0", "0", "(v)", "((a) + (b))", "((a) + (b))", "(a)"},
    [QRN_REDUCE_MEAN] = {"0", "0", "(v)", "((a) + (b))", "((a) + (b))", "((a) / (NUM)n)"},
    [QRN_REDUCE_MAX] = {"-INFINITY", "LONG_MIN", "(v)", "q_max((a), (b))", "max((a), (b))", "(a)"},
    [QRN_REDUCE_MIN] = {"INFINITY", "LONG_MAX", "(v)", "q_min((a), (b))", "min((a), (b))", "(a)"},
    [QRN_REDUCE_PROD] = {"1", "1", "(v)", "((a) * (b))", "((a) * (b))", "(a)"},
    [QRN_REDUCE_SUM_SQUARE] = {"0", "0", "((v) * (v))", "((a) + (b))", "((a) + (b))", "(a)"},
};

qrn_status qrn_gpu_reduce(qrn_gpu_binder *b, const qrn_cstep *s, uint32_t op, const qrn_walk *outer,
                          const qrn_walk *inner) {
    qrn_gpu_rows r;
    bool ints = s->domain == QRN_DOMAIN_I64;
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_reduce, "reduce", outer, inner, &r);
    qrn_gpu_define(&k, "INIT", "%s", ints ? kinds[op].int_init : kinds[op].init);
    qrn_gpu_define(&k, "OF(v)", "%s", kinds[op].of);
    qrn_gpu_define(&k, "JOIN(a, b)", "%s", ints ? kinds[op].int_join : kinds[op].join);
    qrn_gpu_define(&k, "END(a)", "%s", kinds[op].end);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_rows_args(&k, &r, outer, inner);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_reduce(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_reduce_args *a = s->args;
    qrn_walk outer, inner;
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]);
    QRN_TRY(qrn_gpu_check_domain(b, s, true));
    if (a->op >= sizeof kinds / sizeof kinds[0])
        return qrn_gpu_reject(b, s, "it is of an unknown kind");
    qrn_reduce_walks(&x, a->axes, &outer, &inner);
    return qrn_gpu_reduce(b, s, a->op, &outer, &inner);
}

static qrn_status bind_moments(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_reduce_args *a = s->args;
    qrn_walk outer, inner;
    qrn_gpu_rows r;
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]);
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    qrn_reduce_walks(&x, a->axes, &outer, &inner);
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_reduce, "moments", &outer, &inner, &r);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "M", s->out[0]);
    qrn_gpu_out(&k, "V", s->out[1]);
    qrn_gpu_rows_args(&k, &r, &outer, &inner);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_arg(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_arg_args *a = s->args;
    qrn_walk outer, inner;
    qrn_gpu_rows r;
    QRN_TRY(qrn_gpu_check_domain(b, s, true));
    qrn_gpu_axis_walks(&qrn_gpu_value(b, s->in[0])->shape, a->axis, &outer, &inner);
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_along, "arg", &outer, &inner, &r);
    qrn_gpu_define(&k, "SMALLEST", "%d", a->min);
    qrn_gpu_define(&k, "LOW_TIES", "1");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_rows_args(&k, &r, &outer, &inner);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_topk(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_topk_args *a = s->args;
    const qrn_shape *x = &qrn_gpu_value(b, s->in[0])->shape,
                    *y = &qrn_gpu_value(b, s->out[0])->shape;
    qrn_walk outer, inner;
    qrn_gpu_rows r;
    QRN_TRY(qrn_gpu_check_domain(b, s, true));
    qrn_gpu_axis_walks(x, x->rank - 1, &outer, &inner);
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_along, "topk", &outer, &inner, &r);
    qrn_gpu_define(&k, "SMALLEST", "%d", a->smallest);
    qrn_gpu_define(&k, "LOW_TIES", "%d", a->low_ties);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", s->out[0]);
    qrn_gpu_out(&k, "I", s->out[1]);
    qrn_gpu_rows_args(&k, &r, &outer, &inner);
    qrn_gpu_int(&k, y->dims[y->rank - 1]);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_cumsum(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_cumsum_args *a = s->args;
    const qrn_shape *x = &qrn_gpu_value(b, s->in[0])->shape;
    size_t inner = 1, rows;
    QRN_TRY(qrn_gpu_check_domain(b, s, true));
    for (uint32_t d = a->axis + 1; d < x->rank; d++)
        inner *= x->dims[d];
    rows = qrn_gpu_count(b, s->in[0]) / x->dims[a->axis];
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_along, "cumsum");
    qrn_gpu_define(&k, "NUM", "%s", s->domain == QRN_DOMAIN_I64 ? "long" : "float");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    const int64_t sizes[] = {(int64_t)rows, x->dims[a->axis], (int64_t)inner, a->exclusive,
                             a->reverse};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        qrn_gpu_int(&k, sizes[i]);
    return qrn_gpu_kernel_end(&k, 1, &rows, NULL);
}

const qrn_gpu_op qrn_gpu_ops_reduce[] = {
    {.op = &qrn_cop_reduce, .bind = bind_reduce, .epilogue = true},
    {.op = &qrn_cop_moments, .bind = bind_moments},
    {.op = &qrn_cop_arg, .bind = bind_arg, .epilogue = true},
    {.op = &qrn_cop_topk, .bind = bind_topk},
    {.op = &qrn_cop_cumsum, .bind = bind_cumsum, .epilogue = true},
    {0},
};
