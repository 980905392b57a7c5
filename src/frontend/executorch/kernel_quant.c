// SPDX-License-Identifier: MIT
//
// Quantize and dequantize, for a whole tensor or per index of an axis:
//   q = clamp(round(x / scale) + zero, lowest, highest),  x = (q - zero) * scale
// with the reciprocal of the scale rounded to float, and rounding to nearest, ties to even.
#include "frontend/executorch/kernel.h"

#include "reference/elementwise.h"

#include <math.h>

typedef enum how { QUANTIZE, DEQUANTIZE } how;

typedef struct limits {
    double lowest, highest;
} limits;

static void quantize(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    const limits *l = m->context;
    for (size_t i = 0; i < n; i++) {
        float inverse = 1.0f / (float)x[1][i].f;
        double q = (double)nearbyintf((float)x[0][i].f * inverse) + x[2][i].f;
        q = q > l->lowest ? q : l->lowest; // NaN becomes the lowest
        y[i].f = q < l->highest ? q : l->highest;
    }
}

// x holds scale and zero point at 1 and 2; the limits are arguments `at` and at + 1.
static qrn_status run(et_call *c, int h, qrn_nd *x, uint32_t at) {
    limits l = {(double)et_int(c, at), (double)et_int(c, at + 1)};
    qrn_map m = {.fn = h == QUANTIZE ? quantize : qrn_map_dequantize,
                 .arity = 3,
                 .rule = QRN_CAST_WRAP,
                 .context = &l};
    x[0] = et_in(c, 0);
    qrn_nd y = et_result(c, at + (h == QUANTIZE ? 3 : 4), x[0].rank, x[0].dims);
    if (c->status == QRN_OK)
        qrn_nd_map(&m, &y, x, 3);
    return c->status;
}

static qrn_status per_tensor(et_call *c, int h) {
    float scale = (float)et_number(c, 1);
    int64_t zero = et_int(c, 2);
    qrn_nd x[3] = {{0}, qrn_nd_scalar(QRN_DTYPE_F32, &scale), qrn_nd_scalar(QRN_DTYPE_I64, &zero)};
    return run(c, h, x, 3);
}

// Scale and zero point are tensors: of one element, or one per index of the axis.
static qrn_status given(et_call *c, int h, int64_t axis, uint32_t limits_at) {
    qrn_nd a = et_in(c, 0), x[3] = {a, et_in(c, 1)};
    int64_t no_zero = 0;
    bool per_axis = limits_at > 3;
    uint32_t dim = per_axis ? et_dim_of(c, axis, a.rank) : 0;
    size_t n = per_axis && a.rank ? a.dims[dim] : 1;
    x[2] = per_axis && et_absent(c, 2) ? qrn_nd_scalar(QRN_DTYPE_I64, &no_zero) : et_in(c, 2);
    for (uint32_t k = 1; k < 3 && c->status == QRN_OK; k++) {
        bool missing = k == 2 && x[k].data == (unsigned char *)&no_zero;
        if (!missing && (x[k].count != n || (per_axis && x[k].rank > 1)))
            et_refuse(c, "%zu scales or zero points for a dimension of %zu", x[k].count, n);
        qrn_nd_along(&x[k], a.rank, dim);
    }
    return run(c, h, x, limits_at);
}

static qrn_status per_tensor_given(et_call *c, int h) { return given(c, h, 0, 3); }
static qrn_status per_channel(et_call *c, int h) { return given(c, h, et_int(c, 3), 4); }

// clang-format off
const et_kernel et_kernels_quant[] = {
    {"quantized_decomposed::quantize_per_tensor.out", 7, per_tensor, QUANTIZE},
    {"quantized_decomposed::dequantize_per_tensor.out", 8, per_tensor, DEQUANTIZE},
    {"quantized_decomposed::quantize_per_tensor.Tensor_out", 7, per_tensor_given, QUANTIZE},
    {"quantized_decomposed::dequantize_per_tensor.Tensor_out", 8, per_tensor_given, DEQUANTIZE},
    {"quantized_decomposed::quantize_per_channel.out", 8, per_channel, QUANTIZE},
    {"quantized_decomposed::dequantize_per_channel.out", 9, per_channel, DEQUANTIZE},
    {0},
};
