// SPDX-License-Identifier: MIT
//
// Constant folding: a step that reads only constants runs at finalize and its outputs become
// constants. Not inside branches (two branches may write one value), not for application outputs,
// and not for ops whose result depends on more than their inputs.
#include "compiler/lowering.h"

#include "base/mem.h"

#define NEVER_FOLDED (QRN_OP_STATEFUL | QRN_OP_RANDOM | QRN_OP_CONTROL | QRN_OP_OUT_MAX)

static bool foldable(const qrn_lowering *lo, const qrn_step *s) {
    if (lo->depth || s->n_in == 0 || !lo->node->op || (lo->node->op->flags & NEVER_FOLDED))
        return false;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] != UINT32_MAX && (lo->plan->values[s->in[i]].storage != QRN_STORE_CONST ||
                                       !lo->plan->values[s->in[i]].view.data))
            return false;
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i] != UINT32_MAX && (lo->plan->values[s->out[i]].storage != QRN_STORE_ARENA ||
                                        lo->plan->values[s->out[i]].dynamic))
            return false;
    return true;
}

static qrn_status run_now(qrn_lowering *lo, const qrn_step *s, qrn_view **ptrs) {
    qrn_kcall k = qrn_lo_call(lo->plan, s, ptrs);
    const qrn_kernel *kernel = qrn_kernel_select(s->family, s->domain, &k, lo->opt->isa);
    if (!kernel)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' node '%s': no kernel of family %s fits",
                        lo->graph->name, lo->node->name, s->family->name);
    size_t scratch = kernel->scratch ? kernel->scratch(&k) : 0;
    QRN_TRY(qrn_lo_may_take(lo, scratch));
    k.scratch = scratch ? qrn_alloc(scratch) : NULL;
    if (scratch && !k.scratch)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    qrn_status st = kernel->fn(&k);
    qrn_free(k.scratch);
    if (st != QRN_OK)
        return QRN_FAIL(st, "graph '%s' node '%s' (%s): its constant inputs cannot be computed on",
                        lo->graph->name, lo->node->name, lo->node->type);
    return QRN_OK;
}

qrn_status qrn_lo_fold(qrn_lowering *lo, const qrn_step *s, bool *folded) {
    *folded = false;
    if (!foldable(lo, s))
        return QRN_OK;
    qrn_plan *p = lo->plan;
    qrn_view **ptrs = qrn_arena_alloc(p->arena, (s->n_in + s->n_out) * sizeof *ptrs);
    if (!ptrs)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (s->out[i] == UINT32_MAX)
            continue;
        qrn_value *v = &p->values[s->out[i]];
        QRN_TRY(qrn_lo_may_take(lo, v->size_bytes));
        v->view.data = qrn_arena_alloc(p->arena, v->size_bytes);
        if (!v->view.data)
            return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a constant of %zu bytes",
                            lo->graph->name, v->size_bytes);
        v->storage = QRN_STORE_CONST;
        p->const_bytes += v->size_bytes;
    }
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] != UINT32_MAX)
            qrn_lo_pack_value(lo, s->in[i]);
    *folded = true;
    return run_now(lo, s, ptrs);
}
