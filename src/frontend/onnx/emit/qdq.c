// SPDX-License-Identifier: MIT
//
// QuantizeLinear and DequantizeLinear. With constant scale and zero point they are encodings of
// tensors, and where nothing absorbs them a Quantize, Dequantize or Convert op. Everything else,
// and quantized values that leave the graph, is computed as ONNX says: divide, round to even, add,
// clip.
#include "frontend/onnx/emit/weights.h"
#include "frontend/onnx/fold/fold.h"
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/driver/internal.h"

#include <string.h>

#define ADD QNN_OP_ELEMENT_WISE_ADD
#define SUB QNN_OP_ELEMENT_WISE_SUBTRACT
#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define DIV QNN_OP_ELEMENT_WISE_DIVIDE

static bool is_code(int type) {
    switch (type) {
    case OX_U4:
    case OX_I4:
    case OX_U8:
    case OX_I8:
    case OX_U16:
    case OX_I16:
        return true;
    default:
        return false;
    }
}

// --- scales as operands

// Scale (1) or zero point (2) in f32, of a shape that broadcasts to v's.
static qc_tensor *operand(ox_expr *e, uint32_t i, const ox_val *v) {
    const ox_val *s = ox_input(e->im, e->n, i);
    uint32_t dims[OX_MAX_RANK], axis = 0;
    int64_t block = ox_attr_int(e->n, "block_size", 0);
    qc_tensor *t = NULL;
    if (!s || e->s != QRN_OK)
        return NULL;
    e->s = ox_in_as(e->im, e->n, i, OX_ONNX, QNN_DATATYPE_FLOAT_32, &t);
    if (s->rank == 0 || (s->rank == 1 && s->dims[0] == 1))
        return t;
    if (e->s == QRN_OK)
        e->s = ox_axis(e->im, e->n, ox_attr_int(e->n, "axis", 1), v->rank, &axis);
    if (s->rank == 1 && s->dims[0] == v->dims[axis] && !(block > 0 && v->rank == 1)) {
        for (uint32_t d = 0; d < v->rank; d++)
            dims[d] = d == axis ? v->dims[d] : 1;
        return ox_reshape(e, t, v->rank, dims);
    }
    uint32_t length = v->dims[axis];
    int32_t *index = ox_alloc(e->im, length * sizeof *index);
    bool fits = s->rank == v->rank && block > 0 && (length + block - 1) / block == s->dims[axis];
    for (uint32_t d = 0; fits && d < v->rank; d++)
        fits = d == axis || s->dims[d] == v->dims[d];
    if (e->s == QRN_OK && !(fits && index))
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "input %u has not the shape of a scale", i);
    if (e->s != QRN_OK)
        return NULL;
    for (uint32_t k = 0; k < length; k++)
        index[k] = (int32_t)(k / block);
    return ox_gather(e, t, ox_ints(e, 1, &length, index), axis);
}

// --- DequantizeLinear

static qrn_status dequantize_by_formula(ox_import *im, const ox_node *n, const ox_val *x) {
    qc_tensor *quantized, *y;
    QRN_TRY(ox_check_dequantizing(im, n, x->type));
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &quantized));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &y));
    ox_expr e = ox_begin(im, n);
    qc_tensor *zero = operand(&e, 2, x), *scale = operand(&e, 1, x);
    if (zero)
        quantized = ox_binary(&e, SUB, quantized, zero);
    ox_into(&e, y);
    ox_binary(&e, MUL, quantized, scale);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

// x with another encoding: for a constant nothing happens, of others the quantized values are
// copied.
static qrn_status with_encoding(ox_import *im, const ox_node *n, ox_val *x, const ox_enc *enc,
                                ox_val **out) {
    ox_val *q = qrn_arena_copy(im->arena, x, sizeof *x);
    if (!q)
        return ox_no_memory(im);
    q->enc = enc;
    q->at[OX_ONNX] = q->at[OX_LAST] = q->permuted = NULL;
    q->transposed = NULL;
    q->is_output = false;
    QRN_TRY(ox_fit_encoding(im, q));
    *out = q;
    if (x->data)
        return ox_positive_scales(im, q);
    ox_layout layout = !x->at[OX_ONNX] && x->at[OX_LAST] ? OX_LAST : OX_ONNX;
    qc_tensor *from, *to;
    QRN_TRY(ox_tensor_in(im, x, layout, &from));
    QRN_TRY(ox_tensor_new(im, q, q->rank < 3 ? OX_ONNX : layout, &to));
    return ox_emit_cast(im, n, from, to);
}

