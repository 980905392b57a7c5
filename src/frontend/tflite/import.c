// SPDX-License-Identifier: MIT
//
// Driving the importers, and what they call: operands, outputs with fused activations, ops.
#include "frontend/tflite/import.h"
#include "frontend/onnx/driver/internal.h"
#include "frontend/tflite/activation.h"
#include "frontend/tflite/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

qrn_status tl_fail(const tl *t, qrn_status s, const char *fmt, ...) {
    char text[QRN_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return ox_fail(t->e.im, t->e.n, s, "%s", text);
}

// --- the driver

static const tl_op *find(const char *name) {
    for (const tl_op *r = tl_ops; r->name; r++)
        if (strcmp(r->name, name) == 0)
            return r;
    return NULL;
}

const char *tl_op_name(int code) {
    for (const tl_op *r = tl_ops; r->name; r++)
        if (r->code == code)
            return r->name;
    return NULL;
}

const char *tl_op_options(const char *name) {
    const tl_op *r = find(name);
    return r ? r->options : "";
}

static bool any_fixed(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = ox_input(im, n, i);
        if (v && tl_is_fixed(v))
            return true;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        const ox_info *info = ox_declared(im, n->out[i]);
        if (info && info->enc && ox_type_bits(info->type) <= 16)
            return true;
    }
    return false;
}

static qrn_status check_outputs(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const ox_info *info = ox_declared(im, n->out[i]);
        if (info && info->type == OX_NONE)
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "output '%s' has a type or encoding that no QNN tensor has", n->out[i]);
    }
    return QRN_OK;
}

// Where the file knows a shape, it must be the one that was found.
static qrn_status check_declared(const ox_import *im, const ox_node *n, const ox_info *info,
                                 const ox_val *v) {
    uint32_t rank = v->rank;
    const uint32_t *dims = v->dims;
    bool same = info->rank == rank;
    for (uint32_t d = 0; same && d < rank; d++)
        same = info->dims[d] < 0 || info->dims[d] == dims[d];
    for (uint32_t d = 0; !same && d < info->rank; d++)
        if (info->dims[d] < 0)
            return QRN_OK; // the rest of it follows from what is dynamic
    if (same)
        return QRN_OK;
    char found[128] = "", said[128] = "";
    for (uint32_t d = 0; d < rank; d++)
        snprintf(found + strlen(found), sizeof found - strlen(found), d ? ", %u" : "%u", dims[d]);
    for (uint32_t d = 0; d < info->rank; d++)
        snprintf(said + strlen(said), sizeof said - strlen(said), d ? ", %lld" : "%lld",
                 (long long)info->dims[d]);
    return ox_fail(im, n, QRN_E_SHAPE,
                   "output '%s': its inputs give shape [%s], the file says [%s]", info->name, found,
                   said);
}

// What an op was imported to: of the shape that the file says, and of its type. Integers of 32 and
// 64 bits are held alike.
static qrn_status check_made(ox_import *im, const ox_node *n) {
    // With other dimensions than the file's, what it says about values in between is not so.
    bool given = im->opt->n_dims || im->opt->n_input_shapes;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const ox_info *info = ox_declared(im, n->out[i]);
        ox_val *v = ox_scope_find(im->scope, n->out[i]);
        if (!info || !v || !v->known)
            continue;
        if (!given)
            QRN_TRY(check_declared(im, n, info, v));
        if (v->type == info->type || (im->opt->as_float && info->enc))
            continue;
        if (v->data || ox_type_bits(v->type) < 32 || ox_type_bits(info->type) < 32 ||
            v->type == OX_F32 || info->type == OX_F32)
            return ox_fail(im, n, QRN_E_DTYPE, "output '%s' is %s, the file says %s", info->name,
                           ox_type_name(v->type), ox_type_name(info->type));
        v->type = info->type;
    }
    return QRN_OK;
}

static qrn_status import_real(const tl *first) {
    tl t = {.e = ox_begin(first->e.im, first->e.n), .op = first->op, .real = true};
    char why[QRN_MESSAGE_MAX];
    snprintf(why, sizeof why, "%s", qrn_message());
    qrn_status s = t.op->fn(&t);
    if (s == QRN_E_MEM || s == QRN_OK)
        return s == QRN_OK ? ox_check_unit(t.e.im, t.e.n, true) : s;
    return tl_fail(&t, s, "%s", why); // the rejection says more than what followed from it
}

