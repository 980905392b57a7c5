// SPDX-License-Identifier: MIT
//
// Importers: normalization by channel, and of vectors. Images are taken and made channel last.
#include "frontend/onnx/import/norm.h"

#include "base/mem.h"
#include "frontend/onnx/emit/filter.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/window.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool wants(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

// --- BatchNormalization

static qrn_status check_batch_norm(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t channels = x && x->rank > 1 ? x->dims[1] : 1;
    if (!x || x->rank == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "its input has no channels");
    if (ox_version(im, n) < 9 && ox_attr_int(n, "spatial", 1) == 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "spatial=0: statistics for each position");
    for (uint32_t i = 1; i < 5; i++) {
        const ox_val *v = ox_input(im, n, i);
        if (!v || v->rank != 1 || v->dims[0] != channels)
            return ox_fail(im, n, QRN_E_SHAPE, "input %u must have %u values", i, channels);
    }
    return ox_set_output(im, n, 0, x->type, x->rank, x->dims);
}

static void emit_batch_norm(ox_expr *e, const qc_tensor *x, const qc_tensor *weight,
                            const qc_tensor *bias, const qc_tensor *y) {
    if (e->s != QRN_OK || !x || !weight || !bias || !y)
        return;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_BATCHNORM);
    qc_in(&o, x);
    qc_in(&o, weight);
    qc_in(&o, bias);
    qc_out(&o, y);
    ox_end(e, &o);
}

// weight = scale / sqrt(var + epsilon) and bias = B - mean * weight of constants.
static void folded(ox_expr *e, const qc_tensor *x, uint32_t channels, qc_tensor **weight,
                   qc_tensor **bias) {
    float *in[4] = {NULL}; // scale, B, mean, var
    double epsilon = (double)ox_attr_float(e->n, "epsilon", 1e-5f);
    for (uint32_t i = 0; i < 4 && e->s == QRN_OK; i++)
        e->s = ox_real_numbers(e->im, e->n, 1 + i, &in[i]);
    for (uint32_t c = 0; c < channels && e->s == QRN_OK; c++) {
        double w = (double)in[0][c] / sqrt((double)in[3][c] + epsilon);
        in[1][c] = (float)((double)in[1][c] - (double)in[2][c] * w);
        in[0][c] = (float)w;
    }
    *weight = e->s == QRN_OK ? ox_gamma_of(e, in[0], x, 1, &channels) : NULL;
    *bias = e->s == QRN_OK ? ox_bias_of(e, in[1], x, *weight, channels) : NULL;
    for (uint32_t i = 0; i < 4; i++)
        qrn_free(in[i]);
}

// The same at run time, from given mean and variance.
static void computed(ox_expr *e, qc_tensor *mean, qc_tensor *var, qc_tensor **weight,
                     qc_tensor **bias) {
    qc_tensor *r =
        ox_with(e, QNN_OP_ELEMENT_WISE_ADD, var, (double)ox_attr_float(e->n, "epsilon", 1e-5f));
    qc_tensor *scale = ox_in_real(e, 1, OX_ONNX), *b = ox_in_real(e, 2, OX_ONNX);
    *weight = ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, scale,
                        ox_unary(e, QNN_OP_ELEMENT_WISE_RSQRT, r));
    *bias = ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, b,
                      ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, mean, *weight));
}

// running = input * momentum + current * (1 - momentum)
static qrn_status running(ox_expr *e, uint32_t out, uint32_t in, qc_tensor *current) {
    const ox_val *v = ox_input(e->im, e->n, in);
    double momentum = (double)ox_attr_float(e->n, "momentum", 0.9f);
    if (!wants(e->n, out) || e->s != QRN_OK)
        return e->s;
    QRN_TRY(ox_set_output(e->im, e->n, out, v->type, 1, v->dims));
    qc_tensor *y = ox_out_real(e, out, OX_ONNX);
    qc_tensor *old = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, ox_in_real(e, in, OX_ONNX), momentum);
    current = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, current, 1 - momentum);
    ox_into(e, y);
    ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, old, current);
    return ox_end_real(e, out, OX_ONNX, y);
}

static qrn_status import_training(ox_import *im, const ox_node *n) {
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, OX_LAST), *y = ox_out_real(&e, 0, OX_LAST), *weight, *bias;
    uint32_t axes[OX_MAX_RANK], count = 0;
    for (uint32_t i = 0; x && i + 1 < x->rank; i++)
        axes[count++] = i;
    qc_tensor *mean = ox_reduce(&e, QNN_OP_REDUCE_MEAN, x, axes, count, false);
    qc_tensor *d = ox_binary(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, x, mean);
    qc_tensor *var =
        ox_reduce(&e, QNN_OP_REDUCE_MEAN, ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, d, d), axes,
                  count, false);
    computed(&e, mean, var, &weight, &bias);
    emit_batch_norm(&e, x, weight, bias, y);
    QRN_TRY(ox_end_real(&e, 0, OX_LAST, y));
    QRN_TRY(running(&e, 1, 3, mean));
    return running(&e, 2, 4, var);
}

