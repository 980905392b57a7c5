// SPDX-License-Identifier: MIT
//
// Importers: convolutions and matmuls. Filters are permuted to QNN's order once, on the host.
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/emit/filter.h"
#include "frontend/tflite/import.h"
#include "frontend/tflite/window.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

// --- operands

static bool computes_fixed(const tl *t, uint32_t x, uint32_t filter) {
    return !t->real && tl_is_fixed(tl_val(t, x)) && tl_is_fixed(tl_val(t, filter));
}

// The filter in QNN's order: quantized where the op computes in fixed point.
static qc_tensor *filter_of(tl *t, uint32_t i, const uint32_t *perm, bool fixed) {
    ox_import *im = t->e.im;
    const ox_val *v = tl_val(t, i);
    qc_tensor *w = NULL;
    if (t->e.s != QRN_OK)
        return NULL;
    if (!v->data) { // computed
        w = tl_in(t, i);
        return w ? ox_transpose(&t->e, w, perm) : NULL;
    }
    ox_val copy = *v;
    if (!fixed && (v->enc || v->type == OX_F16)) {
        copy.data = ox_const_reals(im, t->e.n, i);
        copy.type = OX_F32;
        copy.enc = NULL;
        copy.bytes = ox_count(v) * sizeof(float);
    }
    if (copy.data)
        t->e.s = ox_static_moved(im, &copy, perm, &w);
    else
        t->e.s = ox_no_memory(im);
    return ox_made(&t->e, w);
}

static double scale_of(const ox_val *v, uint32_t c) {
    return (double)v->enc->scales[v->enc->n > 1 ? c % v->enc->n : 0];
}

// Biases as 32 bits, in units of input times filter. What 64 bits alone can hold is rejected.
static qc_tensor *fixed_bias(tl *t, uint32_t i, const ox_val *x, const ox_val *filter,
                             uint32_t channels) {
    const float *values = ox_const_reals(t->e.im, t->e.n, i);
    const ox_val *v = tl_val(t, i);
    int32_t *quantized = ox_alloc(t->e.im, channels * sizeof *quantized);
    Qnn_ScaleOffset_t *pairs = ox_alloc(t->e.im, channels * sizeof *pairs);
    qc_tensor *out = NULL;
    if (!values || !quantized || !pairs) {
        t->e.s = ox_no_memory(t->e.im);
        return NULL;
    }
    for (uint32_t c = 0; c < channels; c++) {
        pairs[c] = (Qnn_ScaleOffset_t){(float)(scale_of(x, 0) * scale_of(filter, c)), 0};
        double q = v->type == OX_I32   ? ((const int32_t *)v->data)[c]
                   : v->type == OX_I64 ? (double)((const int64_t *)v->data)[c]
                                       : floor((double)values[c] / (double)pairs[c].scale + 0.5);
        if (q > INT32_MAX || q < INT32_MIN) {
            t->rejected = true;
            t->e.s =
                tl_fail(t, QRN_E_UNSUPPORTED, "bias '%s': %.0f is more than 32 bits", v->name, q);
            return NULL;
        }
        quantized[c] = (int32_t)q;
    }
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    q.scaleOffsetEncoding = pairs[0];
    if (filter->enc->n > 1) {
        q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
        q.axisScaleOffsetEncoding =
            (Qnn_AxisScaleOffset_t){.axis = 0, .numScaleOffsets = channels, .scaleOffset = pairs};
    }
    t->e.s = ox_static_encoded(t->e.im, QNN_DATATYPE_SFIXED_POINT_32, 1, &channels, &q, quantized,
                               channels * sizeof *quantized, &out);
    return ox_made(&t->e, out);
}

// The real numbers of a bias whose encoding the file may leave out: it is that of the products.
static const float *real_bias(tl *t, uint32_t i, const ox_val *x, const ox_val *filter,
                              uint32_t channels) {
    const ox_val *v = tl_val(t, i);
    if (v->type == OX_F32 || v->type == OX_F16 || !x->enc || !filter->enc)
        return ox_const_reals(t->e.im, t->e.n, i);
    float *out = ox_alloc(t->e.im, channels * sizeof *out);
    for (uint32_t c = 0; out && c < channels; c++) {
        double q = v->type == OX_I32 ? ((const int32_t *)v->data)[c]
                                     : (double)((const int64_t *)v->data)[c];
        out[c] = (float)(q * scale_of(x, 0) * scale_of(filter, c));
    }
    return out;
}

