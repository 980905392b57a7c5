// SPDX-License-Identifier: MIT
//
// An op package for the GPU backend, with ops on float tensors:
//   ScaledSwish   y = scale * x * sigmoid(beta * x); parameters scale and beta are floats
//   BiasedSquare  y = x * x + bias; bias is a tensor parameter of one float. Two kernels, with
//                 memory of the op's own between them
//   ImageScale    y = scale * x of [H, W, C], which it stores as an image of four channels a texel
//   ImageShift    y = x + shift; reads an image where ImageScale made one, else a buffer
// A ScaledSwish whose result only a BiasedSquare reads becomes one node with it (super node
// swish_square), computed by one kernel. Kernels are OpenCL text. Clients register the library with
// provider "ExampleGpuOpPackage_provider" (interface 2.0) or "ExampleGpuOpPackage_provider_1_4".
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

static const char swish_square_text[] =
    "__kernel void swish_square(__global const float *x, __global const float *b,\n"
    "                           __global float *y, const float scale, const float beta) {\n"
    "    int i = get_global_id(0);\n"
    "    float s = scale * x[i] / (1.0f + exp(-beta * x[i]));\n"
    "    y[i] = s * s + b[0];\n"
    "}\n";

// Layout HWC: a row of the image has W * slices texels, a slice is four channels.
static const char image_scale_text[] =
    "__kernel void image_scale(__global const float *x, __write_only image2d_t y, const int w,\n"
    "                          const int c, const float scale) {\n"
    "    int n = (c + 3) / 4, at = get_global_id(0), h = get_global_id(1), s = at % n;\n"
    "    float v[4];\n"
    "    for (int k = 0; k < 4; k++)\n"
    "        v[k] = 4 * s + k < c ? scale * x[(h * w + at / n) * c + 4 * s + k] : 0.0f;\n"
    "    write_imagef(y, (int2)(at, h), (float4)(v[0], v[1], v[2], v[3]));\n"
    "}\n";

static const char image_shift_text[] =
    "__kernel void image_shift(__read_only image2d_t x, __global float *y, const int w,\n"
    "                          const int c, const float shift) {\n"
    "    int n = (c + 3) / 4, at = get_global_id(0), h = get_global_id(1), s = at % n;\n"
    "    float v[4];\n"
    "    vstore4(read_imagef(x, (int2)(at, h)) + shift, 0, v);\n"
    "    for (int k = 0; k < 4 && 4 * s + k < c; k++)\n"
    "        y[(h * w + at / n) * c + 4 * s + k] = v[k];\n"
    "}\n";

static const char shift_text[] =
    "__kernel void shift(__global const float *x, __global float *y, const int w, const int c,\n"
    "                    const float shift) {\n"
    "    for (int k = 0; k < c; k++) {\n"
    "        int i = (get_global_id(1) * w + get_global_id(0)) * c + k;\n"
    "        y[i] = x[i] + shift;\n"
    "    }\n"
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

// The same of the op with number `op` of a super node.
static void add_tensor_of(impl *m, QnnGpu_KernelArgType_t type, uint32_t op, uint32_t index) {
    add_arg(m, 0, type)->tensor =
        (QnnGpu_TensorKernelArg_t){.opConfigIndex = op, .tensorIndex = index};
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

// A kernel with one work item a texel, or a pixel of a plain buffer.
static void set_pixels(impl *m, const Qnn_Tensor_t *t, const char *name, const char *text,
                       size_t texels) {
    set_kernel(m, 0, name, text, t->v1.dimensions[1] * texels);
    m->kernels[0].globalWorkDim = 2;
    m->kernels[0].globalWorkSizes[1] = t->v1.dimensions[0];
}

static void make_image_op(impl *m, const Qnn_OpConfigV1_t *op, const QnnGpu_MemoryObject_t *x) {
    const Qnn_Tensor_t *y = &op->outputTensors[0];
    uint32_t c = y->v1.dimensions[2];
    bool scale = strcmp(op->typeName, "ImageScale") == 0;
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0);
    add_int(m, 0, (int32_t)y->v1.dimensions[1]);
    add_int(m, 0, (int32_t)c);
    add_float(m, 0, float_param(op, scale ? "scale" : "shift", 1));
    if (scale) {
        m->output.type = QNN_GPU_MEM_OBJ_TYPE_IMAGE2D;
        set_pixels(m, y, "image_scale", image_scale_text, (c + 3) / 4);
    } else if (x->type == QNN_GPU_MEM_OBJ_TYPE_IMAGE2D) {
        set_pixels(m, y, "image_shift", image_shift_text, (c + 3) / 4);
    } else {
        set_pixels(m, y, "shift", shift_text, 1);
    }
}

