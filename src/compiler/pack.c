// SPDX-License-Identifier: MIT
//
// Packed constants. Their memory is reserved while lowering and written by qrn_plan_finish, when
// nothing can fail any more; large reservations take no physical memory until then. So the sources
// can be given up one after the other, and finalizing needs little more than one copy of the
// weights at any time.
#include "compiler/lowering.h"

#include "base/mem.h"

bool qrn_lo_was_packed(const qrn_lowering *lo, qrn_packing_id id, qrn_dtype dtype,
                       const qrn_shape *shape, const qrn_tensor *source) {
    return qrn_packed_find(lo->opt->packed, source->id, id, dtype, shape) != NULL;
}

// Memory for a constant that is still to be written.
static qrn_status reserve(qrn_lowering *lo, qrn_value *v) {
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
    const qrn_packed *before = qrn_packed_find(lo->opt->packed, source->id, id, dtype, shape);
    if (before && before->size_bytes == v->size_bytes)
        v->view.data = (void *)(uintptr_t)before->data; // kernels never write inputs
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
                                                   .id = id,
                                                   .pack = pack,
                                                   .args = copy,
                                                   .done = before != NULL};
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

// Does a step read the tensor itself, or is it to be packed once more?
static bool is_needed(const qrn_lowering *lo, const qrn_tensor *t, uint32_t after) {
    qrn_val v = lo->by_id[t->id];
    for (uint32_t i = 0; i < lo->plan->n_steps; i++)
        for (uint32_t j = 0; j < lo->plan->steps[i].n_in; j++)
            if (lo->plan->steps[i].in[j] == v)
                return true;
    for (uint32_t i = after + 1; i < lo->n_packings; i++)
        if (lo->packings[i].source == t)
            return true;
    return false;
}

qrn_status qrn_lo_keep_packings(qrn_lowering *lo) {
    qrn_plan *p = lo->plan;
    p->packings = qrn_arena_alloc(p->arena, lo->n_packings * sizeof *p->packings);
    if (!p->packings)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < lo->n_packings; i++) {
        const qrn_packing *k = &lo->packings[i];
        bool last = k->source->graph && !k->source->updateable && !is_needed(lo, k->source, i);
        p->packings[p->n_packings++] = (qrn_plan_packing){.pack = k->done ? NULL : k->pack,
                                                          .args = k->args,
                                                          .src = k->source->data,
                                                          .dst = p->values[k->value].view.data,
                                                          .id = k->id,
                                                          .tensor_id = k->source->id,
                                                          .value = k->value,
                                                          .tensor = last ? k->source : NULL,
                                                          .source = lo->by_id[k->source->id]};
    }
    return QRN_OK;
}
