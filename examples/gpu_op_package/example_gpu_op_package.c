// SPDX-License-Identifier: MIT
//
// An op package for the GPU backend, with two ops on float tensors of any shape:
//   ScaledSwish   y = scale * x * sigmoid(beta * x); parameters scale and beta are floats
//   BiasedSquare  y = x * x + bias; bias is a tensor parameter of one float. Two kernels, with
//                 memory of the op's own between them
// Kernels are OpenCL text. Clients register the library with provider
// "ExampleGpuOpPackage_provider" (interface 2.0) or "ExampleGpuOpPackage_provider_1_4".
#include "GPU/QnnGpuOpPackage.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char swish_text[] =
    "__kernel void scaled_swish(__global const float *x, __global float *y, const int n,\n"
    "                           const float scale, const float beta) {\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] = scale * x[i] / (1.0f + exp(-beta * x[i]));\n"
    "}\n";

static const char square_text[] =
    "__kernel void square(__global const float *x, __global float *t) {\n"
    "    int i = get_global_id(0);\n"
    "    t[i] = x[i] * x[i];\n"
    "}\n";

static const char bias_text[] =
    "__kernel void bias(__global const float *t, __global const float *b, __global float *y) {\n"
    "    int i = get_global_id(0);\n"
    "    y[i] = t[i] + b[0];\n"
    "}\n";

// What createOpImpl returns, with room for everything that it points to.
typedef struct impl {
    QnnGpu_Operation_t operation; // first: the backend's pointer is a pointer to the impl
    QnnGpu_OutputClaim_t claim, *claims[2];
    QnnGpu_MemoryObject_t output, internal, *internals[2];
    QnnGpu_Kernel_t kernels[2], *kernel_list[3];
    QnnGpu_KernelArg_t args[2][5], *arg_list[2][6];
    uint32_t n_args[2];
    QnnGpu_KernelTuningConfig_t tuning, *tunings[2];
} impl;

// --- arguments

static QnnGpu_KernelArg_t *add_arg(impl *m, unsigned kernel, QnnGpu_KernelArgType_t type) {
    QnnGpu_KernelArg_t *a = &m->args[kernel][m->n_args[kernel]];
    m->arg_list[kernel][m->n_args[kernel]++] = a;
    a->type = type;
    return a;
}

static void add_tensor(impl *m, unsigned kernel, QnnGpu_KernelArgType_t type, uint32_t index) {
    add_arg(m, kernel, type)->tensor = (QnnGpu_TensorKernelArg_t){.tensorIndex = index};
}

static void add_float(impl *m, unsigned kernel, float v) {
    QnnGpu_KernelArg_t *a = add_arg(m, kernel, QNN_GPU_KERNEL_ARG_TYPE_DATA);
    a->data.type = QNN_GPU_KERNEL_ARG_CL_TYPE_FLOAT;
    a->data.qnnFloat = v;
}

static void add_int(impl *m, unsigned kernel, int32_t v) {
    QnnGpu_KernelArg_t *a = add_arg(m, kernel, QNN_GPU_KERNEL_ARG_TYPE_DATA);
    a->data.type = QNN_GPU_KERNEL_ARG_CL_TYPE_INT;
    a->data.qnnInt = v;
}

static void set_kernel(impl *m, unsigned i, const char *name, const char *text, size_t work) {
    m->kernels[i] = (QnnGpu_Kernel_t){.kernelSource = text,
                                      .sourceLength = strlen(text),
                                      .sourceType = QNN_GPU_KERNEL_SOURCE_TYPE_TEXT,
                                      .buildOptions = "-cl-std=CL1.2",
                                      .globalWorkDim = 1,
                                      .globalWorkSizes = {work},
                                      .args = m->arg_list[i],
                                      .name = name};
    m->kernel_list[i] = &m->kernels[i];
}

// --- the ops

static size_t count_of(const Qnn_Tensor_t *t) {
    size_t n = 1;
    for (uint32_t i = 0; i < t->v1.rank; i++)
        n *= t->v1.dimensions[i];
    return n;
}

