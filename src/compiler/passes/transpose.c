// SPDX-License-Identifier: MIT
//
// Pass "transpose": a Transpose of the last two dimensions of a matmul's second operand goes; the
// matmul reads the operand as it was. Packing a matrix for the GEMM tiles reads it either way.
#include "compiler/passes/strided.h"

#include "kernels/gemm/matmul/matmul.h"
#include "kernels/move/layout.h"

#define ROWS_LEAST 16 // with fewer, matmuls of floats do not pack

// Does the step swap the last two dimensions and nothing else?
static bool swaps_last(const qrn_compiled *p, const qrn_cstep *s) {
    if (s->op != &qrn_cop_transpose || !qrn_pass_plain(p, s))
        return false;
    uint32_t rank = p->values[s->in[0]].shape.rank;
    const uint32_t *perm = ((const qrn_transpose_args *)s->args)->perm;
    for (uint32_t d = 0; d + 2 < rank; d++)
        if (perm[d] != d)
            return false;
    return rank >= 2 && perm[rank - 1] == rank - 2;
}

static bool packs(const qrn_compiled *p, const qrn_cstep *s) {
    const qrn_shape *y = &p->values[s->out[0]].shape;
    return s->op == &qrn_cop_matmul && qrn_pass_plain(p, s) &&
           !((const qrn_matmul_args *)s->args)->flat &&
           (s->domain == QRN_DOMAIN_RAW ||
            (s->domain == QRN_DOMAIN_F32 && y->rank >= 2 && y->dims[y->rank - 2] >= ROWS_LEAST));
}

qrn_status qrn_pass_transpose(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        if (!packs(p, s) || s->in[1] == s->in[0])
            continue;
        uint32_t at = uses[s->in[1]].n_writes == 1 ? uses[s->in[1]].last_write - 1 : UINT32_MAX;
        const qrn_cstep *t = at < i ? &p->steps[at] : NULL;
        if (!t || !swaps_last(p, t) || uses[t->in[0]].last_write > at ||
            p->values[t->in[0]].kind == QRN_CV_CONST)
            continue;
        qrn_matmul_args *args = qrn_arena_copy(p->arena, s->args, sizeof *args);
        if (!args)
            return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
        args->transpose_b = !args->transpose_b;
        s->args = args;
        s->in[1] = t->in[0];
    }
    return QRN_OK;
}
