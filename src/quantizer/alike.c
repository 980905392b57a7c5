// SPDX-License-Identifier: MIT
//
// Two graphs that compute the same in other shapes: the ranges of one for the other.
#include "quantizer/plan.h"

#include <string.h>

// The next node that computes something of floats at run time; NULL at the end.
static const ox_node *next_computing(const qz_graph *g, uint32_t *at) {
    const ox_graph *og = g->model->graph;
    while (*at < og->n_nodes) {
        const ox_node *n = &og->nodes[(*at)++];
        const qz_value *v = n->n_out ? qz_find(g, n->out[0]) : NULL;
        bool floats = v && !v->data && (v->type == OX_F32 || !v->seen);
        // Rows of a table are the embedding; other rows are chosen in some graphs only.
        const qz_value *table = qz_is(n, "Gather") ? qz_find(g, n->in[0]) : NULL;
        if (floats && ((table && !qz_is_activation(table)) || !qz_moves(n, 0)))
            return n;
    }
    return NULL;
}

static void copy_range(const qz_graph *to, const char *name, const qz_graph *from,
                       const char *other) {
    qz_value *v = qz_find(to, name), *w = qz_find(from, other);
    if (v && w && qz_is_activation(v) && qz_is_activation(w))
        qz_stats_merge(&qz_first(v)->stats, &qz_first(w)->stats);
}

// Weights are rounded by the same sums, so that they come out the same.
static void copy_gram(const qz_graph *to, const ox_node *n, const qz_graph *from,
                      const ox_node *m) {
    qz_value *v = qz_find(to, n->in[0]);
    const qz_value *w = qz_find(from, m->in[0]);
    if (v && w && !v->gram)
        v->gram = w->gram;
}

qrn_status qz_plan_alike(qz_graph *to, qz_graph *from) {
    uint32_t a = 0, b = 0;
    for (;;) {
        const ox_node *n = next_computing(to, &a), *m = next_computing(from, &b);
        if (!n && !m)
            break;
        if (!n || !m || strcmp(n->op, m->op) != 0 || n->n_out != m->n_out)
            return QRN_FAIL(QRN_E_INCOMPATIBLE,
                            "the graphs differ: node '%s' (%s) stands where the calibrated one "
                            "has '%s' (%s); calibrate this model with data of its own",
                            n ? n->name : "(end)", n ? n->op : "-", m ? m->name : "(end)",
                            m ? m->op : "-");
        if (qz_is(n, "MatMul"))
            copy_gram(to, n, from, m);
        for (uint32_t i = 0; i < n->n_out; i++)
            copy_range(to, n->out[i], from, m->out[i]);
    }
    for (uint32_t i = 0; i < to->n_values; i++)
        if (to->values[i]->is_input)
            copy_range(to, to->values[i]->name, from, to->values[i]->name);
    return QRN_OK;
}
