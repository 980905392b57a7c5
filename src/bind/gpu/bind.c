// SPDX-License-Identifier: MIT
//
// Binding: places of values, groups, one kernel after the other, memory.
#include "bind/gpu/trial.h"
#include "bind/gpu/user.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "bind/memplan.h"
#include "kernels/convert.h"

#include <stdio.h>
#include <string.h>

#define LARGE_CONST 1024 // elements; smaller float constants stay f32 in every mode

const qrn_gpu_op *qrn_gpu_op_of(const qrn_cop *op) {
    static const qrn_gpu_op *const tables[] = {
#define X(name) qrn_gpu_ops_##name,
        QRN_GPU_OP_TABLES(X)
#undef X
    };
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const qrn_gpu_op *r = tables[t]; r->op; r++)
            if (r->op == op)
                return r;
    return NULL;
}

qrn_val qrn_gpu_result(const qrn_gpu_binder *b) {
    return b->cg->steps[b->group->steps[b->group->n - 1]].out[0];
}

qrn_status qrn_gpu_reject(const qrn_gpu_binder *b, const qrn_cstep *s, const char *why) {
    const qrn_cnode *n = s->node < b->cg->n_nodes ? &b->cg->nodes[s->node] : NULL;
    return QRN_FAIL(QRN_E_FINALIZE,
                    "graph '%s' node '%s' (%s): step %s cannot run on the GPU: %s%s", b->cg->name,
                    n ? n->name : "", n ? n->type : "", s->op->name, why,
                    b->opt->host_steps ? "" : "; QUERN_GPU_HOST_STEPS=1 runs it on the CPU");
}

size_t qrn_gpu_count(const qrn_gpu_binder *b, qrn_val v) {
    const qrn_shape *s = &b->cg->values[v].shape;
    size_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++)
        n *= s->dims[i];
    return n;
}

static qrn_status no_memory(const qrn_gpu_binder *b) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
}

// --- places

// Marks the values of the compiler's own that become integers: 16 bits would change them (2105.4 is
// 2106).
static qrn_status find_integers(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    b->becomes_integers = qrn_arena_alloc(cg->arena, cg->n_values + 1u);
    if (!b->becomes_integers)
        return no_memory(b);
    memset(b->becomes_integers, 0, cg->n_values);
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        const qrn_cstep *s = &cg->steps[i];
        if (s->kind == QRN_CSTEP_OP && s->op == &qrn_cop_convert &&
            !cg->values[s->in[0]].tensor_id && !qrn_dtype_is_float(cg->values[s->out[0]].dtype))
            b->becomes_integers[s->in[0]] = true;
    }
    return QRN_OK;
}

// In which type the floats of a value that a step makes are stored.
static qrn_dtype float_storage(const qrn_gpu_binder *b, qrn_val owner) {
    const qrn_cvalue *v = qrn_gpu_value(b, owner);
    switch (b->opt->precision) {
    case QRN_GPU_FP16:
    case QRN_GPU_HYBRID:
        return b->becomes_integers[owner] ? QRN_DTYPE_F32 : QRN_DTYPE_F16;
    case QRN_GPU_USER:
        return v->tensor_id && b->opt->declared &&
                       b->opt->declared(b->opt->ctx, v->tensor_id) == QRN_DTYPE_F16
                   ? QRN_DTYPE_F16
                   : QRN_DTYPE_F32;
    default:
        return QRN_DTYPE_F32;
    }
}

static qrn_dtype storage_of(const qrn_gpu_binder *b, qrn_val owner) {
    const qrn_cvalue *v = qrn_gpu_value(b, owner);
    if (v->dtype != QRN_DTYPE_F32 || v->kind == QRN_CV_IO)
        return v->dtype;
    if (v->kind == QRN_CV_CONST)
        return b->opt->precision == QRN_GPU_FP32 || b->opt->precision == QRN_GPU_USER ||
                       qrn_gpu_count(b, owner) < LARGE_CONST
                   ? QRN_DTYPE_F32
                   : QRN_DTYPE_F16;
    return float_storage(b, owner);
}

static size_t elem_bytes(qrn_dtype t) { return (qrn_dtypes[t].bits + 7u) / 8u; }

