// SPDX-License-Identifier: MIT
//
// Patterns: normalizations that are written out, along the last axis or another one.
#include "frontend/onnx/rewrite/pattern.h"

#include <math.h>

// --- LayerNormalization: (x - mean) / sqrt(variance + epsilon) * gamma + beta along an axis

// What a ReduceMean over the axis reads, else NULL.
static const char *mean_of(const ox_import *im, ox_match *m, const char *name) {
    const ox_node *n = ox_match_maker(im, m, name, "ReduceMean");
    bool keeps = n && ox_attr_int(n, "keepdims", 1) == 1;
    return keeps && ox_match_reduces(im, m, n) ? n->in[0] : NULL;
}

// What is squared, else NULL.
static const char *root_of(const ox_import *im, ox_match *m, const char *name) {
    const ox_node *pow = ox_match_maker(im, m, name, "Pow");
    if (pow)
        return pow->n_in == 2 && ox_match_is_number(im, pow->in[1], 2) ? pow->in[0] : NULL;
    const ox_node *mul = ox_match_maker(im, m, name, "Mul");
    return mul && ox_match_same(im, mul->in[0], mul->in[1]) ? mul->in[0] : NULL;
}

// x where `name` is x less its mean, else NULL.
static const char *centred(const ox_import *im, ox_match *m, const char *name) {
    const ox_node *sub = ox_match_maker(im, m, name, "Sub");
    const char *x = sub ? mean_of(im, m, sub->in[1]) : NULL;
    return x && ox_match_same(im, x, sub->in[0]) ? x : NULL;
}

// d where `name` is sqrt(mean(d * d) + epsilon), else NULL.
static const char *deviation(const ox_import *im, ox_match *m, const char *name, double *epsilon) {
    const ox_node *root = ox_match_maker(im, m, name, "Sqrt");
    const ox_node *add = root ? ox_match_maker(im, m, root->in[0], "Add") : NULL;
    if (!add || add->n_in != 2)
        return NULL;
    uint32_t which = ox_match_number(im, add->in[1], epsilon) ? 0 : 1;
    if (which == 1 && !ox_match_number(im, add->in[0], epsilon))
        return NULL;
    const char *squares = mean_of(im, m, add->in[which]);
    return squares ? root_of(im, m, squares) : NULL;
}

// What `name` is the reciprocal of, else NULL.
static const char *reciprocal(const ox_import *im, ox_match *m, const char *name) {
    const ox_node *div = ox_match_maker(im, m, name, "Div");
    if (div)
        return ox_match_is_number(im, div->in[0], 1) ? div->in[1] : NULL;
    const ox_node *n = ox_match_maker(im, m, name, "Reciprocal");
    return n ? n->in[0] : NULL;
}

// x where `name` is x over its root mean square, else NULL.
static const char *over_rms(const ox_import *im, ox_match *m, const char *name, double *epsilon) {
    uint32_t before = m->n;
    const ox_node *div = ox_match_maker(im, m, name, "Div");
    const char *d = div ? deviation(im, m, div->in[1], epsilon) : NULL;
    if (d)
        return ox_match_same(im, d, div->in[0]) ? d : NULL;
    for (uint32_t i = 0; i < 2; i++) {
        m->n = before;
        const ox_node *mul = ox_match_maker(im, m, name, "Mul");
        const char *root = mul ? reciprocal(im, m, mul->in[i]) : NULL;
        d = root ? deviation(im, m, root, epsilon) : NULL;
        if (d && ox_match_same(im, d, mul->in[1 - i]))
            return d;
    }
    return NULL;
}

// x where `name` is x normalized, else NULL.
static const char *normalized(const ox_import *im, ox_match *m, const char *name, double *epsilon) {
    uint32_t before = m->n;
    const ox_node *div = ox_match_maker(im, m, name, "Div");
    const char *d = div ? deviation(im, m, div->in[1], epsilon) : NULL;
    const char *x = d ? centred(im, m, div->in[0]) : NULL;
    if (!div) { // times a reciprocal
        m->n = before;
        d = over_rms(im, m, name, epsilon);
        return d ? centred(im, m, d) : NULL;
    }
    if (!x || ox_match_same(im, d, div->in[0]))
        return x;
    const char *again = centred(im, m, d); // the difference is written twice
    return again && ox_match_same(im, again, x) ? x : NULL;
}

