// SPDX-License-Identifier: MIT
//
// Convolutions and matrix products on the GPU.
#include "bind/gpu/binder.h"

#include "kernels/conv/conv.h"
#include "kernels/gemm/matmul/matmul.h"

static qrn_status bind_conv(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_conv_args *a = s->args;
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]), w = qrn_compiled_view(b->cg, s->in[1]),
             y = qrn_compiled_view(b->cg, s->out[0]);
    qrn_conv_geometry g = qrn_conv_geometry_of(a, &x, &y, w.dims);
    qrn_val result = qrn_gpu_result(b);
    size_t total = qrn_view_count(&y);
    int32_t p[18];
    for (int d = 0; d < 3; d++) {
        const int64_t sizes[] = {g.in[d],     g.out[d],      g.kernel[d],
                                 g.stride[d], g.dilation[d], g.before[d]};
        for (int i = 0; i < 6; i++)
            p[3 * i + d] = (int32_t)sizes[i];
    }
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_plain, "conv");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "W", s->in[1]);
    qrn_gpu_in(&k, "B", s->n_in > 2 ? s->in[2] : QRN_VAL_NONE);
    qrn_gpu_out(&k, "Y", result);
    qrn_gpu_params(&k, p, 18);
    qrn_gpu_int(&k, (int64_t)g.cin);
    qrn_gpu_int(&k, (int64_t)g.cout);
    qrn_gpu_int(&k, (int64_t)g.group);
    qrn_gpu_int(&k, (int64_t)total);
    qrn_gpu_int(&k, a->transposed);
    qrn_gpu_clamp(&k, &a->clamp);
    return qrn_gpu_kernel_end(&k, 1, &total, NULL);
}

static qrn_status bind_matmul(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_matmul_args *a = s->args;
    qrn_view views[4];
    qrn_view *in[3] = {NULL, NULL, NULL}, *out[1] = {&views[3]};
    for (uint32_t i = 0; i < s->n_in && i < 3; i++)
        if (s->in[i] != QRN_VAL_NONE) {
            views[i] = qrn_compiled_view(b->cg, s->in[i]);
            in[i] = &views[i];
        }
    views[3] = qrn_compiled_view(b->cg, s->out[0]);
    qrn_kcall call = {.args = a, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
    qrn_matmul_geometry g = qrn_matmul_geometry_of(&call);
    int32_t p[1 + 3 * QRN_MAX_RANK] = {(int32_t)g.n_lead};
    for (uint32_t d = 0; d < g.n_lead; d++) {
        uint32_t from = g.n_lead - 1 - d;
        p[1 + 3 * d] = (int32_t)g.lead[from];
        p[2 + 3 * d] = (int32_t)g.a_lead[from];
        p[3 + 3 * d] = (int32_t)g.b_lead[from];
    }
    size_t total = qrn_view_count(&views[3]);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_plain, "matmul");
    qrn_gpu_in(&k, "A", s->in[0]);
    qrn_gpu_in(&k, "B", s->in[1]);
    qrn_gpu_in(&k, "C", s->n_in > 2 ? s->in[2] : QRN_VAL_NONE);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, p, 1 + 3 * g.n_lead);
    const size_t sizes[] = {g.rows, g.cols, g.depth, g.a_row, g.a_depth, g.b_depth, g.b_col, total};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        qrn_gpu_int(&k, (int64_t)sizes[i]);
    qrn_gpu_clamp(&k, &a->clamp);
    return qrn_gpu_kernel_end(&k, 1, &total, NULL);
}

const qrn_gpu_op qrn_gpu_ops_gemm[] = {
    {.op = &qrn_cop_conv, .bind = bind_conv, .epilogue = true},
    {.op = &qrn_cop_matmul, .bind = bind_matmul, .epilogue = true},
    {0},
};
