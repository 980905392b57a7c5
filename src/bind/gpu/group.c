// SPDX-License-Identifier: MIT
//
// Groups: a step and the element-wise ones that follow it become one launch. A follower is the only
// reader of what the group has made so far, and everything else that it reads is there before the
// head runs.
#include "bind/gpu/binder.h"

#include "base/mem.h"

#include <string.h>

static bool is_output(const qrn_gpu_binder *b, qrn_val owner) {
    return b->cg->values[owner].kind == QRN_CV_IO;
}

// The only step that reads the value, all of it and from behind step `at`; UINT32_MAX: none.
static uint32_t only_reader(const qrn_gpu_binder *b, uint32_t at, qrn_val v) {
    const qrn_compiled *cg = b->cg;
    qrn_val owner = qrn_compiled_owner(cg, v);
    if (b->readers[owner] != 1 || is_output(b, owner) ||
        cg->values[owner].size_bytes != cg->values[v].size_bytes)
        return UINT32_MAX;
    for (uint32_t i = at + 1; i < cg->n_steps; i++)
        for (uint32_t k = 0; k < cg->steps[i].n_in; k++)
            if (cg->steps[i].in[k] != QRN_VAL_NONE &&
                qrn_compiled_owner(cg, cg->steps[i].in[k]) == owner)
                return i;
    return UINT32_MAX;
}

// Is everything that step `at` reads beside `v` written before step `head`?
static bool others_are_there(const qrn_gpu_binder *b, const qrn_gpu_group *g, const qrn_cstep *s,
                             qrn_val v) {
    qrn_val made = qrn_compiled_owner(b->cg, v);
    for (uint32_t k = 0; k < s->n_in; k++) {
        if (s->in[k] == QRN_VAL_NONE)
            continue;
        qrn_val owner = qrn_compiled_owner(b->cg, s->in[k]);
        if (owner != made && b->writer[owner] > g->steps[0])
            return false;
    }
    return true;
}

// Does the step keep the elements of v where they are?
static bool in_order(const qrn_gpu_binder *b, const qrn_cstep *s, qrn_val v) {
    return qrn_gpu_count(b, s->out[0]) == qrn_gpu_count(b, v);
}

static bool starts_group(const qrn_gpu_binder *b, const qrn_cstep *s) {
    if (qrn_gpu_is_element_wise(b, s))
        return true;
    const qrn_gpu_op *op = qrn_gpu_op_of(s->op);
    return op && op->epilogue && s->n_out == 1 && (!op->may_fuse || op->may_fuse(b, s));
}

// Writers of parts of one block of memory (joins) are not followed: their result is the whole.
static bool is_whole(const qrn_gpu_binder *b, qrn_val v) {
    return b->cg->values[qrn_compiled_owner(b->cg, v)].size_bytes == b->cg->values[v].size_bytes;
}

static uint32_t loads_of(const qrn_gpu_binder *b, const qrn_gpu_group *g) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++)
        n += b->cg->steps[g->steps[i]].n_in;
    return n;
}

static void grow(const qrn_gpu_binder *b, qrn_gpu_group *g, bool *taken) {
    const qrn_compiled *cg = b->cg;
    while (g->n < QRN_GPU_MAX_GROUP && starts_group(b, &cg->steps[g->steps[0]])) {
        uint32_t last = g->steps[g->n - 1];
        qrn_val v = cg->steps[last].out[0];
        uint32_t next = is_whole(b, v) ? only_reader(b, last, v) : UINT32_MAX;
        const qrn_cstep *s = next == UINT32_MAX ? NULL : &cg->steps[next];
        if (!s || taken[next] || b->skip[next] || !qrn_gpu_is_element_wise(b, s) ||
            !in_order(b, s, v) || !others_are_there(b, g, s, v) ||
            loads_of(b, g) + s->n_in > QRN_GPU_MAX_LOADS)
            return;
        g->steps[g->n++] = next;
        taken[next] = true;
    }
}

qrn_status qrn_gpu_make_groups(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    bool *taken = qrn_calloc(cg->n_steps + 1u);
    b->groups = qrn_arena_alloc(cg->arena, (cg->n_steps + 1u) * sizeof *b->groups);
    if (!taken || !b->groups) {
        qrn_free(taken);
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    }
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        if (taken[i] || b->skip[i])
            continue;
        qrn_gpu_group *g = &b->groups[b->n_groups++];
        *g = (qrn_gpu_group){.steps = {i}, .n = 1};
        if (!b->opt->keep_nodes)
            grow(b, g, taken);
    }
    qrn_free(taken);
    return QRN_OK;
}
