// SPDX-License-Identifier: MIT
//
// Importers: arithmetic on elements, comparisons, activations.
#include "frontend/onnx/driver/internal.h"
#include "frontend/tflite/activation.h"

#include <math.h>
#include <string.h>

// The shape of a broadcasting op's result.
static qrn_status set_broadcast(tl *t) {
    const ox_val *a = tl_val(t, 0), *b = tl_val(t, 1);
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank, dims[OX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t x = i + a->rank < rank ? 1 : a->dims[i + a->rank - rank];
        uint32_t y = i + b->rank < rank ? 1 : b->dims[i + b->rank - rank];
        if (x != y && x != 1 && y != 1)
            return tl_fail(t, QRN_E_SHAPE, "'%s' and '%s' do not broadcast: %u and %u", a->name,
                           b->name, x, y);
        dims[i] = x == 1 ? y : x;
    }
    return tl_set(t, 0, rank, dims);
}

static qrn_status set_same(tl *t) { return tl_set(t, 0, tl_val(t, 0)->rank, tl_val(t, 0)->dims); }

// Quantized operands go to QNN's op, all others to ONNX's.
static bool as_onnx(const tl *t) { return t->op->onnx && (!t->fixed || !t->op->qnn); }

// An op of ONNX that has no form for quantized values here computes their real numbers.
static qrn_status reject(tl *t) {
    t->rejected = true;
    return tl_fail(t, QRN_E_UNSUPPORTED, "no QNN op computes it on quantized values");
}

static qrn_status import_as_onnx(tl *t) {
    if (t->fixed)
        return reject(t);
    const tl_node n = tl_like(t, t->op->onnx);
    return tl_onnx(t, &n);
}

qrn_status tl_unary(tl *t) {
    if (as_onnx(t))
        return import_as_onnx(t);
    QRN_TRY(set_same(t));
    return tl_plain(t, t->op->qnn);
}

qrn_status tl_binary(tl *t) {
    if (as_onnx(t))
        return import_as_onnx(t);
    QRN_TRY(set_broadcast(t));
    return tl_plain(t, t->op->qnn);
}

qrn_status tl_compare(tl *t) { return import_as_onnx(t); }

qrn_status tl_not_equal(tl *t) {
    if (t->fixed)
        return reject(t);
    const char *equal = tl_between(t);
    const tl_node n = tl_like(t, "Equal"), not = {.op = "Not", .in = {equal}, .n_in = 1};
    QRN_TRY(tl_onnx_to(t, &n, &equal, 1));
    return tl_onnx(t, &not );
}

qrn_status tl_logical(tl *t) { return import_as_onnx(t); }

qrn_status tl_square(tl *t) {
    if (!t->fixed) {
        tl_node n = tl_like(t, "Mul");
        n.in[n.n_in++] = n.in[0];
        return tl_onnx(t, &n);
    }
    QRN_TRY(set_same(t));
    qc_tensor *x = tl_in(t, 0), *y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_ELEMENT_WISE_MULTIPLY);
    qc_in(&o, x);
    qc_in(&o, x);
    qc_out(&o, y);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}

static bool is_whole(const tl *t) {
    return tl_val(t, 0)->type == OX_I32 || tl_val(t, 0)->type == OX_I64;
}

// floor(x / y)
static qrn_status floor_quotient(tl *t, const char *out) {
    const char *quotient = tl_between(t);
    const tl_node divide = tl_like(t, "Div");
    const tl_node down = {.op = "Floor", .in = {quotient}, .n_in = 1};
    QRN_TRY(tl_onnx_to(t, &divide, &quotient, 1));
    return out ? tl_onnx_to(t, &down, &out, 1) : tl_onnx(t, &down);
}

// Of integers (x - x mod y) / y: what is left divides without a rest.
qrn_status tl_floor_div(tl *t) {
    if (t->fixed)
        return reject(t);
    if (!is_whole(t))
        return floor_quotient(t, NULL);
    const char *rest = tl_between(t), *whole = tl_between(t);
    const tl_node mod = tl_like(t, "Mod");
    const tl_node minus = {.op = "Sub", .in = {t->e.n->in[0], rest}, .n_in = 2};
    const tl_node divide = {.op = "Div", .in = {whole, t->e.n->in[1]}, .n_in = 2};
    QRN_TRY(tl_onnx_to(t, &mod, &rest, 1));
    QRN_TRY(tl_onnx_to(t, &minus, &whole, 1));
    return tl_onnx(t, &divide);
}

