// SPDX-License-Identifier: MIT
//
// Large constants that are computed while importing: weights of float16 that are cast to float32,
// or transposed. The QNN library copies what a tensor is made of, so they are freed behind the last
// node that reads them; everything else lives as long as the graph.
#include "frontend/onnx/driver/internal.h"

#include <limits.h>
#include <string.h>

#define LARGE_BYTES ((size_t)1 << 20)

struct ox_large {
    struct ox_large *next;
    ox_val *value;
    const ox_node *last; // that reads it
    qrn_arena *arena;
    size_t bytes;
};

// Nodes that read the data of their inputs when they are imported, and not later.
static bool reads_at_once(const ox_import *im, const ox_node *n) {
    static const char *const ops[] = {"MatMul", "Gemm", "Gather", "Transpose", "Cast"};
    if (n->domain[0] || (im->instead && im->instead[n - im->model->graph->nodes]))
        return false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(n->op, ops[i]) == 0)
            return true;
    return false;
}

// The last node that reads a value, if all that do are known to read it at once; else NULL.
static const ox_node *last_reader(const ox_import *im, const ox_val *v) {
    const ox_graph *g = im->model->graph;
    const ox_node *last = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++) {
            if (strcmp(g->nodes[i].in[k], v->name) != 0)
                continue;
            if (!reads_at_once(im, &g->nodes[i]))
                return NULL;
            last = &g->nodes[i];
            n++;
        }
    return n == v->n_uses ? last : NULL;
}

qrn_arena *ox_large_begin(ox_import *im, const ox_node *n, const ox_val *const *in, size_t most) {
    bool same = strcmp(n->op, "Cast") == 0 || strcmp(n->op, "Transpose") == 0;
    if (!same || n->domain[0] || im->depth || n->n_in < 1 || n->n_out != 1 || !in[0])
        return NULL;
    int64_t to = strcmp(n->op, "Cast") == 0 ? ox_attr_int(n, "to", OX_NONE) : in[0]->type;
    const ox_val *v = ox_scope_find(im->scope, n->out[0]);
    size_t bytes = to > 0 && to <= INT_MAX ? ox_count(in[0]) * ox_type_bits((int)to) / 8 : 0;
    const ox_node *last = bytes >= LARGE_BYTES && v && !v->is_output ? last_reader(im, v) : NULL;
    struct ox_large *l = last ? qrn_arena_alloc(im->arena, sizeof *l) : NULL;
    qrn_arena *arena = l ? qrn_arena_create() : NULL;
    if (!arena)
        return NULL;
    qrn_arena_limit(arena, most);
    *l = (struct ox_large){.next = im->large, .last = last, .arena = arena, .bytes = bytes};
    im->large = l;
    im->large_bytes += bytes;
    return arena;
}

static void leave(ox_import *im, struct ox_large *l) {
    if (l->value)
        l->value->data = NULL;
    im->large_bytes -= l->bytes;
    qrn_arena_destroy(l->arena);
}

void ox_large_end(ox_import *im, ox_val *v) {
    im->large->value = v; // NULL: it was not computed
    if (v)
        return;
    struct ox_large *l = im->large;
    im->large = l->next;
    leave(im, l);
}

// Results that are the constant itself, in another shape, get a copy of their own.
static qrn_status keep_shared(ox_import *im, const ox_node *n, const ox_val *v) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        ox_val *out = ox_scope_find(im->scope, n->out[i]);
        if (out && out->data && out->data == v->data &&
            !(out->data = qrn_arena_copy(im->arena, out->data, out->bytes)))
            return ox_no_memory(im);
    }
    return QRN_OK;
}

qrn_status ox_large_leave(ox_import *im, const ox_node *n) {
    for (struct ox_large **at = &im->large; *at && im->depth == 0;) {
        struct ox_large *l = *at;
        if (l->last != n) {
            at = &l->next;
            continue;
        }
        QRN_TRY(keep_shared(im, n, l->value));
        *at = l->next;
        leave(im, l);
    }
    return QRN_OK;
}

void ox_large_clear(ox_import *im) {
    for (struct ox_large *l = im->large; l; l = l->next)
        leave(im, l);
    im->large = NULL;
}