static qrn_status make_places(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    qrn_gpu_plan *p = b->plan;
    b->cap_places = b->cap_first = b->cap_last = p->n_places = cg->n_values;
    p->places = qrn_calloc((cg->n_values + 1u) * sizeof *p->places);
    b->first = qrn_alloc((cg->n_values + 1u) * sizeof *b->first);
    b->last = qrn_alloc((cg->n_values + 1u) * sizeof *b->last);
    if (!p->places || !b->first || !b->last)
        return no_memory(b);
    for (uint32_t v = 0; v < cg->n_values; v++) {
        const qrn_cvalue *val = &cg->values[v];
        qrn_val owner = qrn_compiled_owner(cg, v);
        qrn_gpu_place *at = &p->places[v];
        b->first[v] = UINT32_MAX;
        *at = (qrn_gpu_place){.type = val->dtype == cg->values[owner].dtype ? storage_of(b, owner)
                                                                            : val->dtype};
        at->space = cg->values[owner].kind == QRN_CV_IO      ? QRN_GPU_IO
                    : cg->values[owner].kind == QRN_CV_CONST ? QRN_GPU_CONST
                                                             : QRN_GPU_ARENA;
        at->index = at->space == QRN_GPU_IO ? cg->values[owner].io : UINT32_MAX;
        at->offset = val->base_offset / elem_bytes(val->dtype) * elem_bytes(at->type);
    }
    return QRN_OK;
}

// Ops of user packages see every tensor in the type that the client declared.
static void keep_declared(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        const qrn_cstep *s = &cg->steps[i];
        for (uint32_t k = 0; s->op == &qrn_gpu_user_cop && k < s->n_in + s->n_out; k++) {
            qrn_val v = k < s->n_in ? s->in[k] : s->out[k - s->n_in];
            qrn_val owner = v == QRN_VAL_NONE ? QRN_VAL_NONE : qrn_compiled_owner(cg, v);
            for (uint32_t o = 0; owner != QRN_VAL_NONE && o < cg->n_values; o++)
                if (qrn_compiled_owner(cg, o) == owner) {
                    b->plan->places[o].type = cg->values[o].dtype;
                    b->plan->places[o].offset = cg->values[o].base_offset;
                }
        }
    }
}

static qrn_status count_uses(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    b->readers = qrn_arena_alloc(cg->arena, (cg->n_values + 1u) * sizeof *b->readers);
    b->writer = qrn_arena_alloc(cg->arena, (cg->n_values + 1u) * sizeof *b->writer);
    if (!b->readers || !b->writer)
        return no_memory(b);
    memset(b->readers, 0, cg->n_values * sizeof *b->readers);
    memset(b->writer, 0, cg->n_values * sizeof *b->writer);
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        const qrn_cstep *s = &cg->steps[i];
        for (uint32_t k = 0; k < s->n_in; k++) {
            if (s->in[k] == QRN_VAL_NONE)
                continue;
            qrn_val owner = qrn_compiled_owner(cg, s->in[k]);
            bool again = false; // one step may read a value twice
            for (uint32_t o = 0; o < k; o++)
                again |= s->in[o] != QRN_VAL_NONE && qrn_compiled_owner(cg, s->in[o]) == owner;
            b->readers[owner] += !again;
        }
        for (uint32_t k = 0; k < s->n_out; k++)
            if (s->out[k] != QRN_VAL_NONE)
                b->writer[qrn_compiled_owner(cg, s->out[k])] = i + 1;
    }
    return QRN_OK;
}

// --- constants that kernels read as they are

void qrn_gpu_to_f16(const float *src, size_t n, uint16_t *dst) {
    qrn_view from = {.data = (void *)(uintptr_t)src, .dtype = QRN_DTYPE_F32, .rank = 1};
    qrn_view to = {.data = dst, .dtype = QRN_DTYPE_F16, .rank = 1};
    qrn_view *in[] = {&from}, *out[] = {&to};
    qrn_kcall k = {.in = in, .out = out, .n_in = 1, .n_out = 1, .n_tasks = 1};
    from.dims[0] = to.dims[0] = (uint32_t)n;
    qrn_kernel_select(&qrn_family_convert, QRN_DOMAIN_RAW, &k, qrn_cpu_isa())->fn(&k);
}

static qrn_status no_data(const qrn_gpu_binder *b, qrn_val v) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': constant '%s' has no data", b->cg->name,
                    qrn_gpu_value(b, v)->name);
}

static qrn_status add_narrowed(qrn_gpu_binder *b, qrn_val v, qrn_val *out) {
    void *bytes;
    QRN_TRY(qrn_gpu_make_packed(b, NULL, v, QRN_GPU_PACKING_F16, b->plan->places[v].type,
                                qrn_gpu_count(b, v), out, &bytes));
    const float *data = bytes ? qrn_compiled_data(b->cg, v) : NULL;
    if (bytes && !data)
        return no_data(b, v);
    if (bytes)
        qrn_gpu_to_f16(data, qrn_gpu_count(b, v), bytes);
    return QRN_OK;
}