// NULL where the op has none.
static qc_tensor *bias_of(tl *t, uint32_t i, uint32_t x, uint32_t filter, uint32_t channels,
                          bool fixed) {
    const ox_val *v = tl_val(t, i);
    qc_tensor *out = NULL;
    if (t->e.s != QRN_OK || !v)
        return NULL;
    if (ox_count(v) != channels) {
        t->e.s = tl_fail(t, QRN_E_SHAPE, "bias '%s': %zu values for %u channels", v->name,
                         ox_count(v), channels);
        return NULL;
    }
    if (!v->data)
        return tl_in(t, i);
    if (v->type != OX_F32 && v->type != OX_F16 && v->type != OX_I32 && v->type != OX_I64) {
        t->e.s = tl_fail(t, QRN_E_DTYPE, "bias '%s' is %s", v->name, ox_type_name(v->type));
        return NULL;
    }
    if (fixed)
        return fixed_bias(t, i, tl_val(t, x), tl_val(t, filter), channels);
    const float *values = real_bias(t, i, tl_val(t, x), tl_val(t, filter), channels);
    t->e.s = values ? ox_static(t->e.im, QNN_DATATYPE_FLOAT_32, 1, &channels, values,
                                channels * sizeof *values, &out)
                    : ox_no_memory(t->e.im);
    return ox_made(&t->e, out);
}

// --- convolutions

static qrn_status check_ranks(const tl *t, uint32_t x, uint32_t filter, uint32_t rank) {
    const ox_val *a = tl_val(t, x), *b = tl_val(t, filter);
    if (a->rank != rank || b->rank != rank)
        return tl_fail(t, QRN_E_SHAPE, "'%s' of rank %u and '%s' of rank %u, expected %u", a->name,
                       a->rank, b->name, b->rank, rank);
    return QRN_OK;
}

static void emit_conv(tl *t, const char *type, const tl_window *w, uint32_t group, bool dilated,
                      const qc_tensor *x, const qc_tensor *f, const qc_tensor *b,
                      const qc_tensor *y) {
    qc_op o;
    if (t->e.s != QRN_OK)
        return;
    ox_op(t->e.im, &o, t->e.n, type);
    qc_in(&o, x);
    qc_in(&o, f);
    if (b)
        qc_in(&o, b);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_CONV_2D_PARAM_STRIDE, w->stride, 2);
    qc_u32s_2d(&o, QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, w->pad, 2, 2);
    if (group > 1)
        qc_u32(&o, QNN_OP_CONV_2D_PARAM_GROUP, group);
    if (dilated)
        qc_u32s(&o, QNN_OP_CONV_2D_PARAM_DILATION, w->dilation, 2);
    tl_emit(t, &o);
}

// The channels of the output; 0: the filter does not fit the input. A filter is [out, height,
// width, in of a group] or, depthwise, [1, height, width, out].
static uint32_t channels_of(const ox_val *x, const ox_val *f, bool depthwise) {
    uint32_t in = x->dims[3];
    if (depthwise)
        return in && f->dims[0] == 1 && f->dims[3] % in == 0 ? f->dims[3] : 0;
    return f->dims[3] && in % f->dims[3] == 0 ? f->dims[0] : 0;
}

static qrn_status conv(tl *t, bool depthwise) {
    static const uint32_t perms[2][4] = {{1, 2, 3, 0}, {1, 2, 0, 3}};
    const ox_val *x = tl_val(t, 0), *f = tl_val(t, 1);
    tl_window w;
    QRN_TRY(check_ranks(t, 0, 1, 4));
    QRN_TRY(tl_read_strides(t, &w));
    w.kernel[0] = f->dims[1];
    w.kernel[1] = f->dims[2];
    QRN_TRY(tl_place_window(t, x->dims + 1, &w));
    uint32_t channels = channels_of(x, f, depthwise);
    if (channels == 0)
        return tl_fail(t, QRN_E_SHAPE, "%u channels, filter of shape [%u, ..., %u]", x->dims[3],
                       f->dims[0], f->dims[3]);
    uint32_t group = depthwise ? 1 : x->dims[3] / f->dims[3];
    QRN_TRY(tl_set(t, 0, 4, (const uint32_t[]){x->dims[0], w.out[0], w.out[1], channels}));
    bool fixed = computes_fixed(t, 0, 1);
    qc_tensor *in = tl_in(t, 0);
    qc_tensor *filter = filter_of(t, 1, perms[depthwise], fixed);
    qc_tensor *bias = bias_of(t, 2, 0, 1, channels, fixed), *y = tl_out(t, 0);
    emit_conv(t, depthwise ? QNN_OP_DEPTH_WISE_CONV_2D : QNN_OP_CONV_2D, &w, group, true, in,
              filter, bias, y);
    return tl_end(t, 0, y);
}