// A constant operand that is no single number, and the one beside it; NULL: there is none.
static const char *beside_constant(const ox_import *im, const ox_node *n, const char **row) {
    for (uint32_t i = 0; n && n->n_in == 2 && i < 2; i++) {
        const ox_val *v = ox_match_constant(im, n->in[i]);
        if (v && ox_count(v) > 1) {
            *row = n->in[i];
            return n->in[1 - i];
        }
    }
    return NULL;
}

// Has a constant one number for each place along the axis of x?
static bool is_row(const ox_import *im, ox_match *m, const char *name, const char *x) {
    const ox_val *v = ox_match_constant(im, name);
    const ox_info *info = ox_declared(im, x);
    int64_t from_end = -m->axis;
    if (!v || m->axis == OX_NO_AXIS)
        return false;
    if (from_end == 1 && v->rank == 1) // no other shape is possible
        return v->dims[0] > 1;
    if (!info || v->rank > info->rank || from_end > (int64_t)v->rank)
        return false;
    m->assumes = true;
    int64_t length = info->dims[(int64_t)info->rank - from_end];
    return v->dims[(int64_t)v->rank - from_end] == length && (int64_t)ox_count(v) == length;
}

// The operand beside a row of x, which is input 0 of the match already; else NULL.
static const char *beside_row(const ox_import *im, ox_match *m, const ox_node *n,
                              const char **row) {
    const char *other = beside_constant(im, n, row);
    return other && is_row(im, m, *row, m->instead.in[0]) ? other : NULL;
}

// The op of n inputs {x, gamma, beta} becomes a normalization: along the last axis and with gamma a
// standard one.
static bool set_norm(ox_import *im, ox_match *m, bool rms, double epsilon, uint32_t n_in) {
    bool standard = m->axis == -1 && n_in > 1;
    ox_attr *attrs = ox_alloc(im, 2 * sizeof *attrs);
    if (!attrs)
        return false;
    attrs[0] = (ox_attr){.name = "epsilon", .type = OX_ATTR_FLOAT, .f = (float)epsilon};
    attrs[1] = (ox_attr){.name = "axis", .type = OX_ATTR_INT, .i = m->axis};
    if (standard)
        m->instead.op = rms ? "RMSNormalization" : "LayerNormalization";
    else
        m->instead.op = rms ? "RmsNormAlong" : "LayerNormAlong";
    m->instead.domain = standard ? "" : OX_OWN_DOMAIN;
    m->instead.n_in = n_in;
    m->instead.attrs = attrs;
    m->instead.n_attrs = 2;
    return true;
}

bool ox_find_layer_norm(ox_import *im, ox_match *m, const ox_node *last) {
    const ox_node *scaled = last;
    const char *beta = "", *gamma, *rest;
    double epsilon = 0;
    if (ox_match_is(last, "Add")) {
        rest = beside_constant(im, last, &beta);
        scaled = rest ? ox_match_maker(im, m, rest, "Mul") : NULL;
    }
    rest = scaled && ox_match_is(scaled, "Mul") ? beside_constant(im, scaled, &gamma) : NULL;
    const char *x = rest ? normalized(im, m, rest, &epsilon) : NULL;
    if (!x || !is_row(im, m, gamma, x) || (beta[0] && !is_row(im, m, beta, x)))
        return false;
    m->instead.in[0] = x;
    m->instead.in[1] = gamma;
    m->instead.in[2] = beta;
    return set_norm(im, m, false, epsilon, 3);
}

// Without gamma and beta, or with others than constants behind it.
bool ox_find_bare_norm(ox_import *im, ox_match *m, const ox_node *last) {
    double epsilon = 0;
    if (!ox_match_is(last, "Mul") && !ox_match_is(last, "Div"))
        return false;
    const char *x = normalized(im, m, last->out[0], &epsilon);
    m->instead.in[0] = x;
    return x && set_norm(im, m, false, epsilon, 1);
}

