// SPDX-License-Identifier: MIT
//
// Sums of a value and one constant number, x + c. Both sides usually have steps of the same size,
// and c is a whole number of them only by chance: then all results are rounded by the same amount
// in the same direction, up to half a step. Such an error does not average out, as that of other
// roundings does: the next layer shifts each of its channels by it, times the sum of the weights.
// With steps of c / k the sum is exact. They are a little larger, so they are used where the
// expected squared error of both values becomes smaller.
#include "quantizer/plan.h"

#include <math.h>

typedef struct sum {
    qz_value *x, *y; // what the constant is added to, and the result
    double constant; // its magnitude, more than 0
} sum;

// Not the first of values of another graph, whose encodings were copied before.
static bool is_free(const qz_graph *g, const qz_value *v) {
    return v->enc.bits && !v->fixed && !v->given && !v->symmetric && !v->aligned && !v->data &&
           qz_find(g, v->name) == v;
}

static bool find_sum(const qz_graph *g, const ox_node *n, sum *out) {
    if ((!qz_is(n, "Add") && !qz_is(n, "Sub")) || n->n_in != 2)
        return false;
    qz_value *a = qz_find(g, n->in[0]), *b = qz_find(g, n->in[1]), *y = qz_find(g, n->out[0]);
    if (!a || !b || !y)
        return false;
    qz_value *c = qz_is_float_constant(a) ? a : b, *x = c == a ? b : a;
    if (!qz_is_float_constant(c) || qz_count(c) != 1 || !qz_is_activation(x) ||
        !qz_is_activation(y))
        return false;
    *out = (sum){qz_first(x), qz_first(y), fabs(c->stats.max)};
    return out->x != out->y && is_free(g, out->x) && is_free(g, out->y) && out->constant > 0 &&
           out->x->enc.bits == out->y->enc.bits;
}

// The squared error of rounding a result, in squared steps of it. If the steps of both sides drift
// apart by half a step or more along the range, the errors of results are as good as random.
static double error_of_result(const sum *s) {
    double x = (double)s->x->enc.scale, y = (double)s->y->enc.scale;
    if (fabs(x - y) * ldexp(1, (int)s->x->enc.bits) >= x / 2)
        return 1.0 / 12;
    double steps = s->constant / y, rest = steps - rint(steps);
    return rest * rest;
}

static void align(const sum *s, bool symmetric) {
    double x = (double)s->x->enc.scale, y = (double)s->y->enc.scale, widest = fmax(x, y);
    double steps = floor(s->constant / widest * (1 + 1e-6)); // it may be whole already
    if (steps < 1 || symmetric)
        return;
    float scale = (float)(s->constant / steps);
    double larger = (double)scale * (double)scale - x * x;
    if (larger / 12 >= y * y * error_of_result(s))
        return;
    qz_value *const both[] = {s->x, s->y};
    for (int i = 0; i < 2; i++) {
        double low = both[i]->low < 0 ? both[i]->low : 0;
        both[i]->enc.scale = scale;
        both[i]->enc.zero = (int32_t)lrint(-low / (double)scale);
        both[i]->aligned = true;
    }
}

void qz_align_sums(qz_graph *g, const qz_scheme *scheme) {
    const ox_graph *og = g->model->graph;
    sum s;
    for (uint32_t i = 0; i < g->n_values; i++)
        g->values[i]->aligned = false;
    for (uint32_t i = 0; i < og->n_nodes; i++)
        if (find_sum(g, &og->nodes[i], &s))
            align(&s, scheme->symmetric);
}
