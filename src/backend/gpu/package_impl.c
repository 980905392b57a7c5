// SPDX-License-Identifier: MIT
//
// What a package made for an op, checked and copied: memory, kernels, arguments, sizes.
#include "backend/gpu/package_impl.h"

#include <string.h>

#define MOST_KERNELS 256u
#define MOST_ARGS 128u
#define MOST_LOCALS 64u // local sizes that are tried
#define MOST_STEPS 128u // of a range of them

static qrn_status no_memory(const qrn_gpu_instance *in) {
    return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", in->node->name);
}

static qrn_status reject(const qrn_gpu_instance *in, const char *what) {
    return QRN_FAIL(QRN_E_FINALIZE, "node '%s': op '%s' of package '%s' %s", in->node->name,
                    in->node->type, in->node->package, what);
}

static qrn_status check_object(const qrn_gpu_instance *in, const QnnGpu_MemoryObject_t *o) {
    if (o->type != QNN_GPU_MEM_OBJ_TYPE_BUFFER && o->type != QNN_GPU_MEM_OBJ_TYPE_UNCLAIMED)
        return reject(in, "wants memory that is not a BUFFER (1): images, host memory and aliases "
                          "are not supported");
    if (o->layout != QNN_GPU_MEM_LAYOUT_HWC && o->layout != QNN_GPU_MEM_LAYOUT_DHWC &&
        o->layout != QNN_GPU_MEM_LAYOUT_UNDEFINED)
        return reject(in, "wants a layout other than HWC (0) and DHWC (4), which is not supported");
    return QRN_OK;
}

static qrn_status check_claims(const qrn_gpu_instance *in) {
    for (uint32_t i = 0; in->impl->outputClaims && in->impl->outputClaims[i]; i++) {
        const QnnGpu_OutputClaim_t *c = in->impl->outputClaims[i];
        if (c->opConfigIndex || c->outputIndex >= in->node->n_out || !c->memoryObject)
            return reject(in, "claims an output that it does not have");
        QRN_TRY(check_object(in, c->memoryObject));
        const qrn_tensor *t = in->node->out[c->outputIndex];
        if (t && c->memoryObject->dataType != (Qnn_DataType_t)qrn_dtypes[t->dtype].code)
            return reject(in, "claims an output in another data type than it was declared with");
    }
    return QRN_OK;
}

static qrn_status read_internals(qrn_gpu_instance *in) {
    QnnGpu_MemoryObject_t **list = in->impl->memoryObjects;
    uint32_t n = 0;
    while (list && list[n])
        n++;
    size_t *bytes = qrn_arena_alloc(in->arena, (n + 1u) * sizeof *bytes);
    if (!bytes)
        return no_memory(in);
    for (uint32_t i = 0; i < n; i++) {
        qrn_dtype type = qrn_dtype_from_code((uint32_t)list[i]->dataType);
        qrn_shape shape = {.rank = list[i]->numDimensions};
        size_t count;
        QRN_TRY(check_object(in, list[i]));
        if (type == QRN_DTYPE_COUNT || shape.rank > QRN_MAX_RANK || !list[i]->dimensions)
            return reject(in, "has a memory object without a type or shape");
        memcpy(shape.dims, list[i]->dimensions, shape.rank * sizeof shape.dims[0]);
        if (!qrn_shape_count(&shape, &count) || !qrn_dtype_bytes(type, count, &bytes[i]))
            return reject(in, "has a memory object that is too large");
    }
    in->made.internal_bytes = bytes;
    in->made.n_internals = n;
    return QRN_OK;
}

