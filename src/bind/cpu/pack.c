// SPDX-License-Identifier: MIT
//
// Packed constants. Their memory is reserved while binding and written by qrn_runner_finish, when
// nothing can fail any more; large reservations take no physical memory until then. So the sources
// can be given up one after the other, and finalizing needs little more than one copy of the
// weights at any time.
#include "bind/cpu/binder.h"

#include "base/mem.h"

#include <string.h>

static const qrn_cconst *constant_of(const qrn_cpu_binder *b, qrn_val v) {
    return &b->cg->constants[b->cg->values[v].constant];
}

// The same constant, packed before; NULL: it was not. Data that updates may replace is packed anew.
static const qrn_packed *before(const qrn_cpu_binder *b, const qrn_cpu_packing *p) {
    const qrn_cconst *c = constant_of(b, p->source);
    qrn_packed want = {.node = b->cg->nodes[p->node].index,
                       .tensor_id = b->cg->values[p->source].tensor_id,
                       .packing = p->id,
                       .dtype = p->dtype,
                       .shape = *p->shape};
    return c->kind == QRN_CONST_TENSOR && !c->updateable ? qrn_packed_find(b->opt->packed, &want)
                                                         : NULL;
}

bool qrn_cpu_was_packed(const qrn_cpu_binder *b, const qrn_cpu_packing *p) {
    return before(b, p) != NULL;
}

static qrn_status no_data(const qrn_cpu_binder *b, const qrn_cpu_packing *p) {
    return QRN_FAIL(QRN_E_BINARY, "graph '%s' node '%s': no data for constant '%s'", b->cg->name,
                    b->cg->nodes[p->node].name, b->cg->values[p->source].name);
}

static qrn_status new_value(qrn_cpu_binder *b, qrn_dtype dtype, const qrn_shape *shape,
                            qrn_val *out) {
    qrn_plan *p = b->plan;
    size_t count, size_bytes;
    if (!qrn_shape_count(shape, &count) || !qrn_dtype_bytes(dtype, count, &size_bytes))
        return QRN_FAIL(QRN_E_SHAPE, "graph '%s': packed weights are too large", b->cg->name);
    *out = p->n_values++; // there is room: bind.c counted
    qrn_value *v = &p->values[*out];
    *v = (qrn_value){.name = "",
                     .storage = QRN_STORE_CONST,
                     .first = UINT32_MAX,
                     .base = UINT32_MAX,
                     .size_bytes = size_bytes,
                     .view = {.dtype = dtype, .rank = shape->rank}};
    memcpy(v->view.dims, shape->dims, sizeof v->view.dims);
    return QRN_OK;
}

qrn_status qrn_cpu_take(qrn_cpu_binder *b, size_t size_bytes) {
    size_t total, most = b->opt->most_bytes;
    bool fits = qrn_add_size(b->taken_bytes, size_bytes, &total) && total <= most;
    if (most && !fits)
        return QRN_FAIL(QRN_E_MEM,
                        "graph '%s': %zu more bytes of constants or state, at most %zu are allowed "
                        "in all",
                        b->cg->name, size_bytes, most);
    b->taken_bytes += size_bytes;
    return QRN_OK;
}

// Memory for the constant v; `now`: it is written at once.
static qrn_status take_memory(qrn_cpu_binder *b, qrn_val v, bool now) {
    qrn_value *val = &b->plan->values[v];
    QRN_TRY(qrn_cpu_take(b, val->size_bytes));
    val->view.data = now ? qrn_arena_alloc(b->plan->arena, val->size_bytes)
                         : qrn_arena_reserve(b->plan->arena, val->size_bytes);
    if (!val->view.data)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a constant of %zu bytes",
                        b->cg->name, val->size_bytes);
    b->plan->const_bytes += val->size_bytes;
    return QRN_OK;
}

qrn_status qrn_cpu_const(qrn_cpu_binder *b, qrn_dtype dtype, const qrn_shape *shape, qrn_val *out,
                         void **data) {
    QRN_TRY(new_value(b, dtype, shape, out));
    QRN_TRY(take_memory(b, *out, true));
    *data = b->plan->values[*out].view.data;
    return QRN_OK;
}

