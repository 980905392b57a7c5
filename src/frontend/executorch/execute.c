// SPDX-License-Identifier: MIT
//
// Executing a method: its chains one after another, instruction by instruction.
#include "base/budget.h"
#include "frontend/executorch/delegate.h"
#include "frontend/executorch/kernel.h"
#include "frontend/executorch/method.h"

#include <stdio.h>
#include <string.h>

static qrn_status check_inputs(const et_method *m) {
    for (uint32_t i = 0; i < m->def->n_inputs; i++) {
        const et_item *v = et_method_input(m, i);
        if (v->kind == ET_KIND_TENSOR && !v->tensor->data)
            return QRN_FAIL(QRN_E_NOT_PERMITTED, "%s: method '%s': input %u was not given",
                            m->program->path, m->def->name, i);
    }
    return QRN_OK;
}

static qrn_status call_kernel(et_method *m, const et_instruction *in) {
    const et_kernel *k = m->kernels[in->a];
    const et_operator *op = &m->def->operators[in->a];
    et_call call = {.method = m, .args = in->args, .n_args = in->n_args};
    if (in->n_args < k->n_args)
        return QRN_FAIL(QRN_E_BINARY, "%s: method '%s': %s.%s has %u arguments, expected %u",
                        m->program->path, m->def->name, op->name, op->overload, in->n_args,
                        k->n_args);
    qrn_status s = k->run(&call, k->how);
    if (s == QRN_OK)
        s = call.status;
    if (s == QRN_OK)
        return s;
    char text[QRN_MESSAGE_MAX]; // the new message holds the old one
    snprintf(text, sizeof text, "%s", qrn_message());
    return QRN_FAIL(s, "%s: method '%s': %s.%s: %s", m->program->path, m->def->name, op->name,
                    op->overload, text);
}

static qrn_status is_true(const et_method *m, uint32_t value, bool *out) {
    const et_item *v = &m->values[value];
    if (v->kind == ET_KIND_BOOL || v->kind == ET_KIND_INT) {
        *out = v->i != 0;
        return QRN_OK;
    }
    if (v->kind != ET_KIND_TENSOR || !v->tensor->data || v->tensor->def->type != ET_BOOL)
        return QRN_FAIL(QRN_E_BINARY,
                        "%s: method '%s': a jump looks at value %u, which is not a bool",
                        m->program->path, m->def->name, value);
    bool all = true; // of a tensor: all of it
    for (size_t i = 0; i < v->tensor->count; i++)
        all = all && v->tensor->data[i];
    *out = all;
    return QRN_OK;
}

static qrn_status step(et_method *m, const et_instruction *in, uint32_t *next) {
    bool truth = true;
    switch (in->code) {
    case ET_KERNEL:
        return call_kernel(m, in);
    case ET_DELEGATE:
        return et_delegate_execute(m, m->delegates[in->a], in->args, in->n_args);
    case ET_MOVE:
        m->values[in->b] = m->values[in->a];
        return QRN_OK;
    case ET_JUMP_FALSE:
        QRN_TRY(is_true(m, in->a, &truth));
        if (!truth)
            *next = in->b;
        return QRN_OK;
    default: // ET_FREE: memory is freed with the method
        return QRN_OK;
    }
}

// A step and what the trace says of it, under the names of ExecuTorch's own runtime.
static qrn_status traced_step(et_method *m, uint32_t chain, uint32_t i, uint32_t *next) {
    const et_instruction *in = &m->def->chains[chain].instructions[i];
    et_trace *t = m->opt.trace;
    if (!t)
        return step(m, in, next);
    uint64_t start = et_trace_now();
    et_trace_at(t, (int32_t)chain, (int32_t)i);
    qrn_status s = step(m, in, next);
    if (in->code == ET_DELEGATE)
        et_trace_end(t, "DELEGATE_CALL", start);
    if (in->code == ET_KERNEL) {
        const et_operator *op = &m->def->operators[in->a];
        const char *space = strstr(op->name, "::");
        char name[160];
        snprintf(name, sizeof name, "native_call_%s.%s", space ? space + 2 : op->name,
                 op->overload);
        et_trace_end(t, name, start);
        et_trace_end(t, "OPERATOR_CALL", start);
    }
    et_trace_at(t, -1, -1);
    return s;
}

// What one execution may cost: jumps may go back, and without a limit for ever.
static qrn_status begin_budget(const et_method *m, qrn_budget *b) {
    uint64_t n = 0;
    for (uint32_t c = 0; c < m->def->n_chains; c++)
        n += m->def->chains[c].n;
    QRN_TRY(qrn_budget_begin(b, n, 0));
    if (m->opt.max_steps)
        b->most[QRN_COST_NODES] = m->opt.max_steps;
    return QRN_OK;
}

static qrn_status spend_step(const et_method *m, qrn_budget *b) {
    qrn_status s = qrn_budget_spend(b, QRN_COST_NODES, 1);
    if (s == QRN_OK)
        return s;
    char text[QRN_MESSAGE_MAX];
    snprintf(text, sizeof text, "%s", qrn_message());
    return QRN_FAIL(s, "%.300s: method '%.300s': %.400s", m->program->path, m->def->name, text);
}

static qrn_status run_chains(et_method *m) {
    qrn_budget budget;
    QRN_TRY(begin_budget(m, &budget));
    QRN_TRY(check_inputs(m));
    for (uint32_t c = 0; c < m->def->n_chains; c++) {
        const et_chain *chain = &m->def->chains[c];
        for (uint32_t i = 0; i < chain->n;) {
            uint32_t next = i + 1;
            QRN_TRY(spend_step(m, &budget));
            QRN_TRY(traced_step(m, c, i, &next));
            i = next;
        }
    }
    return QRN_OK;
}

qrn_status et_method_execute(et_method *m) {
    uint64_t start = et_trace_now();
    QRN_TRY(qrn_file_check(&m->program->file));
    if (m->opt.trace)
        et_trace_begin(m->opt.trace, "Execute");
    QRN_TRY(run_chains(m));
    if (m->opt.trace)
        et_trace_end(m->opt.trace, "Method::execute", start);
    return QRN_OK;
}
