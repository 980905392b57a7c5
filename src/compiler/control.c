// SPDX-License-Identifier: MIT
//
// Control flow. If becomes a branch over the steps of the then-graph, a jump over those of the
// else-graph: both graphs lie flat in the compiled one. Their nodes read and write tensors of the
// parent; a tensor that only the branch not taken writes is not produced, nor is what depends on
// it.
#include "compiler/lowering.h"

#include "base/mem.h"

static qrn_status add_control(qrn_lowering *lo, qrn_cstep_kind kind, qrn_val cond,
                              uint32_t *index) {
    qrn_compiled *p = lo->cg;
    qrn_cstep s = {
        .kind = (uint8_t)kind, .node = p->n_nodes - 1, .n_in = cond == QRN_VAL_NONE ? 0 : 1};
    s.in = qrn_arena_copy(p->arena, &cond, sizeof cond);
    if (!s.in || !qrn_lo_grow((void **)&p->steps, &lo->cap_steps, p->n_steps, sizeof(qrn_cstep)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    *index = p->n_steps;
    p->steps[p->n_steps++] = s;
    return QRN_OK;
}

static qrn_status lower_branch(qrn_lowering *lo, const qrn_node *n, const char *param) {
    const qrn_param *name = qrn_node_param(n, param);
    if (!name)
        return QRN_OK;
    const qrn_graph *sub = qrn_graph_find_subgraph(n->graph, name->value.s);
    if (!sub)
        return QRN_FAIL(QRN_E_FINALIZE,
                        "graph '%s' node '%s' (If): %s names '%s', which is not a subgraph",
                        n->graph->name, n->name, param, name->value.s);
    lo->n_conversions = 0; // a conversion made here exists only when the branch is taken
    for (uint32_t i = 0; i < sub->n_nodes; i++)
        QRN_TRY(qrn_lo_lower_node(lo, sub->nodes[i]));
    lo->n_conversions = 0;
    return QRN_OK;
}

qrn_status qrn_lower_if(qrn_lowering *lo, const qrn_node *n) {
    qrn_val cond;
    uint32_t branch, jump;
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &cond));
    QRN_TRY(add_control(lo, QRN_CSTEP_BRANCH, cond, &branch));
    lo->depth++;
    QRN_TRY(lower_branch(lo, n, "then_graph"));
    QRN_TRY(add_control(lo, QRN_CSTEP_JUMP, QRN_VAL_NONE, &jump));
    lo->cg->steps[branch].target = lo->cg->n_steps;
    QRN_TRY(lower_branch(lo, n, "else_graph"));
    lo->cg->steps[jump].target = lo->cg->n_steps;
    lo->depth--;
    lo->node = n;
    return QRN_OK;
}
