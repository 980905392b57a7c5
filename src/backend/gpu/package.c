// SPDX-License-Identifier: MIT
//
// Op packages for the GPU: the device as packages see it, and how their ops become steps.
// An op is implemented by kernels, texts or binaries. Tensors are plain buffers in their declared
// types, channels last, unless the op that makes them claims another form: then ops of packages
// get that form, and all others a plain copy. A node may stand for several that a package
// implements as one (package_super.c).
#include "backend/gpu/package_impl.h"

#include "base/mem.h"
#include "compiler/lower.h"

#include <stdio.h>
#include <string.h>

#define OLDEST_CORE_MINOR 37u // QnnGpu_MemoryObject_t was smaller before

// --- the device as packages see it

struct qrn_gpu_package_facts {
    Qnn_ApiVersion_t version;
    QnnGpu_DeviceProperties_t device;
    QnnGpuOpPackage_GlobalInfrastructure_t global;
    qrn_package_rules rules;
};

static uint64_t number(const qrn_cl_device *d, cl_uint what, size_t size_bytes) {
    uint64_t v = 0;
    return qrn_cl.clGetDeviceInfo(d->id, what, size_bytes, &v, NULL) == CL_SUCCESS ? v : 0;
}

static void describe_device(const qrn_cl_device *d, QnnGpu_DeviceProperties_t *p) {
    size_t width = (size_t)number(d, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof(size_t));
    size_t height = (size_t)number(d, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof(size_t));
    snprintf(p->deviceVersion, sizeof p->deviceVersion, "%s", d->version);
    snprintf(p->tierName, sizeof p->tierName, "%.7s", d->tier);
    p->interfaceVersion[0] = d->major;
    p->interfaceVersion[1] = d->minor;
    if (sscanf(d->c_version, "OpenCL C %u.%u", &p->compilerVersion[0], &p->compilerVersion[1]) != 2)
        p->compilerVersion[0] = p->compilerVersion[1] = 0;
    p->maxWorkGroupSize = d->max_group;
    p->image1dBufferMaxWidth = (size_t)number(d, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, sizeof(size_t));
    p->image2dMaxWidth = p->image2dArrayMaxWidth = width;
    p->image2dMaxHeight = p->image2dArrayMaxHeight = height;
    p->image2dArrayMaxDepth = (size_t)number(d, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, sizeof(size_t));
    p->maxBufferAllocSize = (size_t)d->max_alloc_bytes;
    p->baseAddrAlignment = d->align_bytes;
    p->isLocalMemorySupported = d->local_bytes > 0;
}

// A package that was built with headers in which structs were smaller would be misread.
static qrn_status check_version(const QnnOpPackage_Info_t *info) {
    const Qnn_Version_t *v = info->sdkApiVersion ? &info->sdkApiVersion->coreApiVersion : NULL;
    if (v && (v->major != QNN_API_VERSION_MAJOR || v->minor < OLDEST_CORE_MINOR))
        return QRN_FAIL(QRN_E_PKG_VERSION,
                        "op package '%s' was built with API %u.%u, allowed 2.%u and later 2.x: "
                        "build it again",
                        info->packageName, v->major, v->minor, OLDEST_CORE_MINOR);
    return QRN_OK;
}

qrn_status qrn_gpu_packages_open(qrn_gpu_backend *own) {
    struct qrn_gpu_package_facts *f = own->facts = qrn_calloc(sizeof *f);
    if (!f)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a backend");
    QRN_TRY(qrn_version(&f->version));
    if (own->devices)
        describe_device(&own->devices[own->chosen], &f->device);
    f->global = (QnnGpuOpPackage_GlobalInfrastructure_t){
        .sdkApiVersion = &f->version, .deviceProperties = &f->device, .driverPath = qrn_cl_path()};
    f->rules = (qrn_package_rules){
        .infrastructure = &f->global, .unique_ops = true, .check = check_version};
    qrn_packages_init(&own->packages, &f->rules);
    return QRN_OK;
}

void qrn_gpu_packages_close(qrn_gpu_backend *own) {
    if (own->packages.rules)
        qrn_packages_clear(&own->packages);
    qrn_free(own->facts);
}

