// SPDX-License-Identifier: MIT
//
// Groups of layers that change their precision together.
#include "tools/quern/quantize_mixed.h"

#include <string.h>

// The value that a node's result becomes: a Relu or Clip behind it is part of it.
static qz_value *result_of(const qz_graph *g, const ox_node *n) {
    qz_value *v = n->n_out ? qz_find(g, n->out[0]) : NULL;
    for (int hop = 0; v && v->fused && v->reader && v->reader->n_out && hop < 8; hop++)
        v = qz_find(g, v->reader->out[0]);
    return v ? qz_first(v) : NULL;
}

static qt_mixed_group *group_of(const qt_mixed *x, const qz_value *first) {
    for (uint32_t i = 0; i < x->n_groups; i++)
        if (x->groups[i].first == first)
            return &x->groups[i];
    return NULL;
}

// What a user has fixed stays as it is.
static bool is_free(const qz_value *v) {
    return !v->like && !v->data && v->enc.bits && !v->given && !v->set_bits && !v->must_float;
}

static void note_weights(qt_mixed *x, const ox_node *n, bool count) {
    const qz_graph *g = x->task->graph;
    const qz_value *result = result_of(g, n);
    qt_mixed_group *group = result ? group_of(x, result) : NULL;
    for (uint32_t i = 0; i < n->n_in; i++) {
        qz_value *w = qz_find(g, n->in[i]);
        if (group && w && qz_is_float_constant(w) && !w->set_bits && !w->given && !w->must_float &&
            qz_role_of(g, n, i) == QZ_ROLE_WEIGHT) {
            if (!count)
                group->weights[group->n_weights] = w;
            group->n_weights++;
        }
        qt_mixed_group *operand = w && !w->data ? group_of(x, qz_first(w)) : NULL;
        if (operand && i == 1 && qz_is(n, "MatMul"))
            operand->second = true;
    }
}

qrn_status qt_mixed_groups(qt_mixed *x) {
    const qz_graph *g = x->task->graph;
    const ox_graph *og = g->model->graph;
    x->groups = qrn_arena_alloc(x->arena, (g->n_values + 1) * sizeof *x->groups);
    if (!x->groups)
        return QRN_FAIL(QRN_E_MEM, "mixed precision: out of memory");
    for (uint32_t i = 0; i < g->n_values; i++)
        if (is_free(g->values[i]))
            x->groups[x->n_groups++].first = g->values[i];
    for (uint32_t i = 0; i < og->n_nodes; i++)
        note_weights(x, &og->nodes[i], true);
    for (uint32_t i = 0; i < x->n_groups; i++) {
        qt_mixed_group *group = &x->groups[i];
        group->weights = qrn_arena_alloc(x->arena, (group->n_weights + 1) * sizeof *group->weights);
        group->n_weights = 0;
        if (!group->weights)
            return QRN_FAIL(QRN_E_MEM, "mixed precision: out of memory");
    }
    for (uint32_t i = 0; i < og->n_nodes; i++)
        note_weights(x, &og->nodes[i], false);
    return QRN_OK;
}

void qt_mixed_apply(const qt_mixed *x, const uint8_t *choice) {
    const qz_graph *g = x->task->graph;
    for (uint32_t i = 0; i < x->n_groups; i++) {
        const qt_mixed_group *group = &x->groups[i];
        const qt_mixed_option *o = &x->options[choice[i]];
        group->first->set_bits = o->act_bits;
        group->first->may_float = true;
        group->first->must_float = o->act_bits == 0;
        group->first->symmetric = group->second && o->act_bits == 16;
        for (uint32_t k = 0; k < group->n_weights; k++) {
            group->weights[k]->set_bits = o->weight_bits;
            group->weights[k]->must_float = o->weight_bits == 0;
        }
    }
    for (uint32_t i = 0; i < g->n_values; i++) { // a float is so wherever it is moved to
        qz_value *v = g->values[i];
        if (v->like && !v->data && group_of(x, qz_first(v)))
            v->must_float = qz_first(v)->must_float;
    }
}
