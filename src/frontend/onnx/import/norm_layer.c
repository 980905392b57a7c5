// SPDX-License-Identifier: MIT
//
// Importers: normalization over the last dimensions, and over groups of channels.
#include "base/mem.h"
#include "frontend/onnx/emit/filter.h"
#include "frontend/onnx/import/norm.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

#define NONE UINT32_MAX

// One normalization: which inputs and outputs play which part.
typedef struct layer {
    bool rms;               // no mean is taken off
    uint32_t gamma, beta;   // inputs, or NONE
    uint32_t mean, inverse; // outputs, or NONE
    double epsilon;
    uint32_t n, axes[OX_MAX_RANK];
    uint32_t dims[OX_MAX_RANK]; // of x at the axes
} layer;

static bool wants(const ox_node *n, uint32_t i) {
    return i != NONE && i < n->n_out && n->out[i][0];
}

static qrn_status read_layer(ox_import *im, const ox_node *n, const ox_val *x, int64_t axis,
                             layer *l) {
    uint32_t first;
    QRN_TRY(ox_axis(im, n, axis, x->rank, &first));
    for (uint32_t i = first; i < x->rank; i++) {
        l->axes[l->n] = i;
        l->dims[l->n++] = x->dims[i];
    }
    if (l->n == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "its input has no dimensions");
    l->epsilon = (double)ox_attr_float(n, "epsilon", (float)l->epsilon);
    return QRN_OK;
}

// Does parameter i have one element for each of the normalized ones?
static bool is_full(const ox_expr *e, const layer *l, uint32_t i) {
    const ox_val *v = i == NONE ? NULL : ox_input(e->im, e->n, i);
    size_t have = 1, want = 1;
    for (uint32_t d = 0; v && d < v->rank; d++)
        have *= v->dims[d];
    for (uint32_t d = 0; d < l->n; d++)
        want *= l->dims[d];
    return !v || have == want;
}

static void begin_norm(ox_expr *e, qc_op *o, const layer *l, const qc_tensor *x,
                       const qc_tensor *gamma, const qc_tensor *beta, const qc_tensor *y) {
    ox_op(e->im, o, e->n, l->rms ? QNN_OP_RMS_NORM : QNN_OP_LAYER_NORM);
    qc_in(o, x);
    if (gamma || beta)
        qc_in(o, gamma);
    if (beta)
        qc_in(o, beta);
    qc_out(o, y);
    qc_f32(o, QNN_OP_LAYER_NORM_PARAM_EPSILON, (float)l->epsilon);
    qc_u32s(o, QNN_OP_LAYER_NORM_PARAM_AXES, l->axes, l->n);
}

// The normalized dimensions as one, for a backend that supports the last axis only; else l itself.
static layer fitted(ox_expr *e, const layer *l, const qc_tensor *x, const qc_tensor *y) {
    qc_op o;
    layer f = *l;
    if (l->n == 1)
        return f;
    begin_norm(e, &o, l, x, NULL, NULL, y);
    if (ox_taken(e, &o))
        return f;
    for (uint32_t i = 1; i < l->n; i++)
        f.dims[0] *= l->dims[i];
    f.n = 1;
    return f;
}

