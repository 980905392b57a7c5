// SPDX-License-Identifier: MIT
//
// Compiling: lowers all nodes, runs the passes and moves the growing arrays into the arena.
#include "compiler/compile.h"

#include "base/mem.h"
#include "compiler/fp16.h"
#include "compiler/native_kv.h"
#include "compiler/passes.h"

#include <string.h>

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
    QRN_TRY(qrn_lo_fp16_begin(lo));
    lo->cg->half = lo->fp16;
    QRN_TRY(qrn_lo_find_uses(lo));
    QRN_TRY(add_application_tensors(lo, lo->graph));
    QRN_TRY(qrn_lo_native_enter(lo));
    QRN_TRY(qrn_lo_fp16_enter(lo));
    for (uint32_t i = 0; i < lo->graph->n_nodes; i++) {
        if (lo->opt->poll)
            QRN_TRY(lo->opt->poll(lo->opt->poll_ctx));
        QRN_TRY(qrn_lo_lower_node(lo, lo->graph->nodes[i]));
    }
    QRN_TRY(qrn_lo_fp16_leave(lo));
    QRN_TRY(qrn_lo_native_leave(lo));
    QRN_TRY(qrn_lo_passes(lo));
    for (uint32_t v = 0; v < lo->cg->n_values; v++) { // no value lies in one that lies in another
        size_t at;
        qrn_val owner = qrn_pass_owner(lo->cg, v, &at);
        if (owner != v)
            qrn_pass_place(lo->cg, v, owner, at);
    }
    return QRN_OK;
}

// Operands and parameters that are a tensor, by its id: steps read some of them, others were only
// looked at while lowering.
static qrn_status count_tensor_uses(qrn_lowering *lo) {
    qrn_compiled *cg = lo->cg;
    cg->n_tensor_ids = lo->n_by_id;
    cg->tensor_uses = qrn_arena_alloc(cg->arena, lo->n_by_id * sizeof(uint32_t));
    if (!cg->tensor_uses)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < cg->n_nodes; i++) {
        const qrn_node *n = cg->origin[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k])
                cg->tensor_uses[n->in[k]->id]++;
        for (uint32_t k = 0; k < n->n_params; k++)
            if (n->params[k].is_tensor && n->params[k].tensor->id < lo->n_by_id)
                cg->tensor_uses[n->params[k].tensor->id]++;
    }
    return QRN_OK;
}

// Moves a heap array into the arena, so that the graph is freed as one; frees it in any case.
static bool settle(qrn_arena *a, void **array, uint32_t n, size_t elem_bytes) {
    void *p = qrn_arena_copy(a, *array, n * elem_bytes);
    qrn_free(*array);
    *array = p;
    return p != NULL;
}

static bool settle_all(qrn_compiled *cg) {
    bool ok = settle(cg->arena, (void **)&cg->values, cg->n_values, sizeof *cg->values);
    ok &= settle(cg->arena, (void **)&cg->steps, cg->n_steps, sizeof *cg->steps);
    ok &= settle(cg->arena, (void **)&cg->constants, cg->n_constants, sizeof *cg->constants);
    ok &= settle(cg->arena, (void **)&cg->nodes, cg->n_nodes, sizeof *cg->nodes);
    ok &= settle(cg->arena, (void **)&cg->origin, cg->n_nodes, sizeof *cg->origin);
    ok &= settle(cg->arena, (void **)&cg->io, cg->n_io, sizeof *cg->io);
    return ok;
}

static qrn_status begin(qrn_lowering *lo, const qrn_graph *g, const qrn_compile_options *opt) {
    *lo =
        (qrn_lowering){.graph = g, .client_graph = g, .opt = opt, .n_by_id = max_tensor_id(g) + 1};
    qrn_arena *arena = qrn_arena_create();
    lo->cg = arena ? qrn_arena_alloc(arena, sizeof *lo->cg) : NULL;
    lo->by_id = qrn_alloc(lo->n_by_id * sizeof *lo->by_id);
    const char *name = lo->cg ? qrn_arena_strdup(arena, g->name) : NULL;
    if (!name || !lo->by_id) {
        qrn_arena_destroy(arena);
        qrn_free(lo->by_id);
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->name);
    }
    lo->cg->arena = arena;
    lo->cg->name = name;
    for (uint32_t i = 0; i < lo->n_by_id; i++)
        lo->by_id[i] = QRN_VAL_NONE;
    return QRN_OK;
}

qrn_status qrn_compile(const qrn_graph *g, const qrn_compile_options *opt, qrn_compiled **out) {
    qrn_lowering lo;
    QRN_TRY(begin(&lo, g, opt));
    qrn_status s = lower_all(&lo);
    if (s == QRN_OK)
        s = count_tensor_uses(&lo);
    if (!settle_all(lo.cg) && s == QRN_OK)
        s = QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->name);
    qrn_free(lo.by_id);
    qrn_free(lo.uses);
    qrn_free(lo.conversions);
    qrn_free(lo.detours);
    if (s != QRN_OK) {
        qrn_compiled_destroy(lo.cg);
        return s;
    }
    *out = lo.cg;
    return QRN_OK;
}
