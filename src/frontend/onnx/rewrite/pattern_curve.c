// SPDX-License-Identifier: MIT
//
// Patterns: Gelu and Softmax that are written out.
#include "frontend/onnx/rewrite/pattern.h"

#include <math.h>
#include <string.h>

#define MOST_FACTORS 6
#define DEGREE 3

// --- Gelu: x / 2 * (1 + erf(x / sqrt(2))), or x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)));
// the factors in any order, the inner polynomial in any form

// A constant of one element. More dimensions than x has would be those of the result.
static bool one_element(const ox_import *im, ox_match *m, const char *name, const char *x,
                        double *out) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    const ox_info *info = x ? ox_declared(im, x) : NULL;
    float f;
    if (!v || !v->data || ox_count(v) != 1 || (v->type != OX_F32 && v->type != OX_F16))
        return false;
    if (v->rank > 1 && x && (!info || info->rank < v->rank))
        return false;
    m->assumes |= v->rank > 1;
    ox_const_floats_into(v, &f);
    *out = (double)f;
    return true;
}

static bool multiply(const double *a, const double *b, double *p) {
    for (int i = 0; i <= DEGREE; i++)
        for (int k = 0; k <= DEGREE; k++) {
            if (i + k <= DEGREE)
                p[i + k] += a[i] * b[k];
            else if (a[i] * b[k] != 0)
                return false;
        }
    return true;
}

// Is `name` a polynomial in x? p[i] is the factor of x^i.
static bool polynomial(const ox_import *im, ox_match *m, const char *name, const char *x,
                       double *p) {
    static const char *const ops[] = {"Add", "Mul", "Div", "Pow"};
    double a[DEGREE + 1] = {0}, b[DEGREE + 1] = {0}, power = 0;
    const ox_node *n = NULL;
    memset(p, 0, (DEGREE + 1) * sizeof *p);
    if (ox_match_same(im, name, x)) {
        p[1] = 1;
        return true;
    }
    if (one_element(im, m, name, x, &p[0]))
        return true;
    for (size_t i = 0; !n && i < sizeof ops / sizeof ops[0]; i++)
        n = ox_match_maker(im, m, name, ops[i]);
    if (!n || n->n_in != 2 || !polynomial(im, m, n->in[0], x, a))
        return false;
    if (ox_match_is(n, "Pow")) {
        int k = one_element(im, m, n->in[1], x, &power) && power > 0 && power <= DEGREE ? (int)power
                                                                                        : 0;
        p[k] = 1;
        return k && (double)k == power && a[1] == 1 && a[0] == 0 && a[2] == 0 && a[3] == 0;
    }
    if (!polynomial(im, m, n->in[1], x, b))
        return false;
    if (ox_match_is(n, "Mul"))
        return multiply(a, b, p);
    bool div = ox_match_is(n, "Div");
    for (int i = 0; i <= DEGREE; i++)
        p[i] = div ? a[i] / b[0] : a[i] + b[i];
    return !div || (b[0] != 0 && b[1] == 0 && b[2] == 0 && b[3] == 0);
}

// Is `name` 1 + erf(x / sqrt(2)), or 1 + tanh(...)?
static bool is_gate(const ox_import *im, ox_match *m, const char *name, const char *x, bool *tanh) {
    const double root = 0.79788456080286535588; // sqrt(2 / pi)
    const ox_node *add = ox_match_maker(im, m, name, "Add"), *n = NULL;
    double one = 0, p[DEGREE + 1];
    for (uint32_t i = 0; add && add->n_in == 2 && !n && i < 2; i++) {
        if (!one_element(im, m, add->in[i], x, &one) || !ox_match_near(one, 1))
            continue;
        n = ox_match_maker(im, m, add->in[1 - i], "Erf");
        *tanh = !n;
        n = n ? n : ox_match_maker(im, m, add->in[1 - i], "Tanh");
    }
    if (!n || !polynomial(im, m, n->in[0], x, p) || p[0] != 0 || p[2] != 0)
        return false;
    if (!*tanh)
        return ox_match_near(p[1], sqrt(0.5)) && p[3] == 0;
    return ox_match_near(p[1], root) && ox_match_near(p[3], 0.044715 * root);
}

// The factors of a product: those that are numbers as one, the others by name.
typedef struct factors {
    double number;
    const char *names[MOST_FACTORS];
    uint32_t n;
} factors;

