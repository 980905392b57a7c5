// SPDX-License-Identifier: MIT
//
// Binding ops of user packages: one launch a kernel, as the package wrote it.
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
                          const qrn_val *internals, qrn_gpu_arg *to) {
    *to = (qrn_gpu_arg){.kind = QRN_GPU_ARG_BUFFER, .item = QRN_VAL_NONE};
    switch (from->kind) {
    case QRN_GPU_USER_IN:
        to->item = from->index < s->n_in ? s->in[from->index] : QRN_VAL_NONE;
        return check_place(b, s, to->item);
    case QRN_GPU_USER_OUT:
        to->item = from->index < s->n_out ? s->out[from->index] : QRN_VAL_NONE;
        return check_place(b, s, to->item);
    case QRN_GPU_USER_INTERNAL:
        to->item = internals[from->index];
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

static qrn_status add_kernel(qrn_gpu_binder *b, const qrn_cstep *s, const qrn_gpu_user_kernel *k,
                             const qrn_val *internals) {
    qrn_gpu_launch l = {.text = k->text,
                        .options = k->options,
                        .entry = k->entry,
                        .locals = k->locals,
                        .n_locals = k->n_locals,
                        .n_args = k->n_args,
                        .n_dims = k->n_dims};
    l.args = qrn_arena_alloc(b->cg->arena, (k->n_args + 1u) * sizeof *l.args);
    for (uint32_t i = 0; l.args && i < k->n_args; i++)
        QRN_TRY(set_arg(b, s, &k->args[i], internals, &l.args[i]));
    for (uint32_t d = 0; d < k->n_dims; d++) {
        l.global[d] = k->global[d];
        l.local[d] = k->local[d];
    }
    return qrn_gpu_add_launch(b, &l);
}

static qrn_status bind_user(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_gpu_user_op *op = ((const qrn_gpu_user_args *)s->args)->op;
    qrn_val *internals = qrn_arena_alloc(b->cg->arena, (op->n_internals + 1u) * sizeof *internals);
    if (!internals)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
    for (uint32_t i = 0; i < op->n_internals; i++)
        QRN_TRY(qrn_gpu_scratch(b, QRN_DTYPE_U8, op->internal_bytes[i], &internals[i]));
    for (uint32_t i = 0; i < op->n_kernels; i++)
        QRN_TRY(add_kernel(b, s, &op->kernels[i], internals));
    return QRN_OK;
}

const qrn_gpu_op qrn_gpu_ops_user[] = {{.op = &qrn_gpu_user_cop, .bind = bind_user}, {0}};
