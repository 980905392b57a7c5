// SPDX-License-Identifier: MIT
//
// Binding ops of user packages: one launch a kernel, as the package wrote it, and launches that
// bring results from the package's form into plain buffers.
#include "bind/gpu/user.h"

#include "bind/gpu/binder.h"

// Nothing but the device can compute it; constants are not folded, since the step counts as one
// that has a state.
static qrn_status no_host_run(const qrn_kcall *k) {
    (void)k;
    return QRN_FAIL(QRN_E_GENERAL, "an op of a GPU package has no code for the host");
}

static const qrn_kernel rows[] = {
    {.name = "gpu_user_op", .domain = QRN_DOMAIN_RAW, .fn = no_host_run},
};
static const qrn_family family = {
    .name = "gpu_user_op", .rows = rows, .n_rows = 1, .args_bytes = sizeof(qrn_gpu_user_args)};
const qrn_cop qrn_gpu_user_cop = {.name = "gpu_user_op", .family = &family};

// A buffer must begin where its value does, and drivers place parts of buffers at few places.
static qrn_status check_place(const qrn_gpu_binder *b, const qrn_cstep *s, qrn_val v) {
    size_t align = b->opt->device ? b->opt->device->info->align_bytes : 128;
    return v != QRN_VAL_NONE && b->plan->places[v].offset % (align > 256 ? align : 256)
               ? qrn_gpu_reject(b, s,
                                "a tensor of it is a part of another one that does not begin at an "
                                "address which a buffer may have")
               : QRN_OK;
}

static qrn_status set_arg(const qrn_gpu_binder *b, const qrn_cstep *s, const qrn_gpu_user_arg *from,
                          qrn_gpu_arg *to) {
    *to = (qrn_gpu_arg){.kind = QRN_GPU_ARG_BUFFER, .item = QRN_VAL_NONE};
    switch (from->kind) {
    case QRN_GPU_USER_IN:
        to->item = from->index < s->n_in ? s->in[from->index] : QRN_VAL_NONE;
        return check_place(b, s, to->item);
    case QRN_GPU_USER_OUT:
        to->item = from->index < s->n_out ? s->out[from->index] : QRN_VAL_NONE;
        return check_place(b, s, to->item);
    case QRN_GPU_USER_FORM:
        to->item = from->form->elements[from->index].item;
        if (from->form->kind != QRN_GPU_OBJECT_BUFFER)
            to->kind = QRN_GPU_ARG_OBJECT;
        return QRN_OK;
    case QRN_GPU_USER_LOCAL:
        *to = (qrn_gpu_arg){.kind = QRN_GPU_ARG_LOCAL, .bytes = from->bytes};
        return QRN_OK;
    case QRN_GPU_USER_DATA:
        *to = (qrn_gpu_arg){.kind = QRN_GPU_ARG_BYTES, .item = from->size, .bytes = from->bytes};
        return QRN_OK;
    default:
        return QRN_OK;
    }
}

static qrn_status add_kernel(qrn_gpu_binder *b, const qrn_cstep *s, const qrn_gpu_user_kernel *k) {
    qrn_gpu_launch l = {.source = k->source,
                        .entry = k->entry,
                        .locals = k->locals,
                        .n_locals = k->n_locals,
                        .n_args = k->n_args,
                        .n_dims = k->n_dims,
                        .refresh = k->refresh,
                        .refresh_ctx = k->refresh_ctx};
    l.args = qrn_arena_alloc(b->cg->arena, (k->n_args + 1u) * sizeof *l.args);
    for (uint32_t i = 0; l.args && i < k->n_args; i++)
        QRN_TRY(set_arg(b, s, &k->args[i], &l.args[i]));
    for (uint32_t d = 0; d < k->n_dims; d++) {
        l.global[d] = k->global[d];
        l.local[d] = k->local[d];
    }
    return qrn_gpu_add_launch(b, &l);
}

// Do kernels of the step read the operand as a plain buffer?
static bool reads_plain(const qrn_cstep *s, uint32_t operand) {
    if (s->op != &qrn_gpu_user_cop)
        return true;
    const qrn_gpu_user_op *op = ((const qrn_gpu_user_args *)s->args)->op;
    for (uint32_t i = 0; i < op->n_kernels; i++)
        for (uint32_t k = 0; k < op->kernels[i].n_args; k++)
            if (op->kernels[i].args[k].kind == QRN_GPU_USER_IN &&
                op->kernels[i].args[k].index == operand)
                return true;
    for (uint32_t i = 0; i < op->n_forms; i++)
        if (op->forms[i]->copy_of == (int32_t)operand)
            return true;
    return false;
}

// Does anything read a result as a plain buffer? Ops of packages read the form itself.
static bool is_wanted(const qrn_gpu_binder *b, qrn_val v) {
    const qrn_compiled *cg = b->cg;
    qrn_val owner = qrn_compiled_owner(cg, v);
    if (b->opt->keep_memory || b->plan->places[v].space == QRN_GPU_IO)
        return true;
    for (uint32_t i = 0; i < cg->n_steps; i++)
        for (uint32_t k = 0; k < cg->steps[i].n_in; k++) {
            qrn_val in = cg->steps[i].in[k];
            if (in != QRN_VAL_NONE && qrn_compiled_owner(cg, in) == owner &&
                reads_plain(&cg->steps[i], k))
                return true;
        }
    return false;
}

static qrn_status make_forms(qrn_gpu_binder *b, const qrn_cstep *s, const qrn_gpu_user_op *op) {
    for (uint32_t i = 0; i < op->n_forms; i++) {
        qrn_gpu_user_form *f = op->forms[i];
        QRN_TRY(qrn_gpu_user_form_make(b, f));
        if (f->copy_of >= 0)
            QRN_TRY(qrn_gpu_copy(b, s->in[f->copy_of], f->elements[0].item,
                                 qrn_gpu_count(b, s->in[f->copy_of])));
    }
    return QRN_OK;
}

static qrn_status bind_user(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_gpu_user_op *op = ((const qrn_gpu_user_args *)s->args)->op;
    QRN_TRY(make_forms(b, s, op));
    for (uint32_t i = 0; i < op->n_kernels; i++)
        QRN_TRY(add_kernel(b, s, &op->kernels[i]));
    for (uint32_t i = 0; i < op->n_results; i++) {
        qrn_val y = s->out[op->results[i].out];
        if (y != QRN_VAL_NONE && is_wanted(b, y))
            QRN_TRY(qrn_gpu_user_form_unpack(b, op->results[i].form, y));
    }
    return QRN_OK;
}

const qrn_gpu_op qrn_gpu_ops_user[] = {{.op = &qrn_gpu_user_cop, .bind = bind_user}, {0}};