// What others read too is one factor: x is.
static void take_apart(const ox_import *im, ox_match *m, const ox_node *n, factors *f) {
    bool div = ox_match_is(n, "Div");
    for (uint32_t i = 0; i < 2; i++) {
        const ox_val *v = n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
        const ox_node *maker = NULL;
        double number;
        if (one_element(im, m, n->in[i], NULL, &number) && (!div || (i == 1 && number != 0))) {
            f->number *= div ? 1 / number : number;
            continue;
        }
        if (v && v->n_uses == 1 && !v->is_output && !(div && i) && f->n + 2 < MOST_FACTORS)
            maker = ox_match_maker(im, m, n->in[i], "Mul");
        if (maker && maker->n_in == 2)
            take_apart(im, m, maker, f);
        else if (f->n < MOST_FACTORS)
            f->names[f->n++] = n->in[i];
    }
}

bool ox_find_gelu(ox_import *im, ox_match *m, const ox_node *last) {
    static const ox_attr form = {
        .name = "approximate", .type = OX_ATTR_STRING, .s = "tanh", .s_len = 4};
    factors f = {.number = 1};
    if ((!ox_match_is(last, "Mul") && !ox_match_is(last, "Div")) || last->n_in != 2)
        return false;
    take_apart(im, m, last, &f);
    if (f.n != 2 || !ox_match_near(f.number, 0.5))
        return false;
    for (uint32_t i = 0, n = m->n; i < 2; i++) {
        bool tanh = false;
        m->n = n;
        if (!is_gate(im, m, f.names[i], f.names[1 - i], &tanh))
            continue;
        m->instead.op = "Gelu";
        m->instead.in[0] = f.names[1 - i];
        m->instead.n_in = 1;
        m->instead.attrs = tanh ? &form : NULL;
        m->instead.n_attrs = tanh ? 1 : 0;
        return !m->assumes || ox_declared(im, f.names[1 - i]);
    }
    return false;
}

// --- Softmax along the last axis: exp(x - max(x)) / sum(exp(x - max(x)))

// Does `name` belong to the rows of x, made of them by a reduction? Gives what it reduces.
static const char *reduced(const ox_import *im, ox_match *m, const char *name, const char *op,
                           const char *x) {
    const ox_info *info = ox_declared(im, x);
    const ox_node *n = ox_match_maker(im, m, name, op);
    if (n && ox_attr_int(n, "keepdims", 1) == 1)
        return ox_match_reduces(im, m, n) ? n->in[0] : NULL;
    m->axis = -1;
    name = info && !n ? ox_match_before_spread(im, m, name, info) : NULL;
    const ox_node *max = name ? ox_match_maker(im, m, name, "Max") : NULL; // with -infinity
    double low = 0;
    for (uint32_t i = 0; max && max->n_in == 2 && i < 2; i++)
        if (ox_match_number(im, max->in[i], &low) && low < -3e38)
            name = max->in[1 - i];
    n = name ? ox_match_maker(im, m, name, op) : NULL;
    return n && ox_match_reduces(im, m, n) ? n->in[0] : NULL;
}

bool ox_find_softmax(ox_import *im, ox_match *m, const ox_node *last) {
    static const ox_attr axis = {.name = "axis", .type = OX_ATTR_INT, .i = -1};
    const ox_node *e = ox_match_is(last, "Div") && last->n_in == 2
                           ? ox_match_maker(im, m, last->in[0], "Exp")
                           : NULL;
    const char *sum = e ? reduced(im, m, last->in[1], "ReduceSum", e->out[0]) : NULL;
    if (!sum || m->axis != -1 || strcmp(sum, e->out[0]) != 0)
        return false;
    const char *x = e->in[0];
    uint32_t before = m->n;
    const ox_node *sub = ox_match_maker(im, m, x, "Sub");
    const char *max = sub ? reduced(im, m, sub->in[1], "ReduceMax", sub->in[0]) : NULL;
    if (max && m->axis == -1 && ox_match_same(im, max, sub->in[0]))
        x = sub->in[0];
    else
        m->n = before; // whatever is subtracted, it is not part of it
    m->instead.op = "Softmax";
    m->instead.in[0] = x;
    m->instead.n_in = 1;
    m->instead.attrs = &axis;
    m->instead.n_attrs = 1;
    return true;
}