// Notes that plan value v is the packed form; `pack` NULL: it is written already, or elsewhere.
static void note(qrn_cpu_binder *b, const qrn_cpu_packing *k, qrn_val v, qrn_pack_fn pack,
                 const void *args) {
    qrn_plan *p = b->plan;
    qrn_cconst *c = &b->cg->constants[b->cg->values[k->source].constant];
    p->packings[p->n_packings++] = // there is room: bind.c counted
        (qrn_plan_packing){.pack = pack,
                           .args = args,
                           .src = c->data,
                           .dst = p->values[v].view.data,
                           .id = k->id,
                           .tensor_id = b->cg->values[k->source].tensor_id,
                           .node = b->cg->nodes[k->node].index,
                           .value = v,
                           .source = k->source,
                           .holder = &c->data};
}

// The form that another node's packing gives the same tensor; NULL: there is none. The steps of an
// unrolled recurrence read one matrix: with a copy for each of them it would fit in no cache. Data
// that updates may replace is packed for each node.
static const qrn_plan_packing *alike(const qrn_cpu_binder *b, const qrn_cpu_packing *k, qrn_val v) {
    const qrn_plan *p = b->plan;
    for (uint32_t i = 0; i < p->n_packings && !constant_of(b, k->source)->updateable; i++) {
        const qrn_plan_packing *e = &p->packings[i];
        if (e->source == k->source && e->id == k->id && e->pack && e->pack == k->pack &&
            p->values[e->value].size_bytes == p->values[v].size_bytes &&
            memcmp(e->args, k->args, k->args_bytes) == 0)
            return e;
    }
    return NULL;
}

// Makes plan value v the packed form.
static qrn_status pack_into(qrn_cpu_binder *b, const qrn_cpu_packing *k, qrn_val v) {
    qrn_plan *p = b->plan;
    const qrn_packed *known = before(b, k);
    const qrn_plan_packing *equal = known ? NULL : alike(b, k, v);
    qrn_cconst *c = &b->cg->constants[b->cg->values[k->source].constant];
    if (equal) {
        p->values[v].view.data = equal->dst;
        note(b, k, v, NULL, NULL);
        return QRN_OK;
    }
    if (known)
        p->values[v].view.data = (void *)(uintptr_t)known->data; // kernels never write inputs
    else if (c->data)
        QRN_TRY(take_memory(b, v, false));
    else
        return no_data(b, k);
    const void *args = qrn_arena_copy(p->arena, k->args, k->args_bytes);
    if (!args)
        return qrn_cpu_no_memory(b);
    note(b, k, v, known ? NULL : k->pack, args);
    return QRN_OK;
}

qrn_status qrn_cpu_pack_late(qrn_cpu_binder *b, const qrn_cpu_packing *k, qrn_val from,
                             qrn_val *out) {
    qrn_plan *p = b->plan;
    const qrn_packed *known = before(b, k);
    QRN_TRY(new_value(b, k->dtype, k->shape, out));
    p->values[*out].host_only = true;
    if (known) {
        p->values[*out].view.data = (void *)(uintptr_t)known->data;
        return QRN_OK;
    }
    QRN_TRY(qrn_cpu_take(b, p->values[*out].size_bytes));
    const void *args = qrn_arena_copy(p->arena, k->args, k->args_bytes);
    if (!args)
        return qrn_cpu_no_memory(b);
    p->late[p->n_late++] = (qrn_plan_late){k->pack, args, from, *out}; // bind.c counted
    return QRN_OK;
}

qrn_status qrn_cpu_share(qrn_cpu_binder *b, const qrn_cpu_packing *k, const qrn_plan_packing *equal,
                         qrn_val *out) {
    QRN_TRY(new_value(b, k->dtype, k->shape, out));
    b->plan->values[*out].view.data = equal->dst;
    note(b, k, *out, NULL, NULL);
    return QRN_OK;
}

qrn_status qrn_cpu_pack(qrn_cpu_binder *b, const qrn_cpu_packing *k, qrn_val *out) {
    QRN_TRY(new_value(b, k->dtype, k->shape, out));
    if (constant_of(b, k->source)->kind == QRN_CONST_TENSOR)
        return pack_into(b, k, *out);
    const void *data = qrn_compiled_data(b->cg, k->source); // computed while compiling
    if (!data)
        return no_data(b, k);
    QRN_TRY(take_memory(b, *out, true));
    k->pack(k->args, data, b->plan->values[*out].view.data);
    return QRN_OK;
}

// --- constants that are described

typedef struct rounding {
    qrn_view source;
    qrn_fp16_rule rule;
} rounding;

static void pack_rounded(const void *args, const void *src, void *dst) {
    const rounding *r = args;
    qrn_view x = r->source;
    x.data = (void *)(uintptr_t)src;
    qrn_round_constant(&x, r->rule, dst);
}

