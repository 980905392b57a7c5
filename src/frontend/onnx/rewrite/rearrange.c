// SPDX-License-Identifier: MIT
//
// Reshape, Transpose and Reshape in more than five dimensions, as windows and blocks of pixels are
// written: accelerators have no more than five. Dimensions of one element and neighbours that stay
// together are no dimensions of their own, which mostly leaves few enough. Such a group is imported
// as one node {x} -> y of our own domain with the dimensions of x (`split`), their new order
// (`perm`) and the dimensions of y (`shape`). Where dimensions are not declared the group waits
// for its last node, when they are known, and is imported as it is if they do not fit. Quantized
// models have a QuantizeLinear and a DequantizeLinear between the nodes, which go, too, where all
// quantized values are of one kind.
#include "frontend/onnx/driver/internal.h"

#include <string.h>

#define MOST 5 // dimensions

const char ox_own_domain[] = "quern";

// What makes a value that only one node reads, if it is of that op.
static const ox_node *made_by(const ox_import *im, const char *name, const char *op) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    const ox_node *n = v && v->n_uses == 1 && !v->is_output ? v->maker : NULL;
    bool is_op = n && n->domain[0] == '\0' && strcmp(n->op, op) == 0;
    return is_op && n->n_in && n->n_out == 1 ? n : NULL;
}

// Nodes that are left out, and one that says of what kind quantized values are; NULL: there are
// none.
typedef struct group {
    const ox_node *nodes[6], *coder;
    uint32_t n;
} group;

static bool same_number(const ox_import *im, const ox_node *a, const ox_node *b, uint32_t i) {
    const ox_val *v = a->n_in > i && a->in[i][0] ? ox_scope_find(im->scope, a->in[i]) : NULL;
    const ox_val *w = b->n_in > i && b->in[i][0] ? ox_scope_find(im->scope, b->in[i]) : NULL;
    return v && w && v->data && w->data && v->type == w->type && ox_count(v) == 1 &&
           ox_count(w) == 1 && memcmp(v->data, w->data, ox_type_bits(v->type) / 8) == 0;
}

// Have two nodes one scale and zero point?
static bool same_encoding(const ox_import *im, const ox_node *a, const ox_node *b) {
    return same_number(im, a, b, 1) && same_number(im, a, b, 2);
}

// The value before a QuantizeLinear and a DequantizeLinear that join the group; the same value
// where there are none.
static const char *before_quantized(const ox_import *im, group *g, const char *name) {
    const ox_node *dq = made_by(im, name, "DequantizeLinear");
    const ox_node *q = dq ? made_by(im, dq->in[0], "QuantizeLinear") : NULL;
    if (!q || !same_encoding(im, q, dq) || (g->coder && !same_encoding(im, q, g->coder)))
        return name;
    g->coder = q;
    g->nodes[g->n++] = dq;
    g->nodes[g->n++] = q;
    return q->in[0];
}

// Is what comes into the group of the same kind as the quantized values inside?
static bool fits_quantized(const ox_import *im, const group *g, const char *name) {
    const ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    bool coded = v && v->maker && strcmp(v->maker->op, "DequantizeLinear") == 0;
    return !g->coder || (coded && same_encoding(im, v->maker, g->coder));
}

static bool is_fixed(const ox_info *info) {
    for (uint32_t i = 0; info && i < info->rank; i++)
        if (info->dims[i] < 1)
            return false;
    return info && info->has_shape;
}