qrn_status tl_conv(tl *t) { return conv(t, false); }
qrn_status tl_depthwise(tl *t) { return conv(t, true); }

// Where in the input the parts of a transposed convolution lie.
typedef struct transposed {
    uint32_t x, filter, bias; // inputs of the node
    uint32_t dims[4];         // of the output
    tl_window w;
    uint32_t extra[2]; // rows and columns behind
} transposed;

// The padding is that of the convolution which this one is the gradient of.
static qrn_status place_transposed(tl *t, transposed *c) {
    const ox_val *x = tl_val(t, c->x), *f = tl_val(t, c->filter);
    if (f->dims[3] != x->dims[3] || c->dims[0] != x->dims[0] || c->dims[3] != f->dims[0])
        return tl_fail(t, QRN_E_SHAPE, "its input, filter and output shape do not fit");
    QRN_TRY(tl_place_window(t, c->dims + 1, &c->w));
    for (int i = 0; i < 2; i++) {
        int64_t made = ((int64_t)x->dims[1 + i] - 1) * c->w.stride[i] + c->w.kernel[i] -
                       c->w.pad[2 * i] - c->w.pad[2 * i + 1];
        if (c->w.out[i] != x->dims[1 + i] || made > c->dims[1 + i])
            return tl_fail(t, QRN_E_SHAPE, "%u values do not come from %u", c->dims[1 + i],
                           x->dims[1 + i]);
        c->extra[i] = (uint32_t)((int64_t)c->dims[1 + i] - made);
    }
    return QRN_OK;
}

static qrn_status emit_transposed(tl *t, transposed *c) {
    static const uint32_t perm[] = {1, 2, 3, 0};
    QRN_TRY(place_transposed(t, c));
    QRN_TRY(tl_set(t, 0, 4, c->dims));
    bool fixed = computes_fixed(t, c->x, c->filter);
    qc_tensor *in = tl_in(t, c->x), *filter = filter_of(t, c->filter, perm, fixed);
    qc_tensor *bias = bias_of(t, c->bias, c->x, c->filter, c->dims[3], fixed), *y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_TRANSPOSE_CONV_2D);
    qc_in(&o, in);
    qc_in(&o, filter);
    if (bias)
        qc_in(&o, bias);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_TRANSPOSE_CONV_2D_PARAM_STRIDE, c->w.stride, 2);
    qc_u32s_2d(&o, QNN_OP_TRANSPOSE_CONV_2D_PARAM_PAD_AMOUNT, c->w.pad, 2, 2);
    if (c->extra[0] || c->extra[1])
        qc_u32s(&o, QNN_OP_TRANSPOSE_CONV_2D_PARAM_OUTPUT_PADDING, c->extra, 2);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}

static qrn_status read_transposed(tl *t, transposed *c) {
    QRN_TRY(check_ranks(t, c->x, c->filter, 4));
    QRN_TRY(tl_read_strides(t, &c->w));
    c->w.kernel[0] = tl_val(t, c->filter)->dims[1];
    c->w.kernel[1] = tl_val(t, c->filter)->dims[2];
    return QRN_OK;
}

// (output shape, filter, x, bias)
qrn_status tl_transpose_conv(tl *t) {
    transposed c = {.x = 2, .filter = 1, .bias = 3};
    int64_t out[4];
    uint32_t n;
    QRN_TRY(tl_ints(t, 0, out, 4, &n));
    for (uint32_t i = 0; i < 4; i++) {
        if (n != 4 || out[i] < 1 || out[i] > INT32_MAX)
            return tl_fail(t, QRN_E_SHAPE, "its output shape has %u dimensions, or one of %lld", n,
                           (long long)out[i]);
        c.dims[i] = (uint32_t)out[i];
    }
    QRN_TRY(read_transposed(t, &c));
    return emit_transposed(t, &c);
}

// (x, filter, bias): an op of MediaPipe, whose output is as large as can be.
qrn_status tl_transpose_conv_bias(tl *t) {
    transposed c = {.x = 0, .filter = 1, .bias = 2};
    const ox_val *x = tl_val(t, 0);
    QRN_TRY(read_transposed(t, &c));
    c.dims[0] = x->dims[0];
    c.dims[3] = tl_val(t, 1)->dims[0];
    for (int i = 0; i < 2; i++) {
        uint64_t grown = (uint64_t)x->dims[1 + i] * c.w.stride[i];
        if (tl_int(t, "padding") == TL_VALID)
            grown = grown - c.w.stride[i] + c.w.kernel[i];
        if (grown > INT32_MAX)
            return tl_fail(t, QRN_E_SHAPE, "an output of %llu values", (unsigned long long)grown);
        c.dims[1 + i] = (uint32_t)grown;
    }
    return emit_transposed(t, &c);
}

