// SPDX-License-Identifier: MIT
//
// Nodes of ONNX in the place of a .tflite op. Quantized values are passed on as they are, unless
// t->real asks for numbers: then each has a float value beside it, as DequantizeLinear makes it.
#include "frontend/onnx/driver/internal.h"
#include "frontend/tflite/activation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

tl_node tl_like(const tl *t, const char *onnx) {
    tl_node n = {.op = onnx};
    for (; n.n_in < t->e.n->n_in && n.n_in < 8; n.n_in++)
        n.in[n.n_in] = t->e.n->in[n.n_in];
    return n;
}

static ox_attr *new_attr(tl_node *n, const char *name, int type) {
    ox_attr *a = &n->attrs[n->n_attrs++];
    *a = (ox_attr){.name = name, .type = type};
    return a;
}

void tl_attr(tl_node *n, const char *name, int64_t v) { new_attr(n, name, OX_ATTR_INT)->i = v; }

void tl_attr_f(tl_node *n, const char *name, float v) { new_attr(n, name, OX_ATTR_FLOAT)->f = v; }

void tl_attr_ints(tl_node *n, const char *name, const int64_t *v, uint32_t count) {
    ox_attr *a = new_attr(n, name, OX_ATTR_INTS);
    a->ints = v;
    a->n = count;
}

void tl_attr_text(tl_node *n, const char *name, const char *v) {
    ox_attr *a = new_attr(n, name, OX_ATTR_STRING);
    a->s = v;
    a->s_len = strlen(v);
}

// Enters a value under a name that no tensor of a file can have taken before.
static ox_val *new_val(tl *t) {
    ox_import *im = t->e.im;
    char text[400], *name;
    ox_val *v = NULL;
    if (t->e.s != QRN_OK)
        return NULL;
    do
        snprintf(text, sizeof text, "%.300s#%u", t->e.n->name, ++im->n_made);
    while (ox_scope_find(im->scope, text) || ox_declared(im, text));
    name = qrn_arena_strdup(im->arena, text);
    t->e.s = name ? ox_scope_add(im, im->scope, name, &v) : ox_no_memory(im);
    if (t->e.s != QRN_OK)
        return NULL;
    v->made = true;
    v->n_uses = 2; // of no quantized unit
    return v;
}

const char *tl_between(tl *t) {
    ox_val *v = new_val(t);
    return v ? v->name : NULL;
}

static const char *new_const(tl *t, int type, uint32_t rank, uint32_t n, const void *data,
                             size_t bytes) {
    ox_val *v = new_val(t);
    if (!v)
        return NULL;
    v->type = type;
    v->rank = rank;
    v->dims[0] = n;
    v->known = true;
    v->bytes = bytes;
    v->data = qrn_arena_copy(t->e.im->arena, bytes ? data : "", bytes ? bytes : 1);
    if (!v->data)
        t->e.s = ox_no_memory(t->e.im);
    return v->data ? v->name : NULL;
}

const char *tl_const_ints(tl *t, const int64_t *v, uint32_t n) {
    return new_const(t, OX_I64, 1, n, v, n * sizeof *v);
}

const char *tl_const_scalar(tl *t, int type, double v) {
    float f = (float)v;
    int64_t i = type == OX_F32 ? 0 : (int64_t)v;
    int32_t narrow = (int32_t)i;
    if (type == OX_F32)
        return new_const(t, type, 0, 1, &f, sizeof f);
    if (type == OX_I32 || type == OX_I64)
        return new_const(t, type, 0, 1, type == OX_I64 ? (void *)&i : (void *)&narrow,
                         type == OX_I64 ? sizeof i : sizeof narrow);
    if (ox_type_bits(type) == 8 || ox_type_bits(type) == 16) // little-endian
        return new_const(t, type, 0, 1, &i, ox_type_bits(type) / 8);
    t->e.s = tl_fail(t, QRN_E_UNSUPPORTED, "a constant of type %s", ox_type_name(type));
    return NULL;
}

// A float value that stands for a quantized one.
static const char *real_twin(tl *t, const char *name) {
    ox_val *q = name && name[0] ? ox_scope_find(t->e.im->scope, name) : NULL;
    if (!q || !tl_is_fixed(q))
        return name;
    ox_val *v = new_val(t);
    if (!v)
        return NULL;
    v->type = OX_F32;
    v->rank = q->rank;
    memcpy(v->dims, q->dims, sizeof v->dims);
    v->known = true;
    v->quantized = q;
    return v->name;
}