// Groups of dimensions that stay together: their sizes in the order of x, and the order that they
// get. Returns how many there are.
static uint32_t join(const ox_info *x, const int64_t *perm, int64_t *split, int64_t *order) {
    uint32_t n = 0, place[OX_MAX_RANK], first[OX_MAX_RANK];
    int64_t size[OX_MAX_RANK];
    for (uint32_t i = 0, at = 0; i < x->rank; i++)
        place[i] = x->dims[i] == 1 ? UINT32_MAX : at++;
    for (uint32_t i = 0, last = UINT32_MAX; i < x->rank; i++) {
        uint32_t at = place[perm[i]];
        if (at == UINT32_MAX)
            continue;
        bool follows = n && at == last + 1;
        n += !follows;
        if (!follows) {
            first[n - 1] = at;
            size[n - 1] = 1;
        }
        size[n - 1] *= x->dims[perm[i]];
        last = at;
    }
    for (uint32_t i = 0; i < n; i++) {
        order[i] = 0;
        for (uint32_t j = 0; j < n; j++)
            order[i] += first[j] < first[i];
        split[order[i]] = size[i];
    }
    return n;
}

static bool is_order(const int64_t *perm, uint32_t n) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < n; i++)
        if (perm[i] >= 0 && perm[i] < (int64_t)n)
            seen |= 1u << perm[i];
    return seen == (1u << n) - 1;
}

static ox_attr *ints(ox_import *im, ox_attr *a, const char *name, const int64_t *v, uint32_t n) {
    int64_t *copy = qrn_arena_copy(im->arena, v, (n + 1) * sizeof *v);
    *a = (ox_attr){.name = name, .type = OX_ATTR_INTS, .ints = copy, .n = n};
    return copy ? a : NULL;
}

// The node in the place of the three; NULL: no memory.
static ox_node *one_node(ox_import *im, const ox_node *first, const ox_node *last, const ox_info *y,
                         const int64_t *split, const int64_t *order, uint32_t n) {
    ox_node *node = ox_alloc(im, sizeof *node);
    ox_attr *attrs = ox_alloc(im, 3 * sizeof *attrs);
    if (!node || !attrs || !ints(im, &attrs[0], "split", split, n) ||
        !ints(im, &attrs[1], "perm", order, n) || !ints(im, &attrs[2], "shape", y->dims, y->rank))
        return NULL;
    *node = (ox_node){.op = "Rearrange",
                      .domain = ox_own_domain,
                      .name = last->name,
                      .in = first->in,
                      .n_in = 1,
                      .out = last->out,
                      .n_out = 1,
                      .attrs = attrs,
                      .n_attrs = 3};
    return node;
}

// A group whose shapes are not known yet.
typedef struct ox_waiting {
    const ox_node *nodes[8]; // in the order of the graph; the last one is last
    const ox_node *first, *transpose;
    uint32_t n;
    const struct ox_waiting *next;
} ox_waiting;

static const ox_node waits; // instead of the last node of such a group

static void insert(ox_waiting *w, const ox_node *n) {
    uint32_t i = w->n++;
    for (; i && w->nodes[i - 1] > n; i--)
        w->nodes[i] = w->nodes[i - 1];
    w->nodes[i] = n;
}

static qrn_status wait(ox_import *im, const group *g, const ox_node *first,
                       const ox_node *transpose, const ox_node *last) {
    const ox_node *nodes = im->model->graph->nodes;
    ox_waiting *w = ox_alloc(im, sizeof *w);
    if (!w)
        return ox_no_memory(im);
    *w = (ox_waiting){.first = first, .transpose = transpose, .next = im->waiting};
    insert(w, first);
    insert(w, transpose);
    for (uint32_t i = 0; i < g->n; i++)
        insert(w, g->nodes[i]);
    for (uint32_t i = 0; i < w->n; i++)
        im->instead[w->nodes[i] - nodes] = &ox_left_out;
    w->nodes[w->n++] = last;
    im->instead[last - nodes] = &waits;
    im->waiting = w;
    return QRN_OK;
}

