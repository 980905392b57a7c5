// SPDX-License-Identifier: MIT
//
// Constant folding: a step that reads only constants runs at finalize and its outputs become
// constants. Not inside branches (two branches may write one value), not for application outputs,
// and not for ops whose result depends on more than their inputs.
#include "compiler/lowering.h"

#include "base/cpu.h"
#include "base/mem.h"

#define NEVER_FOLDED (QRN_OP_STATEFUL | QRN_OP_RANDOM | QRN_OP_CONTROL | QRN_OP_OUT_MAX)

// Is the data of a constant there, or can it be computed?
static bool is_known(const qrn_compiled *cg, qrn_val v) {
    if (cg->values[v].kind != QRN_CV_CONST)
        return false;
    const qrn_cconst *c = &cg->constants[cg->values[v].constant];
    return c->data || ((c->kind == QRN_CONST_ROUNDED || c->kind == QRN_CONST_SCALED) &&
                       is_known(cg, c->source));
}

static bool foldable(const qrn_lowering *lo, const qrn_cstep *s) {
    if (lo->depth || s->n_in == 0 || !lo->node->op || (lo->node->op->flags & NEVER_FOLDED))
        return false;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] != UINT32_MAX && !is_known(lo->cg, s->in[i]))
            return false;
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i] != UINT32_MAX &&
            (lo->cg->values[s->out[i]].kind != QRN_CV_TEMP || lo->cg->values[s->out[i]].dynamic))
            return false;
    return true;
}

static qrn_status no_memory(const qrn_lowering *lo) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
}

static qrn_status run_now(qrn_lowering *lo, const qrn_cstep *s, qrn_kcall *k) {
    const qrn_kernel *kernel = qrn_kernel_select(s->op->family, s->domain, k, qrn_cpu_isa());
    if (!kernel)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' node '%s': no kernel of family %s fits",
                        lo->graph->name, lo->node->name, s->op->name);
    size_t scratch = kernel->scratch ? kernel->scratch(k) : 0, before = lo->taken_bytes;
    QRN_TRY(qrn_lo_may_take(lo, scratch));
    lo->taken_bytes = before; // for the moment only
    k->scratch = scratch ? qrn_alloc(scratch) : NULL;
    if (scratch && !k->scratch)
        return no_memory(lo);
    qrn_status st = kernel->fn(k);
    qrn_free(k->scratch);
    if (st != QRN_OK)
        return QRN_FAIL(st, "graph '%s' node '%s' (%s): its constant inputs cannot be computed on",
                        lo->graph->name, lo->node->name, lo->node->type);
    return QRN_OK;
}

qrn_status qrn_lo_fold(qrn_lowering *lo, const qrn_cstep *s, bool *folded) {
    *folded = false;
    if (!foldable(lo, s))
        return QRN_OK;
    uint32_t n = s->n_in + s->n_out;
    qrn_view *views = qrn_calloc(n * sizeof *views);
    qrn_view **ptrs = qrn_calloc(n * sizeof *ptrs);
    qrn_status st = views && ptrs ? QRN_OK : no_memory(lo);
    for (uint32_t i = 0; i < n && st == QRN_OK; i++) {
        qrn_val v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        void *made;
        if (v == QRN_VAL_NONE)
            continue;
        if (i >= s->n_in)
            st = qrn_lo_make_constant(lo, v, &made);
        else if (!qrn_compiled_data(lo->cg, v))
            st = no_memory(lo);
        views[i] = qrn_compiled_view(lo->cg, v);
        ptrs[i] = &views[i];
    }
    qrn_kcall k = {.args = s->args,
                   .in = ptrs,
                   .out = ptrs + s->n_in,
                   .n_in = s->n_in,
                   .n_out = s->n_out,
                   .n_tasks = 1};
    if (st == QRN_OK)
        st = run_now(lo, s, &k);
    qrn_free(views);
    qrn_free(ptrs);
    *folded = true;
    return st;
}
