// SPDX-License-Identifier: MIT
//
// Compiling: runs the passes in order and moves the growing arrays into the plan's arena.
#include "compiler/compile.h"

#include "base/mem.h"
#include "compiler/half.h"
#include "compiler/passes.h"

#include <stdio.h>
#include <string.h>

qrn_kcall qrn_lo_call(const qrn_plan *p, const qrn_step *s, qrn_view **ptrs) {
    for (uint32_t i = 0; i < s->n_in; i++)
        ptrs[i] = s->in[i] == UINT32_MAX ? NULL : &p->values[s->in[i]].view;
    for (uint32_t i = 0; i < s->n_out; i++)
        ptrs[s->n_in + i] = s->out[i] == UINT32_MAX ? NULL : &p->values[s->out[i]].view;
    return (qrn_kcall){.args = s->args,
                       .in = ptrs,
                       .out = ptrs + s->n_in,
                       .n_in = s->n_in,
                       .n_out = s->n_out,
                       .task = 0,
                       .n_tasks = 1};
}

// "dispatch,graph,node,op,family,kernel,shapes,not rowA: reason; not rowB: reason; chained"
static void explain(const qrn_lowering *lo, const qrn_step *s, const qrn_kcall *k, bool chained) {
    char line[1024];
    size_t at = 0;
    const qrn_plan_node *n = &lo->plan->nodes[s->node];
#define ADD(...)                                                                                   \
    do {                                                                                           \
        int len = at < sizeof line ? snprintf(line + at, sizeof line - at, __VA_ARGS__) : 0;       \
        at += len > 0 ? (size_t)len : 0;                                                           \
    } while (0)
    ADD("dispatch,%s,%s,%s,%s,%s,", lo->graph->name, n->name, n->type, s->family->name,
        s->kernel->name);
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        const qrn_view *v = i < s->n_in ? k->in[i] : k->out[i - s->n_in];
        if (i == s->n_in)
            ADD("->");
        else if (i)
            ADD(" ");
        if (!v)
            continue;
        ADD("%s:", qrn_dtypes[v->dtype].token);
        for (uint32_t d = 0; d < v->rank; d++)
            ADD("%s%u", d ? "x" : "", v->dims[d]);
    }
    ADD(",");
    for (const qrn_kernel *r = s->family->rows; r < s->kernel; r++)
        ADD("not %s: %s; ", r->name, qrn_kernel_refusal(r, s->domain, k, lo->opt->isa));
    if (chained)
        ADD("chained");
#undef ADD
    lo->opt->explain(lo->opt->explain_ctx, line);
}

// Of a constant that was kept in a packed form only, nothing may want the plain one.
static qrn_status check_data(const qrn_lowering *lo, const qrn_step *s) {
    for (uint32_t i = 0; i < s->n_in; i++) {
        const qrn_value *v = s->in[i] == UINT32_MAX ? NULL : &lo->plan->values[s->in[i]];
        if (v && v->storage == QRN_STORE_CONST && !v->view.data && v->size_bytes)
            return QRN_FAIL(QRN_E_BINARY, "graph '%s' node '%s': no data for constant '%s'",
                            lo->graph->name, lo->plan->nodes[s->node].name, v->name);
    }
    return QRN_OK;
}

qrn_status qrn_lo_bind(qrn_lowering *lo) {
    qrn_plan *p = lo->plan;
    qrn_view **ptrs = qrn_arena_alloc(p->arena, (p->max_operands + 1) * sizeof *ptrs);
    if (!ptrs)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    uint32_t chain_end = 0; // step behind the last chain
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_step *s = &p->steps[i];
        bool chained = i < chain_end;
        chain_end = s->n_chained ? i + 1 + s->n_chained : chain_end;
        if (s->kind != QRN_STEP_KERNEL)
            continue;
        QRN_TRY(check_data(lo, s));
        qrn_kcall k = qrn_lo_call(p, s, ptrs);
        s->kernel = qrn_kernel_select(s->family, s->domain, &k, lo->opt->isa);
        if (!s->kernel)
            return QRN_FAIL(
                QRN_E_FINALIZE, "graph '%s' node '%s' (%s): no kernel of family %s fits",
                lo->graph->name, p->nodes[s->node].name, p->nodes[s->node].type, s->family->name);
        if (s->kernel->tasks)
            k.n_tasks = p->max_tasks;
        s->scratch_bytes = s->kernel->scratch ? s->kernel->scratch(&k) : 0;
        if (lo->opt->explain)
            explain(lo, s, &k, chained);
    }
    return QRN_OK;
}