qrn_status qrn_gpu_package_register(qrn_api_backend *b, const char *path, const char *provider,
                                    const char *target, const void *image, size_t size) {
    if (target && strcmp(target, "GPU") != 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "op package: target '%s', allowed NULL and GPU", target);
    return qrn_packages_register(&qrn_gpu_backend_of(b)->packages, path, provider, target, image,
                                 size);
}

// --- the node as the package sees it

static const QnnGpu_TensorStorageType_t *describe_storage(qrn_arena *a,
                                                          const QnnGpu_MemoryObject_t *claim,
                                                          qrn_tensor *t) {
    QnnGpu_MemoryObject_t *o = qrn_arena_alloc(a, sizeof *o);
    QnnGpu_TensorStorageType_t *s = qrn_arena_alloc(a, sizeof *s);
    if (!o || !s)
        return NULL;
    *o = (QnnGpu_MemoryObject_t)QNN_GPU_MEMORY_OBJECT_INIT;
    o->type = claim ? claim->type : QNN_GPU_MEM_OBJ_TYPE_BUFFER;
    o->dataType = claim ? claim->dataType : (Qnn_DataType_t)qrn_dtypes[t->dtype].code;
    o->dimensions = t->shape.dims;
    o->numDimensions = t->shape.rank;
    o->layout = claim ? claim->layout : QNN_GPU_MEM_LAYOUT_HWC;
    o->name = t->name;
    if (claim && claim->offsets &&
        !(o->offsets = qrn_arena_copy(a, claim->offsets, t->shape.rank * sizeof *o->offsets)))
        return NULL;
    *s = (QnnGpu_TensorStorageType_t){.id = t->id, .memoryObject = o};
    return s;
}

static qrn_status describe_node(qrn_gpu_instance *in, uint32_t optimization) {
    const Qnn_OpConfig_t **configs =
        qrn_arena_alloc(in->arena, (in->n_nodes + 1u) * sizeof *configs);
    const QnnGpu_TensorStorageType_t **storage =
        qrn_arena_alloc(in->arena, (in->node->n_in + 1u) * sizeof *storage);
    uint32_t n = 0;
    if (!configs || !storage)
        return qrn_gpu_package_no_memory(in);
    for (uint32_t i = 0; i < in->node->n_in; i++) {
        qrn_tensor *t = in->node->in[i];
        if (t && !(storage[n++] = describe_storage(in->arena, qrn_gpu_claim_of(in->next, t), t)))
            return qrn_gpu_package_no_memory(in);
    }
    for (uint32_t i = 0; i < in->n_nodes; i++)
        if (!(configs[i] = qrn_packages_op_config(in->arena, in->nodes[i])))
            return qrn_gpu_package_no_memory(in);
    configs[in->n_nodes] = NULL;
    storage[n] = NULL;
    in->given = (QnnGpuOpPackage_Node_t){.optimization = optimization,
                                         .configs = configs,
                                         .storageTypes = storage,
                                         .kernelVariant = -1};
    return QRN_OK;
}

static qrn_status create_impl(const qrn_api_graph *g, qrn_gpu_instance *in) {
    const qrn_package *p = in->package;
    QnnGpuOpPackage_GraphInfrastructure_t infra = {
        .precisionMode = (QnnGpu_Precision_t)qrn_gpu_graph_of(g)->precision,
        .deviceProperties = &qrn_gpu_backend_of(g->context->backend)->facts->device};
    Qnn_ErrorHandle_t e =
        p->interface.interfaceVersion.major == 2
            ? p->interface.v2_0.createOpImpl(p->handle, &infra, &in->given, &in->impl)
            : p->interface.v1_4.createOpImpl(&infra, &in->given, &in->impl);
    if (e != QNN_SUCCESS || !in->impl || !in->impl->kernels)
        return QRN_FAIL(QRN_E_FINALIZE,
                        "node '%s': package '%s' cannot create its op '%s' (code %llu)",
                        in->node->name, p->info->packageName,
                        in->n_nodes > 1 ? "(super node)" : in->node->type, (unsigned long long)e);
    return QRN_OK;
}

// --- steps

