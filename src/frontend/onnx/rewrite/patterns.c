// SPDX-License-Identifier: MIT
//
// Patterns: groups of nodes of the main graph that are one op of QNN, found before the import by
// walking back from the node that ends one. The last node is imported as another node, the others
// are left out. No value inside may be seen outside, so a model whose inner values are quantized
// or are outputs keeps its nodes. Constants must be initializers or come from Constant nodes.
#include "frontend/onnx/driver/internal.h"

#include <math.h>
#include <string.h>

#define MOST 24 // nodes of a pattern

const ox_node ox_left_out;

typedef struct match {
    const ox_node *nodes[MOST]; // the last one first
    uint32_t n;
    bool assumes;    // declared shapes are right
    ox_node instead; // the last one becomes this
} match;

static bool is_op(const ox_node *n, const char *op) {
    return n->domain[0] == '\0' && strcmp(n->op, op) == 0;
}

static bool same_name(const char *a, const char *b) { return a[0] && strcmp(a, b) == 0; }

static const ox_node *dequantizer(const ox_import *im, const char *name) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    return v && v->maker && is_op(v->maker, "DequantizeLinear") ? v->maker : NULL;
}

// Is it one value? ONNX Runtime gives each reader of quantized values a DequantizeLinear of its
// own.
static bool same(const ox_import *im, const char *a, const char *b) {
    if (same_name(a, b))
        return true;
    const ox_node *x = dequantizer(im, a), *y = dequantizer(im, b);
    bool equal = x && y && x->n_in == y->n_in && x->n_attrs == y->n_attrs;
    for (uint32_t i = 0; equal && i < x->n_in; i++)
        equal = strcmp(x->in[i], y->in[i]) == 0;
    return equal;
}

// The node that makes a value, if it is of that op; it joins the pattern.
static const ox_node *made_by(const ox_import *im, match *m, const char *name, const char *op) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    const ox_node *n = v ? v->maker : NULL;
    if (!n || !is_op(n, op) || n->n_out != 1 || m->n == MOST)
        return NULL;
    m->nodes[m->n++] = n;
    return n;
}

// Constant real numbers, or the quantized values that a DequantizeLinear makes such of.
static const ox_val *constant(const ox_import *im, const char *name) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    bool quantized = v && !v->data && v->maker && is_op(v->maker, "DequantizeLinear");
    if (quantized)
        v = ox_scope_find(im->scope, v->maker->in[0]);
    return v && v->data && (quantized || v->type == OX_F32 || v->type == OX_F16) ? v : NULL;
}

static bool number(const ox_import *im, const char *name, double *out) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    float f;
    if (!v || !v->data || v->rank > 1 || ox_count(v) != 1 ||
        (v->type != OX_F32 && v->type != OX_F16))
        return false;
    ox_const_floats_into(v, &f);
    *out = (double)f;
    return true;
}

// Constants are rounded in various ways.
static bool is_number(const ox_import *im, const char *name, double value) {
    double f;
    return number(im, name, &f) && fabs(f - value) <= 1e-3 * fabs(value);
}

// The operand beside a number; NULL when n has no such number.
static const char *beside(const ox_import *im, const ox_node *n, double value) {
    for (uint32_t i = 0; n && n->n_in == 2 && i < 2; i++)
        if (is_number(im, n->in[i], value))
            return n->in[1 - i];
    return NULL;
}

static bool is_row(const ox_import *im, const char *name) {
    const ox_val *v = constant(im, name);
    return v && v->rank == 1 && v->dims[0] > 1;
}

// --- Gelu: x / 2 * (1 + erf(x / sqrt(2))), with the half anywhere

// x where `name` is 1 + erf(x / sqrt(2)), else NULL.
static const char *erf_sum(const ox_import *im, match *m, const char *name) {
    const ox_node *add = made_by(im, m, name, "Add");
    const char *e = beside(im, add, 1);
    const ox_node *erf = e ? made_by(im, m, e, "Erf") : NULL;
    if (!erf)
        return NULL;
    const ox_node *div = made_by(im, m, erf->in[0], "Div");
    if (div)
        return is_number(im, div->in[1], sqrt(2)) ? div->in[0] : NULL;
    return beside(im, made_by(im, m, erf->in[0], "Mul"), sqrt(0.5));
}