qrn_status tl_onnx_to(tl *t, const tl_node *n, const char *const *out, uint32_t n_out) {
    ox_import *im = t->e.im;
    ox_node *node = ox_alloc(im, sizeof *node);
    const char **in = ox_alloc(im, 8 * sizeof *in),
               **outs = ox_alloc(im, (n_out + 1) * sizeof *outs);
    if (t->e.s != QRN_OK)
        return t->e.s;
    if (!node || !in || !outs)
        return t->e.s = ox_no_memory(im);
    for (uint32_t i = 0; i < n->n_in; i++) {
        in[i] = t->real ? real_twin(t, n->in[i]) : n->in[i];
        if (!in[i])
            return t->e.s != QRN_OK ? t->e.s : (t->e.s = ox_no_memory(im));
    }
    for (uint32_t i = 0; i < n_out; i++)
        if (!(outs[i] = out[i]))
            return t->e.s != QRN_OK ? t->e.s : (t->e.s = ox_no_memory(im));
    *node = (ox_node){.name = t->e.n->name,
                      .op = n->op,
                      .domain = "",
                      .overload = "",
                      .in = in,
                      .out = outs,
                      .n_in = n->n_in,
                      .n_out = n_out,
                      .n_attrs = n->n_attrs};
    ox_attr *attrs = qrn_arena_copy(im->arena, n->attrs, sizeof n->attrs);
    if (!(node->attrs = attrs))
        return t->e.s = ox_no_memory(im);
    // Names that the importer of ONNX gives to tensors and messages are this node's.
    t->e.s = ox_import_one(im, node);
    im->node = t->e.n;
    t->rejected |= t->fixed && t->e.s != QRN_OK && t->e.s != QRN_E_MEM;
    return t->e.s;
}

static qrn_status clip(tl *t, float lo, float hi, const char *x, const char *y) {
    tl_node n = {.op = "Relu", .in = {x}, .n_in = 1};
    if (lo != 0 || isfinite(hi)) {
        n.op = "Clip";
        n.in[1] = tl_const_scalar(t, OX_F32, (double)lo);
        n.in[2] = tl_const_scalar(t, OX_F32, (double)hi);
        n.n_in = 3;
    }
    return tl_onnx_to(t, &n, &y, 1);
}

// An activation as a node of ONNX.
static qrn_status activate(tl *t, int act, const char *x, const char *y) {
    float lo, hi;
    const tl_node n = {.op = "Tanh", .in = {x}, .n_in = 1};
    if (tl_clips_to(act, &lo, &hi))
        return clip(t, lo, hi, x, y);
    if (act != TL_TANH)
        return t->e.s = tl_fail(t, QRN_E_UNSUPPORTED, "fused activation %d is not supported", act);
    return tl_onnx_to(t, &n, &y, 1);
}

// The numbers of a float value as the quantized output.
static qrn_status quantize(tl *t, const char *name, uint32_t i) {
    ox_val *v = ox_scope_find(t->e.im->scope, name);
    qc_tensor *x = NULL, *y = NULL;
    if (!v || !v->known)
        return t->e.s = tl_fail(t, QRN_E_GENERAL, "output %u was not computed", i);
    QRN_TRY(tl_set(t, i, v->rank, v->dims));
    t->e.s = ox_tensor_in(t->e.im, v, OX_ONNX, &x);
    if (t->e.s == QRN_OK)
        t->e.s = ox_out_made(t->e.im, t->e.n, i, OX_ONNX, &y);
    if (t->e.s == QRN_OK && !y)
        t->e.s = ox_out(t->e.im, t->e.n, i, OX_ONNX, &y);
    if (t->e.s == QRN_OK)
        t->e.s = ox_emit_unary(t->e.im, t->e.n, QNN_OP_QUANTIZE, x, y);
    return t->e.s;
}

// What follows the op for one output: its activation, its range, its encoding. `x` holds what the
// op made, the output's own name when nothing follows.
static qrn_status finish(tl *t, uint32_t i, const char *x) {
    int act = (int)ox_attr_int(t->e.n, "fused_activation_function", TL_NONE);
    const char *own = t->e.n->out[i];
    float lo, hi;
    bool clips = tl_float_range(t, i, &lo, &hi), twin = t->real && tl_fixed_output(t, i);
    if (act != TL_NONE) {
        const char *to = twin || clips ? tl_between(t) : own;
        QRN_TRY(activate(t, act, x, to));
        x = to;
    }
    if (clips)
        QRN_TRY(clip(t, lo, hi, x, own));
    return twin ? quantize(t, x, i) : t->e.s;
}

qrn_status tl_onnx_at(tl *t, const tl_node *n, uint32_t first, uint32_t count) {
    bool acts = ox_attr_int(t->e.n, "fused_activation_function", TL_NONE) != TL_NONE;
    const char **out = ox_alloc(t->e.im, (count + 1) * sizeof *out);
    float lo, hi;
    if (!out)
        return ox_no_memory(t->e.im);
    for (uint32_t i = 0; i < count; i++) {
        bool later = acts || (t->real && tl_fixed_output(t, first + i)) ||
                     tl_float_range(t, first + i, &lo, &hi);
        out[i] = later ? tl_between(t) : t->e.n->out[first + i];
    }
    QRN_TRY(tl_onnx_to(t, n, out, count));
    for (uint32_t i = 0; i < count; i++)
        QRN_TRY(finish(t, first + i, out[i]));
    return t->e.s;
}

qrn_status tl_onnx(tl *t, const tl_node *n) { return tl_onnx_at(t, n, 0, t->e.n->n_out); }
