// SPDX-License-Identifier: MIT
//
// Binding: values and steps of the compiled graph become those of a plan, GEMMs with constant
// weights get packed ones, and every step its kernel.
#include "bind/cpu/binder.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define VALUES_OF_GEMM 6 // constants that a GEMM step may add: packed weights, sums, encodings ...
#define PACKINGS_OF_GEMM 3 // those of them that are packed from a tensor

static uint32_t count_gemms(const qrn_compiled *cg) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < cg->n_steps; i++)
        n += cg->steps[i].op == &qrn_cop_conv || cg->steps[i].op == &qrn_cop_matmul;
    return n;
}

static uint32_t count_gathers(const qrn_compiled *cg) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < cg->n_steps; i++)
        n += cg->steps[i].op == &qrn_cop_gather;
    return n;
}

static uint32_t count_described(const qrn_compiled *cg) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < cg->n_constants; i++)
        n += cg->constants[i].kind == QRN_CONST_ROUNDED;
    return n;
}

static qrn_status begin(qrn_cpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    uint32_t n_gemms = count_gemms(cg), n_tables = count_gathers(cg);
    size_t n_values = cg->n_values + n_tables + (size_t)VALUES_OF_GEMM * n_gemms;
    size_t n_packings = count_described(cg) + n_tables + (size_t)PACKINGS_OF_GEMM * n_gemms;
    qrn_plan *p = b->plan = qrn_arena_alloc(cg->arena, sizeof *p);
    if (!p)
        return qrn_cpu_no_memory(b);
    p->arena = cg->arena;
    p->values = qrn_arena_alloc(cg->arena, (n_values + 1) * sizeof *p->values);
    p->steps = qrn_arena_alloc(cg->arena, (cg->n_steps + 1u) * sizeof *p->steps);
    p->nodes = qrn_arena_alloc(cg->arena, (cg->n_nodes + 1u) * sizeof *p->nodes);
    p->io = qrn_arena_alloc(cg->arena, (cg->n_io + 1u) * sizeof *p->io);
    p->packings = qrn_arena_alloc(cg->arena, (n_packings + 1) * sizeof *p->packings);
    p->late = qrn_arena_alloc(cg->arena, (n_gemms + 1u) * sizeof *p->late);
    if (!p->values || !p->steps || !p->nodes || !p->io || !p->packings || !p->late)
        return qrn_cpu_no_memory(b);
    p->max_tasks = b->opt->n_threads ? b->opt->n_threads : 1;
    p->dynamic = cg->dynamic;
    p->optional_io = cg->optional_io;
    p->may_block = cg->may_block;
    return QRN_OK;
}

static void copy_values(qrn_cpu_binder *b) {
    static const uint8_t storage[] = {[QRN_CV_TEMP] = QRN_STORE_ARENA,
                                      [QRN_CV_CONST] = QRN_STORE_CONST,
                                      [QRN_CV_IO] = QRN_STORE_IO};
    const qrn_compiled *cg = b->cg;
    for (uint32_t i = 0; i < cg->n_values; i++) {
        const qrn_cvalue *v = &cg->values[i];
        b->plan->values[i] = (qrn_value){.view = qrn_compiled_view(cg, i),
                                         .size_bytes = v->size_bytes,
                                         .storage = storage[v->kind],
                                         .dynamic = v->dynamic,
                                         .conditional = v->conditional,
                                         .io = v->io,
                                         .first = UINT32_MAX,
                                         .base = v->base,
                                         .base_offset = v->base_offset,
                                         .name = v->name,
                                         .tensor_id = v->tensor_id};
        if (v->kind == QRN_CV_CONST && cg->constants[v->constant].kind == QRN_CONST_MADE)
            b->plan->const_bytes += v->size_bytes;
    }
    b->plan->n_values = cg->n_values;
}

static void copy_nodes(qrn_cpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    for (uint32_t i = 0; i < cg->n_nodes; i++) {
        const qrn_cnode *n = &cg->nodes[i];
        b->plan->nodes[i] = (qrn_plan_node){.name = n->name,
                                            .type = n->type,
                                            .ir = cg->origin ? cg->origin[i] : NULL,
                                            .in = n->in,
                                            .out = n->out,
                                            .n_in = n->n_in,
                                            .n_out = n->n_out};
    }
    b->plan->n_nodes = cg->n_nodes;
    for (uint32_t i = 0; i < cg->n_io; i++)
        b->plan->io[i] = (qrn_io){.value = cg->io[i].value,
                                  .tensor_id = cg->io[i].tensor_id,
                                  .is_output = cg->io[i].is_output,
                                  .optional = cg->io[i].optional};
    b->plan->n_io = cg->n_io;
}

static qrn_status copy_step(qrn_cpu_binder *b, const qrn_cstep *from, qrn_step *s) {
    qrn_plan *p = b->plan;
    static const uint8_t kinds[] = {[QRN_CSTEP_OP] = QRN_STEP_KERNEL,
                                    [QRN_CSTEP_BRANCH] = QRN_STEP_BRANCH,
                                    [QRN_CSTEP_JUMP] = QRN_STEP_JUMP};
    *s = (qrn_step){.kind = kinds[from->kind],
                    .family = from->op ? from->op->family : NULL,
                    .domain = (qrn_domain)from->domain,
                    .args = from->args,
                    .in = from->in,
                    .out = from->out,
                    .n_in = from->n_in,
                    .n_out = from->n_out,
                    .state_offset = p->state_bytes,
                    .state_bytes = from->state_bytes,
                    .target = from->target,
                    .node = from->node,
                    .n_chained = from->n_fused,
                    .reshape = qrn_cpu_reshape((qrn_shapes)from->shapes)};
    QRN_TRY(qrn_cpu_take(b, from->state_bytes));
    p->state_bytes += (from->state_bytes + QRN_ALIGN - 1) / QRN_ALIGN * QRN_ALIGN;
    return QRN_OK;
}

