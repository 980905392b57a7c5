// SPDX-License-Identifier: MIT
//
// Points that an SQNR does not find: the fastest scheme, but for the results of the last layers and
// all that follows them. An output may hold values of several sizes, such as boxes in pixels and
// scores up to 1. In 8 bits the small ones vanish, which changes the output's SQNR by nothing.
#include "tools/quern/output.h"
#include "tools/quern/quantize_mixed.h"

#include <string.h>

typedef struct tail {
    qz_value **values;
    uint32_t n;
} tail;

static bool holds(const tail *t, const qz_value *v) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->values[i] == v)
            return true;
    return false;
}

static void add(tail *t, qz_value *v) {
    if (v && !v->data && !holds(t, v))
        t->values[t->n++] = v;
}

static bool has_weights(const qz_graph *g, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qz_value *v = qz_find(g, n->in[i]);
        if (v && qz_is_float_constant(v) && qz_role_of(g, n, i) == QZ_ROLE_WEIGHT)
            return true;
    }
    return false;
}

// From the outputs back to the first layers that have weights, whose results are the last ones.
static void find_tail(const qz_graph *g, tail *t) {
    const ox_graph *og = g->model->graph;
    for (uint32_t i = 0; i < g->n_values; i++)
        if (g->values[i]->is_output)
            add(t, g->values[i]);
    for (uint32_t i = og->n_nodes; i-- > 0;) {
        const ox_node *n = &og->nodes[i];
        bool inside = false;
        for (uint32_t k = 0; k < n->n_out && !inside; k++)
            inside = holds(t, qz_find(g, n->out[k]));
        for (uint32_t k = 0; inside && k < n->n_in && !has_weights(g, n); k++)
            add(t, qz_find(g, n->in[k]));
    }
}

static bool in_tail(const tail *t, const qt_mixed_group *group) {
    for (uint32_t i = 0; i < t->n; i++)
        if (qz_first(t->values[i]) == group->first)
            return true;
    return false;
}

int qt_mixed_tails(qt_mixed *x, uint8_t *choice) {
    const qz_graph *g = x->task->graph;
    tail t = {.values = qrn_arena_alloc(x->arena, (g->n_values + 1) * sizeof(qz_value *))};
    uint32_t n_whole = x->n_points, fastest = 0;
    if (!t.values) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    find_tail(g, &t);
    for (uint32_t i = 1; i < n_whole; i++)
        if (x->points[i].ms < x->points[fastest].ms)
            fastest = i;
    for (uint32_t i = 0; i < n_whole; i++) {
        uint32_t before = x->n_points;
        memcpy(choice, x->points[fastest].choice, x->n_groups);
        for (uint32_t k = 0; k < x->n_groups; k++)
            if (in_tail(&t, &x->groups[k]))
                choice[k] = x->points[i].choice[0];
        int code = qt_mixed_add(x, choice);
        if (code != QT_EXIT_OK)
            return code;
        for (uint32_t k = before; k < x->n_points; k++)
            x->points[k].is_tail = true;
    }
    return QT_EXIT_OK;
}