qrn_status ox_import_dequantize(ox_import *im, const ox_node *n) {
    ox_val *x = n->n_in ? ox_scope_find(im->scope, n->in[0]) : NULL, *y;
    const ox_val *scale = ox_input(im, n, 1);
    const ox_enc *enc;
    if (!x || !x->known || !scale || n->n_out == 0)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "an input or output is missing");
    if (im->opt->as_float && (x->type == OX_F32 || x->type == OX_F16))
        return ox_alias(im, n, 0, 0); // it was never quantized
    if (!is_code(x->type) && x->type != OX_I32)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "quantized values of type %s",
                       ox_type_name(x->type));
    int64_t type = ox_attr_int(n, "output_dtype", 0);
    QRN_TRY(ox_set_output(im, n, 0, type ? (int)type : scale->type, x->rank, x->dims));
    QRN_TRY(ox_output_val(im, n, 0, &y));
    QRN_TRY(ox_node_encoding(im, n, &enc));
    if (!enc || (x->type == OX_I32 && !x->data))
        return dequantize_by_formula(im, n, x);
    ox_val fit = *x;
    fit.enc = enc;
    QRN_TRY(ox_fit_encoding(im, &fit));
    y->quantized = x;
    if (!ox_same_encoding(x->enc, fit.enc))
        QRN_TRY(with_encoding(im, n, x, fit.enc, &y->quantized));
    return QRN_OK;
}

// --- moving constants

// The encoding behind a move of a constant; NULL: it does not follow so simply.
static const ox_enc *moved_encoding(ox_import *im, const ox_node *n, const ox_val *x) {
    int64_t given[OX_MAX_RANK];
    uint32_t perm[OX_MAX_RANK], seen = 0, count = ox_attr_ints(n, "perm", given, OX_MAX_RANK);
    if (x->enc->n == 1 && !x->enc->block)
        return x->enc;
    if (strcmp(n->op, "Transpose") != 0 || (count && count != x->rank))
        return NULL;
    for (uint32_t d = 0; d < x->rank; d++) {
        int64_t from = count ? given[d] : x->rank - 1 - d;
        if (from < 0 || from >= x->rank)
            return NULL;
        perm[d] = (uint32_t)from;
        seen |= 1u << from;
    }
    return seen + 1 == 1u << x->rank ? ox_permuted_encoding(im, x, perm) : NULL;
}

qrn_status ox_fold_quantized(ox_import *im, const ox_node *n, size_t max_bytes, bool *done) {
    static const char *const ops[] = {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    const ox_val *x = ox_input(im, n, 0), *q = x ? x->quantized : NULL, *in[2] = {q};
    const ox_enc *enc = NULL;
    ox_folded f = {0};
    ox_val *y, *quantized;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0] && q && q->data && q->enc; i++)
        if (strcmp(n->op, ops[i]) == 0 && n->domain[0] == '\0' && n->n_in <= 2 && n->n_out == 1)
            enc = moved_encoding(im, n, q);
    *done = false;
    in[1] = ox_input(im, n, 1);
    if (!enc || (in[1] && !in[1]->data))
        return QRN_OK;
    qrn_status s = ox_fold(n, ox_version(im, n), in, max_bytes, im->arena, &f);
    if (s == QRN_E_UNSUPPORTED) {
        qrn_message_clear();
        return QRN_OK;
    }
    QRN_TRY(s);
    QRN_TRY(ox_set_output(im, n, 0, x->type, f.rank, f.dims));
    QRN_TRY(ox_output_val(im, n, 0, &y));
    if (!(quantized = ox_alloc(im, sizeof *quantized)))
        return ox_no_memory(im);
    *quantized = *y;
    quantized->type = f.type;
    quantized->data = f.data;
    quantized->bytes = f.bytes;
    quantized->enc = enc;
    quantized->is_output = false;
    y->quantized = quantized;
    *done = true;
    return QRN_OK;
}

// --- QuantizeLinear

static void range_of(int type, float *low, float *high) {
    unsigned bits = ox_type_bits(type);
    bool is_signed = type == OX_I4 || type == OX_I8 || type == OX_I16;
    float size = (float)(1u << bits);
    *low = is_signed ? -size / 2 : 0;
    *high = is_signed ? size / 2 - 1 : size - 1;
}

static qrn_status quantize_by_formula(ox_import *im, const ox_node *n, const ox_val *v,
                                      ox_val *target) {
    qc_tensor *x, *y;
    float low, high;
    qc_op o;
    QRN_TRY(ox_check_quantizing(im, n, v->type, target->type, target->enc));
    target->enc = NULL; // the quantized values are what counts
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &x));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    ox_expr e = ox_begin(im, n);
    x = ox_binary(&e, DIV, x, operand(&e, 1, v));
    x = ox_unary(&e, QNN_OP_ELEMENT_WISE_ROUND, x);
    if (ox_input(im, n, 2))
        x = ox_binary(&e, ADD, x, operand(&e, 2, v));
    QRN_TRY(ox_done(&e));
    range_of(target->type, &low, &high);
    qc_tensor *cut = ox_result_like(&e, x, x->rank, x->dims);
    ox_op(im, &o, n, QNN_OP_RELU_MIN_MAX);
    qc_in(&o, x);
    qc_out(&o, cut);
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MIN_VALUE, low);
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MAX_VALUE, high);
    ox_end(&e, &o);
    QRN_TRY(ox_done(&e));
    return ox_emit_cast(im, n, cut, y);
}

