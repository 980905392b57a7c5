// SPDX-License-Identifier: MIT
//
// Ranges of 16-bit fixed point, and tensors that hold them.
#include "frontend/onnx/import/fixed.h"

#include <math.h>
#include <string.h>

#define STEPS 65535.0
#define SYMMETRIC 0x7f7f // the largest 16-bit factor that an HTP multiplies by

static bool is_float(const qc_tensor *x) {
    return ox_type_of(x) == QNN_DATATYPE_FLOAT_32 || ox_type_of(x) == QNN_DATATYPE_FLOAT_16;
}

static bool is_u16(const qc_tensor *x) { return ox_type_of(x) == QNN_DATATYPE_UFIXED_POINT_16; }

bool ox_is_ranged(const ox_expr *e, const qc_tensor *x) {
    return x && ox_is_fixed16(e->im) && (is_float(x) || is_u16(x));
}

ox_range ox_range_of(const qc_tensor *x) {
    const Qnn_ScaleOffset_t *q = &x->t.v1.quantizeParams.scaleOffsetEncoding;
    double s = (double)q->scale, top = STEPS + q->offset;
    if (ox_type_of(x) == QNN_DATATYPE_SFIXED_POINT_16)
        return (ox_range){-SYMMETRIC * s, SYMMETRIC * s};
    return (ox_range){s * q->offset, s * top};
}

static qc_tensor with_encoding(ox_range r) {
    qc_tensor like = {.t = QNN_TENSOR_INIT};
    double scale = (fmax(r.hi, 0) - fmin(r.lo, 0)) / STEPS;
    Qnn_QuantizeParams_t *q = &like.t.v1.quantizeParams;
    like.t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_16;
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    q->scaleOffsetEncoding.scale = scale > 1e-30 ? (float)scale : 1e-4f;
    q->scaleOffsetEncoding.offset =
        (int32_t)lrint(fmin(r.lo, 0) / (double)q->scaleOffsetEncoding.scale);
    return like;
}

qc_tensor *ox_ranged(ox_expr *e, ox_range r, uint32_t rank, const uint32_t *dims) {
    if (!isfinite(r.lo) || !isfinite(r.hi) || r.hi - r.lo > 1e30) {
        if (e->s == QRN_OK)
            e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                           "a value inside of it has no bounds that 16 bits could hold");
        return NULL;
    }
    qc_tensor like = with_encoding(r);
    return ox_result_like(e, &like, rank, dims);
}

// Zeros have next to no range, so that they widen no other one.
static qc_tensor *zeros(ox_expr *e, const qc_tensor *x) {
    size_t bytes = qc_tensor_count(x) * sizeof(uint16_t);
    void *data = ox_alloc(e->im, bytes);
    Qnn_QuantizeParams_t q = with_encoding((ox_range){0, 1}).t.v1.quantizeParams;
    qc_tensor *c = NULL;
    q.scaleOffsetEncoding = (Qnn_ScaleOffset_t){1e-20f, 0};
    e->s = data ? ox_static_encoded(e->im, QNN_DATATYPE_UFIXED_POINT_16, x->rank, x->dims, &q, data,
                                    bytes, &c)
                : ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
    return ox_made(e, c);
}

qc_tensor *ox_as_ranged(ox_expr *e, qc_tensor *x) {
    if (!x || e->s != QRN_OK || !is_float(x))
        return ox_made(e, x);
    const float *values = x->values;
    if (!values) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "value '%s' inside of it has no 16-bit form",
                       x->t.v1.name);
        return NULL;
    }
    double most = 0;
    for (size_t i = 0; i < qc_tensor_count(x); i++) {
        most = fmax(most, fabs((double)values[i]));
        if (!isfinite(values[i])) {
            e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                           "a constant inside of it is not finite, which 16 bits cannot hold");
            return NULL;
        }
    }
    if (most == 0)
        return zeros(e, x);
    const qc_tensor like = with_encoding((ox_range){0, 1});
    qc_tensor *c = NULL;
    e->s = ox_static_like(e->im, &like, values, x->rank, x->dims, &c);
    return ox_made(e, c);
}

static bool same_encoding(const qc_tensor *a, const qc_tensor *b) {
    const Qnn_ScaleOffset_t *p = &a->t.v1.quantizeParams.scaleOffsetEncoding,
                            *q = &b->t.v1.quantizeParams.scaleOffsetEncoding;
    return p->scale == q->scale && p->offset == q->offset;
}