// The group as one node where the shapes that are known by now allow it, else one after the other.
static qrn_status settle(ox_import *im, const ox_waiting *w) {
    const ox_node *nodes = im->model->graph->nodes, *last = w->nodes[w->n - 1];
    int64_t perm[OX_MAX_RANK], split[OX_MAX_RANK + 1] = {1}, order[OX_MAX_RANK + 1] = {0};
    ox_info x, y;
    bool known = ox_shape_inside(im, w->first->out[0], &x) == QRN_OK &&
                 ox_shape_behind(im, last, &y) == QRN_OK;
    uint32_t rank = ox_attr_ints(w->transpose, "perm", perm, OX_MAX_RANK);
    uint32_t n = known && is_fixed(&x) && is_fixed(&y) && x.rank == rank
                     ? join(&x, perm, split, order)
                     : MOST + 1;
    qrn_message_clear();
    if (n <= MOST) {
        im->instead[last - nodes] = one_node(im, w->first, last, &y, split, order, n);
        return im->instead[last - nodes] ? QRN_OK : ox_no_memory(im);
    }
    for (uint32_t i = 0; i + 1 < w->n; i++) {
        im->instead[w->nodes[i] - nodes] = NULL;
        QRN_TRY(ox_import_one(im, w->nodes[i]));
    }
    im->instead[last - nodes] = NULL;
    return QRN_OK;
}

qrn_status ox_settle(ox_import *im, const ox_node *n) {
    const ox_graph *g = im->model->graph;
    uintptr_t at = (uintptr_t)n;
    if (!im->waiting || at < (uintptr_t)g->nodes || at >= (uintptr_t)(g->nodes + g->n_nodes) ||
        im->instead[n - g->nodes] != &waits)
        return QRN_OK;
    for (const ox_waiting *w = im->waiting; w; w = w->next)
        if (w->nodes[w->n - 1] == n)
            return settle(im, w);
    return QRN_OK;
}

static qrn_status look_at(ox_import *im, const ox_node *last) {
    const ox_node *nodes = im->model->graph->nodes;
    group g = {.n = 0};
    const ox_node *transpose = made_by(im, before_quantized(im, &g, last->in[0]), "Transpose");
    const ox_node *first =
        transpose ? made_by(im, before_quantized(im, &g, transpose->in[0]), "Reshape") : NULL;
    int64_t perm[OX_MAX_RANK], split[OX_MAX_RANK + 1] = {1}, order[OX_MAX_RANK + 1] = {0};
    uint32_t rank = first ? ox_attr_ints(transpose, "perm", perm, OX_MAX_RANK) : 0;
    if (rank <= MOST || !is_order(perm, rank) || im->instead[transpose - nodes] ||
        im->instead[first - nodes] || !fits_quantized(im, &g, first->in[0]))
        return QRN_OK;
    const ox_info *x = ox_declared(im, first->out[0]), *y = ox_declared(im, last->out[0]);
    if ((!is_fixed(x) || !is_fixed(y)) && !im->graph->client->is_htp)
        return QRN_OK; // six dimensions are no trouble there, and transposes may vanish
    if (!is_fixed(x) || !is_fixed(y))
        return wait(im, &g, first, transpose, last);
    uint32_t n = x->rank == rank ? join(x, perm, split, order) : MOST + 1;
    if (n > MOST)
        return QRN_OK;
    ox_node *node = one_node(im, first, last, y, split, order, n);
    if (!node)
        return ox_no_memory(im);
    im->instead[last - nodes] = node;
    im->assumes[last - nodes] = true;
    im->instead[transpose - nodes] = im->instead[first - nodes] = &ox_left_out;
    for (uint32_t i = 0; i < g.n; i++)
        im->instead[g.nodes[i] - nodes] = &ox_left_out;
    return QRN_OK;
}

qrn_status ox_find_rearrangements(ox_import *im) {
    const ox_graph *g = im->model->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        if (n->domain[0] == '\0' && strcmp(n->op, "Reshape") == 0 && n->n_in && n->n_out == 1 &&
            !im->instead[i])
            QRN_TRY(look_at(im, n));
    }
    return QRN_OK;
}