static qrn_status import_batch_norm(ox_import *im, const ox_node *n) {
    QRN_TRY(check_batch_norm(im, n));
    const ox_val *v = ox_input(im, n, 0);
    if (v->rank == 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "an input without channels; give it two dimensions");
    if (ox_attr_int(n, "training_mode", 0) != 0)
        return import_training(im, n);
    for (uint32_t i = 1; i < n->n_out; i++)
        if (wants(n, i))
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "the statistics of training before opset 14");
    ox_expr e = ox_begin(im, n);
    bool constant = ox_params_constant(&e, 1, 4), fixed = constant && ox_is_quantized(im, n);
    qc_tensor *x = fixed ? ox_fixed_in(&e, 0, OX_LAST) : ox_in_real(&e, 0, OX_LAST);
    qc_tensor *y = fixed ? ox_fixed_out(&e, 0, OX_LAST) : ox_out_real(&e, 0, OX_LAST);
    qc_tensor *weight, *bias;
    if (constant)
        folded(&e, x, v->dims[1], &weight, &bias);
    else
        computed(&e, ox_in_real(&e, 3, OX_ONNX), ox_in_real(&e, 4, OX_ONNX), &weight, &bias);
    emit_batch_norm(&e, x, weight, bias, y);
    return fixed ? ox_fixed_end(&e, 0, OX_LAST, y) : ox_end_real(&e, 0, OX_LAST, y);
}

// --- InstanceNormalization

static qrn_status import_instance_norm(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    if (!v || v->rank < 3)
        return ox_fail(im, n, QRN_E_SHAPE, "its input has no spatial dimensions");
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    bool fixed = ox_is_quantized(im, n) && ox_params_constant(&e, 1, 2);
    qc_tensor *x = fixed ? ox_unsigned_in(&e, 0, OX_LAST) : ox_in_real(&e, 0, OX_LAST);
    qc_tensor *y = fixed ? ox_unsigned_out(&e, 0, OX_LAST) : ox_out_real(&e, 0, OX_LAST);
    qc_tensor *gamma = ox_gamma(&e, 1, x, 1, &v->dims[1]);
    qc_tensor *beta = ox_beta(&e, 2, x, 1, &v->dims[1]);
    if (e.s != QRN_OK)
        return e.s;
    qc_op o;
    ox_op(im, &o, n, QNN_OP_INSTANCE_NORM);
    qc_in(&o, x);
    qc_in(&o, gamma);
    if (beta)
        qc_in(&o, beta);
    qc_out(&o, y);
    qc_f32(&o, QNN_OP_INSTANCE_NORM_PARAM_EPSILON, ox_attr_float(n, "epsilon", 1e-5f));
    ox_end(&e, &o);
    return fixed ? ox_fixed_end(&e, 0, OX_LAST, y) : ox_end_real(&e, 0, OX_LAST, y);
}

// --- LpNormalization

static double smallest(const qc_tensor *x) {
    return ox_type_of(x) == QNN_DATATYPE_FLOAT_16 ? 6e-8 : (double)FLT_MIN;
}

static void lp_norm(ox_expr *e, int64_t p, uint32_t axis, qc_tensor *x, qc_tensor *y) {
    if (p == 1) {
        qc_tensor *sum = ox_reduce(e, QNN_OP_REDUCE_SUM, ox_unary(e, QNN_OP_ELEMENT_WISE_ABS, x),
                                   &axis, 1, true);
        sum = ox_with(e, QNN_OP_ELEMENT_WISE_MAXIMUM, sum, smallest(x)); // 0 / 0 is 0
        ox_into(e, y);
        ox_binary(e, QNN_OP_ELEMENT_WISE_DIVIDE, x, sum);
        return;
    }
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_L2_NORM);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_L2_NORM_PARAM_AXIS, axis);
    qc_f32(&o, QNN_OP_L2_NORM_PARAM_EPSILON, FLT_MIN);
    ox_end(e, &o);
}