// Is this x * (1 + erf(x / sqrt(2))), of operands a and b?
static bool erf_product(const ox_import *im, match *m, const char *a, const char *b,
                        const char **x) {
    uint32_t n = m->n;
    const char *of = erf_sum(im, m, b);
    if (of && same(im, of, a)) {
        *x = of;
        return true;
    }
    m->n = n;
    return false;
}

static bool halved_product(const ox_import *im, match *m, const ox_node *last, const char **x) {
    const char *all = beside(im, last, 0.5);
    if (all) { // (x * sum) / 2
        const ox_node *mul = made_by(im, m, all, "Mul");
        return mul && (erf_product(im, m, mul->in[0], mul->in[1], x) ||
                       erf_product(im, m, mul->in[1], mul->in[0], x));
    }
    for (uint32_t i = 0; i < 2; i++) {
        m->n = 1;
        const char *half = beside(im, made_by(im, m, last->in[i], "Mul"), 0.5);
        const char *other = last->in[1 - i];
        if (half && (erf_product(im, m, half, other, x) || erf_product(im, m, other, half, x)))
            return true;
    }
    return false;
}

static bool find_gelu(ox_import *im, match *m, const ox_node *last) {
    const char *x;
    if (!is_op(last, "Mul") || last->n_in != 2 || !halved_product(im, m, last, &x))
        return false;
    m->instead.op = "Gelu";
    m->instead.in[0] = x;
    m->instead.n_in = 1;
    return true;
}

// --- MatMul with a constant matrix and a constant row added: a bias is its third input

static bool find_bias(ox_import *im, match *m, const ox_node *last) {
    if (!is_op(last, "Add") || last->n_in != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const ox_val *row = is_row(im, last->in[i]) ? constant(im, last->in[i]) : NULL;
        const ox_node *mul = row ? made_by(im, m, last->in[1 - i], "MatMul") : NULL;
        const ox_val *w = mul && mul->n_in == 2 ? constant(im, mul->in[1]) : NULL;
        if (!w || w->rank != 2 || w->dims[1] != row->dims[0])
            continue;
        m->instead.name = mul->name;
        m->instead.op = "MatMulBias";
        m->instead.domain = OX_OWN_DOMAIN;
        m->instead.in[0] = mul->in[0];
        m->instead.in[1] = mul->in[1];
        m->instead.in[2] = last->in[i];
        m->instead.n_in = 3;
        return true;
    }
    return false;
}

// --- LayerNormalization: (x - mean) / sqrt(variance + epsilon) * gamma + beta over the last axis

// The one axis of a reduction; INT64_MIN: there is none, or there are more.
static int64_t axis_of(const ox_import *im, const ox_node *n) {
    const ox_attr *axes = ox_attr_find(n, "axes");
    const ox_val *v = n->n_in > 1 && n->in[1][0] ? ox_scope_find(im->scope, n->in[1]) : NULL;
    int64_t axis = INT64_MIN;
    if (axes && axes->n == 1)
        axis = axes->ints[0];
    else if (v && v->data && v->type == OX_I64 && ox_count(v) == 1)
        memcpy(&axis, v->data, sizeof axis);
    return axis;
}

// What a ReduceMean over the last axis reads, else NULL.
static const char *mean_of(const ox_import *im, match *m, const char *name) {
    const ox_node *n = made_by(im, m, name, "ReduceMean");
    bool last = n && axis_of(im, n) == -1 && ox_attr_int(n, "keepdims", 1) == 1;
    return last ? n->in[0] : NULL;
}

// What is squared, else NULL.
static const char *root_of(const ox_import *im, match *m, const char *name) {
    const ox_node *pow = made_by(im, m, name, "Pow");
    if (pow)
        return pow->n_in == 2 && is_number(im, pow->in[1], 2) ? pow->in[0] : NULL;
    const ox_node *mul = made_by(im, m, name, "Mul");
    return mul && same(im, mul->in[0], mul->in[1]) ? mul->in[0] : NULL;
}

// x where `name` is x less its mean, else NULL.
static const char *centred(const ox_import *im, match *m, const char *name) {
    const ox_node *sub = made_by(im, m, name, "Sub");
    const char *x = sub ? mean_of(im, m, sub->in[1]) : NULL;
    return x && same(im, x, sub->in[0]) ? x : NULL;
}