static const Qnn_Param_t *find_param(const Qnn_OpConfigV1_t *op, const char *name, uint32_t *at) {
    for (*at = 0; *at < op->numOfParams; ++*at)
        if (strcmp(op->params[*at].name, name) == 0)
            return &op->params[*at];
    return NULL;
}

static float float_param(const Qnn_OpConfigV1_t *op, const char *name, float fallback) {
    uint32_t at;
    const Qnn_Param_t *p = find_param(op, name, &at);
    return p ? p->scalarParam.floatValue : fallback;
}

static void make_swish(impl *m, const Qnn_OpConfigV1_t *op) {
    size_t n = count_of(&op->outputTensors[0]);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0);
    add_int(m, 0, (int32_t)n);
    add_float(m, 0, float_param(op, "scale", 1));
    add_float(m, 0, float_param(op, "beta", 1));
    set_kernel(m, 0, "scaled_swish", swish_text, (n + 63) / 64 * 64);
    m->kernels[0].localWorkDim = 1;
    m->kernels[0].localWorkSizes[0] = 64;
    // With tuning on, finalize may choose 32 or 64 instead.
    m->tuning = (QnnGpu_KernelTuningConfig_t){
        .option = QNN_GPU_KERNEL_TUNING_LOCAL_WORK_SIZE,
        .lws = {.minValue = {32}, .maxValue = {64}, .stepSize = {32}}};
    m->tunings[0] = &m->tuning;
    m->kernels[0].tuningConfigs = m->tunings;
}

static void make_square(impl *m, const Qnn_OpConfigV1_t *op) {
    const Qnn_Tensor_t *y = &op->outputTensors[0];
    uint32_t at = 0;
    find_param(op, "bias", &at);
    m->internal = (QnnGpu_MemoryObject_t){.type = QNN_GPU_MEM_OBJ_TYPE_BUFFER,
                                          .dataType = QNN_DATATYPE_FLOAT_32,
                                          .dimensions = y->v1.dimensions,
                                          .numDimensions = y->v1.rank,
                                          .layout = QNN_GPU_MEM_LAYOUT_HWC,
                                          .name = "squares"};
    m->internals[0] = &m->internal;
    m->operation.memoryObjects = m->internals;
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_WRITE, 0);
    set_kernel(m, 0, "square", square_text, count_of(y));
    add_tensor(m, 1, QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READ, 0);
    add_tensor(m, 1, QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM, at);
    add_tensor(m, 1, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0);
    set_kernel(m, 1, "bias", bias_text, count_of(y));
}