// The rounded form of a tensor's data, by whichever node it was wanted before.
static const qrn_packed *rounded_before(const qrn_cpu_binder *b, const qrn_cpu_packing *k) {
    const qrn_packed_list *l = b->opt->packed;
    uint32_t id = b->cg->values[k->source].tensor_id;
    for (uint32_t i = 0; l && i < l->n; i++)
        if (l->items[i].tensor_id == id && l->items[i].packing == k->id &&
            l->items[i].dtype == k->dtype && qrn_shape_equal(&l->items[i].shape, k->shape))
            return &l->items[i];
    return NULL;
}

static qrn_status make_described(qrn_cpu_binder *b, uint32_t node, qrn_val v) {
    const qrn_cvalue *val = &b->cg->values[v];
    const qrn_cconst *c = &b->cg->constants[val->constant];
    qrn_cpu_packing k = {
        .id = QRN_PACKING_ROUNDED, .node = node, .source = c->source, .dtype = QRN_DTYPE_F32};
    k.shape = &val->shape;
    const qrn_packed *known = NULL;
    bool rounded = c->kind == QRN_CONST_ROUNDED &&
                   b->cg->constants[b->cg->values[c->source].constant].kind == QRN_CONST_TENSOR;
    if (rounded && !before(b, &k))
        known = rounded_before(b, &k);
    if (rounded && !known) {
        rounding r = {qrn_compiled_view(b->cg, c->source), b->cg->half};
        k.pack = pack_rounded;
        k.args = &r;
        k.args_bytes = sizeof r;
        return pack_into(b, &k, v);
    }
    const void *data = known ? known->data : qrn_compiled_data(b->cg, v);
    b->plan->values[v].view.data = (void *)(uintptr_t)data;
    return data ? QRN_OK : no_data(b, &k);
}

qrn_status qrn_cpu_pack_described(qrn_cpu_binder *b) {
    const qrn_plan *p = b->plan;
    for (uint32_t i = 0; i < p->n_steps; i++)
        for (uint32_t k = 0; k < p->steps[i].n_in; k++) {
            qrn_val v = p->steps[i].in[k];
            if (v == QRN_VAL_NONE || v >= b->cg->n_values || p->values[v].view.data ||
                b->cg->values[v].kind != QRN_CV_CONST)
                continue;
            uint8_t kind = constant_of(b, v)->kind;
            if (kind == QRN_CONST_ROUNDED || kind == QRN_CONST_SCALED)
                QRN_TRY(make_described(b, p->steps[i].node, v));
        }
    return QRN_OK;
}

// --- tensors that nothing needs

// Values that steps read.
static bool *find_read(const qrn_plan *p) {
    bool *read = qrn_calloc(p->n_values + 1);
    for (uint32_t i = 0; read && i < p->n_steps; i++)
        for (uint32_t k = 0; k < p->steps[i].n_in; k++)
            if (p->steps[i].in[k] != UINT32_MAX)
                read[p->steps[i].in[k]] = true;
    return read;
}

// How often a tensor is an operand that is not packed, by tensor id.
static uint32_t *count_plain_uses(const qrn_cpu_binder *b) {
    const qrn_plan *p = b->plan;
    uint32_t *uses = qrn_alloc(b->cg->n_tensor_ids * sizeof *uses);
    if (!uses)
        return NULL;
    memcpy(uses, b->cg->tensor_uses, b->cg->n_tensor_ids * sizeof *uses);
    for (uint32_t i = 0; i < p->n_packings; i++) {
        const qrn_plan_packing *k = &p->packings[i], *last = i ? k - 1 : NULL;
        bool same_operand = last && last->source == k->source && last->node == k->node;
        uses[k->tensor_id] -= !same_operand;
    }
    return uses;
}

qrn_status qrn_cpu_find_droppable(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    if (!b->cg->tensor_uses)
        return QRN_OK; // loaded: nothing is ours to drop
    uint32_t *uses = count_plain_uses(b);
    bool *read = find_read(p);
    for (uint32_t i = p->n_packings; uses && read && i-- > 0;) {
        qrn_plan_packing *k = &p->packings[i];
        k->drops = constant_of(b, k->source)->droppable && !uses[k->tensor_id] && !read[k->source];
        if (k->drops)
            uses[k->tensor_id] = 1; // packings before this one still read it
    }
    bool ok = uses && read;
    qrn_free(uses);
    qrn_free(read);
    return ok ? QRN_OK : qrn_cpu_no_memory(b);
}