// d where `name` is sqrt(mean(d * d) + epsilon), else NULL.
static const char *deviation(const ox_import *im, match *m, const char *name, double *epsilon) {
    const ox_node *root = made_by(im, m, name, "Sqrt");
    const ox_node *add = root ? made_by(im, m, root->in[0], "Add") : NULL;
    if (!add || add->n_in != 2)
        return NULL;
    uint32_t which = number(im, add->in[1], epsilon) ? 0 : 1;
    if (which == 1 && !number(im, add->in[0], epsilon))
        return NULL;
    const char *squares = mean_of(im, m, add->in[which]);
    return squares ? root_of(im, m, squares) : NULL;
}

// What `name` is the reciprocal of, else NULL.
static const char *reciprocal(const ox_import *im, match *m, const char *name) {
    const ox_node *div = made_by(im, m, name, "Div");
    if (div)
        return is_number(im, div->in[0], 1) ? div->in[1] : NULL;
    const ox_node *n = made_by(im, m, name, "Reciprocal");
    return n ? n->in[0] : NULL;
}

// x where `name` is x over its root mean square, else NULL.
static const char *over_rms(const ox_import *im, match *m, const char *name, double *epsilon) {
    uint32_t before = m->n;
    const ox_node *div = made_by(im, m, name, "Div");
    const char *d = div ? deviation(im, m, div->in[1], epsilon) : NULL;
    if (d)
        return same(im, d, div->in[0]) ? d : NULL;
    for (uint32_t i = 0; i < 2; i++) {
        m->n = before;
        const ox_node *mul = made_by(im, m, name, "Mul");
        const char *root = mul ? reciprocal(im, m, mul->in[i]) : NULL;
        d = root ? deviation(im, m, root, epsilon) : NULL;
        if (d && same(im, d, mul->in[1 - i]))
            return d;
    }
    return NULL;
}

// x where `name` is x normalized, else NULL.
static const char *normalized(const ox_import *im, match *m, const char *name, double *epsilon) {
    uint32_t before = m->n;
    const ox_node *div = made_by(im, m, name, "Div");
    const char *d = div ? deviation(im, m, div->in[1], epsilon) : NULL;
    const char *x = d ? centred(im, m, div->in[0]) : NULL;
    if (!div) { // times a reciprocal
        m->n = before;
        d = over_rms(im, m, name, epsilon);
        return d ? centred(im, m, d) : NULL;
    }
    if (!x || same(im, d, div->in[0]))
        return x;
    const char *again = centred(im, m, d); // the difference is written twice
    return again && same(im, again, x) ? x : NULL;
}

// The op of n inputs {x, gamma, beta} becomes a normalization.
static bool set_norm(ox_import *im, match *m, const char *op, double epsilon, uint32_t n_in) {
    ox_attr *attr = ox_alloc(im, sizeof *attr);
    if (!attr)
        return false;
    *attr = (ox_attr){.name = "epsilon", .type = OX_ATTR_FLOAT, .f = (float)epsilon};
    m->instead.op = op;
    m->instead.n_in = n_in;
    m->instead.attrs = attr;
    m->instead.n_attrs = 1;
    return true;
}

static bool find_layer_norm(ox_import *im, match *m, const ox_node *last) {
    const ox_node *scaled = last;
    const char *beta = "";
    double epsilon = 0;
    for (uint32_t i = 0; is_op(last, "Add") && last->n_in == 2 && i < 2; i++)
        if (is_row(im, last->in[i])) {
            beta = last->in[i];
            scaled = made_by(im, m, last->in[1 - i], "Mul");
        }
    if (!scaled || !is_op(scaled, "Mul") || scaled->n_in != 2)
        return false;
    uint32_t gamma = is_row(im, scaled->in[0]) ? 0 : 1;
    const char *x =
        is_row(im, scaled->in[gamma]) ? normalized(im, m, scaled->in[1 - gamma], &epsilon) : NULL;
    m->instead.in[0] = x;
    m->instead.in[1] = scaled->in[gamma];
    m->instead.in[2] = beta;
    return x && set_norm(im, m, "LayerNormalization", epsilon, 3);
}

// The same as TensorFlow writes it: x * s + (beta - mean * s), s = gamma / sqrt(variance + epsilon)

