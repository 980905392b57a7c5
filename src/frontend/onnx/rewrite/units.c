// SPDX-License-Identifier: MIT
//
// QuantizeLinear and DequantizeLinear as encodings. Before the nodes are imported, every value that
// QuantizeLinear writes gets its encoding, and so do inputs of the graph. A node between them is a
// quantized unit when its float inputs all come from DequantizeLinear (or are constants that the op
// takes as parameters) and each float output goes to one QuantizeLinear, directly or through one
// Relu or Clip.
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/emit/weights.h"

#include "reference/number.h"

#include <math.h>
#include <string.h>

static bool is_op(const ox_node *n, const char *op) {
    return n && strcmp(n->op, op) == 0 &&
           (n->domain[0] == '\0' || strcmp(n->domain, "com.microsoft") == 0);
}

static const ox_val *value(const ox_import *im, const ox_node *n, uint32_t i) {
    return i < n->n_in && n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
}

// --- numbers of constants

#define RUN 256 // elements that are numbers at a time

// n <= RUN elements from `first` on; 0 for types without numbers.
static void load(qrn_num *dst, const ox_val *v, size_t first, size_t n) {
    qrn_dtype t = ox_type_dtype(v->type);
    size_t elem = t == QRN_DTYPE_COUNT ? 0 : qrn_elem_of(t);
    const uint8_t *p = (const uint8_t *)v->data + first * elem;
    uint8_t bytes[RUN] = {0};
    if (!elem || ox_type_bits(v->type) < 8) {
        for (size_t i = first; elem && i < first + n; i++)
            bytes[i - first] = ((const uint8_t *)v->data)[i / 2] >> (i % 2 * 4) & 15;
        p = bytes;
    }
    qrn_nums_load(dst, elem ? t : QRN_DTYPE_U8, p, elem ? (ptrdiff_t)elem : 1, n);
}

static int64_t int_at(const ox_val *v, size_t i) {
    qrn_num x;
    load(&x, v, i, 1);
    return x.i;
}

// n <= RUN elements as floats, without their encoding.
static void load_floats(qrn_num *dst, const ox_val *v, size_t first, size_t n) {
    qrn_dtype t = ox_type_dtype(v->type);
    load(dst, v, first, n);
    qrn_nums_cast(dst, n, t == QRN_DTYPE_COUNT ? QRN_KIND_SIGNED : qrn_kind_of(t), QRN_DTYPE_F32,
                  QRN_CAST_SATURATE);
}

uint32_t ox_group_of(const ox_val *v, size_t i) {
    const ox_enc *e = v->enc;
    if (e->n == 1)
        return 0;
    uint32_t axis = (uint32_t)e->axis;
    size_t inner = 1, len = v->dims[axis];
    for (uint32_t d = axis + 1; d < v->rank; d++)
        inner *= v->dims[d];
    size_t at = i / inner % len;
    if (!e->block)
        return (uint32_t)at;
    size_t blocks = (len + e->block - 1) / e->block;
    return (uint32_t)((i / inner / len * blocks + at / e->block) * inner + i % inner);
}

void ox_const_floats_into(const ox_val *v, float *out) {
    size_t n, count = ox_count(v);
    qrn_num x[RUN];
    for (size_t done = 0; done < count; done += n) {
        n = count - done < RUN ? count - done : RUN;
        if (v->enc)
            load(x, v, done, n);
        else
            load_floats(x, v, done, n);
        for (size_t i = 0; i < n; i++) {
            uint32_t g = v->enc ? ox_group_of(v, done + i) : 0;
            int64_t zero = v->enc && v->enc->zeros ? v->enc->zeros[g] : 0;
            out[done + i] =
                (float)(v->enc ? (double)(x[i].i - zero) * (double)v->enc->scales[g] : x[i].f);
        }
    }
}

const float *ox_const_floats(ox_import *im, const ox_val *v) {
    float *out = qrn_arena_alloc(im->arena, ox_count(v) * sizeof *out);
    if (out)
        ox_const_floats_into(v, out);
    return out;
}

// --- encodings