static uint8_t data_bytes(QnnGpu_DataKernelArgType_t type) {
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

// Tensor parameters are operands behind the inputs, in their order.
static qrn_status param_operand(const qrn_gpu_instance *in, uint32_t index, uint32_t *out) {
    uint32_t n = in->node->n_in;
    for (uint32_t i = 0; i < in->node->n_params; i++) {
        if (i == index && in->node->params[i].is_tensor) {
            *out = n;
            return QRN_OK;
        }
        n += in->node->params[i].is_tensor;
    }
    return reject(in, "has a kernel with a parameter that is not a tensor");
}

static qrn_status read_arg(const qrn_gpu_instance *in, const QnnGpu_KernelArg_t *from,
                           qrn_gpu_user_arg *to) {
    uint32_t index = from->tensor.tensorIndex;
    switch (from->type) {
    case QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ:
        *to = (qrn_gpu_user_arg){.kind = QRN_GPU_USER_IN, .index = index};
        return from->tensor.opConfigIndex == 0 && index < in->node->n_in
                   ? QRN_OK
                   : reject(in, "has a kernel with an input that the node lacks");
    case QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE:
    case QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_READWRITE:
        *to = (qrn_gpu_user_arg){.kind = QRN_GPU_USER_OUT, .index = index};
        return from->tensor.opConfigIndex == 0 && index < in->node->n_out
                   ? QRN_OK
                   : reject(in, "has a kernel with an output that the node lacks");
    case QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READ:
    case QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READWRITE:
    case QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_WRITE:
        *to = (qrn_gpu_user_arg){.kind = QRN_GPU_USER_INTERNAL, .index = index};
        return index < in->made.n_internals
                   ? QRN_OK
                   : reject(in, "has a kernel with a memory object that it did not list");
    case QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM:
        to->kind = QRN_GPU_USER_IN;
        return param_operand(in, index, &to->index);
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
        return reject(in, "has a kernel with an argument of a kind that is not supported (inputs "
                          "cannot be written to)");
    }
}

static qrn_status read_args(const qrn_gpu_instance *in, const QnnGpu_Kernel_t *from,
                            qrn_gpu_user_kernel *to) {
    uint32_t n = 0;
    while (from->args && from->args[n])
        if (++n > MOST_ARGS)
            return reject(in, "has a kernel with too many arguments");
    qrn_gpu_user_arg *args = qrn_arena_alloc(in->arena, (n + 1u) * sizeof *args);
    if (!args)
        return no_memory(in);
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
        return no_memory(in);
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

static qrn_status read_kernel(const qrn_gpu_instance *in, const QnnGpu_Kernel_t *from,
                              qrn_gpu_user_kernel *to) {
    if (from->sourceType != QNN_GPU_KERNEL_SOURCE_TYPE_TEXT)
        return reject(in, "has a kernel that is not OpenCL text (0), which is not supported");
    if (from->isDynamic)
        return reject(in, "has a kernel that changes between executions, which is not supported");
    if (!from->kernelSource || !from->name)
        return reject(in, "has a kernel without a text or a name");
    char *text = qrn_arena_alloc(in->arena, from->sourceLength + 1);
    if (!text)
        return no_memory(in);
    memcpy(text, from->kernelSource, from->sourceLength);
    text[from->sourceLength] = 0;
    to->text = text;
    to->entry = qrn_arena_strdup(in->arena, from->name);
    to->options = qrn_arena_strdup(in->arena, from->buildOptions ? from->buildOptions : "");
    if (!to->entry || !to->options)
        return no_memory(in);
    QRN_TRY(read_sizes(in, from, to));
    QRN_TRY(read_tuning(in, from, to));
    return read_args(in, from, to);
}

qrn_status qrn_gpu_read_impl(qrn_gpu_instance *in) {
    uint32_t n = 0;
    QRN_TRY(check_claims(in));
    QRN_TRY(read_internals(in));
    while (in->impl->kernels[n])
        if (++n > MOST_KERNELS)
            return reject(in, "has too many kernels");
    qrn_gpu_user_kernel *kernels = qrn_arena_alloc(in->arena, (n + 1u) * sizeof *kernels);
    if (!kernels)
        return no_memory(in);
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(read_kernel(in, in->impl->kernels[i], &kernels[i]));
    in->made.kernels = kernels;
    in->made.n_kernels = n;
    return n ? QRN_OK : reject(in, "has no kernels");
}