// x where `name` is s, else NULL.
static const char *scale_of(const ox_import *im, match *m, const char *name, double *epsilon) {
    const ox_node *s = made_by(im, m, name, "Mul");
    if (!s || s->n_in != 2)
        return NULL;
    uint32_t gamma = is_row(im, s->in[0]) ? 0 : 1;
    m->instead.in[1] = s->in[gamma];
    const char *root = is_row(im, s->in[gamma]) ? reciprocal(im, m, s->in[1 - gamma]) : NULL;
    const char *d = root ? deviation(im, m, root, epsilon) : NULL;
    return d ? centred(im, m, d) : NULL;
}

static bool folded_sum(const ox_import *im, match *m, const char *scaled, const char *shift,
                       double *epsilon) {
    const ox_node *mul = made_by(im, m, scaled, "Mul"), *sub = made_by(im, m, shift, "Sub");
    const ox_node *moved = sub ? made_by(im, m, sub->in[1], "Mul") : NULL;
    if (!mul || !moved || mul->n_in != 2 || moved->n_in != 2 || !is_row(im, sub->in[0]))
        return false;
    m->instead.in[2] = sub->in[0];
    uint32_t before = m->n;
    for (uint32_t i = 0; i < 4; i++, m->n = before) {
        const char *s = mul->in[i & 1], *x = mul->in[1 - (i & 1)];
        if (!same(im, moved->in[i >> 1], s))
            continue;
        const char *of = scale_of(im, m, s, epsilon);
        const char *mean = of ? mean_of(im, m, moved->in[1 - (i >> 1)]) : NULL;
        m->instead.in[0] = x;
        if (mean && same(im, of, x) && same(im, mean, x))
            return true;
    }
    return false;
}

static bool find_folded_norm(ox_import *im, match *m, const ox_node *last) {
    double epsilon = 0;
    if (!is_op(last, "Add") || last->n_in != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        m->n = 1;
        if (folded_sum(im, m, last->in[i], last->in[1 - i], &epsilon))
            return set_norm(im, m, "LayerNormalization", epsilon, 3);
    }
    return false;
}

// --- LayerNormalization with the variance mean(x * x) - mean(x) * mean(x), as Flax writes it. In
// fp16 the squares overflow, which the op's own do not. Dimensions must be declared.

static bool note_declared(ox_import *im, const ox_info *list, uint32_t n) {
    for (uint32_t i = n; i-- > 0;) // the first one of a name is the one
        if (list[i].has_shape &&
            !qrn_strmap_put(&im->declared, list[i].name, (void *)(uintptr_t)&list[i]))
            return false;
    return true;
}

qrn_status ox_note_declared(ox_import *im) {
    const ox_graph *g = im->model->graph;
    bool ok = note_declared(im, g->outputs, g->n_outputs) &&
              note_declared(im, g->infos, g->n_infos) && note_declared(im, g->inputs, g->n_inputs);
    return ok ? QRN_OK : ox_no_memory(im);
}

const ox_info *ox_declared(const ox_import *im, const char *name) {
    return qrn_strmap_get(&im->declared, name);
}

// What is summed over its last axis and divided by its length, else NULL.
static const char *average_of(const ox_import *im, match *m, const char *name) {
    const ox_node *scaled = made_by(im, m, name, "Mul"), *sum = NULL;
    double factor = 0;
    for (uint32_t i = 0; scaled && scaled->n_in == 2 && !sum && i < 2; i++)
        if (number(im, scaled->in[i], &factor))
            sum = made_by(im, m, scaled->in[1 - i], "ReduceSum");
    const ox_info *x = sum ? ox_declared(im, sum->in[0]) : NULL;
    if (!x || x->rank == 0)
        return NULL;
    int64_t axis = axis_of(im, sum), last = (int64_t)x->rank - 1;
    double n = (double)x->dims[last];
    return (axis == -1 || axis == last) && fabs(factor * n - 1) < 1e-5 ? sum->in[0] : NULL;
}

// How numbers that belong to the rows of x lie.
typedef enum form { OTHER, NO_AXIS, ONE, REPEATED } form;

static form form_of(const ox_info *v, const ox_info *x) {
    if (!v || (v->rank != x->rank && v->rank + 1 != x->rank) ||
        memcmp(v->dims, x->dims, (x->rank - 1) * sizeof x->dims[0]) != 0)
        return OTHER;
    if (v->rank != x->rank)
        return NO_AXIS;
    int64_t last = v->dims[v->rank - 1];
    return last == 1 ? ONE : last == x->dims[x->rank - 1] ? REPEATED : OTHER;
}

