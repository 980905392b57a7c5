// SPDX-License-Identifier: MIT
//
// Graphs of the device model: lists that grow in an arena.
#include "device/device.h"

#include <string.h>

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "estimate: no memory"); }

// Room for one more; old lists stay in the arena, which doubling bounds.
static bool grow(qrn_arena *arena, void *list, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap)
        return true;
    uint32_t want = *cap ? 2 * *cap : 256;
    void *old, *grown = qrn_arena_alloc(arena, want * size);
    if (!grown)
        return false;
    memcpy(&old, list, sizeof old);
    if (n)
        memcpy(grown, old, n * size);
    memcpy(list, &grown, sizeof grown);
    *cap = want;
    return true;
}

qrn_status qd_add_value(qd_graph *g, const qd_value *v, uint32_t *index) {
    if (!grow(g->arena, &g->values, g->n_values, &g->cap_values, sizeof *v))
        return no_memory();
    *index = g->n_values;
    g->values[g->n_values++] = *v;
    return QRN_OK;
}

qrn_status qd_add_op(qd_graph *g, const qd_op *o) {
    if (!grow(g->arena, &g->ops, g->n_ops, &g->cap_ops, sizeof *o))
        return no_memory();
    qd_op copy = *o;
    copy.name = qrn_arena_strdup(g->arena, o->name);
    copy.type = qrn_arena_strdup(g->arena, o->type);
    copy.in = qrn_arena_copy(g->arena, o->in, o->n_in * sizeof *o->in);
    copy.out = qrn_arena_copy(g->arena, o->out, o->n_out * sizeof *o->out);
    if (!copy.name || !copy.type || !copy.in || !copy.out)
        return no_memory();
    g->ops[g->n_ops++] = copy;
    return QRN_OK;
}
