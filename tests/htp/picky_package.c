// SPDX-License-Identifier: MIT
//
// A package with the name and an op of the example package that accepts no node: what a context
// binary meets when the package of a process is not the one it was made with.
#include "QnnOpPackage.h"

#include <stdlib.h>

static const char *op_names[] = {"Cube", "Affine"};

static Qnn_ErrorHandle_t create(QnnOpPackage_GlobalInfrastructure_t infrastructure,
                                QnnLog_Callback_t callback, QnnLog_Level_t level,
                                Qnn_OpPackageHandle_t *handle) {
    (void)infrastructure, (void)callback, (void)level;
    *handle = op_names;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **info) {
    static QnnOpPackage_Info_t mine = QNN_OP_PACKAGE_INFO_INIT;
    mine.packageName = "example";
    mine.operationNames = op_names;
    mine.numOperations = 2;
    *info = &mine;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t validate(Qnn_OpPackageHandle_t handle, Qnn_OpConfig_t config) {
    (void)handle, (void)config;
    return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
}

// Nobody gets this far.
static Qnn_ErrorHandle_t create_op(Qnn_OpPackageHandle_t handle,
                                   QnnOpPackage_GraphInfrastructure_t graph,
                                   QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *op) {
    (void)handle, (void)graph, (void)node, (void)op;
    abort();
}

static Qnn_ErrorHandle_t free_op(Qnn_OpPackageHandle_t handle, QnnOpPackage_OpImpl_t op) {
    (void)handle, (void)op;
    abort();
}

static Qnn_ErrorHandle_t end(Qnn_OpPackageHandle_t handle) {
    (void)handle;
    return QNN_SUCCESS;
}

__attribute__((visibility("default"))) Qnn_ErrorHandle_t ExampleOpPackage_provider(
    QnnOpPackage_Interface_t *interface);

Qnn_ErrorHandle_t ExampleOpPackage_provider(QnnOpPackage_Interface_t *interface) {
    interface->interfaceVersion = (Qnn_Version_t)QNN_OP_PACKAGE_API_VERSION_2_0_0;
    interface->v2_0 = (QnnOpPackage_ImplementationV2_0_t){.create = create,
                                                          .getInfo = get_info,
                                                          .validateOpConfig = validate,
                                                          .createOpImpl = create_op,
                                                          .freeOpImpl = free_op,
                                                          .free = end};
    return QNN_SUCCESS;
}
