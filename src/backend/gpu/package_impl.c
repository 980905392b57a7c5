// SPDX-License-Identifier: MIT
//
// What a package made for an op, checked and copied: kernels, arguments, sizes.
#include "backend/gpu/package_impl.h"

#include <string.h>

#define MOST_KERNELS 256u
#define MOST_ARGS 128u
#define MOST_LOCALS 64u // local sizes that are tried
#define MOST_STEPS 128u // of a range of them

qrn_status qrn_gpu_package_no_memory(const qrn_gpu_instance *in) {
    return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", in->node->name);
}

qrn_status qrn_gpu_package_reject(const qrn_gpu_instance *in, const char *what) {
    return QRN_FAIL(QRN_E_FINALIZE, "node '%s': %s '%s' of package '%s' %s", in->node->name,
                    in->n_nodes > 1 ? "super node" : "op",
                    in->n_nodes > 1 ? in->package->info->optimizations[in->given.optimization]->name
                                    : in->node->type,
                    in->package->info->packageName, what);
}

static qrn_status reject(const qrn_gpu_instance *in, const char *what) {
    return qrn_gpu_package_reject(in, what);
}

static uint8_t data_bytes(QnnGpu_DataKernelArgType_t type) {
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

const qrn_tensor *qrn_gpu_param_tensor(const qrn_gpu_instance *in, uint32_t i) {
    for (uint32_t n = 0; n < in->n_nodes; n++)
        for (uint32_t k = 0; k < in->nodes[n]->n_params; k++) {
            const qrn_param *p = &in->nodes[n]->params[k];
            if (p->present && p->is_tensor && i-- == 0)
                return p->tensor;
        }
    return NULL;
}

// The tensor that an argument names, NULL where the node lacks it; false: there is no such operand.
static bool find_operand(const qrn_gpu_instance *in, const QnnGpu_KernelArg_t *a,
                         const qrn_tensor **out) {
    uint32_t index = a->tensor.tensorIndex, given = 0;
    const qrn_node *n =
        a->tensor.opConfigIndex < in->n_nodes ? in->nodes[a->tensor.opConfigIndex] : NULL;
    *out = NULL;
    switch (a->type) {
    case QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ:
    case QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE:
        if (!n || index >= n->n_in)
            return false;
        *out = n->in[index];
        return true;
    case QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM: // by its number among those that were given
        for (uint32_t i = 0; n && i < n->n_params; i++)
            if (n->params[i].present && given++ == index)
                *out = n->params[i].is_tensor ? n->params[i].tensor : NULL;
        return *out != NULL;
    default:
        if (!n || index >= n->n_out)
            return false;
        *out = n->out[index];
        return true;
    }
}

static bool writes(QnnGpu_KernelArgType_t type) {
    return type == QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE ||
           type == QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE ||
           type == QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_READWRITE ||
           type == QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_WRITE ||
           type == QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READWRITE;
}

static qrn_status read_memory(qrn_gpu_instance *in, const QnnGpu_KernelArg_t *from,
                              qrn_gpu_bound *b, qrn_gpu_user_arg *to) {
    if (writes(from->type))
        QRN_TRY(qrn_gpu_write_tensor(in, b));
    const qrn_gpu_ref *r = &b->ref;
    *to = (qrn_gpu_user_arg){.kind = r->kind, .index = r->index, .form = r->form};
    if (from->tensor.element >= (r->kind == QRN_GPU_USER_FORM ? r->form->n_elements : 1))
        return reject(in, "has a kernel with an element that an aggregated object lacks");
    if (r->kind == QRN_GPU_USER_FORM)
        to->index = from->tensor.element;
    return QRN_OK;
}

static qrn_status read_tensor(qrn_gpu_instance *in, const QnnGpu_KernelArg_t *from,
                              qrn_gpu_user_arg *to) {
    const qrn_tensor *t;
    if (!find_operand(in, from, &t))
        return reject(in, from->type == QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM
                              ? "has a kernel with a parameter that is not a tensor"
                          : from->type == QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ ||
                                  from->type == QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE
                              ? "has a kernel with an input that the node lacks"
                              : "has a kernel with an output that the node lacks");
    to->kind = QRN_GPU_USER_NULL;
    if (!t)
        return QRN_OK;
    qrn_gpu_bound *b = qrn_gpu_find_tensor(in, t);
    return b ? read_memory(in, from, b, to) : qrn_gpu_package_no_memory(in);
}

static qrn_status read_arg(qrn_gpu_instance *in, const QnnGpu_KernelArg_t *from,
                           qrn_gpu_user_arg *to) {
    switch (from->type) {
    case QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ:
    case QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE:
    case QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE:
    case QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_READWRITE:
    case QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM:
        return read_tensor(in, from, to);
    case QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READ:
    case QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READWRITE:
    case QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_WRITE:
        return from->tensor.tensorIndex < in->n_objects
                   ? read_memory(in, from, &in->objects[from->tensor.tensorIndex], to)
                   : reject(in, "has a kernel with a memory object that it did not list");
    case QNN_GPU_KERNEL_ARG_TYPE_DATA:
        *to = (qrn_gpu_user_arg){.kind = QRN_GPU_USER_DATA, .size = data_bytes(from->data.type)};
        memcpy(&to->bytes, &from->data.qnnULong, to->size);
        return to->size ? QRN_OK : reject(in, "has a kernel with data of an unknown type");
    case QNN_GPU_KERNEL_ARG_TYPE_LOCAL:
        *to = (qrn_gpu_user_arg){.kind = QRN_GPU_USER_LOCAL, .bytes = from->local.size};
        return QRN_OK;
    case QNN_GPU_KERNEL_ARG_TYPE_NULL_PTR:
        to->kind = QRN_GPU_USER_NULL;
        return QRN_OK;
    default:
        return reject(in, "has a kernel with an argument of an unknown kind");
    }
}

static qrn_status read_args(qrn_gpu_instance *in, const QnnGpu_Kernel_t *from,
                            qrn_gpu_user_kernel *to) {
    uint32_t n = 0;
    while (from->args && from->args[n])
        if (++n > MOST_ARGS)
            return reject(in, "has a kernel with too many arguments");
    qrn_gpu_user_arg *args = qrn_arena_alloc(in->arena, (n + 1u) * sizeof *args);
    if (!args)
        return qrn_gpu_package_no_memory(in);
    for (uint32_t i = 0; i < n; i++) {
        args[i] = (qrn_gpu_user_arg){0};
        QRN_TRY(read_arg(in, from->args[i], &args[i]));
    }
    to->args = args;
    to->n_args = n;
    return QRN_OK;
}

static qrn_status read_sizes(const qrn_gpu_instance *in, const QnnGpu_Kernel_t *from,
                             qrn_gpu_user_kernel *to) {
    if (from->globalWorkDim < 1 || from->globalWorkDim > 3 ||
        (from->localWorkDim && from->localWorkDim != from->globalWorkDim))
        return reject(in, "has a kernel without 1 to 3 work sizes, or other local ones");
    to->n_dims = (uint32_t)from->globalWorkDim;
    for (uint32_t d = 0; d < to->n_dims; d++) {
        to->global[d] = from->globalWorkSizes[d];
        to->local[d] = from->localWorkDim ? from->localWorkSizes[d] : 0;
        if (!to->global[d] || (from->localWorkDim && !to->local[d]))
            return reject(in, "has a kernel with a work size of 0");
    }
    return QRN_OK;
}

// Sizes of one dimension that a range has: from min to max, step by step.
static size_t range_of(const QnnGpu_KernelLocalWorkSizeTuning_t *r, uint32_t d, size_t i) {
    size_t v = r->minValue[d] + i * (size_t)(r->stepSize[d] ? r->stepSize[d] : 1);
    return v && v <= r->maxValue[d] ? v : 0;
}

// Local sizes that the package offers, those that divide the global ones; at most MOST_LOCALS.
static qrn_status read_tuning(const qrn_gpu_instance *in, const QnnGpu_Kernel_t *from,
                              qrn_gpu_user_kernel *to) {
    const QnnGpu_KernelTuningConfig_t *c = from->tuningConfigs ? from->tuningConfigs[0] : NULL;
    if (!c || c->option != QNN_GPU_KERNEL_TUNING_LOCAL_WORK_SIZE)
        return QRN_OK;
    qrn_gpu_local *list = qrn_arena_alloc(in->arena, MOST_LOCALS * sizeof *list);
    if (!list)
        return qrn_gpu_package_no_memory(in);
    for (size_t x = 0; x < MOST_STEPS; x++)
        for (size_t y = 0; y < (to->n_dims > 1 ? MOST_STEPS : 1); y++)
            for (size_t z = 0; z < (to->n_dims > 2 ? MOST_STEPS : 1); z++) {
                qrn_gpu_local l = {{range_of(&c->lws, 0, x),
                                    to->n_dims > 1 ? range_of(&c->lws, 1, y) : 1,
                                    to->n_dims > 2 ? range_of(&c->lws, 2, z) : 1}};
                bool fits = to->n_locals < MOST_LOCALS;
                for (uint32_t d = 0; d < to->n_dims; d++)
                    fits = fits && l.size[d] && to->global[d] % l.size[d] == 0;
                if (fits)
                    list[to->n_locals++] = l;
            }
    to->locals = list;
    return QRN_OK;
}

// What the package says about the version of its kernels; it lives as long as the package.
static const char *repo_hash(const qrn_gpu_instance *in) {
    const QnnOpPackage_Info_t *info = in->package->info;
    return info->packageInfo ? info->packageInfo->kernelRepoHash : NULL;
}

// A kernel whose sizes and data the package may change between executions.
typedef struct dynamic {
    const qrn_gpu_instance *in;
    const QnnGpu_Kernel_t *kernel;
} dynamic;

static qrn_status refresh(void *ctx, qrn_gpu_launch *l) {
    const dynamic *d = ctx;
    qrn_gpu_user_kernel now = {0};
    QRN_TRY(read_sizes(d->in, d->kernel, &now));
    if (now.n_dims != l->n_dims)
        return reject(d->in, "has a kernel whose number of work sizes has changed");
    memcpy(l->global, now.global, sizeof l->global);
    memcpy(l->local, now.local, sizeof l->local);
    for (cl_uint i = 0; i < l->n_args; i++) {
        const QnnGpu_KernelArg_t *a = d->kernel->args[i];
        if (l->args[i].kind != QRN_GPU_ARG_BYTES)
            continue;
        cl_int err = qrn_cl.clSetKernelArg(l->kernel, i, l->args[i].item, &a->data.qnnULong);
        if (err != CL_SUCCESS)
            return QRN_FAIL(QRN_E_SYSTEM, "node '%s': argument %u of kernel %s cannot be set: %s",
                            d->in->node->name, i, l->entry, qrn_cl_error(err));
    }
    return QRN_OK;
}

static qrn_status make_dynamic(const qrn_gpu_instance *in, const QnnGpu_Kernel_t *from,
                               qrn_gpu_user_kernel *to) {
    dynamic *d = qrn_arena_alloc(in->arena, sizeof *d);
    if (!d)
        return qrn_gpu_package_no_memory(in);
    *d = (dynamic){in, from};
    to->refresh = refresh;
    to->refresh_ctx = d;
    return QRN_OK;
}

static qrn_status read_kernel(qrn_gpu_instance *in, const QnnGpu_Kernel_t *from,
                              qrn_gpu_user_kernel *to) {
    bool binary = from->sourceType == QNN_GPU_KERNEL_SOURCE_TYPE_BINARY;
    if (!binary && from->sourceType != QNN_GPU_KERNEL_SOURCE_TYPE_TEXT)
        return reject(in, "has a kernel that is neither OpenCL text (0) nor a binary (1)");
    if (!from->kernelSource || !from->sourceLength || !from->name)
        return reject(in, "has a kernel without a text, a binary or a name");
    char *text = qrn_arena_alloc(in->arena, from->sourceLength + 1);
    if (!text)
        return qrn_gpu_package_no_memory(in);
    memcpy(text, from->kernelSource, from->sourceLength);
    text[from->sourceLength] = 0;
    to->source = (qrn_cl_source){
        .text = text,
        .binary_bytes = binary ? from->sourceLength : 0,
        .options = qrn_arena_strdup(in->arena, from->buildOptions ? from->buildOptions : ""),
        .salt = repo_hash(in)};
    to->entry = qrn_arena_strdup(in->arena, from->name);
    if (!to->entry || !to->source.options)
        return qrn_gpu_package_no_memory(in);
    QRN_TRY(read_sizes(in, from, to));
    QRN_TRY(from->isDynamic ? make_dynamic(in, from, to) : read_tuning(in, from, to));
    return read_args(in, from, to);
}

qrn_status qrn_gpu_read_impl(qrn_gpu_instance *in) {
    uint32_t n = 0;
    QRN_TRY(qrn_gpu_read_objects(in));
    while (in->impl->kernels[n])
        if (++n > MOST_KERNELS)
            return reject(in, "has too many kernels");
    qrn_gpu_user_kernel *kernels = qrn_arena_alloc(in->arena, (n + 1u) * sizeof *kernels);
    if (!kernels)
        return qrn_gpu_package_no_memory(in);
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(read_kernel(in, in->impl->kernels[i], &kernels[i]));
    in->made.kernels = kernels;
    in->made.n_kernels = n;
    return n ? qrn_gpu_read_results(in) : reject(in, "has no kernels");
}