static qrn_status import_lp_norm(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    int64_t p = ox_attr_int(n, "p", 2);
    uint32_t axis;
    if (!v || (p != 1 && p != 2))
        return ox_fail(im, n, QRN_E_PARAM, "attribute p must be 1 or 2");
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", -1), v->rank, &axis));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    ox_layout layout = ox_layout_of(im, n);
    axis = ox_axis_in(layout, axis, v->rank);
    bool fixed = ox_is_quantized(im, n) && p == 2;
    qc_tensor *x = fixed ? ox_fixed_in(&e, 0, layout) : ox_in_real(&e, 0, layout);
    qc_tensor *y = fixed ? ox_fixed_out(&e, 0, layout) : ox_out_real(&e, 0, layout);
    if (e.s == QRN_OK)
        lp_norm(&e, p, axis, x, y);
    return fixed ? ox_fixed_end(&e, 0, layout, y) : ox_end_real(&e, 0, layout, y);
}

// --- MeanVarianceNormalization

static qrn_status import_mvn(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    int64_t list[OX_MAX_RANK] = {0, 2, 3};
    uint32_t axes[OX_MAX_RANK], count = 3;
    ox_layout layout = ox_layout_of(im, n);
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 0 is missing");
    if (ox_attr_find(n, "axes"))
        count = ox_attr_ints(n, "axes", list, OX_MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        QRN_TRY(ox_axis(im, n, list[i], v->rank, &axes[i]));
        axes[i] = ox_axis_in(layout, axes[i], v->rank);
    }
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, layout), *y = ox_out_real(&e, 0, layout);
    qc_tensor *d = ox_binary(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, x, ox_mean(&e, x, axes, count));
    qc_tensor *deviation =
        ox_unary(&e, QNN_OP_ELEMENT_WISE_SQUARE_ROOT, ox_mean_square(&e, d, axes, count));
    deviation = ox_with(&e, QNN_OP_ELEMENT_WISE_ADD, deviation, 1e-9);
    ox_into(&e, y);
    ox_binary(&e, QNN_OP_ELEMENT_WISE_DIVIDE, d, deviation);
    return ox_end_real(&e, 0, layout, y);
}

// --- LRN

static void emit_lrn(ox_expr *e, int64_t size, qc_tensor *x, qc_tensor *y) {
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_LRN);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_f32(&o, QNN_OP_LRN_PARAM_ALPHA, ox_attr_float(e->n, "alpha", 1e-4f) / (float)size);
    qc_f32(&o, QNN_OP_LRN_PARAM_BETA, ox_attr_float(e->n, "beta", 0.75f));
    qc_f32(&o, QNN_OP_LRN_PARAM_BIAS, ox_attr_float(e->n, "bias", 1));
    qc_i32(&o, QNN_OP_LRN_PARAM_RADIUS, (int32_t)(size - 1) / 2);
    ox_end(e, &o);
}

// A window of even size reaches one channel further up than down.
static void lrn_by_slices(ox_expr *e, uint32_t size, qc_tensor *x, qc_tensor *y) {
    uint32_t pad[2 * OX_MAX_RANK] = {0}, axis = x->rank - 1, channels = x->dims[axis];
    pad[2 * axis] = (size - 1) / 2;
    pad[2 * axis + 1] = size - 1 - (size - 1) / 2;
    qc_tensor *square = ox_pad(e, ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, x), pad, 0);
    qc_tensor *sum = ox_slice(e, square, axis, 0, channels, 1);
    for (uint32_t i = 1; i < size; i++)
        sum = ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, sum, ox_slice(e, square, axis, i, channels, 1));
    sum = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, sum,
                  (double)ox_attr_float(e->n, "alpha", 1e-4f) / size);
    sum = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, sum, (double)ox_attr_float(e->n, "bias", 1));
    sum = ox_with(e, QNN_OP_ELEMENT_WISE_POWER, sum, (double)ox_attr_float(e->n, "beta", 0.75f));
    ox_into(e, y);
    ox_binary(e, QNN_OP_ELEMENT_WISE_DIVIDE, x, sum);
}

static qrn_status import_lrn(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    int64_t size = ox_attr_int(n, "size", 0);
    if (!v || v->rank < 2 || size <= 0 || size > 4096)
        return ox_fail(im, n, QRN_E_PARAM, "attribute size is %lld", (long long)size);
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, OX_LAST), *y = ox_out_real(&e, 0, OX_LAST);
    if (e.s != QRN_OK)
        return e.s;
    if (size % 2)
        emit_lrn(&e, size, x, y);
    else
        lrn_by_slices(&e, (uint32_t)size, x, y);
    return ox_end_real(&e, 0, OX_LAST, y);
}

const ox_importer ox_import_norm[] = {
    {"BatchNormalization", "", import_batch_norm},
    {"InstanceNormalization", "", import_instance_norm},
    {"LpNormalization", "", import_lp_norm},
    {"MeanVarianceNormalization", "", import_mvn},
    {"LRN", "", import_lrn},
    {0},
};