// --- matmuls

// Rows of the input: all but its last dimension, or what the filter's columns divide it into.
qrn_status tl_fully_connected(tl *t) {
    static const uint32_t perm[] = {0, 1};
    const ox_val *x = tl_val(t, 0), *f = tl_val(t, 1);
    uint32_t dims[OX_MAX_RANK];
    if (f->rank != 2 || tl_int(t, "weights_format") != 0)
        return tl_fail(t, QRN_E_UNSUPPORTED, "weights of rank %u in format %lld", f->rank,
                       (long long)tl_int(t, "weights_format"));
    size_t count = ox_count(x);
    bool keep = tl_int(t, "keep_num_dims") != 0;
    if (count % f->dims[1] != 0 || x->rank == 0 || (keep && x->dims[x->rank - 1] != f->dims[1]))
        return tl_fail(t, QRN_E_SHAPE, "%zu values are not rows of %u", count, f->dims[1]);
    uint32_t rows = (uint32_t)(count / f->dims[1]), rank = keep ? x->rank : 2;
    memcpy(dims, x->dims, sizeof dims);
    if (!keep)
        dims[0] = rows;
    dims[rank - 1] = f->dims[0];
    QRN_TRY(tl_set(t, 0, rank, dims));
    bool fixed = computes_fixed(t, 0, 1);
    qc_tensor *in = tl_in(t, 0), *filter = filter_of(t, 1, perm, fixed);
    if (in && (in->rank != 2 || in->dims[1] != f->dims[1]))
        in = ox_reshape(&t->e, in, 2, (const uint32_t[]){rows, f->dims[1]});
    qc_tensor *bias = bias_of(t, 2, 0, 1, f->dims[0], fixed), *y = tl_out(t, 0), *flat = y;
    if (y && y->rank != 2)
        t->e.s = ox_temp(t->e.im, y, 2, (const uint32_t[]){rows, f->dims[0]}, &flat);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_FULLY_CONNECTED);
    qc_in(&o, in);
    qc_in(&o, filter);
    if (bias)
        qc_in(&o, bias);
    qc_out(&o, flat);
    tl_emit(t, &o);
    if (t->e.s == QRN_OK && flat != y)
        t->e.s = ox_emit_reshape(t->e.im, t->e.n, flat, y);
    return tl_end(t, 0, y);
}

qrn_status tl_batch_matmul(tl *t) {
    const ox_val *a = tl_val(t, 0), *b = tl_val(t, 1);
    bool adj[2] = {tl_int(t, "adj_x") != 0, tl_int(t, "adj_y") != 0};
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank, dims[OX_MAX_RANK];
    if (a->rank < 2 || b->rank < 2)
        return tl_fail(t, QRN_E_SHAPE, "ranks %u and %u, expected 2 or more", a->rank, b->rank);
    for (uint32_t i = 0; i + 2 < rank; i++) {
        uint32_t x = i + a->rank < rank ? 1 : a->dims[i + a->rank - rank];
        uint32_t y = i + b->rank < rank ? 1 : b->dims[i + b->rank - rank];
        if (x != y && x != 1 && y != 1)
            return tl_fail(t, QRN_E_SHAPE, "batches of %u and %u", x, y);
        dims[i] = x == 1 ? y : x;
    }
    dims[rank - 2] = a->dims[a->rank - (adj[0] ? 1 : 2)];
    dims[rank - 1] = b->dims[b->rank - (adj[1] ? 2 : 1)];
    QRN_TRY(tl_set(t, 0, rank, dims));
    // A float activation times quantized weights is computed in float.
    bool mixed = tl_is_fixed(a) != tl_is_fixed(b);
    bool was = t->real;
    t->real |= mixed;
    qc_tensor *x = tl_in(t, 0), *w = tl_in(t, 1);
    t->real = was;
    qc_tensor *y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_MAT_MUL);
    qc_in(&o, x);
    qc_in(&o, w);
    qc_out(&o, y);
    if (adj[0])
        qc_bool(&o, QNN_OP_MAT_MUL_PARAM_TRANSPOSE_IN0, true);
    if (adj[1])
        qc_bool(&o, QNN_OP_MAT_MUL_PARAM_TRANSPOSE_IN1, true);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}
