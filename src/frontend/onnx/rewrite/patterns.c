// SPDX-License-Identifier: MIT
//
// Patterns: groups of nodes of the main graph that are one op of QNN, found before the import by
// walking back from the node that ends one. The last node is imported as another node, the others
// are left out. No value inside may be seen outside, so a model whose inner values are quantized
// or are outputs keeps its nodes. Constants must be initializers or come from Constant nodes.
#include "frontend/onnx/rewrite/pattern.h"

#include <math.h>
#include <string.h>

const ox_node ox_left_out;

bool ox_match_is(const ox_node *n, const char *op) {
    return n->domain[0] == '\0' && strcmp(n->op, op) == 0;
}

static bool same_name(const char *a, const char *b) { return a[0] && strcmp(a, b) == 0; }

static const ox_node *dequantizer(const ox_import *im, const char *name) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    return v && v->maker && ox_match_is(v->maker, "DequantizeLinear") ? v->maker : NULL;
}

bool ox_match_same(const ox_import *im, const char *a, const char *b) {
    if (same_name(a, b))
        return true;
    const ox_node *x = dequantizer(im, a), *y = dequantizer(im, b);
    bool equal = x && y && x->n_in == y->n_in && x->n_attrs == y->n_attrs;
    for (uint32_t i = 0; equal && i < x->n_in; i++)
        equal = strcmp(x->in[i], y->in[i]) == 0;
    return equal;
}

// A node that a model has with too few inputs is in no pattern; the import will say so.
static bool has_inputs(const ox_node *n) {
    static const char *const two[] = {"Add", "Sub", "Mul", "Div", "Pow", "MatMul"};
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        if (ox_match_is(n, two[i]))
            return n->n_in == 2;
    return n->n_in > 0;
}

const ox_node *ox_match_maker(const ox_import *im, ox_match *m, const char *name, const char *op) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    const ox_node *n = v ? v->maker : NULL;
    if (!n || !ox_match_is(n, op) || n->n_out != 1 || !has_inputs(n) || m->n == OX_MATCH_NODES)
        return NULL;
    m->nodes[m->n++] = n;
    return n;
}

const ox_val *ox_match_constant(const ox_import *im, const char *name) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    bool quantized = v && !v->data && v->maker && ox_match_is(v->maker, "DequantizeLinear");
    if (quantized)
        v = ox_scope_find(im->scope, v->maker->in[0]);
    return v && v->data && (quantized || v->type == OX_F32 || v->type == OX_F16) ? v : NULL;
}

bool ox_match_number(const ox_import *im, const char *name, double *out) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    float f;
    if (!v || !v->data || v->rank > 1 || ox_count(v) != 1 ||
        (v->type != OX_F32 && v->type != OX_F16))
        return false;
    ox_const_floats_into(v, &f);
    *out = (double)f;
    return true;
}

bool ox_match_near(double a, double b) { return fabs(a - b) <= 1e-3 * fabs(b); }

bool ox_match_is_number(const ox_import *im, const char *name, double value) {
    double f;
    return ox_match_number(im, name, &f) && ox_match_near(f, value);
}

// --- declared shapes

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

bool ox_match_reduces(const ox_import *im, ox_match *m, const ox_node *n) {
    const ox_attr *axes = n ? ox_attr_find(n, "axes") : NULL;
    const ox_val *v = n && n->n_in > 1 && n->in[1][0] ? ox_scope_find(im->scope, n->in[1]) : NULL;
    int64_t axis;
    if (axes && axes->n == 1)
        axis = axes->ints[0];
    else if (v && v->data && v->type == OX_I64 && ox_count(v) == 1)
        memcpy(&axis, v->data, sizeof axis);
    else
        return false;
    if (axis >= 0) { // the end is where the declared rank says
        int rank = ox_rank_of(im, n->in[0]);
        if (axis >= rank)
            return false;
        axis -= rank;
        m->assumes = true;
    }
    if (axis < -OX_MAX_RANK)
        return false;
    if (m->axis == OX_NO_AXIS)
        m->axis = axis;
    return m->axis == axis;
}