// Of a type and with an encoding that Convert supports.
static bool is_convertible(const ox_val *v) {
    return ox_type_bits(v->type) >= 8 && is_code(v->type) && v->enc && v->enc->n == 1 &&
           !v->enc->block;
}

// Does the node read real numbers out of quantized values, by scales that it has itself?
static bool has_scales(const ox_node *n) {
    return strncmp(n->op, "QLinear", 7) == 0 || strcmp(n->op, "QGemm") == 0;
}

// Does somebody read the quantized values themselves? Then they must be ONNX's to the last bit; QNN
// rounds ties up. Who keeps all values wants their real numbers. In float16, where no formula gives
// ONNX's values, ops with scales of their own are like DequantizeLinear.
static bool shows_quantized(const ox_import *im, const ox_val *y) {
    if (y->is_output && !im->opt->keep_all)
        return true;
    if (y->n_uses != 1 || !y->consumer || strcmp(y->consumer->op, "DequantizeLinear") == 0)
        return false;
    return im->graph->client->floats != QC_FLOAT16 || !has_scales(y->consumer);
}

// Quantized values that stand for x: what it was dequantized from, or what another QuantizeLinear
// made of it.
static const ox_val *quantized_of(const ox_import *im, const ox_node *n, const ox_val *x) {
    const ox_val *v = x->quantized;
    if (x->consumer && x->consumer != n && x->consumer->n_out &&
        strcmp(x->consumer->op, "QuantizeLinear") == 0)
        v = ox_scope_find(im->scope, x->consumer->out[0]);
    return v && !v->data && (v->at[OX_ONNX] || v->at[OX_LAST] || v->transposed) ? v : NULL;
}

qrn_status ox_import_quantize(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    ox_val *y;
    const ox_enc *enc;
    if (!x || (x->type != OX_F32 && x->type != OX_F16 && x->type != OX_I32) ||
        !ox_input(im, n, 1) || n->n_out == 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "type %s, expected float32, float16 or int32",
                       x ? ox_type_name(x->type) : "missing");
    int type = ox_quantized_type(im, n);
    if (!is_code(type))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "QNN has no fixed point of type %s",
                       ox_type_name(type));
    QRN_TRY(ox_node_encoding(im, n, &enc));
    QRN_TRY(ox_output_val(im, n, 0, &y));
    y->enc = enc;
    if (ox_stays_float(im, y) && x->type != OX_I32)
        return ox_clip_to_range(im, n, type);
    QRN_TRY(ox_set_output(im, n, 0, type, x->rank, x->dims));
    y->enc = enc;
    QRN_TRY(ox_fit_encoding(im, y));
    if (y->at[OX_ONNX] || y->at[OX_LAST] || y->transposed)
        return QRN_OK; // the unit before wrote it
    const ox_val *same = quantized_of(im, n, x);
    if (same && same->type == type && ox_same_encoding(same->enc, y->enc)) {
        memcpy(y->at, same->at, sizeof y->at); // these quantized values exist already
        y->transposed = same->transposed;
        return QRN_OK;
    }
    bool requantize = x->quantized && !x->quantized->data && enc && is_convertible(x->quantized) &&
                      is_convertible(y);
    if (requantize && x->quantized->type == type &&
        ox_same_encoding(x->quantized->enc, y->enc)) { // nothing changes
        memcpy(y->at, x->quantized->at, sizeof y->at);
        y->transposed = x->quantized->transposed;
        return QRN_OK;
    }
    if (!enc || (shows_quantized(im, y) && !requantize && !ox_quantizes_alike(im, x, type, y->enc)))
        return quantize_by_formula(im, n, x, y);
    ox_layout layout = y->enc->block ? OX_ONNX : ox_layout_of(im, n);
    qc_tensor *in, *out;
    if (requantize)
        QRN_TRY(ox_tensor_in(im, x->quantized, layout, &in));
    else if (x->type == OX_I32)
        QRN_TRY(ox_in_as(im, n, 0, layout, QNN_DATATYPE_FLOAT_32, &in));
    else
        QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    return ox_emit_unary(im, n, requantize ? QNN_OP_CONVERT : QNN_OP_QUANTIZE, in, out);
}