// y = norm(x), with the parameters that are given as inputs of the node.
static void emit_norm(ox_expr *e, const layer *l, uint32_t gamma, uint32_t beta, qc_tensor *x,
                      qc_tensor *y) {
    if (e->s != QRN_OK || !x || !y)
        return;
    layer f = fitted(e, l, x, y);
    bool flat = f.n != l->n;
    uint32_t rank = x->rank - l->n + f.n, dims[OX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    memcpy(dims + rank - f.n, f.dims, f.n * sizeof dims[0]);
    qc_tensor *from = flat ? ox_reshape(e, x, rank, dims) : x;
    qc_tensor *to = flat ? ox_result_like(e, y, rank, dims) : y;
    qc_tensor *g = gamma == NONE ? NULL : ox_gamma(e, gamma, from, f.n, f.dims);
    qc_tensor *b = beta == NONE ? NULL : ox_beta(e, beta, from, f.n, f.dims);
    if (e->s != QRN_OK)
        return;
    qc_op o;
    begin_norm(e, &o, &f, from, g, b, to);
    ox_end(e, &o);
    if (!flat)
        return;
    ox_into(e, y);
    ox_reshape(e, to, y->rank, y->dims);
}

static qc_tensor *scaled(ox_expr *e, const char *op, qc_tensor *x, uint32_t input) {
    if (input == NONE || !ox_input(e->im, e->n, input))
        return x;
    return ox_binary(e, op, x, ox_as(e, ox_in_real(e, input, OX_ONNX), ox_type_of(x)));
}

// y = norm(x) * gamma + beta; parameters that are broadcast are applied by ops of their own.
static void write_norm(ox_expr *e, const layer *l, qc_tensor *x, qc_tensor *y) {
    if (!x || !y)
        return;
    if (is_full(e, l, l->gamma) && is_full(e, l, l->beta)) {
        emit_norm(e, l, l->gamma, l->beta, x, y);
        return;
    }
    qc_tensor *z = ox_result_like(e, x, x->rank, x->dims);
    emit_norm(e, l, NONE, NONE, x, z);
    z = scaled(e, QNN_OP_ELEMENT_WISE_MULTIPLY, z, l->gamma);
    z = scaled(e, QNN_OP_ELEMENT_WISE_ADD, z, l->beta);
    ox_into(e, y);
    ox_reshape(e, z, y->rank, y->dims);
}

static qrn_status write_statistic(ox_expr *e, uint32_t out, qc_tensor *x) {
    int type = ox_attr_int(e->n, "stash_type", 1) == OX_F16 ? OX_F16 : OX_F32;
    qc_tensor *y;
    if (!wants(e->n, out) || e->s != QRN_OK)
        return e->s;
    QRN_TRY(ox_set_output(e->im, e->n, out, type, x->rank, x->dims));
    QRN_TRY(ox_out_as(e->im, e->n, out, OX_ONNX, ox_type_of(x), &y));
    ox_into(e, y);
    ox_reshape(e, x, y->rank, y->dims);
    QRN_TRY(ox_done(e));
    return ox_out_end(e->im, e->n, out, OX_ONNX, y);
}

// Mean and 1 / sqrt(variance + epsilon), where they are outputs.
static qrn_status write_statistics(ox_expr *e, const layer *l, qc_tensor *x) {
    if (!wants(e->n, l->mean) && !wants(e->n, l->inverse))
        return e->s;
    x = ox_as(e, x, QNN_DATATYPE_FLOAT_32);
    qc_tensor *mean = ox_mean(e, x, l->axes, l->n);
    qc_tensor *d = l->rms ? x : ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, x, mean);
    qc_tensor *r =
        ox_with(e, QNN_OP_ELEMENT_WISE_ADD, ox_mean_square(e, d, l->axes, l->n), l->epsilon);
    r = ox_unary(e, QNN_OP_ELEMENT_WISE_RSQRT, r);
    QRN_TRY(write_statistic(e, l->mean, mean));
    return write_statistic(e, l->inverse, r);
}

static qrn_status import_layer(ox_import *im, const ox_node *n, layer *l) {
    const ox_val *v = ox_input(im, n, 0);
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 0 is missing");
    QRN_TRY(read_layer(im, n, v, ox_attr_int(n, "axis", -1), l));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    bool fixed = ox_is_quantized(im, n) && ox_params_constant(&e, 1, 2) && is_full(&e, l, 1) &&
                 is_full(&e, l, 2) && !wants(n, l->mean) && !wants(n, l->inverse);
    qc_tensor *x = fixed ? ox_unsigned_in(&e, 0, OX_ONNX) : ox_in_real(&e, 0, OX_ONNX);
    qc_tensor *y = fixed ? ox_unsigned_out(&e, 0, OX_ONNX) : ox_out_real(&e, 0, OX_ONNX);
    write_norm(&e, l, x, y);
    if (fixed)
        return ox_fixed_end(&e, 0, OX_ONNX, y);
    QRN_TRY(ox_end_real(&e, 0, OX_ONNX, y));
    return write_statistics(&e, l, x);
}

static qrn_status import_layer_norm(ox_import *im, const ox_node *n) {
    layer l = {.gamma = 1, .beta = 2, .mean = 1, .inverse = 2, .epsilon = 1e-5};
    return import_layer(im, n, &l);
}