// The value behind nodes that bring it to the rows of x, else NULL.
static const char *before_spread(const ox_import *im, match *m, const char *name,
                                 const ox_info *x) {
    static const char *const ops[] = {"Reshape", "Expand", "Unsqueeze"};
    for (form at = REPEATED;;) {
        form f = form_of(ox_declared(im, name), x);
        const ox_node *n = NULL;
        // A number a row is repeated along it; one that has lost its axis gets it back before.
        if (f == OTHER || (at == REPEATED && f == NO_AXIS))
            return NULL;
        for (size_t i = 0; !n && i < sizeof ops / sizeof ops[0]; i++)
            n = made_by(im, m, name, ops[i]);
        if (!n)
            return name;
        at = f;
        name = n->in[0];
    }
}

// Is `name` the variance of x, whose mean is `mean`, or 0 where that is less?
static bool is_variance(const ox_import *im, match *m, const char *name, const char *mean,
                        const char *x) {
    const ox_node *max = made_by(im, m, name, "Max");
    double zero = 1;
    for (uint32_t i = 0; max && max->n_in == 2 && i < 2; i++)
        if (number(im, max->in[i], &zero) && zero == 0)
            name = max->in[1 - i];
    const ox_node *sub = made_by(im, m, name, "Sub");
    const char *squares = sub ? average_of(im, m, sub->in[0]) : NULL;
    const char *root = squares ? root_of(im, m, squares) : NULL;
    const char *middle = root && same(im, root, x) ? root_of(im, m, sub->in[1]) : NULL;
    return middle && same(im, middle, mean);
}

// The operand of 1 / sqrt(v + epsilon), else NULL.
static const char *inverse_root(const ox_import *im, match *m, const char *name, double *epsilon) {
    const char *r = reciprocal(im, m, name);
    const ox_node *root = r ? made_by(im, m, r, "Sqrt") : NULL;
    const ox_node *add = root ? made_by(im, m, root->in[0], "Add") : NULL;
    for (uint32_t i = 0; add && add->n_in == 2 && i < 2; i++)
        if (number(im, add->in[i], epsilon))
            return add->in[1 - i];
    return NULL;
}

// The operand beside one number for each place of the last axis of x, else NULL.
static const char *beside_row(const ox_import *im, const ox_node *n, const ox_info *x,
                              const char **row) {
    for (uint32_t i = 0; n && n->n_in == 2 && i < 2; i++) {
        const ox_val *v = constant(im, *row = n->in[i]);
        int64_t last = x->dims[x->rank - 1];
        if (v && v->rank && v->rank <= x->rank && v->dims[v->rank - 1] == last &&
            (int64_t)ox_count(v) == last)
            return n->in[1 - i];
    }
    return NULL;
}

// (x - mean) * (gamma / deviation), with the factors in the order a, b.
static bool fast_product(const ox_import *im, match *m, const char *a, const char *b, uint32_t rank,
                         double *epsilon) {
    const ox_node *centred = made_by(im, m, a, "Sub"), *factor = made_by(im, m, b, "Mul");
    const ox_info *x = centred && factor ? ox_declared(im, centred->in[0]) : NULL;
    if (!x || x->rank != rank)
        return false;
    const char *mean = before_spread(im, m, centred->in[1], x);
    const char *source = mean ? average_of(im, m, mean) : NULL;
    const char *inverse = beside_row(im, factor, x, &m->instead.in[1]);
    const char *v = inverse ? inverse_root(im, m, inverse, epsilon) : NULL;
    v = v ? before_spread(im, m, v, x) : NULL;
    m->instead.in[0] = centred->in[0];
    return source && v && same(im, source, centred->in[0]) && is_variance(im, m, v, mean, source);
}

static bool find_fast_norm(ox_import *im, match *m, const ox_node *last) {
    const ox_info *y = is_op(last, "Add") ? ox_declared(im, last->out[0]) : NULL;
    const char *name = y && y->rank ? beside_row(im, last, y, &m->instead.in[2]) : NULL;
    const ox_node *product = name ? made_by(im, m, name, "Mul") : NULL;
    uint32_t before = m->n;
    double epsilon = 0;
    for (uint32_t i = 0; product && product->n_in == 2 && i < 2; i++, m->n = before)
        if ((m->assumes =
                 fast_product(im, m, product->in[i], product->in[1 - i], y->rank, &epsilon)))
            return set_norm(im, m, "LayerNormalization", epsilon, 3);
    return false;
}

