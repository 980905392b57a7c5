// SPDX-License-Identifier: MIT
//
// Patterns that were found by declared shapes (patterns.c, rearrange.c). Declarations are advice: a
// stale one must not change results. So before such a pattern is imported, the shapes of the values
// inside of it are worked out from those that are known by now and compared with the declared ones.
#include "frontend/onnx/driver/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 64 // nodes behind each other

typedef struct shape {
    uint32_t rank;
    int64_t dims[OX_MAX_RANK];
} shape;

// Number of elements; dimensions are not negative. INT64_MAX stands for more.
static int64_t count(const shape *s) {
    int64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->dims[i] && n > INT64_MAX / s->dims[i])
            return INT64_MAX;
        n *= s->dims[i];
    }
    return n;
}

// --- what ops do to shapes; a and b are those of the inputs

typedef qrn_status (*rule_fn)(const ox_import *im, const ox_node *n, const shape *a, const shape *b,
                              shape *out);

static qrn_status same_as_input(const ox_import *im, const ox_node *n, const shape *a,
                                const shape *b, shape *out) {
    (void)im, (void)n, (void)b;
    *out = *a;
    return QRN_OK;
}

static qrn_status broadcast(const ox_import *im, const ox_node *n, const shape *a, const shape *b,
                            shape *out) {
    const shape *more = a->rank >= b->rank ? a : b, *less = more == a ? b : a;
    uint32_t lead = more->rank - less->rank;
    *out = *more;
    for (uint32_t i = 0; i < less->rank; i++) {
        int64_t *d = &out->dims[lead + i], other = less->dims[i];
        if (*d != other && *d != 1 && other != 1)
            return ox_fail(im, n, QRN_E_SHAPE, "its inputs do not broadcast");
        *d = *d == 1 ? other : *d;
    }
    return QRN_OK;
}

static qrn_status reshape(const ox_import *im, const ox_node *n, const shape *a, const shape *b,
                          shape *out) {
    bool keeps = ox_attr_int(n, "allowzero", 0) == 0;
    int open = -1;
    (void)b;
    QRN_TRY(ox_ints_of(im, n, "shape", 1, out->dims, OX_MAX_RANK, &out->rank));
    for (uint32_t i = 0; i < out->rank; i++) {
        int64_t *d = &out->dims[i];
        if (*d == 0 && keeps)
            *d = i < a->rank ? a->dims[i] : -2;
        if (*d == -1 && open < 0) {
            open = (int)i;
            *d = 1;
        }
        if (*d < 0 || *d > UINT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "its shape is not one");
    }
    if (open >= 0 && count(out) > 0)
        out->dims[open] = count(a) / count(out);
    if (count(out) != count(a))
        return ox_fail(im, n, QRN_E_SHAPE, "%" PRId64 " elements do not fit its shape", count(a));
    return QRN_OK;
}

static qrn_status expand(const ox_import *im, const ox_node *n, const shape *a, const shape *b,
                         shape *out) {
    shape to;
    (void)b;
    QRN_TRY(ox_ints_of(im, n, "shape", 1, to.dims, OX_MAX_RANK, &to.rank));
    for (uint32_t i = 0; i < to.rank; i++)
        if (to.dims[i] < 0)
            return ox_fail(im, n, QRN_E_SHAPE, "its shape is not one");
    return broadcast(im, n, a, &to, out);
}

// One bit for each axis that the node names, of a shape of that rank.
static qrn_status axes_of(const ox_import *im, const ox_node *n, uint32_t rank, uint32_t *bits,
                          uint32_t *n_axes) {
    int64_t axes[OX_MAX_RANK];
    QRN_TRY(ox_ints_of(im, n, "axes", 1, axes, OX_MAX_RANK, n_axes));
    *bits = 0;
    for (uint32_t i = 0; i < *n_axes; i++) {
        uint32_t axis;
        QRN_TRY(ox_axis(im, n, axes[i], rank, &axis));
        *bits |= 1u << axis;
    }
    return *n_axes ? QRN_OK : ox_fail(im, n, QRN_E_UNSUPPORTED, "it names no axes");
}

static qrn_status unsqueeze(const ox_import *im, const ox_node *n, const shape *a, const shape *b,
                            shape *out) {
    int64_t axes[OX_MAX_RANK];
    uint32_t bits, n_axes, at = 0;
    (void)b;
    QRN_TRY(ox_ints_of(im, n, "axes", 1, axes, OX_MAX_RANK, &n_axes));
    if (a->rank + n_axes > OX_MAX_RANK)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "its result has more than %d dimensions",
                       OX_MAX_RANK);
    out->rank = a->rank + n_axes;
    QRN_TRY(axes_of(im, n, out->rank, &bits, &n_axes));
    for (uint32_t i = 0; i < out->rank; i++)
        out->dims[i] = bits >> i & 1 || at == a->rank ? 1 : a->dims[at++];
    return QRN_OK;
}

static qrn_status reduce(const ox_import *im, const ox_node *n, const shape *a, const shape *b,
                         shape *out) {
    bool keeps = ox_attr_int(n, "keepdims", 1) != 0;
    int assumed = ox_rank_of(im, n->in[0]); // by which the pattern's axis was found
    uint32_t bits, n_axes;
    (void)b;
    if (assumed >= 0 && assumed != (int)a->rank)
        return ox_fail(im, n, QRN_E_SHAPE,
                       "the model declares %d dimensions for '%s', which has %u; correct or remove "
                       "its value_info",
                       assumed, n->in[0], a->rank);
    QRN_TRY(axes_of(im, n, a->rank, &bits, &n_axes));
    out->rank = 0;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (bits >> i & 1 && !keeps)
            continue;
        out->dims[out->rank++] = bits >> i & 1 ? 1 : a->dims[i];
    }
    return QRN_OK;
}