qrn_status tl_import(ox_import *im, const ox_node *n) {
    const tl_op *row = find(n->op);
    if (!row || !row->fn)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the op %s is not supported", n->op);
    for (uint32_t i = 0; i < row->least; i++)
        if (!ox_input(im, n, i))
            return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    if (n->n_out == 0)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "it has no output");
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!n->out[i][0])
            return ox_fail(im, n, QRN_E_UNCONNECTED, "output %u is missing", i);
    QRN_TRY(check_outputs(im, n));
    tl t = {.e = ox_begin(im, n), .op = row};
    t.real = im->opt->as_float && any_fixed(im, n);
    t.fixed = !t.real && any_fixed(im, n);
    qrn_status s = row->fn(&t);
    if (s != QRN_OK && t.rejected)
        s = import_real(&t);
    return s == QRN_OK ? check_made(im, n) : s;
}

// --- operands

const ox_val *tl_val(const tl *t, uint32_t i) { return ox_input(t->e.im, t->e.n, i); }

bool tl_is_fixed(const ox_val *v) { return v->enc && ox_type_bits(v->type) <= 16; }

int64_t tl_int(const tl *t, const char *option) { return ox_attr_int(t->e.n, option, 0); }

qrn_status tl_ints(const tl *t, uint32_t i, int64_t *dst, uint32_t max, uint32_t *n) {
    const ox_val *v = tl_val(t, i);
    if (ox_const_ints(t->e.im, t->e.n, i, dst, max, n))
        return QRN_OK;
    if (v && v->data)
        return tl_fail(t, QRN_E_SHAPE,
                       "input %u ('%s') has %zu values of %s, at most %u integers "
                       "are possible",
                       i, v->name, ox_count(v), ox_type_name(v->type), max);
    return tl_fail(t, QRN_E_UNSUPPORTED, "input %u ('%s') must be constant", i,
                   v ? v->name : "absent");
}

qrn_status tl_number(const tl *t, uint32_t i, int64_t *out) {
    uint32_t n;
    QRN_TRY(tl_ints(t, i, out, 1, &n));
    return n == 1 ? QRN_OK : tl_fail(t, QRN_E_SHAPE, "input %u is empty", i);
}

qrn_status tl_axis(const tl *t, int64_t axis, uint32_t rank, uint32_t *out) {
    return ox_axis(t->e.im, t->e.n, axis, rank, out);
}

// The real numbers of a fixed-point tensor.
static qc_tensor *dequantized(tl *t, uint32_t i) {
    const ox_val *v = tl_val(t, i);
    qc_tensor *x = NULL, *y = NULL;
    if (v->data) {
        const float *values = ox_const_reals(t->e.im, t->e.n, i);
        t->e.s = values ? ox_static(t->e.im, QNN_DATATYPE_FLOAT_32, v->rank, v->dims, values,
                                    ox_count(v) * sizeof *values, &y)
                        : QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", t->e.n->name);
        return ox_made(&t->e, y);
    }
    t->e.s = ox_in(t->e.im, t->e.n, i, OX_ONNX, &x);
    if (t->e.s == QRN_OK)
        t->e.s = ox_temp_typed(t->e.im, QNN_DATATYPE_FLOAT_32, x->rank, x->dims, &y);
    if (t->e.s == QRN_OK)
        t->e.s = ox_emit_unary(t->e.im, t->e.n, QNN_OP_DEQUANTIZE, x, y);
    return ox_made(&t->e, y);
}

qc_tensor *tl_in(tl *t, uint32_t i) {
    const ox_val *v = tl_val(t, i);
    qc_tensor *x = NULL;
    if (t->e.s != QRN_OK)
        return NULL;
    if (!v) {
        t->e.s = tl_fail(t, QRN_E_UNCONNECTED, "input %u is missing", i);
        return NULL;
    }
    if (t->real && tl_is_fixed(v))
        return dequantized(t, i);
    t->e.s = ox_in(t->e.im, t->e.n, i, OX_ONNX, &x);
    return ox_made(&t->e, x);
}

// --- outputs

bool tl_fixed_output(const tl *t, uint32_t i) {
    const ox_graph *g = t->e.im->model->graph;
    const ox_info *info = ox_declared(t->e.im, t->e.n->out[i]);
    bool fixed = info && info->enc && ox_type_bits(info->type) <= 16;
    if (!fixed || !t->e.im->opt->as_float)
        return fixed;
    for (uint32_t k = 0; k < g->n_outputs; k++)
        if (strcmp(g->outputs[k].name, t->e.n->out[i]) == 0)
            return true;
    return false;
}