static Qnn_ErrorHandle_t create_op(QnnOpPackage_GraphInfrastructure_t infra,
                                   QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *out) {
    (void)infra;
    const Qnn_OpConfigV1_t *op = &node->configs[0]->v1;
    const Qnn_Tensor_t *y = &op->outputTensors[0];
    impl *m = calloc(1, sizeof *m);
    if (!m)
        return QNN_OP_PACKAGE_ERROR_GENERAL;
    // The output as the kernels write it.
    m->output = (QnnGpu_MemoryObject_t){.type = QNN_GPU_MEM_OBJ_TYPE_BUFFER,
                                        .dataType = QNN_DATATYPE_FLOAT_32,
                                        .dimensions = y->v1.dimensions,
                                        .numDimensions = y->v1.rank,
                                        .layout = QNN_GPU_MEM_LAYOUT_HWC,
                                        .name = y->v1.name};
    m->claim = (QnnGpu_OutputClaim_t){.memoryObject = &m->output};
    m->claims[0] = &m->claim;
    m->operation.outputClaims = m->claims;
    m->operation.kernels = m->kernel_list;
    if (strcmp(op->typeName, "ScaledSwish") == 0)
        make_swish(m, op);
    else
        make_square(m, op);
    *out = &m->operation;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t free_op(QnnOpPackage_OpImpl_t op) {
    free(op);
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t validate_op(Qnn_OpConfig_t config) {
    const Qnn_OpConfigV1_t *op = &config.v1;
    uint32_t at;
    bool good = op->numOfInputs == 1 && op->numOfOutputs == 1 &&
                op->inputTensors[0].v1.dataType == QNN_DATATYPE_FLOAT_32 &&
                op->outputTensors[0].v1.dataType == QNN_DATATYPE_FLOAT_32 &&
                count_of(&op->inputTensors[0]) == count_of(&op->outputTensors[0]);
    if (good && strcmp(op->typeName, "BiasedSquare") == 0) {
        const Qnn_Param_t *bias = find_param(op, "bias", &at);
        good = bias && bias->paramType == QNN_PARAMTYPE_TENSOR;
    }
    return good ? QNN_SUCCESS : QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
}

// --- the package

static const char *op_names[] = {"ScaledSwish", "BiasedSquare"};
static const Qnn_ApiVersion_t api_version = QNN_GPU_API_VERSION_INIT;
static const QnnGpuOpPackage_PackageInfo_t package_info = {.kernelRepoHash = "1"};
static const QnnOpPackage_Info_t info = {.packageName = "example.gpu",
                                         .operationNames = op_names,
                                         .numOperations = 2,
                                         .sdkApiVersion = &api_version,
                                         .packageInfo = &package_info};

static Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **out) {
    *out = &info;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create(QnnOpPackage_GlobalInfrastructure_t infra, QnnLog_Callback_t log,
                                QnnLog_Level_t level, Qnn_OpPackageHandle_t *out) {
    (void)log, (void)level;
    if (!infra || !infra->deviceProperties || !infra->sdkApiVersion)
        return QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE;
    *out = (Qnn_OpPackageHandle_t)&info;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t destroy(Qnn_OpPackageHandle_t p) {
    (void)p;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create_op_2_0(Qnn_OpPackageHandle_t p,
                                       QnnOpPackage_GraphInfrastructure_t infra,
                                       QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *out) {
    (void)p;
    return create_op(infra, node, out);
}

static Qnn_ErrorHandle_t free_op_2_0(Qnn_OpPackageHandle_t p, QnnOpPackage_OpImpl_t op) {
    (void)p;
    return free_op(op);
}

static Qnn_ErrorHandle_t validate_op_2_0(Qnn_OpPackageHandle_t p, Qnn_OpConfig_t config) {
    (void)p;
    return validate_op(config);
}

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infra) {
    return infra ? QNN_SUCCESS : QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE;
}

static Qnn_ErrorHandle_t terminate(void) { return QNN_SUCCESS; }

EXPORT Qnn_ErrorHandle_t ExampleGpuOpPackage_provider(QnnOpPackage_Interface_t *out);
EXPORT Qnn_ErrorHandle_t ExampleGpuOpPackage_provider_1_4(QnnOpPackage_Interface_t *out);

Qnn_ErrorHandle_t ExampleGpuOpPackage_provider(QnnOpPackage_Interface_t *out) {
    *out = (QnnOpPackage_Interface_t){.interfaceVersion = QNN_OP_PACKAGE_API_VERSION_2_0_0,
                                      .v2_0 = {.create = create,
                                               .getInfo = get_info,
                                               .validateOpConfig = validate_op_2_0,
                                               .createOpImpl = create_op_2_0,
                                               .freeOpImpl = free_op_2_0,
                                               .free = destroy}};
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t ExampleGpuOpPackage_provider_1_4(QnnOpPackage_Interface_t *out) {
    *out = (QnnOpPackage_Interface_t){.interfaceVersion = QNN_OP_PACKAGE_API_VERSION_1_4_0,
                                      .v1_4 = {.init = init,
                                               .terminate = terminate,
                                               .getInfo = get_info,
                                               .validateOpConfig = validate_op,
                                               .createOpImpl = create_op,
                                               .freeOpImpl = free_op}};
    return QNN_SUCCESS;
}
