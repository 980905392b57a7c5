// SPDX-License-Identifier: MIT
//
// Pass "in_place": an element-wise step writes its result into the memory of an input that nobody
// reads afterwards. Comes last: the other passes count on one content for all values of a memory.
#include "compiler/passes.h"

#include "base/mem.h"

typedef struct life {
    uint32_t first, last; // steps that use the memory
} life;

// By owner of the memory.
static void find_lives(const qrn_compiled *p, life *lives) {
    for (uint32_t v = 0; v < p->n_values; v++)
        lives[v] = (life){UINT32_MAX, 0};
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const qrn_cstep *st = &p->steps[s];
        for (uint32_t i = 0; i < st->n_in + st->n_out; i++) {
            uint32_t v = i < st->n_in ? st->in[i] : st->out[i - st->n_in];
            if (v == QRN_VAL_NONE)
                continue;
            life *l = &lives[qrn_pass_owner(p, v, NULL)];
            l->first = l->first == UINT32_MAX ? s : l->first;
            l->last = s;
        }
    }
}

// Do all operands of the step that lie in this memory fill it? Then element i of each is at one
// place.
static bool fill_memory(const qrn_compiled *p, const qrn_cstep *s, qrn_val owner) {
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] != QRN_VAL_NONE && qrn_pass_owner(p, s->in[i], NULL) == owner &&
            p->values[s->in[i]].size_bytes != p->values[owner].size_bytes)
            return false;
    return true;
}

// May the result of step `at` lie in the memory of its input i?
static bool fits(const qrn_compiled *p, uint32_t at, uint32_t i, const life *lives) {
    const qrn_cstep *s = &p->steps[at];
    qrn_val owner;
    if (!(s->op->family->in_place >> i & 1u) || s->in[i] == QRN_VAL_NONE ||
        !qrn_pass_movable(p, s->in[i], &owner))
        return false;
    const qrn_cvalue *x = &p->values[s->in[i]], *y = &p->values[s->out[0]];
    return lives[owner].last == at && owner != s->out[0] && x->size_bytes == y->size_bytes &&
           qrn_dtypes[x->dtype].bits == qrn_dtypes[y->dtype].bits && fill_memory(p, s, owner);
}

static void merge(qrn_compiled *p, uint32_t at, life *lives) {
    const qrn_cstep *s = &p->steps[at];
    qrn_val y = s->out[0];
    if (p->values[y].kind != QRN_CV_TEMP || p->values[y].base != QRN_VAL_NONE ||
        lives[y].first != at)
        return;
    for (uint32_t i = 0; i < s->n_in && i < 32; i++) {
        if (!fits(p, at, i, lives))
            continue;
        qrn_val owner = qrn_pass_owner(p, s->in[i], NULL);
        qrn_pass_place(p, y, owner, 0);
        lives[owner].last = lives[y].last;
        return;
    }
}

qrn_status qrn_pass_in_place(qrn_lowering *lo, const qrn_use *uses) {
    (void)uses;
    qrn_compiled *p = lo->cg;
    life *lives = qrn_alloc((p->n_values + 1) * sizeof *lives);
    if (!lives)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    find_lives(p, lives);
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].op->family->in_place && p->steps[i].n_out == 1 &&
            qrn_pass_plain(lo->cg, &p->steps[i]) && !qrn_pass_copies(lo, &p->steps[i]))
            merge(p, i, lives);
    qrn_free(lives);
    return QRN_OK;
}