// The same as TensorFlow writes it: x * s + (beta - mean * s), s = gamma / sqrt(variance + epsilon)

// x where `name` is s, else NULL.
static const char *scale_of(const ox_import *im, ox_match *m, const char *name, double *epsilon) {
    const char *rest = beside_constant(im, ox_match_maker(im, m, name, "Mul"), &m->instead.in[1]);
    const char *root = rest ? reciprocal(im, m, rest) : NULL;
    const char *d = root ? deviation(im, m, root, epsilon) : NULL;
    return d ? centred(im, m, d) : NULL;
}

static bool folded_sum(const ox_import *im, ox_match *m, const char *scaled, const char *shift,
                       double *epsilon) {
    const ox_node *mul = ox_match_maker(im, m, scaled, "Mul"),
                  *sub = ox_match_maker(im, m, shift, "Sub");
    const ox_node *moved = sub ? ox_match_maker(im, m, sub->in[1], "Mul") : NULL;
    if (!mul || !moved || mul->n_in != 2 || moved->n_in != 2 || !ox_match_constant(im, sub->in[0]))
        return false;
    m->instead.in[2] = sub->in[0];
    uint32_t before = m->n;
    for (uint32_t i = 0; i < 4; i++, m->n = before) {
        const char *s = mul->in[i & 1], *x = mul->in[1 - (i & 1)];
        if (!ox_match_same(im, moved->in[i >> 1], s))
            continue;
        const char *of = scale_of(im, m, s, epsilon);
        const char *mean = of ? mean_of(im, m, moved->in[1 - (i >> 1)]) : NULL;
        m->instead.in[0] = x;
        if (mean && ox_match_same(im, of, x) && ox_match_same(im, mean, x) &&
            is_row(im, m, m->instead.in[1], x) && is_row(im, m, m->instead.in[2], x))
            return true;
    }
    return false;
}

bool ox_find_folded_norm(ox_import *im, ox_match *m, const ox_node *last) {
    double epsilon = 0;
    if (!ox_match_is(last, "Add") || last->n_in != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        m->n = 1;
        m->axis = OX_NO_AXIS;
        if (folded_sum(im, m, last->in[i], last->in[1 - i], &epsilon))
            return set_norm(im, m, false, epsilon, 3);
    }
    return false;
}

// --- LayerNormalization with the variance mean(x * x) - mean(x) * mean(x), as Flax writes it. In
// fp16 the squares overflow, which the op's own do not. Dimensions must be declared.

// What is summed over the axis and divided by its length, else NULL.
static const char *average_of(const ox_import *im, ox_match *m, const char *name) {
    const ox_node *scaled = ox_match_maker(im, m, name, "Mul"), *sum = NULL;
    double factor = 0;
    for (uint32_t i = 0; scaled && scaled->n_in == 2 && !sum && i < 2; i++)
        if (ox_match_number(im, scaled->in[i], &factor))
            sum = ox_match_maker(im, m, scaled->in[1 - i], "ReduceSum");
    const ox_info *x = sum ? ox_declared(im, sum->in[0]) : NULL;
    if (!x || !ox_match_reduces(im, m, sum) || (int64_t)x->rank < -m->axis)
        return NULL;
    m->assumes = true;
    return fabs(factor * (double)x->dims[(int64_t)x->rank + m->axis] - 1) < 1e-5 ? sum->in[0]
                                                                                 : NULL;
}

// The value behind reshapes of any kind.
static const char *averaged(const ox_import *im, const char *name) {
    for (int hop = 0; hop < 4; hop++) {
        const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
        const ox_node *n = v ? v->maker : NULL;
        if (!n || (!ox_match_is(n, "Reshape") && !ox_match_is(n, "Expand") &&
                   !ox_match_is(n, "Unsqueeze")))
            break;
        name = n->in[0];
    }
    return name;
}