qc_tensor *ox_with_range(ox_expr *e, qc_tensor *x, ox_range r) {
    qc_tensor like = with_encoding(r), *to = e->to;
    if (!x || same_encoding(x, &like))
        return ox_made(e, x);
    e->to = NULL;
    x = ox_convert(e, x, &like);
    e->to = to;
    return x;
}

#define WIDEST 8 // steps of a result in one of a value that it is made of

void ox_check_fine(ox_expr *e, const qc_tensor *x) {
    if (!e->to || !x || e->s != QRN_OK || !is_u16(x) || !is_u16(e->to) || x->values)
        return;
    double inner = (double)x->t.v1.quantizeParams.scaleOffsetEncoding.scale;
    double outer = (double)e->to->t.v1.quantizeParams.scaleOffsetEncoding.scale;
    if (inner > WIDEST * outer)
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                       "a value inside of it has bounds too wide for 16 bits (steps of %.2g, its "
                       "result has %.2g)",
                       inner, outer);
}

qc_tensor *ox_as_target(ox_expr *e, qc_tensor *x) {
    qc_tensor *to = e->to;
    if (!x || !to || !ox_is_ranged(e, x) || !is_u16(to) || (is_u16(x) && same_encoding(x, to)))
        return ox_made(e, x);
    ox_check_fine(e, x);
    e->to = NULL;
    x = ox_convert(e, ox_as_ranged(e, x), to);
    e->to = to;
    return x;
}

// --- ranges of results

static ox_range around(double a, double b) {
    return (ox_range){fmin(fmin(a, b), 0), fmax(fmax(a, b), 0)};
}

static double negative(double x) { return -x; }
static double rectified(double x) { return x > 0 ? x : 0; }
static double logistic(double x) { return 1 / (1 + exp(-x)); }

// Monotonous functions.
static const struct {
    const char *op;
    double (*f)(double);
    bool positive; // of numbers above 0 only
    ox_range out;  // that accelerators ask for; all 0: what follows from the operand
} functions[] = {
    {QNN_OP_ELEMENT_WISE_NEG, negative, false, {0, 0}},
    {QNN_OP_ELEMENT_WISE_EXP, exp, false, {0, 0}},
    {QNN_OP_ELEMENT_WISE_LOG, log, true, {0, 0}},
    {QNN_OP_ELEMENT_WISE_SQUARE_ROOT, sqrt, true, {0, 0}},
    {QNN_OP_ELEMENT_WISE_FLOOR, floor, false, {0, 0}},
    {QNN_OP_RELU, rectified, false, {0, 0}},
    {QNN_OP_TANH, tanh, false, {-1, 1 - 1 / 32768.0}},
    {QNN_OP_SIGMOID, logistic, false, {0, 1 - 1 / 65536.0}},
};

static bool no_rule(ox_expr *e, const char *op) {
    if (e->s == QRN_OK)
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "%s inside of it has no 16-bit form", op);
    return false;
}

bool ox_unary_range(ox_expr *e, const char *op, const qc_tensor *x, ox_range *out) {
    ox_range r = ox_range_of(x);
    if (strcmp(op, QNN_OP_ELEMENT_WISE_ABS) == 0) {
        *out = (ox_range){0, fmax(-r.lo, r.hi)};
        return true;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(op, functions[i].op) != 0)
            continue;
        double step = (double)x->t.v1.quantizeParams.scaleOffsetEncoding.scale;
        if (functions[i].out.hi > 0) {
            *out = functions[i].out;
            return true;
        }
        double lo = functions[i].positive ? fmax(r.lo, step) : r.lo;
        *out = around(functions[i].f(lo), functions[i].f(fmax(r.hi, lo)));
        return true;
    }
    return no_rule(e, op);
}

