// SPDX-License-Identifier: MIT
//
// Ranges that matter to the op that reads a value: a hard sigmoid needs no numbers beyond those
// where it is 0 or 1, and a range that ends there has smaller steps.
#include "quantizer/plan.h"

#include <math.h>

// Beyond these the function is as good as constant: less than half a step of its own result.
static const struct {
    const char *op;
    double low8, high8, low16, high16;
} flat[] = {
    {"HardSwish", -3, INFINITY, -3, INFINITY}, // 0 below
    {"Sigmoid", -6.5, 6.5, -12, 12},
    {"Tanh", -3.5, 3.5, -6.5, 6.5},
    {"Gelu", -4, INFINITY, -6, INFINITY},
};

static void cut(double *low, double *high, double a, double b) {
    *low = *low < a && a < *high ? a : *low;
    *high = *high > b && b > *low ? b : *high;
}

// x * Sigmoid(x): less than 0.01 below -7.
static bool is_silu(const qz_graph *g, const qz_value *v) {
    const qz_value *other = NULL;
    if (v->n_uses != 2 || !qz_is(v->reader, "Mul") || v->reader->n_in != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (qz_find(g, v->reader->in[i]) != v)
            other = qz_find(g, v->reader->in[i]);
    return other && qz_is(other->maker, "Sigmoid") && qz_find(g, other->maker->in[0]) == v;
}

void qz_useful_range(const qz_graph *g, const qz_value *v, unsigned bits, double *low,
                     double *high) {
    if (v->is_output || v->data)
        return;
    if (is_silu(g, v)) {
        cut(low, high, bits == 16 ? -14 : -7, INFINITY);
        return;
    }
    if (v->n_uses != 1)
        return;
    if (qz_is(v->reader, "HardSigmoid")) {
        double alpha = (double)ox_attr_float(v->reader, "alpha", 0.2f);
        double beta = (double)ox_attr_float(v->reader, "beta", 0.5f);
        if (alpha > 0)
            cut(low, high, -beta / alpha, (1 - beta) / alpha);
    }
    for (size_t i = 0; i < sizeof flat / sizeof flat[0]; i++)
        if (qz_is(v->reader, flat[i].op))
            cut(low, high, bits == 16 ? flat[i].low16 : flat[i].low8,
                bits == 16 ? flat[i].high16 : flat[i].high8);
}