// What is only described has to be made, and can be stored; other data stays where it is.
static qrn_status add_as_is(qrn_gpu_binder *b, qrn_val v, qrn_val *out) {
    const qrn_cvalue *val = qrn_gpu_value(b, v);
    const qrn_cconst *k = &b->cg->constants[val->constant];
    qrn_gpu_const c = {.data = k->data, .bytes = val->size_bytes};
    if (k->kind != QRN_CONST_ROUNDED && k->kind != QRN_CONST_SCALED)
        return k->data ? qrn_gpu_add_const(b, b->plan->places[v].type, &c, out) : no_data(b, v);
    void *bytes;
    QRN_TRY(qrn_gpu_make_packed(b, NULL, v, QRN_GPU_PACKING_F32, b->plan->places[v].type,
                                qrn_gpu_count(b, v), out, &bytes));
    const void *data = bytes ? qrn_compiled_data(b->cg, v) : NULL;
    if (bytes && !data)
        return no_data(b, v);
    if (bytes)
        memcpy(bytes, data, val->size_bytes);
    return QRN_OK;
}

static qrn_status place_const(qrn_gpu_binder *b, uint32_t v) {
    qrn_gpu_place *at = &b->plan->places[v];
    qrn_val owner = qrn_compiled_owner(b->cg, v);
    if (at->space != QRN_GPU_CONST || at->index != UINT32_MAX)
        return QRN_OK;
    if (owner != v) {
        QRN_TRY(place_const(b, owner));
        b->plan->places[v].index = b->plan->places[owner].index;
        return QRN_OK;
    }
    qrn_val copy;
    QRN_TRY(at->type != b->cg->values[v].dtype ? add_narrowed(b, v, &copy)
                                               : add_as_is(b, v, &copy));
    b->plan->places[v].index = b->plan->places[copy].index; // may have moved
    return QRN_OK;
}

static qrn_status place_constants(qrn_gpu_binder *b) {
    for (uint32_t i = 0; i < b->plan->n_launches; i++)
        for (uint32_t k = 0; k < b->plan->launches[i].n_args; k++) {
            const qrn_gpu_arg *a = &b->plan->launches[i].args[k];
            if (qrn_gpu_is_value(a) && a->item < b->cg->n_values)
                QRN_TRY(place_const(b, a->item));
        }
    return QRN_OK;
}

// --- memory

static size_t align_of(const qrn_gpu_binder *b) {
    size_t a = b->opt->device ? b->opt->device->info->align_bytes : 0;
    return a > 256 ? a : 256;
}

static size_t arena_bytes_of(const qrn_gpu_binder *b, uint32_t item) {
    const qrn_gpu_place *at = &b->plan->places[item];
    size_t n =
        item < b->cg->n_values ? qrn_gpu_count(b, item) * elem_bytes(at->type) : (size_t)at->offset;
    size_t align = align_of(b);
    return (n + align - 1) / align * align;
}

static bool owns_arena(const qrn_gpu_binder *b, uint32_t item) {
    bool owner = item >= b->cg->n_values ||
                 (qrn_compiled_owner(b->cg, item) == item && !qrn_gpu_is_joined(b, item));
    return owner && b->plan->places[item].space == QRN_GPU_ARENA && b->first[item] != UINT32_MAX;
}

static qrn_status plan_memory(qrn_gpu_binder *b) {
    qrn_gpu_plan *p = b->plan;
    qrn_mem_item *items = qrn_alloc((p->n_places + 1u) * sizeof *items);
    if (!items)
        return no_memory(b);
    uint32_t n = 0;
    for (uint32_t v = 0; v < p->n_places; v++)
        if (owns_arena(b, v))
            items[n++] =
                (qrn_mem_item){.bytes = arena_bytes_of(b, v),
                               .first = b->opt->keep_memory ? 0 : b->first[v],
                               .last = b->opt->keep_memory ? p->n_launches - 1 : b->last[v],
                               .index = v};
    qrn_status s = qrn_mem_plan(items, n, p->n_launches, &p->arena_bytes, &p->bound_bytes);
    for (uint32_t i = 0; s == QRN_OK && i < n; i++) {
        p->places[items[i].index].offset = items[i].offset;
        p->places[items[i].index].index = 0; // it has memory
    }
    for (uint32_t v = 0; s == QRN_OK && v < b->cg->n_values; v++) {
        qrn_val owner = qrn_compiled_owner(b->cg, v);
        if (owner != v && p->places[v].space == QRN_GPU_ARENA) {
            p->places[v].offset += p->places[owner].offset;
            p->places[v].index = p->places[owner].index;
        }
    }
    for (uint32_t v = 0; s == QRN_OK && v < b->cg->n_values; v++)
        if (qrn_gpu_is_joined(b, v)) // it is not in one piece: dumps do not count it as memory
            p->places[v].offset = p->places[b->joins[v].whole].offset +
                                  b->joins[v].at * elem_bytes(p->places[v].type);
    qrn_free(items);
    return s;
}

// --- launches