// The node stands for a ScaledSwish (0) and a BiasedSquare (1).
static void make_swish_square(impl *m, const Qnn_OpConfigV1_t *swish,
                              const Qnn_OpConfigV1_t *square) {
    uint32_t at = 0;
    find_param(square, "bias", &at);
    m->claim.opConfigIndex = 1;
    add_tensor_of(m, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
    add_tensor_of(m, QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM, 1, at);
    add_tensor_of(m, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 1, 0);
    add_float(m, 0, float_param(swish, "scale", 1));
    add_float(m, 0, float_param(swish, "beta", 1));
    set_kernel(m, 0, "swish_square", swish_square_text, count_of(&square->outputTensors[0]));
}

static Qnn_ErrorHandle_t create_op(QnnOpPackage_GraphInfrastructure_t infra,
                                   QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *out) {
    (void)infra;
    bool super = node->configs[1] != NULL;
    const Qnn_OpConfigV1_t *op = &node->configs[0]->v1;
    const Qnn_Tensor_t *y = &node->configs[super]->v1.outputTensors[0];
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
    if (super)
        make_swish_square(m, op, &node->configs[1]->v1);
    else if (strcmp(op->typeName, "ScaledSwish") == 0)
        make_swish(m, op);
    else if (strcmp(op->typeName, "BiasedSquare") == 0)
        make_square(m, op);
    else
        make_image_op(m, op, node->storageTypes[0]->memoryObject);
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
    if (good && strncmp(op->typeName, "Image", 5) == 0)
        good = op->inputTensors[0].v1.rank == 3;
    if (good && strcmp(op->typeName, "BiasedSquare") == 0) {
        const Qnn_Param_t *bias = find_param(op, "bias", &at);
        good = bias && bias->paramType == QNN_PARAMTYPE_TENSOR;
    }
    return good ? QNN_SUCCESS : QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
}

// --- the package

static const char *op_names[] = {"ScaledSwish", "BiasedSquare", "ImageScale", "ImageShift"};

// Ops that become one node: what is connected, and of which type the tensors are.
static const char *pattern_ops[] = {"ScaledSwish", "BiasedSquare", NULL};
static QnnGpuOpPackage_SuperNodeConnectionConstraint_t edge = {
    .producer = 0, .producerOutputIndex = 0, .consumer = 1, .consumerInputIndex = 0};
static QnnGpuOpPackage_SuperNodeConnectionConstraint_t *edges[] = {&edge, NULL};
static QnnGpuOpPackage_TensorConstraint_t floats = {
    .operationIndex = 0,
    .source = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_INPUT,
    .index = 0,
    .type = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DATA_TYPE,
    .dataType = QNN_DATATYPE_FLOAT_32};
static QnnGpuOpPackage_TensorConstraint_t *tensors[] = {&floats, NULL};
static const QnnGpuOpPackage_SuperNodeOptimization_t pattern = {
    .operations = pattern_ops, .connectionConstraints = edges, .tensorConstraints = tensors};
static QnnGpuOpPackage_Optimization_t swish_square = {
    .type = QNN_GPU_OPTIMIZATION_TYPE_SUPER_NODE, .name = "swish_square", .superNode = &pattern};
static const QnnOpPackage_Optimization_t optimizations[] = {&swish_square};

static const Qnn_ApiVersion_t api_version = QNN_GPU_API_VERSION_INIT;
static const QnnGpuOpPackage_PackageInfo_t package_info = {.kernelRepoHash = "1"};
static const QnnOpPackage_Info_t info = {.packageName = "example.gpu",
                                         .operationNames = op_names,
                                         .numOperations = 4,
                                         .optimizations = optimizations,
                                         .numOptimizations = 1,
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