// Operands in the types that the client declared: inputs, then tensor parameters.
static qrn_status lower_inputs(qrn_lowering *lo, const qrn_gpu_instance *in, qrn_val *vals) {
    const qrn_node *n = in->node;
    const qrn_tensor *t;
    for (uint32_t i = 0; i < n->n_in; i++) {
        vals[i] = QRN_VAL_NONE;
        if (!n->in[i])
            continue;
        QRN_TRY(qrn_lo_tensor(lo, n->in[i], &vals[i]));
        QRN_TRY(qrn_lo_as(lo, vals[i], n->in[i]->dtype, &n->in[i]->quant, &vals[i]));
    }
    for (uint32_t i = 0; (t = qrn_gpu_param_tensor(in, i)); i++)
        QRN_TRY(qrn_lo_tensor(lo, t, &vals[n->n_in + i]));
    return QRN_OK;
}

static qrn_status emit(qrn_lowering *lo, const qrn_gpu_instance *in) {
    const qrn_node *n = in->node;
    qrn_gpu_user_args args = {&in->made};
    uint32_t n_in = n->n_in;
    while (qrn_gpu_param_tensor(in, n_in - n->n_in))
        n_in++;
    qrn_val *vals = qrn_arena_alloc(in->arena, (n_in + 2u * n->n_out + 1u) * sizeof *vals);
    if (!vals)
        return qrn_gpu_package_no_memory(in);
    qrn_val *outs = vals + n_in, *finals = outs + n->n_out;
    QRN_TRY(lower_inputs(lo, in, vals));
    for (uint32_t i = 0; i < n->n_out; i++) {
        outs[i] = finals[i] = QRN_VAL_NONE;
        if (!n->out[i])
            continue;
        QRN_TRY(qrn_lo_tensor(lo, n->out[i], &finals[i]));
        outs[i] = finals[i];
        if (n->out[i]->dtype == QRN_DTYPE_F16) // a float in the graph
            QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F16, &n->out[i]->shape, NULL, &outs[i]));
    }
    QRN_TRY(
        qrn_lo_step(lo, &qrn_gpu_user_cop, QRN_DOMAIN_RAW, &args, vals, n_in, outs, n->n_out, 1));
    for (uint32_t i = 0; i < n->n_out; i++)
        if (outs[i] != finals[i])
            QRN_TRY(qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &outs[i], 1, &finals[i],
                                1, 0));
    return QRN_OK;
}

static qrn_gpu_instance *new_instance(qrn_gpu_graph *own) {
    qrn_gpu_instance *in = qrn_calloc(sizeof *in);
    if (!in || !(in->arena = qrn_arena_create())) {
        qrn_free(in);
        return NULL;
    }
    in->next = own->user_ops; // from here on the list frees it
    own->user_ops = in;
    return in;
}

qrn_status qrn_gpu_user_arena(qrn_gpu_graph *g, qrn_arena **out) {
    static const qrn_node none;
    qrn_gpu_instance *in = new_instance(g);
    if (!in)
        return QRN_FAIL(QRN_E_MEM, "out of memory for ops of packages");
    in->node = &none;
    *out = in->arena;
    return QRN_OK;
}

qrn_status qrn_gpu_user_lower(void *ctx, struct qrn_lowering *lo, const qrn_node *n) {
    const qrn_api_graph *g = ctx;
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    qrn_gpu_instance *in = new_instance(own);
    if (!in)
        return QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", n->name);
    const qrn_gpu_super *super = qrn_gpu_is_super(n) ? n->user_op : NULL;
    in->package = ((const qrn_user_op *)n->user_op)->package;
    in->node = n;
    in->nodes = super ? super->nodes : qrn_arena_copy(in->arena, &n, sizeof(const qrn_node *));
    in->n_nodes = super ? super->n_nodes : 1;
    if (!in->nodes)
        return qrn_gpu_package_no_memory(in);
    QRN_TRY(qrn_gpu_bind_tensors(in, in->next));
    QRN_TRY(describe_node(in, super ? super->optimization : UINT32_MAX));
    QRN_TRY(create_impl(g, in));
    QRN_TRY(qrn_gpu_read_impl(in));
    return emit(lo, in);
}

void qrn_gpu_user_free(qrn_gpu_graph *g, const void *keep) {
    while (g->user_ops && g->user_ops != keep) {
        qrn_gpu_instance *in = g->user_ops;
        const qrn_package *p = in->package;
        g->user_ops = in->next;
        if (in->impl && p->interface.interfaceVersion.major == 2)
            p->interface.v2_0.freeOpImpl(p->handle, in->impl);
        else if (in->impl)
            p->interface.v1_4.freeOpImpl(in->impl);
        qrn_arena_destroy(in->arena);
        qrn_free(in);
    }
}
