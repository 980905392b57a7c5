// SPDX-License-Identifier: MIT
//
// An op package for the CPU backend with one op, `Twice` (y = 2 * x, float), behind interface 1.4.
// Shows what such a source needs from the headers: the opaque structs of QnnOpPackage.h as the CPU
// header completes them. Keeps no state but whether it is initialised.

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "CPU/QnnCpuOpPackage.h"
#include "QnnSdkBuildId.h"

Qnn_ErrorHandle_t twice_provider(QnnOpPackage_Interface_t *intface);

static bool initialised;
static const char *operations[] = {"Twice"};
static Qnn_ApiVersion_t sdk_version = QNN_CPU_API_VERSION_INIT;
static QnnOpPackage_Info_t info = QNN_OP_PACKAGE_INFO_INIT;

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infrastructure) {
    (void)infrastructure;
    if (initialised)
        return QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED;
    initialised = true;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t terminate(void) {
    if (!initialised)
        return QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED;
    initialised = false;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **out) {
    info.packageName = "twice";
    info.operationNames = operations;
    info.numOperations = 1;
    info.sdkBuildId = QNN_SDK_BUILD_ID;
    info.sdkApiVersion = &sdk_version;
    *out = &info;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t validate(Qnn_OpConfig_t op) {
    bool ok = op.version == QNN_OPCONFIG_VERSION_1 && strcmp(op.v1.typeName, "Twice") == 0 &&
              op.v1.numOfInputs == 1 && op.v1.numOfOutputs == 1 && op.v1.numOfParams == 0;
    return ok ? QNN_SUCCESS : QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
}

static Qnn_ErrorHandle_t run(void *node_data) {
    const QnnCpuOpPackage_Node_t *node = node_data;
    const QnnCpuOpPackage_Tensor_t *in = node->inputs[0], *out = node->outputs[0];
    size_t n = 1;
    for (uint32_t i = 0; i < in->rank; i++)
        n *= in->currentDimensions[i];
    const float *x = in->data;
    float *y = out->data;
    for (size_t i = 0; i < n; i++)
        y[i] = 2.0f * x[i];
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create_impl(QnnOpPackage_GraphInfrastructure_t graph,
                                     QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *out) {
    (void)graph;
    QnnCpuOpPackage_OpImpl_t *impl = malloc(sizeof(*impl));
    if (!impl)
        return QNN_COMMON_ERROR_MEM_ALLOC;
    impl->opImplFn = run;
    impl->userData = node;
    *out = impl;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t free_impl(QnnOpPackage_OpImpl_t impl) {
    free(impl);
    return QNN_SUCCESS;
}

__attribute__((visibility("default"))) Qnn_ErrorHandle_t twice_provider(
    QnnOpPackage_Interface_t *intface) {
    if (!intface)
        return QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT;
    QnnOpPackage_Interface_t filled = QNN_OP_PACKAGE_INTERFACE_INIT;
    filled.v1_4.init = init;
    filled.v1_4.terminate = terminate;
    filled.v1_4.getInfo = get_info;
    filled.v1_4.validateOpConfig = validate;
    filled.v1_4.createOpImpl = create_impl;
    filled.v1_4.freeOpImpl = free_impl;
    *intface = filled;
    return QNN_SUCCESS;
}