bool tl_float_range(const tl *t, uint32_t i, float *lo, float *hi) {
    const ox_info *info = ox_declared(t->e.im, t->e.n->out[i]);
    if (!t->real || !info || !info->enc || info->enc->n != 1 || ox_type_bits(info->type) > 16 ||
        tl_fixed_output(t, i))
        return false;
    double bits = ldexp(1, (int)ox_type_bits(info->type));
    double least = info->type == OX_I8 || info->type == OX_I16 ? -bits / 2 : 0;
    double zero = info->enc->zeros[0], scale = (double)info->enc->scales[0];
    *lo = (float)((least - zero) * scale);
    *hi = (float)((least + bits - 1 - zero) * scale);
    return true;
}

qrn_status tl_set(tl *t, uint32_t i, uint32_t rank, const uint32_t *dims) {
    if (t->e.s != QRN_OK)
        return t->e.s;
    const char *name = i < t->e.n->n_out ? t->e.n->out[i] : "";
    const ox_info *info = name[0] ? ox_declared(t->e.im, name) : NULL;
    if (!info)
        return t->e.s = tl_fail(t, QRN_E_UNCONNECTED, "output %u is missing", i);
    bool stays_float = info->enc && ox_type_bits(info->type) <= 16 && !tl_fixed_output(t, i);
    return t->e.s =
               ox_set_output(t->e.im, t->e.n, i, stays_float ? OX_F32 : info->type, rank, dims);
}

// The output's own tensor, made once: an importer may run twice.
static qc_tensor *own_output(tl *t, uint32_t i) {
    qc_tensor *y = NULL;
    if (t->e.s == QRN_OK)
        t->e.s = ox_out_made(t->e.im, t->e.n, i, OX_ONNX, &y);
    if (t->e.s == QRN_OK && !y)
        t->e.s = ox_out(t->e.im, t->e.n, i, OX_ONNX, &y);
    return ox_made(&t->e, y);
}

qc_tensor *tl_out(tl *t, uint32_t i) {
    qc_tensor *y = own_output(t, i), *x = y;
    if (!y)
        return NULL;
    float lo, hi;
    if ((t->real && ox_is_fixed(y)) || tl_float_range(t, i, &lo, &hi))
        t->e.s = ox_temp_typed(t->e.im, QNN_DATATYPE_FLOAT_32, y->rank, y->dims, &x);
    else if (tl_activates(t, y))
        t->e.s = ox_temp(t->e.im, y, y->rank, y->dims, &x);
    return ox_made(&t->e, x);
}

qrn_status tl_end(tl *t, uint32_t i, qc_tensor *x) {
    qc_tensor *y = own_output(t, i);
    if (!x || !y || t->e.s != QRN_OK || x == y)
        return t->e.s;
    float lo, hi;
    bool quantize = ox_is_fixed(y) && !ox_is_fixed(x), clip = tl_float_range(t, i, &lo, &hi);
    if (tl_activates(t, y)) {
        qc_tensor *active = y;
        if (quantize || clip)
            t->e.s = ox_temp(t->e.im, x, x->rank, x->dims, &active);
        tl_activate(t, x, active);
        x = active;
    }
    if (clip)
        tl_clip_to(t, x, y, lo, hi);
    if (quantize && t->e.s == QRN_OK)
        t->e.s = ox_emit_unary(t->e.im, t->e.n, QNN_OP_QUANTIZE, x, y);
    return t->e.s;
}

void tl_emit(tl *t, qc_op *o) {
    if (t->e.s != QRN_OK)
        return;
    if (t->fixed && (t->e.s = qc_op_validate(o)) != QRN_OK) {
        t->rejected = t->e.s != QRN_E_MEM;
        return;
    }
    t->e.s = qc_op_end(o);
}

qrn_status tl_plain(tl *t, const char *qnn) {
    qc_tensor *x[8], *y;
    uint32_t n = t->e.n->n_in;
    if (n > 8)
        return tl_fail(t, QRN_E_UNSUPPORTED, "%u inputs", n);
    for (uint32_t i = 0; i < n; i++)
        x[i] = tl_in(t, i);
    y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, qnn);
    for (uint32_t i = 0; i < n; i++)
        qc_in(&o, x[i]);
    qc_out(&o, y);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}