// --- RMSNormalization: x / sqrt(mean(x * x) + epsilon) * gamma over the last axis

static bool find_rms_norm(ox_import *im, match *m, const ox_node *last) {
    double epsilon = 0;
    if (!is_op(last, "Mul") || last->n_in != 2)
        return false;
    uint32_t gamma = is_row(im, last->in[0]) ? 0 : 1;
    const char *x =
        is_row(im, last->in[gamma]) ? over_rms(im, m, last->in[1 - gamma], &epsilon) : NULL;
    m->instead.in[0] = x;
    m->instead.in[1] = last->in[gamma];
    return x && set_norm(im, m, "RMSNormalization", epsilon, 2);
}

// --- all of them

static uint32_t reads(const ox_node *n, const char *name) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->n_in; i++)
        count += same_name(n->in[i], name);
    return count;
}

// Does nobody outside see what the nodes before the last make, and is none in another pattern?
static bool is_private(const ox_import *im, match *m) {
    for (uint32_t i = 1; i < m->n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (m->nodes[i] == m->nodes[j])
                m->nodes[i--] = m->nodes[--m->n]; // met twice, on two ways
    for (uint32_t i = 0; i < m->n; i++) {
        const ox_val *v = ox_scope_find(im->scope, m->nodes[i]->out[0]);
        uint32_t inside = 0;
        for (uint32_t j = 0; j < m->n; j++)
            inside += reads(m->nodes[j], m->nodes[i]->out[0]);
        if (im->instead[m->nodes[i] - im->model->graph->nodes] ||
            (i > 0 && (v->is_output || v->n_uses != inside)))
            return false;
    }
    return true;
}

static qrn_status keep(ox_import *im, const match *m) {
    const ox_node *nodes = im->model->graph->nodes;
    ox_node *n = qrn_arena_copy(im->arena, &m->instead, sizeof m->instead);
    const char **in = qrn_arena_copy(im->arena, m->instead.in, m->instead.n_in * sizeof *in);
    if (!n || !in)
        return ox_no_memory(im);
    n->in = in;
    im->instead[m->nodes[0] - nodes] = n;
    im->assumes[m->nodes[0] - nodes] = m->assumes;
    for (uint32_t i = 1; i < m->n; i++)
        im->instead[m->nodes[i] - nodes] = &ox_left_out;
    return QRN_OK;
}

typedef bool (*finder)(ox_import *im, match *m, const ox_node *last);

qrn_status ox_find_patterns(ox_import *im) {
    static const finder finders[] = {find_layer_norm, find_folded_norm, find_fast_norm,
                                     find_rms_norm,   find_gelu,        find_bias};
    const ox_graph *g = im->model->graph;
    im->instead = qrn_arena_alloc(im->arena, (size_t)g->n_nodes * sizeof *im->instead);
    im->assumes = qrn_arena_alloc(im->arena, (size_t)g->n_nodes * sizeof *im->assumes);
    if (!im->instead || !im->assumes)
        return ox_no_memory(im);
    // From the end: the largest pattern around a node is met first.
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const ox_node *last = &g->nodes[i];
        if (last->n_out != 1 || im->instead[i])
            continue;
        for (uint32_t f = 0; f < sizeof finders / sizeof finders[0]; f++) {
            const char *in[3];
            match m = {.nodes = {last}, .n = 1, .instead = {.name = last->name, .domain = ""}};
            m.instead.in = in;
            m.instead.out = last->out;
            m.instead.n_out = 1;
            if (finders[f](im, &m, last) && is_private(im, &m)) {
                QRN_TRY(keep(im, &m));
                break;
            }
        }
    }
    return ox_find_rearrangements(im);
}

const ox_node *ox_instead_of(const ox_import *im, const ox_node *n) {
    const ox_graph *g = im->model->graph;
    if (!im->instead || (uintptr_t)n < (uintptr_t)g->nodes ||
        (uintptr_t)n >= (uintptr_t)(g->nodes + g->n_nodes) || !im->instead[n - g->nodes])
        return n;
    const ox_node *other = im->instead[n - g->nodes];
    return other == &ox_left_out ? NULL : other;
}