qrn_status ox_node_encoding(ox_import *im, const ox_node *n, const ox_enc **out) {
    const ox_val *scale = value(im, n, 1), *zero = value(im, n, 2);
    *out = NULL;
    // Scales of blocks may be quantized themselves: a factor for each block, a scale for a channel.
    if (scale && !scale->data && scale->quantized)
        scale = scale->quantized;
    if (!scale || !scale->data || (zero && !zero->data))
        return QRN_OK;
    size_t count = ox_count(scale);
    ox_enc *e = qrn_arena_alloc(im->arena, sizeof *e);
    float *scales = qrn_arena_alloc(im->arena, count * sizeof *scales);
    int32_t *zeros = qrn_arena_alloc(im->arena, count * sizeof *zeros);
    if (!e || !scales || !zeros)
        return ox_no_memory(im);
    ox_const_floats_into(scale, scales);
    for (size_t i = 0; i < count; i++) {
        zeros[i] = zero && i < ox_count(zero) ? (int32_t)int_at(zero, i) : 0;
    }
    int64_t block = ox_attr_int(n, "block_size", 0);
    *e = (ox_enc){.n = (uint32_t)count,
                  .axis = (int32_t)ox_attr_int(n, "axis", 1),
                  .scales = scales,
                  .zeros = zeros,
                  .block = block > 0 && block <= INT32_MAX && scale->rank ? (uint32_t)block : 0};
    if (count == 1 && !e->block)
        e->axis = 0;
    *out = e;
    return QRN_OK;
}

qrn_status ox_fit_encoding(ox_import *im, ox_val *v) {
    const ox_enc *e = v->enc;
    if (!e || (e->n == 1 && !e->block))
        return QRN_OK;
    int64_t axis = e->axis < 0 ? e->axis + (int64_t)v->rank : e->axis;
    size_t want = 0;
    if (axis >= 0 && axis < v->rank) {
        size_t length = v->dims[axis];
        want = length;
        if (e->block)
            want = ox_count(v) / length * ((length + e->block - 1) / e->block);
    }
    if (e->n != want)
        return QRN_FAIL(QRN_E_SHAPE, "value '%s': %u scales do not fit its shape (axis %d)",
                        v->name, e->n, e->axis);
    if (axis == e->axis)
        return QRN_OK;
    ox_enc *fixed = qrn_arena_copy(im->arena, e, sizeof *e);
    if (!fixed)
        return ox_no_memory(im);
    fixed->axis = (int32_t)axis;
    v->enc = fixed;
    return QRN_OK;
}

bool ox_same_encoding(const ox_enc *a, const ox_enc *b) {
    if (a == b)
        return true;
    if (!a || !b || a->n != b->n || a->block != b->block ||
        ((a->n > 1 || a->block) && a->axis != b->axis))
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->scales[i] != b->scales[i] ||
            (a->zeros ? a->zeros[i] : 0) != (b->zeros ? b->zeros[i] : 0))
            return false;
    return true;
}

// Only what has no tensors yet and is not made by another op: of everything else the
// DequantizeLinear itself sees what encoding it has.
qrn_status ox_find_encodings(ox_import *im, const ox_node *nodes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bool q = is_op(&nodes[i], "QuantizeLinear"), dq = is_op(&nodes[i], "DequantizeLinear");
        if ((!q && !dq) || nodes[i].n_in < 2 || nodes[i].n_out < 1)
            continue;
        const char *name = q ? nodes[i].out[0] : nodes[i].in[0];
        ox_val *v = ox_scope_find(im->scope, name);
        const ox_enc *e;
        if (!v || v->enc || v->known || (dq && v->made))
            continue;
        QRN_TRY(ox_node_encoding(im, &nodes[i], &e));
        v->enc = e;
    }
    return QRN_OK;
}

// --- units

// The QuantizeLinear that alone reads v, directly or through one Relu or Clip; NULL when there is
// none.
static const ox_node *quantizer_of(const ox_import *im, const ox_val *v) {
    for (int hop = 0; hop < 2; hop++) {
        if (!v || v->is_output || v->n_uses != 1 || !v->consumer)
            return NULL;
        const ox_node *c = v->consumer;
        if (c->n_out == 0)
            return NULL;
        if (is_op(c, "QuantizeLinear")) {
            const ox_val *q = ox_scope_find(im->scope, c->out[0]);
            return q && q->enc && q->enc->n == 1 ? c : NULL;
        }
        if ((!is_op(c, "Relu") && !is_op(c, "Clip")) || strcmp(c->in[0], v->name) != 0)
            return NULL;
        v = ox_scope_find(im->scope, c->out[0]);
    }
    return NULL;
}