// x - floor(x / y) * y; ONNX has it for integers.
qrn_status tl_floor_mod(tl *t) {
    if (t->fixed)
        return reject(t);
    if (is_whole(t)) {
        const tl_node n = tl_like(t, "Mod");
        return tl_onnx(t, &n);
    }
    const char *quotient = tl_between(t), *whole = tl_between(t);
    const tl_node times = {.op = "Mul", .in = {quotient, t->e.n->in[1]}, .n_in = 2};
    const tl_node rest = {.op = "Sub", .in = {t->e.n->in[0], whole}, .n_in = 2};
    QRN_TRY(floor_quotient(t, quotient));
    QRN_TRY(tl_onnx_to(t, &times, &whole, 1));
    return tl_onnx(t, &rest);
}

qrn_status tl_add_n(tl *t) {
    if (t->fixed)
        return reject(t);
    if (t->e.n->n_in > 8)
        return tl_fail(t, QRN_E_UNSUPPORTED, "%u inputs, at most 8 are possible", t->e.n->n_in);
    const tl_node n = tl_like(t, "Sum");
    return tl_onnx(t, &n);
}

// --- activations

qrn_status tl_clip(tl *t) {
    static const struct {
        const char *op;
        float lo, hi;
    } rows[] = {
        {"RELU", 0, INFINITY}, {"RELU6", 0, 6}, {"RELU_N1_TO_1", -1, 1}, {"RELU_0_TO_1", 0, 1}};
    float lo = 0, hi = INFINITY;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].op, t->op->name) == 0) {
            lo = rows[i].lo;
            hi = rows[i].hi;
        }
    QRN_TRY(set_same(t));
    qc_tensor *x = tl_in(t, 0), *y = tl_out(t, 0);
    tl_clip_to(t, x, y, lo, hi);
    return tl_end(t, 0, y);
}

qrn_status tl_leaky_relu(tl *t) {
    float alpha = ox_attr_float(t->e.n, "alpha", 0);
    if (!t->fixed) {
        tl_node n = tl_like(t, "LeakyRelu");
        tl_attr_f(&n, "alpha", alpha);
        return tl_onnx(t, &n);
    }
    QRN_TRY(set_same(t));
    qc_tensor *x = tl_in(t, 0), *y = tl_out(t, 0), *slope = NULL;
    const uint32_t one = 1;
    if (t->e.s == QRN_OK)
        t->e.s = ox_static_like(t->e.im, x, &alpha, 1, &one, &slope);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_PRELU);
    qc_in(&o, x);
    qc_in(&o, slope);
    qc_out(&o, y);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}

qrn_status tl_prelu(tl *t) {
    if (!t->fixed) {
        const tl_node n = tl_like(t, "PRelu");
        return tl_onnx(t, &n);
    }
    QRN_TRY(set_same(t));
    return tl_plain(t, QNN_OP_PRELU);
}

qrn_status tl_gelu(tl *t) {
    bool approximate = tl_int(t, "approximate") != 0;
    if (t->fixed && !approximate) {
        QRN_TRY(set_same(t));
        return tl_plain(t, QNN_OP_GELU);
    }
    if (t->fixed)
        return reject(t);
    tl_node n = tl_like(t, "Gelu");
    tl_attr_text(&n, "approximate", approximate ? "tanh" : "none");
    return tl_onnx(t, &n);
}

qrn_status tl_softmax(tl *t) {
    const ox_val *v = tl_val(t, 0);
    if (v->rank == 0)
        return tl_fail(t, QRN_E_SHAPE, "its input has no dimension");
    QRN_TRY(set_same(t));
    qc_tensor *x = tl_in(t, 0), *y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, t->op->qnn);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_SOFTMAX_PARAM_AXIS, v->rank - 1);
    if (ox_attr_find(t->e.n, "beta"))
        qc_f32(&o, QNN_OP_SOFTMAX_PARAM_BETA, ox_attr_float(t->e.n, "beta", 1));
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}