static qrn_status transpose(const ox_import *im, const ox_node *n, const shape *a, const shape *b,
                            shape *out) {
    int64_t perm[OX_MAX_RANK];
    (void)b;
    if (ox_attr_ints(n, "perm", perm, OX_MAX_RANK) != a->rank)
        return ox_fail(im, n, QRN_E_SHAPE, "its order has not %u dimensions", a->rank);
    out->rank = a->rank;
    for (uint32_t i = 0; i < a->rank; i++) {
        uint32_t axis;
        QRN_TRY(ox_axis(im, n, perm[i], a->rank, &axis));
        out->dims[i] = a->dims[axis];
    }
    return QRN_OK;
}

static const struct {
    const char *op;
    rule_fn fn;
    uint32_t n_in; // whose shapes it needs
} rules[] = {
    {"Add", broadcast, 2},
    {"Sub", broadcast, 2},
    {"Mul", broadcast, 2},
    {"Div", broadcast, 2},
    {"Max", broadcast, 2},
    {"Pow", broadcast, 2},
    {"Erf", same_as_input, 1},
    {"Exp", same_as_input, 1},
    {"Sqrt", same_as_input, 1},
    {"Tanh", same_as_input, 1},
    {"Reciprocal", same_as_input, 1},
    {"QuantizeLinear", same_as_input, 1},
    {"DequantizeLinear", same_as_input, 1},
    {"Reshape", reshape, 1},
    {"Expand", expand, 1},
    {"Unsqueeze", unsqueeze, 1},
    {"ReduceMax", reduce, 1},
    {"ReduceMean", reduce, 1},
    {"ReduceSum", reduce, 1},
    {"Transpose", transpose, 1},
};

// --- a pattern

// The declaration of a value must be so, as far as it goes.
static qrn_status compare(const ox_import *im, const ox_node *n, const shape *real) {
    const ox_info *info = ox_declared(im, n->out[0]);
    int rank = ox_rank_of(im, n->out[0]);
    bool fits = rank < 0 || rank == (int)real->rank;
    for (uint32_t i = 0; fits && info && i < info->rank; i++)
        fits = info->dims[i] < 0 || info->dims[i] == real->dims[i];
    if (fits)
        return QRN_OK;
    return ox_fail(im, n, QRN_E_SHAPE,
                   "the model declares another shape for '%s' than it has; correct or remove its "
                   "value_info",
                   n->out[0]);
}

static qrn_status shape_of(const ox_import *im, const ox_node *last, const char *name,
                           uint32_t depth, shape *out);

static qrn_status infer(const ox_import *im, const ox_node *last, const ox_node *n, uint32_t depth,
                        shape *out) {
    size_t k = 0;
    shape in[2] = {0};
    while (k < sizeof rules / sizeof rules[0] && strcmp(rules[k].op, n->op) != 0)
        k++;
    if (k == sizeof rules / sizeof rules[0] || n->n_in < rules[k].n_in || n->n_out != 1 ||
        depth == MAX_DEPTH)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the shape of its result is not known");
    for (uint32_t i = 0; i < rules[k].n_in; i++)
        QRN_TRY(shape_of(im, last, n->in[i], depth + 1, &in[i]));
    QRN_TRY(rules[k].fn(im, n, &in[0], &in[1], out));
    return compare(im, n, out);
}

// Is a node inside of a pattern?
static bool is_left_out(const ox_import *im, const ox_node *n) {
    const ox_graph *g = im->model->graph;
    uintptr_t at = (uintptr_t)n;
    return at >= (uintptr_t)g->nodes && at < (uintptr_t)(g->nodes + g->n_nodes) &&
           im->instead[n - g->nodes] == &ox_left_out;
}

static qrn_status shape_of(const ox_import *im, const ox_node *last, const char *name,
                           uint32_t depth, shape *out) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    if (v && v->maker && is_left_out(im, v->maker))
        return infer(im, last, v->maker, depth, out);
    if (!v || !v->known)
        return ox_fail(im, last, QRN_E_DYNAMIC_SHAPE, "the shape of '%s' is not known", name);
    out->rank = v->rank;
    for (uint32_t i = 0; i < v->rank; i++)
        out->dims[i] = v->dims[i];
    return QRN_OK;
}

static qrn_status as_info(qrn_status s, const char *name, const shape *from, ox_info *out) {
    QRN_TRY(s);
    *out = (ox_info){.name = name, .has_shape = true, .rank = from->rank};
    for (uint32_t i = 0; i < from->rank; i++)
        out->dims[i] = from->dims[i];
    return QRN_OK;
}

qrn_status ox_shape_inside(const ox_import *im, const char *name, ox_info *out) {
    shape s = {0};
    return as_info(shape_of(im, im->node, name, 0, &s), name, &s, out);
}

qrn_status ox_shape_behind(const ox_import *im, const ox_node *n, ox_info *out) {
    shape s = {0};
    return as_info(infer(im, n, n, 0, &s), n->out[0], &s, out);
}

qrn_status ox_check_assumed(const ox_import *im, const ox_node *last) {
    const ox_graph *g = im->model->graph;
    uintptr_t at = (uintptr_t)last;
    shape out;
    if (!im->assumes || at < (uintptr_t)g->nodes || at >= (uintptr_t)(g->nodes + g->n_nodes) ||
        !im->assumes[last - g->nodes])
        return QRN_OK;
    return infer(im, last, last, 0, &out);
}
