// SPDX-License-Identifier: MIT
//
// What the binder counts on beyond the compiler's verifier, which allows what binders for the CPU
// ask for: memory is written before it is read, each byte by one step, and nothing in place.
// Graphs that are compiled for this binder are so; one from a file need not be.
#include "bind/gpu/plan.h"

#include "base/mem.h"

#include <stdlib.h>

typedef struct span {
    qrn_val owner;
    size_t begin, end;
} span;

static int by_place(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool are_disjoint(span *list, size_t n) {
    qsort(list, n, sizeof *list, by_place);
    for (size_t i = 1; i < n; i++)
        if (list[i].owner == list[i - 1].owner && list[i].begin < list[i - 1].end)
            return false;
    return true;
}

static size_t list_outputs(const qrn_compiled *cg, span *list) {
    size_t n = 0;
    for (uint32_t i = 0; i < cg->n_steps; i++)
        for (uint32_t k = 0; k < cg->steps[i].n_out; k++) {
            qrn_val v = cg->steps[i].out[k];
            if (v == QRN_VAL_NONE)
                continue;
            size_t at = cg->values[v].base == QRN_VAL_NONE ? 0 : cg->values[v].base_offset;
            list[n++] = (span){qrn_compiled_owner(cg, v), at, at + cg->values[v].size_bytes};
        }
    return n;
}

// Has a step read the memory before this one writes it, or does it itself?
static bool reads_come_last(const qrn_compiled *cg, bool *read) {
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        const qrn_cstep *s = &cg->steps[i];
        for (uint32_t k = 0; k < s->n_in; k++)
            if (s->in[k] != QRN_VAL_NONE)
                read[qrn_compiled_owner(cg, s->in[k])] = true;
        for (uint32_t k = 0; k < s->n_out; k++)
            if (s->out[k] != QRN_VAL_NONE && read[qrn_compiled_owner(cg, s->out[k])])
                return false;
    }
    return true;
}

qrn_status qrn_gpu_check_graph(const qrn_compiled *cg) {
    size_t n = 0;
    for (uint32_t i = 0; i < cg->n_steps; i++)
        n += cg->steps[i].n_out;
    span *list = qrn_alloc((n + 1) * sizeof *list);
    bool *read = qrn_calloc(cg->n_values + 1u);
    qrn_status s = QRN_OK;
    if (!list || !read)
        s = QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    else if (!are_disjoint(list, list_outputs(cg, list)) || !reads_come_last(cg, read))
        s = QRN_FAIL(QRN_E_BINARY,
                     "graph '%s': compiled graph: memory is written twice, or after it was read",
                     cg->name);
    qrn_free(list);
    qrn_free(read);
    return s;
}
