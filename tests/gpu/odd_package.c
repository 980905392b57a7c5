// SPDX-License-Identifier: MIT
//
// Ops of a package that ask for what the GPU backend does not do, or are wrong; the name of the op
// says which. Provider odd_provider; odd_old_provider says that it was built with old headers.
#include "GPU/QnnGpuOpPackage.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char *names[] = {"Image",    "Layout",      "Source",  "Tiles",   "Alias", "NoKernels",
                              "BadInput", "BadInternal", "BadText", "NoSizes", "Fails"};

// Optimizations that cannot be used.
#define SUPER QNN_GPU_OPTIMIZATION_TYPE_SUPER_NODE
static const char *two[] = {"ElementWiseAdd", "Relu", NULL};
static QnnGpuOpPackage_SuperNodeConnectionConstraint_t far = {.consumer = 2},
                                                       *far_list[] = {&far, NULL};
static const QnnGpuOpPackage_SuperNodeOptimization_t alone_pattern = {.operations = two + 1},
                                                     edge_pattern = {.operations = two,
                                                                     .connectionConstraints =
                                                                         far_list},
                                                     loose_pattern = {.operations = two};
static QnnGpuOpPackage_Optimization_t kind = {.name = "kind"}, nameless = {.type = SUPER},
                                      alone = {SUPER, "alone", {&alone_pattern}},
                                      edge = {SUPER, "edge", {&edge_pattern}},
                                      loose = {SUPER, "loose", {&loose_pattern}};
static const QnnOpPackage_Optimization_t optimizations[] = {&kind, &nameless, &alone,
                                                            &edge, &loose,    NULL};

static Qnn_ApiVersion_t version = QNN_GPU_API_VERSION_INIT;
static QnnOpPackage_Info_t info = {.packageName = "odd",
                                   .operationNames = names,
                                   .numOperations = sizeof names / sizeof names[0],
                                   .optimizations = optimizations,
                                   .numOptimizations = 6,
                                   .sdkApiVersion = &version};

static Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **out) {
    *out = &info;
    return QNN_SUCCESS;
}

// One at a time is enough for tests.
static uint32_t dims[] = {8};
static QnnGpu_MemoryObject_t object, *objects[2];
static QnnGpu_OutputClaim_t claim, *claims[2];
static QnnGpu_KernelArg_t arg, *args[2];
static QnnGpu_Kernel_t kernel, *kernels[2];
static QnnGpu_Operation_t operation;
static const char text[] = "__kernel void k(__global float *y) { y[get_global_id(0)] = 1; }";
static const char bad_text[] = "__kernel void k(__global float *y) { this is not a program }";

static Qnn_ErrorHandle_t create_op(QnnOpPackage_GraphInfrastructure_t infra,
                                   QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *out) {
    const char *op = node->configs[0]->v1.typeName;
#define IS(name) (strcmp(op, name) == 0)
    (void)infra;
    object = (QnnGpu_MemoryObject_t){
        .type = IS("Image")   ? QNN_GPU_MEM_OBJ_TYPE_IMAGE2D
                : IS("Tiles") ? QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D
                : IS("Alias") ? QNN_GPU_MEM_OBJ_TYPE_ALIAS
                              : QNN_GPU_MEM_OBJ_TYPE_BUFFER,
        .dataType = IS("Image") ? QNN_DATATYPE_FLOAT_64 : QNN_DATATYPE_FLOAT_32,
        .dimensions = dims,
        .numDimensions = 1,
        .layout = IS("Layout") ? (QnnGpu_MemoryLayout_t)9 : QNN_GPU_MEM_LAYOUT_HWC,
        .aliasSourceName = "nothing"};
    objects[0] = &object;
    claim = (QnnGpu_OutputClaim_t){.memoryObject = &object};
    claims[0] = &claim;
    arg = (QnnGpu_KernelArg_t){
        .type = IS("BadInput")      ? QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ
                : IS("BadInternal") ? QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READ
                                    : QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE,
        .tensor = {.tensorIndex = IS("BadInput") || IS("BadInternal") ? 5 : 0}};
    args[0] = &arg;
    const char *source = IS("BadText") ? bad_text : text;
    kernel = (QnnGpu_Kernel_t){.kernelSource = source,
                               .sourceLength = strlen(source),
                               .sourceType = IS("Source") ? (QnnGpu_KernelSourceType_t)7
                                                          : QNN_GPU_KERNEL_SOURCE_TYPE_TEXT,
                               .globalWorkDim = IS("NoSizes") ? 0 : 1,
                               .globalWorkSizes = {8},
                               .args = args,
                               .name = "k"};
    kernels[0] = IS("NoKernels") ? NULL : &kernel;
    operation = (QnnGpu_Operation_t){.outputClaims = IS("Image") ? NULL : claims,
                                     .memoryObjects = IS("Image") ? objects : NULL,
                                     .kernels = kernels};
    *out = &operation;
    return IS("Fails") ? QNN_OP_PACKAGE_ERROR_GENERAL : QNN_SUCCESS;
}

static Qnn_ErrorHandle_t free_op(QnnOpPackage_OpImpl_t op) {
    (void)op;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infra) {
    (void)infra;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t terminate(void) { return QNN_SUCCESS; }

EXPORT Qnn_ErrorHandle_t odd_provider(QnnOpPackage_Interface_t *out);
EXPORT Qnn_ErrorHandle_t odd_old_provider(QnnOpPackage_Interface_t *out);

Qnn_ErrorHandle_t odd_provider(QnnOpPackage_Interface_t *out) {
    version.coreApiVersion.minor = QNN_API_VERSION_MINOR;
    *out = (QnnOpPackage_Interface_t){.interfaceVersion = QNN_OP_PACKAGE_API_VERSION_1_4_0,
                                      .v1_4 = {.init = init,
                                               .terminate = terminate,
                                               .getInfo = get_info,
                                               .createOpImpl = create_op,
                                               .freeOpImpl = free_op}};
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t odd_old_provider(QnnOpPackage_Interface_t *out) {
    Qnn_ErrorHandle_t e = odd_provider(out);
    version.coreApiVersion.minor = 32;
    return e;
}