// Along another axis than the last, with a Transpose before and behind, or without gamma
// (pattern_norm.c).
static qrn_status import_along(ox_import *im, const ox_node *n) {
    layer l = {.rms = strcmp(n->op, "RmsNormAlong") == 0, .n = 1};
    const ox_val *v = ox_input(im, n, 0);
    uint32_t axis;
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 0 is missing");
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", -1), v->rank, &axis));
    l.gamma = n->n_in > 1 ? 1 : NONE;
    l.beta = n->n_in > 2 ? 2 : NONE;
    l.axes[0] = v->rank - 1;
    l.dims[0] = v->dims[axis];
    l.epsilon = (double)ox_attr_float(n, "epsilon", 1e-5f);
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    bool fixed = ox_is_quantized(im, n) && ox_params_constant(&e, 1, 2);
    qc_tensor *x = fixed ? ox_unsigned_in(&e, 0, OX_ONNX) : ox_in_real(&e, 0, OX_ONNX);
    qc_tensor *y = fixed ? ox_unsigned_out(&e, 0, OX_ONNX) : ox_out_real(&e, 0, OX_ONNX);
    qc_tensor *t = ox_axis_to_end(&e, x, axis);
    qc_tensor *z = t && y ? ox_result_like(&e, y, t->rank, t->dims) : NULL;
    if (!z)
        return e.s;
    emit_norm(&e, &l, l.gamma, l.beta, t, z);
    ox_into(&e, y);
    ox_axis_back(&e, z, axis);
    return fixed ? ox_fixed_end(&e, 0, OX_ONNX, y) : ox_end_real(&e, 0, OX_ONNX, y);
}

static qrn_status import_rms_norm(ox_import *im, const ox_node *n) {
    layer l = {.rms = true, .gamma = 1, .beta = NONE, .mean = NONE, .inverse = 1, .epsilon = 1e-5};
    return import_layer(im, n, &l);
}

// --- with a residual

// input + skip (+ bias), which may be an output too, then normalized.
static qrn_status import_skip(ox_import *im, const ox_node *n) {
    bool rms = strcmp(n->op, "SkipSimplifiedLayerNormalization") == 0;
    const ox_val *v = ox_input(im, n, 0);
    layer l = {.rms = rms,
               .gamma = 2,
               .beta = rms ? NONE : 3,
               .mean = 1,
               .inverse = 2,
               .epsilon = rms ? 1e-6 : 1e-12};
    uint32_t bias = rms ? 3 : 4;
    if (!v || !ox_input(im, n, 1) || !ox_input(im, n, 2))
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input, skip and gamma are needed");
    QRN_TRY(read_layer(im, n, v, -1, &l));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *sum = ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, ox_in_real(&e, 0, OX_ONNX),
                               ox_in_real(&e, 1, OX_ONNX));
    if (ox_input(im, n, bias))
        sum = ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, sum, ox_in_real(&e, bias, OX_ONNX));
    qc_tensor *y = ox_out_real(&e, 0, OX_ONNX);
    write_norm(&e, &l, sum, y);
    QRN_TRY(ox_end_real(&e, 0, OX_ONNX, y));
    QRN_TRY(write_statistics(&e, &l, sum));
    if (!wants(n, 3))
        return QRN_OK;
    QRN_TRY(ox_set_output(im, n, 3, v->type, v->rank, v->dims));
    y = ox_out_real(&e, 3, OX_ONNX);
    ox_into(&e, y);
    ox_reshape(&e, sum, v->rank, v->dims);
    return ox_end_real(&e, 3, OX_ONNX, y);
}

// --- groups

// A parameter [groups] as [channels]: each value for all channels of its group. One that has all
// channels stays.
static qc_tensor *spread(ox_expr *e, uint32_t i, bool is_gamma, const qc_tensor *x, uint32_t groups,
                         uint32_t channels) {
    const ox_val *v = ox_input(e->im, e->n, i);
    float *values = NULL;
    if (!v || !x || e->s != QRN_OK)
        return NULL;
    if (v->rank != 1 || v->dims[0] != groups || groups == channels)
        return (is_gamma ? ox_gamma : ox_beta)(e, i, x, 1, &channels);
    e->s = ox_real_numbers(e->im, e->n, i, &values);
    float *wide = values ? qrn_alloc(channels * sizeof *wide) : NULL;
    for (uint32_t c = 0; wide && c < channels; c++)
        wide[c] = values[c / (channels / groups)];
    qc_tensor *y = NULL;
    if (wide)
        y = (is_gamma ? ox_gamma_of : ox_beta_of)(e, wide, x, 1, &channels);
    qrn_free(values);
    qrn_free(wide);
    if (wide || e->s != QRN_OK)
        return y;
    qc_tensor *t = ox_reshape(e, ox_in_real(e, i, OX_ONNX), 2, (const uint32_t[]){groups, 1});
    t = ox_tile(e, t, (const uint32_t[]){1, channels / groups});
    return ox_reshape(e, t, 1, &channels);
}