// How numbers that belong to the rows of x lie.
typedef enum form { OTHER, NO_AXIS, ONE, REPEATED } form;

static form form_of(const ox_info *v, const ox_info *x, uint32_t axis) {
    if (!v || (v->rank != x->rank && v->rank + 1 != x->rank))
        return OTHER;
    bool lost = v->rank != x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis && v->dims[lost && i > axis ? i - 1 : i] != x->dims[i])
            return OTHER;
    if (lost)
        return NO_AXIS;
    return v->dims[axis] == 1 ? ONE : v->dims[axis] == x->dims[axis] ? REPEATED : OTHER;
}

const char *ox_match_before_spread(const ox_import *im, ox_match *m, const char *name,
                                   const ox_info *x) {
    static const char *const ops[] = {"Reshape", "Expand", "Unsqueeze"};
    int64_t axis = (int64_t)x->rank + m->axis;
    if (m->axis == OX_NO_AXIS || axis < 0)
        return NULL;
    m->assumes = true;
    for (form at = REPEATED;;) {
        form f = form_of(ox_declared(im, name), x, (uint32_t)axis);
        const ox_node *n = NULL;
        // A number a row is repeated along it; one that has lost its axis gets it back before.
        if (f == OTHER || (at == REPEATED && f == NO_AXIS))
            return NULL;
        for (size_t i = 0; !n && i < sizeof ops / sizeof ops[0]; i++)
            n = ox_match_maker(im, m, name, ops[i]);
        if (!n)
            return name;
        at = f;
        name = n->in[0];
    }
}

// --- MatMul with a constant matrix and a constant row added: a bias is its third input

static bool is_row(const ox_import *im, const char *name) {
    const ox_val *v = ox_match_constant(im, name);
    return v && v->rank == 1 && v->dims[0] > 1;
}

static bool find_bias(ox_import *im, ox_match *m, const ox_node *last) {
    if (!ox_match_is(last, "Add") || last->n_in != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const ox_val *row = is_row(im, last->in[i]) ? ox_match_constant(im, last->in[i]) : NULL;
        const ox_node *mul = row ? ox_match_maker(im, m, last->in[1 - i], "MatMul") : NULL;
        const ox_val *w = mul && mul->n_in == 2 ? ox_match_constant(im, mul->in[1]) : NULL;
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

// --- all of them

static uint32_t reads(const ox_node *n, const char *name) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->n_in; i++)
        count += same_name(n->in[i], name);
    return count;
}

// Does nobody outside see what the nodes before the last make, and is none in another pattern?
static bool is_private(const ox_import *im, ox_match *m) {
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

static qrn_status keep(ox_import *im, const ox_match *m) {
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

qrn_status ox_find_patterns(ox_import *im) {
    static const ox_finder finders[] = {
        ox_find_layer_norm, ox_find_folded_norm, ox_find_fast_norm, ox_find_rms_norm,
        ox_find_bare_norm,  ox_find_softmax,     ox_find_gelu,      find_bias};
    const ox_graph *g = im->model->graph;
    im->instead = qrn_arena_alloc(im->arena, (size_t)g->n_nodes * sizeof *im->instead);
    im->assumes = qrn_arena_alloc(im->arena, (size_t)g->n_nodes * sizeof *im->assumes);
    if (!im->instead || !im->assumes)
        return ox_no_memory(im);
    QRN_TRY(ox_note_ranks(im));
    // From the end: the largest pattern around a node is met first.
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const ox_node *last = &g->nodes[i];
        if (last->n_out != 1 || im->instead[i])
            continue;
        for (uint32_t f = 0; f < sizeof finders / sizeof finders[0]; f++) {
            const char *in[3];
            ox_match m = {.nodes = {last}, .n = 1, .instead = {.name = last->name, .domain = ""}};
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