bool ox_before_quantizer(const ox_import *im, const ox_val *v) {
    return quantizer_of(im, v) != NULL;
}

int ox_quantized_type(const ox_import *im, const ox_node *q) {
    const ox_val *zero = value(im, q, 2);
    int64_t type = ox_attr_int(q, "output_dtype", 0);
    return zero ? zero->type : type ? (int)type : OX_U8;
}

qrn_status ox_unit_output(ox_import *im, ox_val *v, ox_val **out) {
    bool real = v->type == OX_F32 || v->type == OX_F16;
    const ox_node *q = im->quantized && real ? quantizer_of(im, v) : NULL;
    *out = v;
    if (!q)
        return QRN_OK;
    ox_val *target = ox_scope_find(im->scope, q->out[0]);
    if (v->consumer != q) { // a Relu or Clip comes first: the same encoding, clipped once more
        if (!v->quantized && !(v->quantized = qrn_arena_alloc(im->arena, sizeof *v)))
            return ox_no_memory(im);
        v->quantized->name = v->name;
        v->quantized->enc = target->enc;
        target = v->quantized;
    }
    target->type = ox_quantized_type(im, q);
    target->rank = v->rank;
    memcpy(target->dims, v->dims, sizeof v->dims);
    target->known = true;
    *out = target;
    return QRN_OK;
}

// Float constants that these ops take as parameters need no encoding.
static bool takes_float_parameters(const ox_node *n, uint32_t input) {
    static const char *const ops[] = {"Clip",    "Resize", "Upsample", "Pad",
                                      "Dropout", "OneHot", "Pow",      "PRelu"};
    bool own = strcmp(n->domain, OX_OWN_DOMAIN) == 0;
    if (input == 2 && (is_op(n, "Conv") || is_op(n, "ConvTranspose") || is_op(n, "Gemm") || own))
        return true; // a float bias is quantized while importing
    if (input == 1 && own && strstr(n->op, "NormAlong"))
        return true;
    static const char *const norms[] = {"BatchNormalization", "InstanceNormalization",
                                        "LayerNormalization", "GroupNormalization",
                                        "RMSNormalization",   "SimplifiedLayerNormalization"};
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++)
        if (input > 0 && is_op(n, norms[i]))
            return true; // so are scale and bias
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (input > 0 && is_op(n, ops[i]))
            return true;
    return false;
}

bool ox_unit_of(const ox_import *im, const ox_node *n) {
    bool any = false;
    if (im->opt->as_float)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = value(im, n, i);
        if (!v || (v->type != OX_F32 && v->type != OX_F16) || (v->known && ox_count(v) == 0))
            continue; // no numbers, or none at all, like the region of a Resize that has no use
        if (v->quantized && v->quantized->enc)
            any |= v->quantized->data == NULL;
        else if (!v->data || !takes_float_parameters(n, i))
            return false;
    }
    static const char *const to_ints[] = {"ArgMax", "ArgMin",         "Equal",      "Greater",
                                          "Less",   "GreaterOrEqual", "LessOrEqual"};
    for (size_t i = 0; any && i < sizeof to_ints / sizeof to_ints[0]; i++)
        if (is_op(n, to_ints[i]))
            return true;
    for (uint32_t i = 0; any && i < n->n_out; i++) {
        const ox_val *v = n->out[i][0] ? ox_scope_find(im->scope, n->out[i]) : NULL;
        bool index = i == 1 && is_op(n, "TopK");
        if (v && !index && (v->n_uses || v->is_output) && !quantizer_of(im, v))
            return false;
    }
    return any;
}

bool ox_shows_float_steps(const ox_import *im, const ox_node *n) {
    const ox_val *x = value(im, n, 0), *quantized = x ? x->quantized : NULL;
    const ox_val *v = n->n_out && n->out[0][0] ? ox_scope_find(im->scope, n->out[0]) : NULL;
    const ox_node *q = im->quantized && v ? quantizer_of(im, v) : NULL;
    const ox_val *y = q ? ox_scope_find(im->scope, q->out[0]) : NULL;
    if (!quantized || !quantized->enc || !y || !y->enc || quantized->enc->n != 1 || y->enc->n != 1)
        return false;
    double size =
        ldexp(1, (int)ox_type_bits(quantized->type)); // quantized values span this, wherever 0 lies
    return size * (double)quantized->enc->scales[0] * 0x1p-24 > (double)y->enc->scales[0] / 2;
}