// Packs the weights of a GEMM. Without packed ones the op's own rows do, which report no parts.
static qrn_status bind_gemm(qrn_cpu_binder *b, const qrn_cstep *from, qrn_step *s) {
    qrn_gemm g;
    if (!qrn_gemm_of(b->cg, from, &g))
        return QRN_OK;
    qrn_status st = QRN_E_UNSUPPORTED;
    if (s->domain == QRN_DOMAIN_RAW)
        st = qrn_cpu_quantized_gemm(b, s, &g);
    else if (s->domain == QRN_DOMAIN_F32)
        st = qrn_cpu_weight_only(b, s, &g);
    if (s->domain == QRN_DOMAIN_F32 && st == QRN_E_UNSUPPORTED)
        st = qrn_cpu_gemm(b, s, &g);
    return st == QRN_E_UNSUPPORTED ? QRN_OK : st;
}

static qrn_status bind_steps(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    for (; p->n_steps < b->cg->n_steps; p->n_steps++) {
        const qrn_cstep *from = &b->cg->steps[p->n_steps];
        qrn_step *s = &p->steps[p->n_steps];
        QRN_TRY(copy_step(b, from, s));
        if (s->kind == QRN_STEP_KERNEL)
            QRN_TRY(bind_gemm(b, from, s));
        if (s->family && !s->family->reports)
            s->n_chained = 0;
        if (s->n_in + s->n_out > p->max_operands)
            p->max_operands = s->n_in + s->n_out;
    }
    return QRN_OK;
}

// --- kernels

// The call of a step over the largest shapes; ptrs has room for n_in + n_out pointers.
static qrn_kcall call_of(const qrn_plan *p, const qrn_step *s, qrn_view **ptrs) {
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
static void explain(const qrn_cpu_binder *b, const qrn_step *s, const qrn_kcall *k, bool chained) {
    char line[1024];
    size_t at = 0;
    const qrn_plan_node *n = &b->plan->nodes[s->node];
#define ADD(...)                                                                                   \
    do {                                                                                           \
        int len = at < sizeof line ? snprintf(line + at, sizeof line - at, __VA_ARGS__) : 0;       \
        at += len > 0 ? (size_t)len : 0;                                                           \
    } while (0)
    ADD("dispatch,%s,%s,%s,%s,%s,", b->cg->name, n->name, n->type, s->family->name,
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
        ADD("not %s: %s; ", r->name, qrn_kernel_rejection(r, s->domain, k, b->opt->isa));
    if (chained)
        ADD("chained");
#undef ADD
    b->opt->explain(b->opt->explain_ctx, line);
}

// Of a constant that was kept in a packed form only, nothing may want the plain one.
static qrn_status check_data(const qrn_cpu_binder *b, const qrn_step *s) {
    for (uint32_t i = 0; i < s->n_in; i++) {
        const qrn_value *v = s->in[i] == UINT32_MAX ? NULL : &b->plan->values[s->in[i]];
        if (v && v->storage == QRN_STORE_CONST && !v->view.data && v->size_bytes && !v->host_only)
            return QRN_FAIL(QRN_E_BINARY, "graph '%s' node '%s': no data for constant '%s'",
                            b->cg->name, b->plan->nodes[s->node].name, v->name);
    }
    return QRN_OK;
}

static qrn_status choose_kernel(qrn_cpu_binder *b, qrn_step *s, qrn_view **ptrs, bool chained) {
    qrn_plan *p = b->plan;
    QRN_TRY(check_data(b, s));
    qrn_kcall k = call_of(p, s, ptrs);
    s->kernel = qrn_kernel_select(s->family, s->domain, &k, b->opt->isa);
    if (!s->kernel)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' node '%s' (%s): no kernel of family %s fits",
                        b->cg->name, p->nodes[s->node].name, p->nodes[s->node].type,
                        s->family->name);
    if (s->kernel->tasks)
        k.n_tasks = p->max_tasks;
    s->scratch_bytes = s->kernel->scratch ? s->kernel->scratch(&k) : 0;
    if (b->opt->explain)
        explain(b, s, &k, chained);
    return QRN_OK;
}

static qrn_status choose_kernels(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    qrn_view **ptrs = qrn_arena_alloc(p->arena, (p->max_operands + 1) * sizeof *ptrs);
    if (!ptrs)
        return qrn_cpu_no_memory(b);
    uint32_t chain_end = 0; // step behind the last chain
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_step *s = &p->steps[i];
        bool chained = i < chain_end;
        chain_end = s->n_chained ? i + 1 + s->n_chained : chain_end;
        if (s->kind == QRN_STEP_KERNEL)
            QRN_TRY(choose_kernel(b, s, ptrs, chained));
    }
    return QRN_OK;
}

qrn_status qrn_bind_cpu(qrn_compiled *cg, const qrn_cpu_options *opt, qrn_plan **plan) {
    qrn_cpu_binder b = {.cg = cg, .opt = opt};
    QRN_TRY(begin(&b));
    copy_values(&b);
    copy_nodes(&b);
    QRN_TRY(bind_steps(&b));
    QRN_TRY(qrn_cpu_tables(&b));
    QRN_TRY(qrn_cpu_pack_described(&b));
    QRN_TRY(choose_kernels(&b));
    qrn_cpu_drop_late(&b);
    QRN_TRY(qrn_cpu_plan_memory(&b));
    QRN_TRY(qrn_cpu_find_droppable(&b));
    *plan = b.plan;
    return QRN_OK;
}