static qrn_status bind_element_wise(qrn_gpu_binder *b) {
    qrn_val y = qrn_gpu_result(b);
    size_t n = qrn_gpu_count(b, y);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_eltwise, "eltwise");
    qrn_gpu_out(&k, "Y", y);
    qrn_gpu_int(&k, (int64_t)n);
    return qrn_gpu_kernel_items(&k, n);
}

static void explain(const qrn_gpu_binder *b, uint32_t from) {
    for (uint32_t i = from; i < b->plan->n_launches; i++) {
        char line[512];
        const qrn_gpu_launch *l = &b->plan->launches[i];
        int n = snprintf(line, sizeof line, "launch %u,%s,global %zu %zu %zu,nodes", i, l->entry,
                         l->global[0], l->global[1], l->global[2]);
        for (uint32_t k = 0; k < l->n_nodes && n < 400; k++)
            n += snprintf(line + n, sizeof line - (size_t)n, " %.60s",
                          b->cg->nodes[l->nodes[k]].name);
        b->opt->explain(b->opt->explain_ctx, line);
    }
}

static qrn_status bind_group(qrn_gpu_binder *b, const qrn_gpu_group *g) {
    const qrn_cstep *s = &b->cg->steps[g->steps[0]];
    b->group = g;
    if (s->kind != QRN_CSTEP_OP)
        return qrn_gpu_reject(b, s, "branches are not supported");
    bool element_wise = qrn_gpu_is_element_wise(b, s);
    const qrn_gpu_op *op = qrn_gpu_op_of(s->op);
    if (!op && !element_wise)
        return qrn_gpu_reject(b, s, "it has no kernel");
    QRN_TRY(element_wise ? bind_element_wise(b) : op->bind(b, s));
    return QRN_OK;
}

// A group that no kernel can do runs on the CPU where that is allowed.
static qrn_status bind_or_host(qrn_gpu_binder *b, const qrn_gpu_group *g) {
    const qrn_cstep *s = &b->cg->steps[g->steps[0]];
    qrn_gpu_mark from = qrn_gpu_mark_of(b->plan);
    if (qrn_gpu_wants_host(b, s))
        return qrn_gpu_bind_host(b, g);
    qrn_status made = bind_group(b, g);
    if (made != QRN_E_FINALIZE || !b->opt->host_steps || s->kind != QRN_CSTEP_OP ||
        qrn_gpu_is_attention(b, s)) // which does steps of others, too
        return made;
    qrn_message_clear();
    qrn_gpu_go_back(b->plan, &from);
    return qrn_gpu_bind_host(b, g);
}

static qrn_status bind_and_explain(qrn_gpu_binder *b, const qrn_gpu_group *g) {
    uint32_t before = b->plan->n_launches;
    QRN_TRY(bind_or_host(b, g));
    if (b->opt->explain)
        explain(b, before);
    return QRN_OK;
}

static qrn_status bind_all(qrn_gpu_binder *b) {
    QRN_TRY(find_integers(b));
    QRN_TRY(make_places(b));
    keep_declared(b);
    QRN_TRY(count_uses(b));
    QRN_TRY(qrn_gpu_find_attention(b));
    QRN_TRY(qrn_gpu_find_fronts(b));
    qrn_gpu_find_slices(b);
    QRN_TRY(qrn_gpu_make_groups(b));
    QRN_TRY(qrn_gpu_find_joins(b));
    for (uint32_t i = 0; i < b->n_groups; i++)
        if (b->groups[i].n) // 0: another one has done it
            QRN_TRY(bind_and_explain(b, &b->groups[i]));
    QRN_TRY(place_constants(b));
    return plan_memory(b);
}

// Do shapes change from execution to execution? Outputs with as many rows as the data say have the
// shape of the most.
static bool has_dynamic(const qrn_compiled *cg) {
    for (uint32_t v = 0; v < cg->n_values; v++)
        if (cg->values[v].dynamic)
            return true;
    return false;
}

qrn_status qrn_bind_gpu(qrn_compiled *cg, const qrn_gpu_options *opt, qrn_gpu_plan **plan) {
    qrn_gpu_plan *p = *plan = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    qrn_gpu_binder b = {.cg = cg, .opt = opt, .plan = p};
    p->known = opt->known;
    p->n_known = opt->n_known;
    if (has_dynamic(cg) || cg->optional_io) { // branches have no kernel
        qrn_free(p);
        return QRN_FAIL(QRN_E_FINALIZE,
                        "graph '%s': dynamic shapes and optional tensors are not supported by "
                        "the GPU backend",
                        cg->name);
    }
    qrn_status s = bind_all(&b);
    qrn_free(b.first);
    qrn_free(b.last);
    if (s == QRN_OK) {
        p->cg = cg;
        return QRN_OK;
    }
    qrn_gpu_plan_destroy(p);
    *plan = NULL;
    return s;
}
