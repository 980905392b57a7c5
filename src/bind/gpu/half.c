// SPDX-License-Identifier: MIT
//
// Arithmetic on fp16 numbers: whether the device has it, and which steps use it.
//
// Sums, differences and products of two fp16 numbers are rounded correctly in fp16: the result is
// the one that fp16 storage would keep anyway. Quotients and functions are computed in fp32 and
// rounded once: drivers may be off by several units there, which is all that a result may be off.
#include "bind/gpu/half.h"

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"

// A test program with what the generated ones contain, and the functions of such numbers.
static const char probe[] =
    QRN_GPU_HALF "__kernel void probe(__global half *y, __global const half *x) {\n"
                 "    HALF a = vload_half(0, x), b = vload_half(1, x), c = a * b + a - b;\n"
                 "    c = fma(a, b, fmax(c, (HALF)0.5f));\n"
                 "    float f = c;\n"
                 "    vstore_half_rte(f, 0, y);\n"
                 "}\n";

void qrn_gpu_probe_half(qrn_gpu_device *d) {
    cl_program program;
    d->half_math =
        d->info->fp16 && qrn_cl_program(d->programs, NULL,
                                        &(qrn_cl_source){.text = probe, .options = "-cl-std=CL1.2"},
                                        &program) == QRN_OK;
    if (!d->half_math)
        qrn_message_clear();
}

bool qrn_gpu_is_half(const qrn_gpu_binder *b, qrn_val v) {
    return b->opt->precision == QRN_GPU_FP16 && b->opt->device && b->opt->device->half_math &&
           b->plan->places[v].type == QRN_DTYPE_F16;
}

bool qrn_gpu_computes_half(const qrn_gpu_binder *b, const qrn_cstep *s) {
    uint32_t op = s->op == &qrn_cop_binary  ? ((const qrn_binary_args *)s->args)->op
                  : s->op == &qrn_cop_unary ? ((const qrn_unary_args *)s->args)->op
                                            : UINT32_MAX;
    bool exact = s->op == &qrn_cop_binary ? op <= QRN_BINARY_MUL
                                          : op == QRN_UNARY_NEG || op == QRN_UNARY_SQUARE;
    exact &= s->domain == QRN_DOMAIN_F32 && qrn_gpu_is_half(b, s->out[0]);
    for (uint32_t i = 0; i < s->n_in && exact; i++)
        exact = s->in[i] != QRN_VAL_NONE && qrn_gpu_is_half(b, s->in[i]);
    return exact;
}
