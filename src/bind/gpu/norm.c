// SPDX-License-Identifier: MIT
//
// Softmax and norms on the GPU: each one kernel.
#include "bind/gpu/rows.h"
#include "kernels/norm/norm_rows.h"
#include "kernels/softmax/masked.h"
#include "kernels/softmax/softmax.h"

static qrn_status bind_softmax(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_softmax_args *a = s->args;
    qrn_walk outer, inner;
    qrn_gpu_rows r;
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    qrn_gpu_axis_walks(&qrn_gpu_value(b, s->in[0])->shape, a->axis, &outer, &inner);
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_norm, "softmax", &outer, &inner, &r);
    qrn_gpu_define(&k, "LOG", "%d", a->log);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_rows_args(&k, &r, &outer, &inner);
    qrn_gpu_float(&k, a->beta);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_masked(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_masked_softmax_args *a = s->args;
    const qrn_shape *x = &qrn_gpu_value(b, s->in[0])->shape,
                    *m = &qrn_gpu_value(b, s->in[1])->shape;
    qrn_walk outer, inner;
    qrn_gpu_rows r;
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    qrn_gpu_axis_walks(x, x->rank - 1, &outer, &inner);
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_norm, "masked_softmax", &outer, &inner, &r);
    qrn_gpu_define(&k, "COMPRESSED", "%d", a->compressed);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "M", s->in[1]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_fault(&k, s);
    qrn_gpu_rows_args(&k, &r, &outer, &inner);
    qrn_gpu_int(&k, (int64_t)x->dims[1] * x->dims[2]);
    qrn_gpu_int(&k, x->dims[2]);
    qrn_gpu_int(&k, m->dims[1]);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_norm(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_norm_args *a = s->args;
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]);
    qrn_walk outer, inner;
    qrn_gpu_rows r;
    bool plain = a->kind == QRN_NORM_CENTER;
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    qrn_norm_walks(a, &x, &outer, &inner);
    qrn_gpu_kernel k = qrn_gpu_rows_begin(b, s, qrn_cl_norm, "norm", &outer, &inner, &r);
    qrn_gpu_define(&k, "CENTERED", "%d", plain || a->kind == QRN_NORM_MEAN_VARIANCE);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "G", s->n_in > 1 && !plain ? s->in[1] : QRN_VAL_NONE);
    qrn_gpu_in(&k, "B", s->n_in > 2 && !plain ? s->in[2] : QRN_VAL_NONE);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_rows_args(&k, &r, &outer, &inner);
    qrn_gpu_int(&k, a->kind);
    qrn_gpu_float(&k, a->epsilon);
    return qrn_gpu_rows_end(&k, &r);
}

static qrn_status bind_lrn(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_lrn_args *a = s->args;
    const qrn_shape *x = &qrn_gpu_value(b, s->in[0])->shape;
    size_t total = qrn_gpu_count(b, s->in[0]);
    uint32_t height = a->within_channel ? x->dims[1] : 1,
             width = a->within_channel ? x->dims[2] : 1;
    QRN_TRY(qrn_gpu_check_domain(b, s, false));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_norm, "lrn");
    qrn_gpu_define(&k, "WITHIN", "%d", a->within_channel);
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    const int64_t sizes[] = {(int64_t)total, x->dims[x->rank - 1], height, width, a->radius};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        qrn_gpu_int(&k, sizes[i]);
    qrn_gpu_float(&k, a->alpha);
    qrn_gpu_float(&k, a->beta);
    qrn_gpu_float(&k, a->bias);
    return qrn_gpu_kernel_items(&k, total);
}

const qrn_gpu_op qrn_gpu_ops_norm[] = {
    {.op = &qrn_cop_softmax, .bind = bind_softmax, .epilogue = true},
    {.op = &qrn_cop_masked_softmax, .bind = bind_masked, .epilogue = true},
    {.op = &qrn_cop_norm, .bind = bind_norm, .epilogue = true},
    {.op = &qrn_cop_lrn, .bind = bind_lrn, .epilogue = true},
    {0},
};
