// SPDX-License-Identifier: MIT
//
// Functions of one 16-bit quantized value as a table: for each of the 65,536 values the quantized
// result, correctly rounded. For functions that accelerators have in fp16 only, which is coarser.
#include "frontend/onnx/import/lookup.h"
#include "frontend/onnx/import/fixed.h"

#include <math.h>
#include <string.h>

#define N_VALUES 65536

typedef struct numbers {
    double a, b; // attributes
} numbers;

static double selu(double x, numbers n) { return n.b * (x > 0 ? x : n.a * expm1(x)); }
static double celu(double x, numbers n) { return fmax(x, 0) + fmin(0, n.a * expm1(x / n.a)); }
static double elu(double x, numbers n) { return x > 0 ? x : n.a * expm1(x); }
static double softplus(double x, numbers n) {
    (void)n;
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
static double softsign(double x, numbers n) {
    (void)n;
    return x / (1 + fabs(x));
}
static double mish(double x, numbers n) { return x * tanh(softplus(x, n)); }
static double swish(double x, numbers n) { return x / (1 + exp(-n.a * x)); }
static double shrink(double x, numbers n) { return x < -n.b ? x + n.a : x > n.b ? x - n.a : 0; }
static double thresholded(double x, numbers n) { return x > n.a ? x : 0; }
static double hard_sigmoid(double x, numbers n) {
    double y = n.a * x + n.b;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}
static double reciprocal(double x, numbers n) {
    (void)n;
    return 1 / x;
}
#define PLAIN(name)                                                                                \
    static double name##_of(double x, numbers n) {                                                 \
        (void)n;                                                                                   \
        return name(x);                                                                            \
    }
PLAIN(sinh)
PLAIN(cosh)
PLAIN(tan)
PLAIN(asin)
PLAIN(acos)
PLAIN(atan)
PLAIN(asinh)
PLAIN(acosh)
PLAIN(atanh)
PLAIN(erf)
#undef PLAIN

static double gelu_tanh(double x, numbers n) {
    (void)n;
    return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

typedef struct row {
    const char *op;
    double (*f)(double, numbers);
    const char *a, *b; // attributes, or NULL
    float a_default, b_default;
} row;

static const row rows[] = {
    {"Acos", acos_of, NULL, NULL, 0, 0},
    {"Acosh", acosh_of, NULL, NULL, 0, 0},
    {"Asin", asin_of, NULL, NULL, 0, 0},
    {"Asinh", asinh_of, NULL, NULL, 0, 0},
    {"Atan", atan_of, NULL, NULL, 0, 0},
    {"Atanh", atanh_of, NULL, NULL, 0, 0},
    {"Celu", celu, "alpha", NULL, 1, 0},
    {"Cosh", cosh_of, NULL, NULL, 0, 0},
    {"Elu", elu, "alpha", NULL, 1, 0},
    {"Erf", erf_of, NULL, NULL, 0, 0},
    {"Gelu", gelu_tanh, NULL, NULL, 0, 0},
    {"HardSigmoid", hard_sigmoid, "alpha", "beta", 0.2f, 0.5f},
    {"Mish", mish, NULL, NULL, 0, 0},
    {"Reciprocal", reciprocal, NULL, NULL, 0, 0},
    {"Selu", selu, "alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f},
    {"Shrink", shrink, "bias", "lambd", 0, 0.5f},
    {"Sinh", sinh_of, NULL, NULL, 0, 0},
    {"Softplus", softplus, NULL, NULL, 0, 0},
    {"Softsign", softsign, NULL, NULL, 0, 0},
    {"Swish", swish, "alpha", NULL, 1, 0},
    {"Tan", tan_of, NULL, NULL, 0, 0},
    {"ThresholdedRelu", thresholded, "alpha", NULL, 1, 0},
};

static const row *find(const ox_node *n) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].op, n->op) == 0)
            return &rows[i];
    return NULL;
}

bool ox_has_lookup(const ox_node *n) {
    const char *form = ox_attr_string(n, "approximate", "");
    if (n->domain[0] || (strcmp(n->op, "Gelu") == 0 && strcmp(form, "tanh") != 0))
        return false;
    return find(n) != NULL;
}

// The results for all values of x, in the encoding of y. What is no number is 0.
static const uint16_t *fill(ox_expr *e, const row *r, const qc_tensor *x, const qc_tensor *y) {
    const Qnn_ScaleOffset_t from = x->t.v1.quantizeParams.scaleOffsetEncoding,
                            to = y->t.v1.quantizeParams.scaleOffsetEncoding;
    const numbers n = {r->a ? (double)ox_attr_float(e->n, r->a, r->a_default) : 0,
                       r->b ? (double)ox_attr_float(e->n, r->b, r->b_default) : 0};
    uint16_t *table = ox_alloc(e->im, N_VALUES * sizeof *table);
    for (int i = 0; table && i < N_VALUES; i++) {
        double real = r->f((double)from.scale * (i + from.offset), n);
        double q = isnan(real) ? 0 : real / (double)to.scale;
        double whole = floor(q + 0.5) - to.offset;
        table[i] = whole < 0 ? 0 : whole < N_VALUES - 1 ? (uint16_t)whole : N_VALUES - 1;
    }
    return table;
}

// Quantized values as indices: s16, the 16-bit type that is cast to integers, counts from -32768.
static qc_tensor *indices(ox_expr *e, qc_tensor *x) {
    qc_tensor like = *x;
    like.t.v1.dataType = QNN_DATATYPE_SFIXED_POINT_16;
    like.t.v1.quantizeParams.scaleOffsetEncoding.offset += 32768;
    qc_tensor *s = ox_convert(e, x, &like), *i = NULL;
    if (s)
        i = ox_result_typed(e, QNN_DATATYPE_INT_32, s->rank, s->dims);
    if (i)
        e->s = ox_emit_cast(e->im, e->n, s, i);
    return ox_with(e, QNN_OP_ELEMENT_WISE_ADD, ox_made(e, i), 32768);
}

qrn_status ox_import_lookup(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_layout layout = ox_layout_of(im, n);
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, layout), *y = ox_out_real(&e, 0, layout), *table = NULL;
    if (!x || !y)
        return e.s;
    if (ox_type_of(x) != QNN_DATATYPE_UFIXED_POINT_16 ||
        ox_type_of(y) != QNN_DATATYPE_UFIXED_POINT_16)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "its result is not unsigned of 16 bits");
    const uint16_t *values = fill(&e, find(n), x, y);
    const uint32_t size = N_VALUES;
    if (!values)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    e.s = ox_static_encoded(im, QNN_DATATYPE_UFIXED_POINT_16, 1, &size, &y->t.v1.quantizeParams,
                            values, N_VALUES * sizeof *values, &table);
    qc_tensor *i = indices(&e, x);
    ox_into(&e, y);
    ox_gather(&e, table, i, 0);
    return ox_end_real(&e, 0, layout, y);
}
