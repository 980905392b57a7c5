// SPDX-License-Identifier: MIT
//
// Pass "alias": a step that would copy its input byte by byte (Reshape, Squeeze, a Transpose of
// dimensions of size 1, a Cast between types of equal bytes) goes; both values share one memory.
// What an application gives and what it gets stay apart: from one to the other a copy remains.
#include "compiler/passes.h"

// Nothing may write x once y stands for it, and y only has what the step gives it.
static bool may_share(const qrn_compiled *p, const qrn_use *uses, uint32_t step) {
    qrn_val x = p->steps[step].in[0], y = p->steps[step].out[0];
    return uses[y].n_writes == 1 && uses[x].last_write <= step;
}

qrn_status qrn_pass_alias(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        if (!qrn_pass_copies(lo, s) || !may_share(p, uses, i))
            continue;
        qrn_val x = s->in[0], y = s->out[0], owner;
        if (p->values[qrn_pass_owner(p, x, NULL)].kind == QRN_CV_CONST)
            continue;
        if (p->values[y].kind == QRN_CV_TEMP)
            qrn_pass_place(p, y, x, 0);
        else if (qrn_pass_movable(p, x, &owner))
            qrn_pass_place(p, owner, y, 0);
        else
            continue;
        qrn_pass_drop(s);
    }
    return QRN_OK;
}
