// SPDX-License-Identifier: MIT
//
// Shapes of steps with dynamic operands, set before each of them runs.
#include "bind/cpu/binder.h"

#include "ir/graph.h"

#include <string.h>

// Conversions keep the shape: output dims are those of the input.
static qrn_status reshape_copy(const qrn_plan *p, const qrn_step *s, qrn_view *views) {
    (void)p;
    memcpy(views[s->out[0]].dims, views[s->in[0]].dims, sizeof views[0].dims);
    return QRN_OK;
}

// Memory was planned for the declared dims.
static qrn_status check_limits(const qrn_plan *p, const qrn_step *s, uint32_t o,
                               const qrn_shape *now) {
    const qrn_value *v = &p->values[s->out[o]];
    for (uint32_t d = 0; d < now->rank; d++)
        if (now->dims[d] > v->view.dims[d])
            return QRN_FAIL(
                QRN_E_DYNAMIC_SHAPE,
                "node '%s' (%s) output %u '%s': dimension %u is %u, at most %u declared",
                p->nodes[s->node].name, p->nodes[s->node].type, o, v->name, d, now->dims[d],
                v->view.dims[d]);
    return QRN_OK;
}

#define MAX_DYNAMIC_OPERANDS 256

// The op's own shape rule on the current dims of its tensors.
static qrn_status reshape_rule(const qrn_plan *p, const qrn_step *s, qrn_view *views) {
    const qrn_plan_node *pn = &p->nodes[s->node];
    const qrn_node *n = pn->ir;
    qrn_shape in[MAX_DYNAMIC_OPERANDS], out[MAX_DYNAMIC_OPERANDS];
    if (!n->op || s->n_out > n->n_out)
        return QRN_OK;
    if (n->n_in > MAX_DYNAMIC_OPERANDS || n->n_out > MAX_DYNAMIC_OPERANDS)
        return QRN_FAIL(QRN_E_DYNAMIC_SHAPE,
                        "node '%s' (%s): more than %d operands cannot have dynamic dimensions",
                        n->name, n->type, MAX_DYNAMIC_OPERANDS);
    qrn_op_call c = qrn_node_call(n, in, out);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (pn->in[i] != UINT32_MAX)
            memcpy(in[i].dims, views[pn->in[i]].dims, sizeof in[i].dims);
    // The rule was content with the largest shapes: what it refuses now are the client's
    // dimensions.
    if (n->op->rule(&c) != QRN_OK)
        return QRN_E_DYNAMIC_SHAPE;
    for (uint32_t o = 0; o < s->n_out; o++) {
        if (s->out[o] == UINT32_MAX || views[s->out[o]].rank != out[o].rank)
            continue;
        QRN_TRY(check_limits(p, s, o, &out[o]));
        memcpy(views[s->out[o]].dims, out[o].dims, sizeof out[o].dims);
    }
    return QRN_OK;
}

qrn_reshape_fn qrn_cpu_reshape(qrn_shapes shapes) {
    return shapes == QRN_SHAPES_COPY   ? reshape_copy
           : shapes == QRN_SHAPES_RULE ? reshape_rule
                                       : NULL;
}