static void emit_groups(ox_expr *e, uint32_t groups, const qc_tensor *x, const qc_tensor *gamma,
                        const qc_tensor *beta, const qc_tensor *y) {
    if (e->s != QRN_OK || !x || !y)
        return;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_GROUP_NORM);
    qc_in(&o, x);
    qc_in(&o, gamma);
    if (beta)
        qc_in(&o, beta);
    qc_out(&o, y);
    qc_f32(&o, QNN_OP_GROUP_NORM_PARAM_EPSILON, ox_attr_float(e->n, "epsilon", 1e-5f));
    qc_u32(&o, QNN_OP_GROUP_NORM_PARAM_GROUP, groups);
    ox_end(e, &o);
}

static qrn_status check_groups(ox_import *im, const ox_node *n, int64_t groups, uint32_t channels) {
    if (groups > 0 && channels % groups == 0 && groups <= channels)
        return QRN_OK;
    return ox_fail(im, n, QRN_E_PARAM, "%lld groups of %u channels", (long long)groups, channels);
}

static qrn_status import_group_norm(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    int64_t groups = ox_attr_int(n, "num_groups", 0);
    if (!v || v->rank < 2)
        return ox_fail(im, n, QRN_E_SHAPE, "its input has no channels");
    QRN_TRY(check_groups(im, n, groups, v->dims[1]));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    bool fixed = ox_is_quantized(im, n) && ox_params_constant(&e, 1, 2);
    qc_tensor *x = fixed ? ox_unsigned_in(&e, 0, OX_LAST) : ox_in_real(&e, 0, OX_LAST);
    qc_tensor *y = fixed ? ox_unsigned_out(&e, 0, OX_LAST) : ox_out_real(&e, 0, OX_LAST);
    qc_tensor *gamma = spread(&e, 1, true, x, (uint32_t)groups, v->dims[1]);
    qc_tensor *beta = spread(&e, 2, false, x, (uint32_t)groups, v->dims[1]);
    emit_groups(&e, (uint32_t)groups, x, gamma, beta, y);
    return fixed ? ox_fixed_end(&e, 0, OX_LAST, y) : ox_end_real(&e, 0, OX_LAST, y);
}

// com.microsoft: channels are last in the ONNX value itself unless it says otherwise.
static qrn_status import_ms_group_norm(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    int64_t groups = ox_attr_int(n, "groups", 0);
    bool last = ox_attr_int(n, "channels_last", 1) != 0, silu = ox_attr_int(n, "activation", 0);
    if (!v || v->rank < 3)
        return ox_fail(im, n, QRN_E_SHAPE, "its input has no spatial dimensions");
    uint32_t channels = v->dims[last ? v->rank - 1 : 1];
    ox_layout layout = last ? OX_ONNX : OX_LAST;
    QRN_TRY(check_groups(im, n, groups, channels));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, layout), *y = ox_out_real(&e, 0, layout);
    qc_tensor *gamma = ox_gamma(&e, 1, x, 1, &channels), *beta = ox_beta(&e, 2, x, 1, &channels);
    qc_tensor *z = silu && y ? ox_result_like(&e, y, y->rank, y->dims) : y;
    emit_groups(&e, (uint32_t)groups, x, gamma, beta, z);
    if (silu) {
        qc_tensor *s = ox_unary(&e, QNN_OP_SIGMOID, z);
        ox_into(&e, y);
        ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, z, s);
    }
    return ox_end_real(&e, 0, layout, y);
}

const ox_importer ox_import_norm_layer[] = {
    {"LayerNormalization", "", import_layer_norm},
    {"LayerNormalization", "com.microsoft", import_layer_norm},
    {"LayerNormAlong", OX_OWN_DOMAIN, import_along},
    {"RMSNormalization", "", import_rms_norm},
    {"RmsNormAlong", OX_OWN_DOMAIN, import_along},
    {"SimplifiedLayerNormalization", "", import_rms_norm},
    {"SimplifiedLayerNormalization", "com.microsoft", import_rms_norm},
    {"SkipLayerNormalization", "com.microsoft", import_skip},
    {"SkipSimplifiedLayerNormalization", "com.microsoft", import_skip},
    {"GroupNormalization", "", import_group_norm},
    {"GroupNorm", "com.microsoft", import_ms_group_norm},
    {0},
};
