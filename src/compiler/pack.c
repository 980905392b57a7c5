// SPDX-License-Identifier: MIT
//
// Packed constants. Their memory is reserved while lowering and written by qrn_plan_finish, when
// nothing can fail any more; large reservations take no physical memory until then. So the sources
// can be given up one after the other, and finalizing needs little more than one copy of the
// weights at any time.
#include "compiler/lowering.h"

#include "base/mem.h"

// The same constant, packed before; NULL: it was not.
static const qrn_packed *before(const qrn_lowering *lo, qrn_packing_id id, qrn_dtype dtype,
                                const qrn_shape *shape, const qrn_tensor *source) {
    qrn_packed want = {.node = lo->node->index,
                       .tensor_id = source->id,
                       .packing = id,
                       .dtype = dtype,
                       .shape = *shape};
    return source->updateable ? NULL : qrn_packed_find(lo->opt->packed, &want);
}

bool qrn_lo_was_packed(const qrn_lowering *lo, qrn_packing_id id, qrn_dtype dtype,
                       const qrn_shape *shape, const qrn_tensor *source) {
    return before(lo, id, dtype, shape, source) != NULL;
}

// Memory for a constant that is still to be written.
static qrn_status reserve(qrn_lowering *lo, qrn_value *v) {
    QRN_TRY(qrn_lo_may_take(lo, v->size_bytes));
    v->view.data = qrn_arena_reserve(lo->plan->arena, v->size_bytes);
    if (!v->view.data)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a constant of %zu bytes",
                        lo->graph->name, v->size_bytes);
    lo->plan->const_bytes += v->size_bytes;
    return QRN_OK;
}

qrn_status qrn_lo_packed(qrn_lowering *lo, qrn_packing_id id, qrn_dtype dtype,
                         const qrn_shape *shape, const qrn_tensor *source, qrn_pack_fn pack,
                         const void *args, size_t args_bytes, qrn_val *out) {
    QRN_TRY(qrn_lo_temp(lo, dtype, shape, NULL, out));
    qrn_value *v = &lo->plan->values[*out];
    v->storage = QRN_STORE_CONST;
    const qrn_packed *known = before(lo, id, dtype, shape, source);
    if (known)
        v->view.data = (void *)(uintptr_t)known->data; // kernels never write inputs
    else if (source->data)
        QRN_TRY(reserve(lo, v));
    else
        return QRN_FAIL(QRN_E_BINARY, "graph '%s' node '%s': no data for constant '%s'",
                        lo->graph->name, lo->node->name, source->name);
    const void *copy = qrn_arena_copy(lo->plan->arena, args, args_bytes);
    if (!copy || !qrn_lo_grow((void **)&lo->packings, &lo->cap_packings, lo->n_packings,
                              sizeof(qrn_packing)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    lo->packings[lo->n_packings++] = (qrn_packing){.value = *out,
                                                   .source = source,
                                                   .node = lo->node->index,
                                                   .id = id,
                                                   .pack = pack,
                                                   .args = copy,
                                                   .done = known != NULL};
    return QRN_OK;
}

static void write_now(qrn_lowering *lo, qrn_packing *p) {
    if (!p->done)
        p->pack(p->args, p->source->data, lo->plan->values[p->value].view.data);
    p->done = true;
}

void qrn_lo_pack_value(qrn_lowering *lo, qrn_val v) {
    for (uint32_t i = 0; i < lo->n_packings; i++)
        if (lo->packings[i].value == v)
            write_now(lo, &lo->packings[i]);
}

// Operands of nodes that are not packed, by tensor id; steps read some of them, others were only
// looked at while lowering.
static uint32_t *count_plain_uses(const qrn_lowering *lo) {
    uint32_t *uses = qrn_calloc(lo->n_by_id * sizeof *uses);
    for (uint32_t i = 0; uses && i < lo->plan->n_nodes; i++) {
        const qrn_node *n = lo->plan->nodes[i].ir;
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k])
                uses[n->in[k]->id]++;
        for (uint32_t k = 0; k < n->n_params; k++)
            if (n->params[k].is_tensor && n->params[k].tensor->id < lo->n_by_id)
                uses[n->params[k].tensor->id]++;
    }
    for (uint32_t i = 0; uses && i < lo->n_packings; i++) {
        const qrn_packing *k = &lo->packings[i], *last = i ? k - 1 : NULL;
        bool same_operand = last && last->source == k->source && last->node == k->node;
        uses[k->source->id] -= !same_operand;
    }
    return uses;
}

// Values that steps read.
static bool *find_read(const qrn_plan *p) {
    bool *read = qrn_calloc(p->n_values + 1);
    for (uint32_t i = 0; read && i < p->n_steps; i++)
        for (uint32_t k = 0; k < p->steps[i].n_in; k++)
            if (p->steps[i].in[k] != UINT32_MAX)
                read[p->steps[i].in[k]] = true;
    return read;
}

// Tensors whose own data nothing needs once all their packings are written are told with the last
// of them.
qrn_status qrn_lo_keep_packings(qrn_lowering *lo) {
    qrn_plan *p = lo->plan;
    uint32_t *uses = count_plain_uses(lo);
    bool *read = find_read(p);
    p->packings = qrn_arena_alloc(p->arena, lo->n_packings * sizeof *p->packings);
    bool ok = uses && read && p->packings;
    for (uint32_t i = lo->n_packings; ok && i-- > 0;) {
        const qrn_packing *k = &lo->packings[i];
        const qrn_tensor *t = k->source;
        bool last = t->graph && !t->updateable && !uses[t->id] && !read[lo->by_id[t->id]];
        p->packings[i] = (qrn_plan_packing){.pack = k->done ? NULL : k->pack,
                                            .args = k->args,
                                            .src = t->data,
                                            .dst = p->values[k->value].view.data,
                                            .id = k->id,
                                            .tensor_id = t->id,
                                            .node = k->node,
                                            .value = k->value,
                                            .tensor = last ? t : NULL,
                                            .source = lo->by_id[t->id]};
        if (last)
            uses[t->id] = 1; // packings before this one still read it
    }
    p->n_packings = ok ? lo->n_packings : 0;
    qrn_free(uses);
    qrn_free(read);
    return ok ? QRN_OK : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
}