static ox_range products(ox_range a, ox_range b) {
    double p[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    return (ox_range){fmin(fmin(p[0], p[1]), fmin(p[2], p[3])),
                      fmax(fmax(p[0], p[1]), fmax(p[2], p[3]))};
}

bool ox_binary_range(ox_expr *e, const char *op, const qc_tensor *a, const qc_tensor *b,
                     ox_range *out) {
    ox_range p = ox_range_of(a), q = ox_range_of(b);
    if (strcmp(op, QNN_OP_ELEMENT_WISE_ADD) == 0 || strcmp(op, QNN_OP_ELEMENT_WISE_SUBTRACT) == 0) {
        ox_check_fine(e, a);
        ox_check_fine(e, b);
    }
    if (strcmp(op, QNN_OP_ELEMENT_WISE_ADD) == 0)
        *out = (ox_range){p.lo + q.lo, p.hi + q.hi};
    else if (strcmp(op, QNN_OP_ELEMENT_WISE_SUBTRACT) == 0)
        *out = (ox_range){p.lo - q.hi, p.hi - q.lo};
    else if (strcmp(op, QNN_OP_ELEMENT_WISE_MULTIPLY) == 0 && a == b)
        *out = (ox_range){0, fmax(p.lo * p.lo, p.hi * p.hi)};
    else if (strcmp(op, QNN_OP_ELEMENT_WISE_MULTIPLY) == 0)
        *out = products(p, q);
    else if (strcmp(op, QNN_OP_ELEMENT_WISE_MAXIMUM) == 0)
        *out = (ox_range){fmax(p.lo, q.lo), fmax(p.hi, q.hi)};
    else if (strcmp(op, QNN_OP_ELEMENT_WISE_MINIMUM) == 0)
        *out = (ox_range){fmin(p.lo, q.lo), fmin(p.hi, q.hi)};
    else if (strcmp(op, QNN_OP_ELEMENT_WISE_DIVIDE) == 0 && e->to)
        *out = ox_range_of(e->to); // a quotient has no bounds of its own
    else
        return no_rule(e, op);
    return true;
}

ox_range ox_reduce_range(const char *op, const qc_tensor *x, uint32_t n_reduced) {
    ox_range r = ox_range_of(x);
    double n = strcmp(op, QNN_OP_REDUCE_SUM) == 0 ? (double)n_reduced : 1;
    return (ox_range){r.lo * n, r.hi * n};
}

ox_range ox_matmul_range(const qc_tensor *a, const qc_tensor *b, uint32_t depth) {
    ox_range r = products(ox_range_of(a), ox_range_of(b));
    return (ox_range){r.lo * depth, r.hi * depth};
}

ox_range ox_weighted_range(const qc_tensor *x, const qc_tensor *w, uint32_t depth, uint32_t others,
                           bool rows) {
    ox_range r = ox_range_of(x), out = {0, 0};
    size_t matrices = qc_tensor_count(w) / ((size_t)depth * others);
    for (size_t i = 0; i < matrices * others; i++) {
        const float *first = w->values + i / others * depth * others;
        double lo = 0, hi = 0;
        for (size_t k = 0; k < depth; k++) {
            double f =
                (double)(rows ? first[i % others * depth + k] : first[k * others + i % others]);
            lo += f > 0 ? f * r.lo : f * r.hi;
            hi += f > 0 ? f * r.hi : f * r.lo;
        }
        out = (ox_range){fmin(out.lo, lo), fmax(out.hi, hi)};
    }
    return out;
}

ox_range ox_union_range(const qc_tensor *a, const qc_tensor *b) {
    ox_range p = ox_range_of(a), q = ox_range_of(b);
    return (ox_range){fmin(p.lo, q.lo), fmax(p.hi, q.hi)};
}

// --- matmul

static qc_tensor *symmetric_constant(ox_expr *e, const qc_tensor *b, const float *values) {
    size_t n = qc_tensor_count(b);
    int16_t *out = ox_alloc(e->im, n * sizeof *out);
    Qnn_QuantizeParams_t q = with_encoding((ox_range){0, 1}).t.v1.quantizeParams;
    double most = 0;
    qc_tensor *c = NULL;
    if (!out) {
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)values[i]));
    double scale = most > 0 ? most / SYMMETRIC : 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (int16_t)lrint((double)values[i] / (double)(float)scale);
    q.scaleOffsetEncoding = (Qnn_ScaleOffset_t){(float)scale, 0};
    e->s = ox_static_encoded(e->im, QNN_DATATYPE_SFIXED_POINT_16, b->rank, b->dims, &q, out,
                             n * sizeof *out, &c);
    return ox_made(e, c);
}

qc_tensor *ox_second_factor(ox_expr *e, qc_tensor *b) {
    if (!b || e->s != QRN_OK)
        return NULL;
    if (b->values)
        return symmetric_constant(e, b, b->values);
    ox_range r = ox_range_of(b);
    double reach = fmax(-r.lo, r.hi);
    qc_tensor like = with_encoding((ox_range){0, 1}), *to = e->to;
    like.t.v1.dataType = QNN_DATATYPE_SFIXED_POINT_16;
    like.t.v1.quantizeParams.scaleOffsetEncoding =
        (Qnn_ScaleOffset_t){(float)(reach / SYMMETRIC), 0};
    e->to = NULL;
    b = ox_convert(e, b, &like);
    e->to = to;
    return b;
}
