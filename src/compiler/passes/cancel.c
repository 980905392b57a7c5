// SPDX-License-Identifier: MIT
//
// Pass "cancel": what one step does and the next undoes. A Transpose of a Transpose becomes one; a
// Quantize of a Dequantize with the same encoding becomes a copy, which pass "alias" removes. The
// first step of the pair stays for its other readers; without any it is dead.
#include "compiler/passes.h"

#include "kernels/convert.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"
#include "kernels/quantize.h"

#include <math.h>
#include <string.h>

static void become_copy(qrn_cstep *s) {
    s->op = &qrn_cop_copy;
    s->args = NULL;
}

static void merge_transposes(const qrn_compiled *p, const qrn_cstep *first, qrn_cstep *s) {
    const qrn_transpose_args *a = first->args;
    qrn_transpose_args *b = s->args;
    uint32_t rank = p->values[s->out[0]].shape.rank;
    bool identity = true;
    for (uint32_t d = 0; d < rank; d++) {
        b->perm[d] = a->perm[b->perm[d]];
        identity &= b->perm[d] == d;
    }
    s->in[0] = first->in[0];
    if (identity)
        become_copy(s);
}

// Does every quantized value survive as a float? Those of up to 16 bits do: the error of the float
// is far below half a step of them, as long as the offset is of the same order and the scale no
// extreme.
static bool survives(const qrn_cvalue *x) {
    const qrn_quant *q = qrn_cvalue_quant(x);
    uint32_t bits = qrn_dtypes[x->dtype].bits;
    return q && q->kind == QRN_QUANT_TENSOR && (!q->bits || q->bits >= bits) && q->shift == 0.0f &&
           bits <= 16 && q->offset >= -65536 && q->offset <= 65536 && fabsf(q->scale) > 1e-30f &&
           fabsf(q->scale) < 1e30f;
}

static bool is_round_trip(const qrn_compiled *p, const qrn_cstep *first, const qrn_cstep *s) {
    const qrn_cvalue *x = &p->values[first->in[0]], *t = &p->values[s->in[0]];
    const qrn_cvalue *y = &p->values[s->out[0]];
    bool real = t->dtype == QRN_DTYPE_F32 || t->dtype == QRN_DTYPE_F64;
    return real && x->dtype == y->dtype && survives(x) && qrn_quant_equal(&x->quant, &y->quant) &&
           x->size_bytes == y->size_bytes;
}

qrn_status qrn_pass_cancel(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        if (!qrn_pass_plain(lo->cg, s) || s->n_in != 1 || s->n_out != 1)
            continue;
        const qrn_cstep *first = qrn_pass_step_before(lo, uses, i);
        if (!first)
            continue;
        bool quantizes = s->op == &qrn_cop_convert || s->op == &qrn_cop_quantize;
        if (s->op == &qrn_cop_transpose && first->op == s->op) {
            merge_transposes(p, first, s);
        } else if (quantizes && first->op == &qrn_cop_convert && is_round_trip(p, first, s)) {
            s->in[0] = first->in[0];
            become_copy(s);
        }
    }
    return QRN_OK;
}
