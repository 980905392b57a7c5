// SPDX-License-Identifier: MIT
//
// An op package for the CPU backend with two ops:
//   Cube    y = x^3                          one float input, one float output of the same shape
//   Affine  y = scale * x + offset           scalar parameters, both optional (1 and 0)
// Register it with
//   backendRegisterOpPackage(backend, "libExampleOpPackage.so", "ExampleOpPackage_provider", "CPU")
// and use package name "example" in op configs.
#include "CPU/QnnCpuOpPackage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGE "example"

static const char *op_names[] = {"Cube", "Affine"};
static bool started;

static size_t count(const QnnCpuOpPackage_Tensor_t *t) {
    size_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->currentDimensions[i];
    return n;
}

static double scalar(const QnnCpuOpPackage_Node_t *node, const char *name, double fallback) {
    for (uint32_t i = 0; i < node->numOfParams; i++)
        if (node->params[i]->type == QNN_CPU_PARAMTYPE_SCALAR &&
            strcmp(node->params[i]->name, name) == 0)
            return node->params[i]->scalarParam;
    return fallback;
}

static Qnn_ErrorHandle_t run_cube(void *data) {
    const QnnCpuOpPackage_Node_t *node = data;
    const float *x = node->inputs[0]->data;
    float *y = node->outputs[0]->data;
    for (size_t i = 0, n = count(node->inputs[0]); i < n; i++)
        y[i] = x[i] * x[i] * x[i];
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t run_affine(void *data) {
    const QnnCpuOpPackage_Node_t *node = data;
    const float *x = node->inputs[0]->data;
    float *y = node->outputs[0]->data;
    float scale = (float)scalar(node, "scale", 1.0), offset = (float)scalar(node, "offset", 0.0);
    for (size_t i = 0, n = count(node->inputs[0]); i < n; i++)
        y[i] = scale * x[i] + offset;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infrastructure) {
    if (started)
        return QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED;
    if (!infrastructure)
        return QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE;
    started = true;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t terminate(void) {
    started = false;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **info) {
    static QnnOpPackage_Info_t mine = QNN_OP_PACKAGE_INFO_INIT;
    mine.packageName = PACKAGE;
    mine.operationNames = op_names;
    mine.numOperations = sizeof op_names / sizeof op_names[0];
    *info = &mine;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t validate(Qnn_OpConfig_t config) {
    const Qnn_OpConfigV1_t *op = &config.v1;
    if (strcmp(op->packageName, PACKAGE) != 0 || op->numOfInputs != 1 || op->numOfOutputs != 1 ||
        op->inputTensors[0].v1.dataType != QNN_DATATYPE_FLOAT_32 ||
        op->outputTensors[0].v1.dataType != QNN_DATATYPE_FLOAT_32)
        return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create_op(QnnOpPackage_GraphInfrastructure_t graph,
                                   QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *op) {
    (void)graph;
    if (!node || !op)
        return QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT;
    QnnCpuOpPackage_OpImpl_t *impl = malloc(sizeof *impl);
    if (!impl)
        return QNN_OP_PACKAGE_ERROR_GENERAL;
    impl->opImplFn = strcmp(node->typeName, "Cube") == 0 ? run_cube : run_affine;
    impl->userData = node; // the backend keeps the node and sets the data before each call
    *op = impl;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t free_op(QnnOpPackage_OpImpl_t op) {
    free(op);
    return QNN_SUCCESS;
}

__attribute__((visibility("default"))) Qnn_ErrorHandle_t ExampleOpPackage_provider(
    QnnOpPackage_Interface_t *interface) {
    if (!interface)
        return QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT;
    *interface = (QnnOpPackage_Interface_t)QNN_OP_PACKAGE_INTERFACE_INIT;
    interface->v1_4.init = init;
    interface->v1_4.terminate = terminate;
    interface->v1_4.getInfo = get_info;
    interface->v1_4.validateOpConfig = validate;
    interface->v1_4.createOpImpl = create_op;
    interface->v1_4.freeOpImpl = free_op;
    return QNN_SUCCESS;
}