static uint32_t max_tensor_id(const qrn_graph *g) {
    uint32_t top = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->id > top)
            top = g->tensors[i]->id;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t j = 0; j < g->nodes[i]->n_in + g->nodes[i]->n_out; j++) {
            const qrn_node *n = g->nodes[i];
            const qrn_tensor *t = j < n->n_in ? n->in[j] : n->out[j - n->n_in];
            if (t && t->id > top)
                top = t->id;
        }
    for (uint32_t i = 0; i < g->n_subgraphs; i++) {
        uint32_t sub = max_tensor_id(g->subgraphs[i]);
        top = sub > top ? sub : top;
    }
    return top;
}

// Application tensors come first and in order of creation, whichever node uses them.
static qrn_status add_application_tensors(qrn_lowering *lo, const qrn_graph *g) {
    qrn_val v;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < g->n_tensors; i++)
            if (g->tensors[i]->role == (pass ? QRN_ROLE_OUTPUT : QRN_ROLE_INPUT))
                QRN_TRY(qrn_lo_tensor(lo, g->tensors[i], &v));
    return QRN_OK;
}

static qrn_status lower_all(qrn_lowering *lo) {
    QRN_TRY(qrn_half_begin(lo));
    QRN_TRY(qrn_lo_find_uses(lo));
    QRN_TRY(add_application_tensors(lo, lo->graph));
    QRN_TRY(qrn_half_enter(lo));
    for (uint32_t i = 0; i < lo->graph->n_nodes; i++) {
        if (lo->opt->poll)
            QRN_TRY(lo->opt->poll(lo->opt->poll_ctx));
        QRN_TRY(qrn_lo_lower_node(lo, lo->graph->nodes[i]));
    }
    QRN_TRY(qrn_half_leave(lo));
    QRN_TRY(qrn_lo_passes(lo));
    QRN_TRY(qrn_lo_bind(lo));
    return qrn_lo_plan_memory(lo);
}

// Moves a heap array into the arena, so that the plan is freed as one.
static bool settle(qrn_arena *a, void **array, uint32_t n, size_t elem_bytes) {
    void *p = qrn_arena_copy(a, *array, n * elem_bytes);
    if (!p)
        return false;
    qrn_free(*array);
    *array = p;
    return true;
}

static qrn_status settle_all(qrn_plan *p, bool *values, bool *steps, bool *nodes, bool *io) {
    *values = settle(p->arena, (void **)&p->values, p->n_values, sizeof *p->values);
    *steps = settle(p->arena, (void **)&p->steps, p->n_steps, sizeof *p->steps);
    *nodes = settle(p->arena, (void **)&p->nodes, p->n_nodes, sizeof *p->nodes);
    *io = settle(p->arena, (void **)&p->io, p->n_io, sizeof *p->io);
    for (uint32_t i = 0; *values && i < p->n_values; i++)
        if (p->values[i].view.quant)
            p->values[i].view.quant = &p->values[i].quant;
    return *values && *steps && *nodes && *io ? QRN_OK
                                              : QRN_FAIL(QRN_E_MEM, "out of memory for the plan");
}

qrn_status qrn_compile(const qrn_graph *g, const qrn_compile_options *opt, qrn_plan **plan) {
    qrn_lowering lo = {.graph = g, .client_graph = g, .opt = opt, .n_by_id = max_tensor_id(g) + 1};
    qrn_arena *arena = qrn_arena_create();
    lo.plan = arena ? qrn_arena_alloc(arena, sizeof(qrn_plan)) : NULL;
    lo.by_id = qrn_alloc(lo.n_by_id * sizeof *lo.by_id);
    if (!lo.plan || !lo.by_id) {
        qrn_arena_destroy(arena);
        qrn_free(lo.by_id);
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->name);
    }
    lo.plan->arena = arena;
    lo.plan->max_tasks = opt->n_threads ? opt->n_threads : 1;
    for (uint32_t i = 0; i < lo.n_by_id; i++)
        lo.by_id[i] = QRN_VAL_NONE;
    qrn_status s = lower_all(&lo);
    bool values = false, steps = false, nodes = false, io = false;
    if (s == QRN_OK)
        s = settle_all(lo.plan, &values, &steps, &nodes, &io);
    if (s == QRN_OK)
        s = qrn_lo_keep_packings(&lo);
    if (!values)
        qrn_free(lo.plan->values);
    if (!steps)
        qrn_free(lo.plan->steps);
    if (!nodes)
        qrn_free(lo.plan->nodes);
    if (!io)
        qrn_free(lo.plan->io);
    qrn_free(lo.by_id);
    qrn_free(lo.uses);
    qrn_free(lo.conversions);
    qrn_free(lo.packings);
    qrn_free(lo.detours);
    if (s != QRN_OK) {
        qrn_arena_destroy(arena);
        return s;
    }
    *plan = lo.plan;
    return QRN_OK;
}