// Is `name` the variance of x, whose mean is `mean`, or 0 where that is less?
static bool is_variance(const ox_import *im, ox_match *m, const char *name, const char *mean,
                        const char *x) {
    const ox_node *max = ox_match_maker(im, m, name, "Max");
    double zero = 1;
    for (uint32_t i = 0; max && max->n_in == 2 && i < 2; i++)
        if (ox_match_number(im, max->in[i], &zero) && zero == 0)
            name = max->in[1 - i];
    const ox_node *sub = ox_match_maker(im, m, name, "Sub");
    const char *squares = sub ? average_of(im, m, sub->in[0]) : NULL;
    const char *root = squares ? root_of(im, m, squares) : NULL;
    const char *middle = root && ox_match_same(im, root, x) ? root_of(im, m, sub->in[1]) : NULL;
    return middle && ox_match_same(im, middle, mean);
}

// The operand of 1 / sqrt(v + epsilon), else NULL.
static const char *inverse_root(const ox_import *im, ox_match *m, const char *name,
                                double *epsilon) {
    const char *r = reciprocal(im, m, name);
    const ox_node *root = r ? ox_match_maker(im, m, r, "Sqrt") : NULL;
    const ox_node *add = root ? ox_match_maker(im, m, root->in[0], "Add") : NULL;
    for (uint32_t i = 0; add && add->n_in == 2 && i < 2; i++)
        if (ox_match_number(im, add->in[i], epsilon))
            return add->in[1 - i];
    return NULL;
}

// (x - mean) * (gamma / deviation), with the factors in the order a, b.
static bool fast_product(const ox_import *im, ox_match *m, const char *a, const char *b,
                         double *epsilon) {
    const ox_node *centred = ox_match_maker(im, m, a, "Sub"),
                  *factor = ox_match_maker(im, m, b, "Mul");
    const ox_info *x = centred && factor ? ox_declared(im, centred->in[0]) : NULL;
    const char *name = x ? averaged(im, centred->in[1]) : NULL;
    uint32_t n = m->n;
    if (!name || !average_of(im, m, name)) // which axis?
        return false;
    m->n = n;
    const char *mean = ox_match_before_spread(im, m, centred->in[1], x);
    const char *source = mean ? average_of(im, m, mean) : NULL;
    m->instead.in[0] = centred->in[0];
    const char *inverse = beside_row(im, m, factor, &m->instead.in[1]);
    const char *v = inverse ? inverse_root(im, m, inverse, epsilon) : NULL;
    v = v ? ox_match_before_spread(im, m, v, x) : NULL;
    return source && v && ox_match_same(im, source, centred->in[0]) &&
           is_variance(im, m, v, mean, source);
}

bool ox_find_fast_norm(ox_import *im, ox_match *m, const ox_node *last) {
    const char *name =
        ox_match_is(last, "Add") ? beside_constant(im, last, &m->instead.in[2]) : NULL;
    const ox_node *product = name ? ox_match_maker(im, m, name, "Mul") : NULL;
    uint32_t before = m->n;
    double epsilon = 0;
    for (uint32_t i = 0; product && product->n_in == 2 && i < 2; i++) {
        m->n = before;
        m->axis = OX_NO_AXIS;
        if (fast_product(im, m, product->in[i], product->in[1 - i], &epsilon) &&
            is_row(im, m, m->instead.in[2], m->instead.in[0]))
            return set_norm(im, m, false, epsilon, 3);
    }
    return false;
}

// --- RMSNormalization: x / sqrt(mean(x * x) + epsilon) * gamma along an axis

bool ox_find_rms_norm(ox_import *im, ox_match *m, const ox_node *last) {
    double epsilon = 0;
    const char *gamma, *rest = ox_match_is(last, "Mul") ? beside_constant(im, last, &gamma) : NULL;
    const char *x = rest ? over_rms(im, m, rest, &epsilon) : NULL;
    if (!x || !is_row(im, m, gamma, x))
        return false;
    m->instead.in[0] = x;
    m->instead.in[1] = gamma;
    return set_norm(im, m, true, epsilon, 2);
}
