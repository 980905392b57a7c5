// SPDX-License-Identifier: MIT
//
// Quantize and dequantize, for a whole tensor or per index of an axis:
//   code = clamp(round(x / scale) + zero, lowest, highest),  x = (code - zero) * scale
// with the reciprocal of the scale rounded to float, and rounding to nearest, ties to even.
#include "frontend/executorch/kernel.h"

#include <math.h>

typedef enum how { QUANTIZE, DEQUANTIZE } how;

// Where scales and zero points come from.
typedef struct encoding {
    double scale;
    int64_t zero;
    const et_tensor *scales, *zeros; // per index of an axis; zeros NULL: all 0
    double lowest, highest;
} encoding;

static void code(et_tensor *out, const et_tensor *a, const et_walk *w, const encoding *e, int h) {
    double v = et_get(a, w->at[1]);
    if (h == QUANTIZE) {
        float inverse = 1.0f / (float)e->scale;
        double q = (double)nearbyintf((float)v * inverse) + (double)e->zero;
        q = q > e->lowest ? q : e->lowest; // NaN becomes the lowest
        et_set(out, w->at[0], q < e->highest ? q : e->highest);
    } else {
        et_set(out, w->at[0], (double)(float)((v - (double)e->zero) * (double)(float)e->scale));
    }
}

static qrn_status run(et_call *c, int h, encoding *e, int64_t axis, uint32_t out_at) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, out_at);
    if (!a || !out)
        return c->status;
    uint32_t dim = e->scales ? et_dim_of(c, axis, a->rank) : 0;
    int64_t n = a->rank ? a->sizes[dim] : 1;
    if (c->status == QRN_OK && e->scales &&
        ((int64_t)e->scales->count != n || e->scales->rank > 1 ||
         (e->zeros && ((int64_t)e->zeros->count != n || e->zeros->rank > 1))))
        return et_refuse(c, "%zu scales for a dimension of %lld", e->scales->count, (long long)n);
    if (!et_shape(c, out, a->rank, a->sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, a->rank, a->sizes);
    et_walk_add(&w, out);
    et_walk_add(&w, a);
    for (; w.left; et_walk_next(&w)) {
        int64_t i = a->rank ? w.index[dim] : 0;
        if (e->scales) {
            e->scale = et_get(e->scales, i);
            e->zero = e->zeros ? et_get_int(e->zeros, i) : 0;
        }
        code(out, a, &w, e, h);
    }
    return QRN_OK;
}

static qrn_status per_tensor(et_call *c, int h) {
    encoding e = {.scale = et_number(c, 1),
                  .zero = et_int(c, 2),
                  .lowest = (double)et_int(c, 3),
                  .highest = (double)et_int(c, 4)};
    return run(c, h, &e, 0, h == QUANTIZE ? 6 : 7);
}

// Scale and zero point are tensors of one element.
static qrn_status per_tensor_given(et_call *c, int h) {
    const et_tensor *scale = et_in(c, 1), *zero = et_in(c, 2);
    if (!scale || !zero || scale->count != 1 || zero->count != 1)
        return et_refuse(c, "scale and zero point must have one element");
    encoding e = {.scale = et_get(scale, 0),
                  .zero = et_get_int(zero, 0),
                  .lowest = (double)et_int(c, 3),
                  .highest = (double)et_int(c, 4)};
    return run(c, h, &e, 0, h == QUANTIZE ? 6 : 7);
}

static qrn_status per_channel(et_call *c, int h) {
    encoding e = {.scales = et_in(c, 1),
                  .zeros = et_absent(c, 2) ? NULL : et_in(c, 2),
                  .lowest = (double)et_int(c, 4),
                  .highest = (double)et_int(c, 5)};
    return run(c, h, &e, et_int(c, 3), h == QUANTIZE ? 7 : 8);
}

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
