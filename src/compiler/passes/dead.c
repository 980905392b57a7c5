// SPDX-License-Identifier: MIT
//
// Pass "dead": steps whose results nobody reads go. Steps that keep state stay.
#include "compiler/passes.h"

#include "base/mem.h"

static bool is_wanted(const qrn_compiled *p, const qrn_cstep *s, const bool *wanted) {
    if (s->state_bytes || s->n_out == 0)
        return true;
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i] != QRN_VAL_NONE && wanted[qrn_pass_owner(p, s->out[i], NULL)])
            return true;
    return false;
}

qrn_status qrn_pass_dead(qrn_lowering *lo, const qrn_use *uses) {
    (void)uses;
    qrn_compiled *p = lo->cg;
    bool *wanted = qrn_calloc(p->n_values + 1); // by owner of the memory
    if (!wanted)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < p->n_io; i++)
        wanted[p->io[i].value] = true;
    for (uint32_t i = p->n_steps; i-- > 0;) {
        qrn_cstep *s = &p->steps[i];
        if (!is_wanted(p, s, wanted)) {
            qrn_pass_drop(s);
            continue;
        }
        for (uint32_t k = 0; k < s->n_in; k++)
            if (s->in[k] != QRN_VAL_NONE)
                wanted[qrn_pass_owner(p, s->in[k], NULL)] = true;
    }
    qrn_free(wanted);
    return QRN_OK;
}
