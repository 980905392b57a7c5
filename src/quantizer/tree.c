// SPDX-License-Identifier: MIT
//
// Following scaled channels to the layers that read them.
#include "quantizer/tree.h"

#include <string.h>

// f(s x) = s f(x) for s > 0, channel by channel. `pooling`: channels are dimension 1.
static const struct {
    const char *op;
    bool pooling;
} homogeneous[] = {{"Relu", false},       {"LeakyRelu", false},        {"PRelu", false},
                   {"Identity", false},   {"Dropout", false},          {"MaxPool", true},
                   {"AveragePool", true}, {"GlobalAveragePool", true}, {"GlobalMaxPool", true}};

static bool passes(const ox_node *n, uint32_t input, bool last) {
    size_t count = sizeof homogeneous / sizeof homogeneous[0];
    for (size_t i = 0; i < count && input == 0; i++)
        if (qz_is(n, homogeneous[i].op))
            return !(homogeneous[i].pooling && last) && n->n_out == 1;
    return false;
}

static bool has_many(const qz_tree *t) {
    return t->n_steps == QZ_MOST_STEPS || t->n_values == QZ_MOST_STEPS ||
           t->n_readers == QZ_MOST_READERS;
}

// Channels alone, in other dimensions: [1, C, 1, 1] and [1, C], or the last dimension stays.
static bool reshapes(const qz_tree *t, const ox_node *n, uint32_t input, bool last) {
    const qz_value *x = qz_find(t->g, n->in[0]), *y = qz_find(t->g, n->out[0]);
    bool moves =
        qz_is(n, "Reshape") || qz_is(n, "Flatten") || qz_is(n, "Squeeze") || qz_is(n, "Unsqueeze");
    if (!moves || input != 0 || !x || !y || !x->rank || !y->rank || x->type != OX_F32)
        return false;
    bool kept = y->dims[y->rank - 1] == t->channels;
    return kept && (last ? true : qz_count(x) == t->channels);
}

// A product with numbers that are not scaled, of the same rank.
static bool multiplies(const qz_tree *t, const ox_node *n, uint32_t input) {
    const qz_value *x = qz_find(t->g, n->in[input]), *y = qz_find(t->g, n->out[0]);
    bool product = qz_is(n, "Mul") || (qz_is(n, "Div") && input == 0);
    return product && n->n_in == 2 && strcmp(n->in[0], n->in[1]) != 0 && x && y &&
           x->rank == y->rank;
}

static bool adds_constant(const qz_tree *t, const ox_node *n, uint32_t input, bool last) {
    const qz_value *x = qz_find(t->g, n->in[input]);
    const ox_tensor *k = n->n_in == 2 ? qz_edit_floats(t->e, n->in[1 - input]) : NULL;
    bool sum = qz_is(n, "Add") || (qz_is(n, "Sub") && input == 0);
    return sum && k && x && qz_tensor_count(k) == t->channels &&
           qz_per_channel(k, x->rank, t->channels, last);
}

static bool reads_as_layer(qz_tree *t, ox_node *n, uint32_t input, bool last) {
    qz_layer l;
    const qz_value *x = qz_find(t->g, n->in[0]);
    if (input != 0 || !qz_layer_of(t->e, n, &l) || l.n_in != t->channels || !x)
        return false;
    bool matrix = l.kind == QZ_GEMM || l.kind == QZ_MATMUL;
    if (matrix ? !(last || x->rank == 2) : last)
        return false;
    t->readers[t->n_readers++] = l;
    return true;
}

static bool follow(qz_tree *t, ox_node *n, uint32_t input, bool last) {
    if (has_many(t))
        return false;
    if (reads_as_layer(t, n, input, last))
        return true;
    for (uint32_t i = 0; i < t->n_steps; i++)
        if (t->steps[i] == n) // both operands would be scaled
            return false;
    bool term = adds_constant(t, n, input, last), reshaped = reshapes(t, n, input, last);
    if (!term && !reshaped && !passes(n, input, last) && !multiplies(t, n, input))
        return false;
    t->steps[t->n_steps++] = n;
    if (term)
        t->terms[t->n_terms++] = n;
    t->only_relu &= qz_is(n, "Relu");
    return qz_tree_grow(t, n->out[0], last || reshaped);
}

bool qz_tree_grow(qz_tree *t, const char *name, bool last) {
    const qz_wire *w = qz_edit_wire(t->e, name);
    const qz_value *v = qz_find(t->g, name);
    if (!w || w->is_output || !v || has_many(t))
        return false;
    t->values[t->n_values++] = v;
    uint32_t found = 0;
    for (uint32_t i = 0; i < t->e->n_nodes && found < w->n_uses; i++) {
        ox_node *n = &t->e->nodes[i];
        for (uint32_t k = 0; n->op && k < n->n_in; k++) {
            if (strcmp(n->in[k], name) != 0)
                continue;
            found++;
            if (!follow(t, n, k, last))
                return false;
        }
    }
    return found > 0;
}
